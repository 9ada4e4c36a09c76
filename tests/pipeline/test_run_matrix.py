"""`run` as a matrix: cases with targets, repeated, resumed, stopped; each attempt in a folder of its own."""

import json
import os
import signal
import subprocess
import sys
from math import isclose
from pathlib import Path

import pytest

from agentv_stream.cli.matrix import passed_on, passes, passes_table
from agentv_stream.reports.intervals import share_interval
from agentv_stream.running.matrix import Attempt, Ended
from support.consuming import finished_text
from support.fake_agents import READ_EDIT, agent, stream
from support.terminal import in_terminal

COMMAND = [sys.executable, "-m", "agentv_stream", "run"]
SPEC = """
tests:
  - {id: one, input: fix one, assertions: [{type: max-turns, max: 30}]}
  - {id: two, input: fix two, assertions: [{type: max-turns, max: 2}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A spec with two cases, and two targets: one edits, one fails."""
    words = [*agent(tmp_path, "say(DATA)", stream(READ_EDIT))]
    good = {"name": "good", "provider": "cli", "command": [*words, "{PROMPT}"]}
    bad = {"name": "bad", "provider": "cli", "command": ["sh", "-c", "echo oops >&2; exit 7", "{PROMPT}"]}
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv/targets.yaml").write_text(json.dumps({"targets": [good, bad]}))
    (tmp_path / "ci.yaml").write_text(SPEC)
    return tmp_path


def run(project: Path, *arguments: str) -> tuple[int, str, str]:
    done = finished_text("run", *arguments, folder=project)
    return done.returncode, done.stdout, done.stderr


def results(project: Path) -> dict[str, str]:
    return {path.stem: json.loads(path.read_bytes())["status"] for path in (project / "r").glob("*.json")}


BOTH = ("--check", "ci.yaml", "--target", "good", "--target", "bad", "--out", "r")


def test_each_case_is_tried_by_each_target(project: Path) -> None:
    code, out, err = run(project, *BOTH, "--repeat", "2", "--workers", "3", "--json")
    assert code == 3
    assert results(project) == {
        f"{case}_{target}_{number}": "complete" if target == "good" else "error"
        for case in ("one", "two") for target in ("good", "bad") for number in (1, 2)
    }  # fmt: skip
    lines = [json.loads(line) for line in out.splitlines()]
    assert {(line["task_id"], line["run"]["prompt"]) for line in lines} == {("one", "fix one"), ("two", "fix two")}
    assert err.splitlines()[-4:] == [
        "case  good            bad",
        "one   2/2 (34–100 %)  0/2 (0–66 %), 2 errors",
        "two   0/2 (0–66 %)    0/2 (0–66 %), 2 errors",
        "all   2/4 (15–85 %)   0/4 (0–49 %), 4 errors",
    ]
    assert "two · good · attempt 1" in err
    assert "Turns 3 > 2" in err or "Turns 4 > 2" in err
    assert "stderr: oops" in err


def test_a_resumed_matrix_runs_only_the_missing_attempts(project: Path) -> None:
    run(project, *BOTH, "--quiet")
    kept = (project / "r/one_good_1.json").read_bytes()
    (project / "r/two_good_1.json").unlink()
    stopped = json.loads((project / "r/two_bad_1.json").read_bytes())
    stopped["run"]["stopped"] = "signal"
    (project / "r/two_bad_1.json").write_text(json.dumps(stopped))
    code, out, err = run(project, *BOTH, "--resume", "--json")
    ran = {(line["task_id"], line["approach"]) for line in map(json.loads, out.splitlines())}
    assert ran == {("two", "good"), ("two", "bad")}
    assert (code, (project / "r/one_good_1.json").read_bytes()) == (3, kept)
    assert "all   1/2" in err
    assert run(project, *BOTH[:-4], "--out", "r", "--resume", "-q") == (1, "", "")  # of earlier attempts alone


def test_a_matrix_without_resume_continues_the_numbers(project: Path) -> None:
    for _ in range(2):
        run(project, "--check", "ci.yaml", "--case", "one", "--target", "good", "--out", "r", "-q")
    assert sorted(results(project)) == ["one_good_1", "one_good_2"]


def test_a_command_gets_the_prompt_of_each_case(project: Path) -> None:
    code, _, _ = run(project, "--check", "ci.yaml", "--out", "r", "-q", "--", "sh", "-c", "echo $0", "{PROMPT}")
    texts = {json.loads(path.read_bytes())["result"]["raw_text"] for path in (project / "r").glob("*.json")}
    assert (code, texts) == (1, {"fix one\n", "fix two\n"})


def test_each_attempt_has_a_copy_of_the_fixture_and_variables(project: Path) -> None:
    (project / "template").mkdir()
    (project / "template/a.txt").write_text("a")
    script = 'echo "$AGENTV_STREAM_TASK $AGENTV_STREAM_ATTEMPT $MINE" >> a.txt'
    options = ("--fixture", "template", "--env", "MINE=x=y", "--repeat", "2", "--workers", "2", "--out", "r", "-q")
    run(project, "--task", "t", *options, "--", "sh", "-c", script)
    copies = {path.parent.name: path.read_text() for path in (project / "r.work").rglob("a.txt")}
    assert copies == {"t_sh_1": "at 1 x=y\n", "t_sh_2": "at 2 x=y\n"}
    assert (project / "template/a.txt").read_text() == "a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fixture", "none", "--", "true"), "no such folder"),
        (("--fixture", ".", "--out", "r", "--", "true"), "are inside it"),
        (("--env", "NAME", "--", "true"), "expected NAME=VALUE"),
        (("--target", "a", "--target", "b", "--", "true"), "several --target"),
        (("--workers", "2"), "nothing to run"),
        (("--repeat", "2", "--otel-file", "spans.jsonl", "--", "true"), "several attempts would replace one file"),
        (("--check", "no-prompt.yaml", "--target", "good"), "no case of --check has an input"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2_or_4(project: Path, arguments: tuple[str, ...], message: str) -> None:
    (project / "no-prompt.yaml").write_text("tests: [{id: a, assertions: [{type: max-turns, max: 3}]}]\n")
    code, out, err = run(project, *arguments)
    assert (code in (2, 4), out) == (True, "")
    assert message in err
    assert "Traceback" not in err


def test_a_budget_ends_an_attempt_that_spends_more(project: Path) -> None:
    command = agent(project, "say(DATA); hang()", stream(READ_EDIT))  # its end record says 0.25
    code, _, err = run(project, "--task", "t", "--approach", "a", "--budget", "0.1", "--out", "r", "--", *command)
    stored = json.loads((project / "r/t_a_1.json").read_bytes())
    assert (code, stored["run"]["stopped"], stored["status"]) == (3, "budget", "killed")
    assert "spent more than --budget" in err


def test_a_total_budget_begins_no_further_attempt(project: Path) -> None:
    options = ("--check", "ci.yaml", "--target", "good", "--repeat", "3", "--total-budget", "0.5", "--out", "r")
    code, _, err = run(project, *options)
    assert (code, len(results(project))) == (3, 2)
    assert "4 attempts not started: 0.50 USD were spent" in err


def test_a_signal_is_passed_on_and_nothing_further_begins(project: Path) -> None:
    fifo = project / "begun"
    os.mkfifo(fifo)
    code = f"import os; say(DATA); open({str(fifo)!r}, 'w').write('x'); hang()"
    words = agent(project, code, stream(READ_EDIT, whole=False))
    process = subprocess.Popen(
        [*COMMAND, "--task", "t", "--repeat", "3", "--workers", "1", "--out", "r", "--", *words],
        cwd=project, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    fifo.read_text()  # the agent runs
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "2 attempts not started; --resume goes on" in err
    assert len(results(project)) == 1


def test_the_live_table_shows_a_sign_for_each_attempt(project: Path) -> None:
    shown = "\n".join(in_terminal(project, 80, "run", *BOTH))
    assert "▸" in shown
    assert "4 of 4" in shown


# --- parts


def test_the_interval_is_wilsons() -> None:
    for part, whole, low, high in ((0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)):
        found = share_interval(part, whole)
        assert isclose(found[0], low, abs_tol=1e-4)
        assert isclose(found[1], high, abs_tol=1e-4)


def attempts(*ended: Ended) -> list[Attempt]:
    return [Attempt("c\x1b", "日本", i, (), None, state) for i, state in enumerate(ended)]


def test_attempts_that_did_not_run_are_no_share() -> None:
    assert passes(attempts("pass", "fail", "not started")) == "1/2 (9–91 %)"
    assert passes(attempts("not started")) == "-"
    assert passes(attempts("error", "pass")) == "1/2 (9–91 %), 1 error"
    head, row = passes_table(attempts("pass"))
    assert head.index("日本") == row.index("1/1 (21–100 %)")
    assert "\x1b" not in row


def test_options_are_passed_on_as_words() -> None:
    words = passed_on({"--grace": 5.0, "--watch": ["git"], "--sync": False, "--cwd": None, "--dump-traces": False})
    assert words == ("--grace=5.0", "--watch=git", "--no-sync")


def test_the_log_of_a_matrix_has_each_attempt_and_totals(project: Path) -> None:
    code, _, err = run(project, *BOTH, "--log", "json")
    entries = [json.loads(line) for line in err.splitlines()]
    assert code == 3
    ended = {
        (e["task"], e["target"]): (e["ended"], e["level"]) for e in entries if e["event"] == "the attempt has ended"
    }
    assert ended == {
        ("one", "good"): ("pass", "info"), ("two", "good"): ("fail", "warning"),
        ("one", "bad"): ("error", "warning"), ("two", "bad"): ("error", "warning"),
    }  # fmt: skip
    last = {name: entries[-1][name] for name in ("event", "attempts", "passed", "failed", "errors", "not_started")}
    assert last == {"event": "finished", "attempts": 4, "passed": 1, "failed": 1, "errors": 2, "not_started": 0}
