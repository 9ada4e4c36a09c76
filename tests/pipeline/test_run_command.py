"""The command `run`: attempts, targets, exit codes, as a person calls it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stages.model.payload import printable_path
from agentv_stream.cli import bare_options
from support.fake_agents import READ_EDIT, agent, init, stream, survivors
from support.schemas import fits


def start(tmp_path: Path, *arguments: str, stdin: int | None = None) -> subprocess.Popen[str]:
    words = ["agentv-stream", "run", *arguments]
    code = f"import sys; from agentv_stream.cli import main; sys.argv = {words!r}; main()"
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        command, cwd=tmp_path, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(tmp_path, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_repeat_makes_numbered_attempts(tmp_path: Path) -> None:
    command = agent(tmp_path, "say(DATA)", stream(READ_EDIT))
    code, out, _ = run(tmp_path, "--task", "t", "--approach", "a", "--repeat", "2", "--out", "r", "--", *command)
    assert (code, out) == (0, "")
    code, _, _ = run(tmp_path, "--task", "t", "--approach", "a", "--out", "r", "--", *command)
    results = sorted(path.name for path in (tmp_path / "r").glob("*.json"))
    assert (code, results) == (0, ["t_a_1.json", "t_a_2.json", "t_a_3.json"])
    assert json.loads((tmp_path / "r" / "t_a_3.json").read_bytes())["attempt"] == 3


@pytest.mark.parametrize(
    "names", [("日本", "中国"), ("a/b", "a b"), ("a\udcff", "a"), ("x" * 90 + "1", "x" * 90 + "2")]
)
def test_an_attempt_does_not_replace_that_of_another_approach(tmp_path: Path, names: tuple[str, str]) -> None:
    """Names are shortened and simplified in files: the result of the first was lost."""
    for approach, code in ((names[0], 0), (names[1], 2), (names[0], 0)):
        options = ("--task", "t", "--approach", approach, "--attempt", "1", "--out", "r", "-q")
        done, _, err = run(tmp_path, *options, "--", "printf", "hi")
        assert (done, "would be lost" in err) == (code, code == 2)
    (path,) = (tmp_path / "r").glob("*.json")
    assert json.loads(path.read_bytes())["approach"] == printable_path(names[0])


def test_a_script_is_told_where_each_result_is(tmp_path: Path) -> None:
    """With --quiet nothing said which file was written."""
    command = agent(tmp_path, "say(DATA)", stream(READ_EDIT))
    code, out, err = run(tmp_path, "--json", "--quiet", "--repeat", "2", "--task", "t", "--out", "r", "--", *command)
    assert (code, err) == (0, "")
    for line in map(json.loads, out.splitlines(keepends=True)):
        fits("run-result", line)
        stored = json.loads((tmp_path / line["outputs"].pop("result")).read_bytes())
        assert stored == line
    assert len(out.splitlines()) == 2


def test_a_result_that_could_not_be_stored_is_told_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "r" / "task_printf_1.json").mkdir(parents=True)
    code, out, _ = run(tmp_path, "--json", "-q", "--attempt", "1", "--out", "r", "--", "printf", "hi")
    line = json.loads(out)
    fits("output", line)
    assert (code, line["outputs"], line["result"]) == (4, {"transcript": None, "result": None}, {"raw_text": "hi"})


def test_who_forgets_the_two_dashes_means_the_options_of_the_agent(tmp_path: Path) -> None:
    command = agent(tmp_path, "sys.stderr.write(' '.join(sys.argv[1:])); say(DATA)", stream(READ_EDIT))
    code, _, _ = run(tmp_path, "--task", "t", "--out", "r", *command, "-p", "do it", "--json", "--prompt", "x")
    assert code == 0
    (result,) = (tmp_path / "r").glob("t_*_1.json")
    assert json.loads(result.read_bytes())["run"]["stderr_tail"] == "-p do it --json --prompt x"


def test_results_go_below_the_hidden_folder_by_default(tmp_path: Path) -> None:
    command = agent(tmp_path, "say(DATA)", stream(READ_EDIT))
    code, _, err = run(tmp_path, "--", *command)
    assert code == 0
    assert (tmp_path / ".agentv" / ".gitignore").exists()
    assert len(list((tmp_path / ".agentv" / "runs").glob("task_*_1.json"))) == 1
    assert "first edit turn 3" in err


def test_a_target_gives_command_and_stream_log(tmp_path: Path) -> None:
    command = agent(tmp_path, "sys.stderr.write(sys.argv[1]); say(DATA)", stream(READ_EDIT))
    entry = {"name": "mine", "provider": "cli", "command": list(command), "stream_log": "summary"}
    (tmp_path / ".agentv").mkdir()
    (tmp_path / ".agentv" / "targets.yaml").write_text(json.dumps({"targets": [entry]}), encoding="utf-8")
    code, _, _ = run(tmp_path, "--target", "mine", "--prompt", "do it; now", "--out", "r")
    assert code == 0
    value = json.loads((tmp_path / "r" / "task_mine_1.json").read_bytes())
    assert value["run"]["stderr_tail"] == "do it; now"
    assert list((tmp_path / "r").glob("*.stream.log"))


def test_values_of_variables_are_passed_on_and_not_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "hunter2s")
    seen = tmp_path / "seen"
    command = agent(tmp_path, f"open({str(seen)!r}, 'w').write(repr(sys.argv[1:])); say(DATA)", stream(READ_EDIT))
    entry = {"name": "mine", "provider": "cli", "command": [*command, "--key=${{ SOME_KEY }}", "{PROMPT}"]}
    (tmp_path / "targets.yaml").write_text(json.dumps({"targets": [entry]}), encoding="utf-8")
    code, _, _ = run(tmp_path, "--targets", "targets.yaml", "--target", "mine", "--prompt", "hi", "--out", "r")
    assert code == 0
    assert seen.read_text() == "['--key=hunter2s', 'hi']"
    written = {path.name: path.read_bytes() for path in (tmp_path / "r").iterdir()}
    assert [name for name, data in written.items() if b"hunter2s" in data] == []
    assert json.loads(written["task_mine_1.json"])["run"]["command"][-2:] == ["--key=${{SOME_KEY}}", "hi"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "nothing to run"),
        (("--fail-fast", "--", "true"), "--fail-fast needs --check"),
        (("--threshold", "0.5", "--", "true"), "--threshold needs --check"),
        (("--fail-fast=now", "--check", "x", "--", "true"), "expected report or close"),
        (("--check", "none.yaml", "--", "true"), "none.yaml: cannot be read"),
        (("--stream-log", "loud", "--", "true"), "expected false, summary or raw"),
        (("--", "./no-such-program"), "cannot start './no-such-program'"),
    ],
)
def test_wrong_calls_exit_with_2(tmp_path: Path, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run(tmp_path, *arguments)
    assert (code, out) == (2, "")
    assert part in err


def test_a_silent_agent_exits_with_3(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "--", *agent(tmp_path, "pass"))
    assert code == 3
    assert "the agent printed nothing" in err


def test_an_agent_that_prints_no_stream_is_told_how_it_prints_one(tmp_path: Path) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\necho fine\n")
    (tmp_path / "claude").chmod(0o755)
    (tmp_path / "mine").symlink_to("claude")
    code, _, err = run(tmp_path, "--quiet", "--", "./claude")
    how = " (`claude -p PROMPT --output-format stream-json --verbose` prints one)"
    assert (code, err) == (
        0,
        f"agentv-stream: the agent printed no stream of events{how}; its output is in the result\n",
    )
    assert "the agent printed no stream of events; its output" in run(tmp_path, "--", "./mine")[2]


def test_a_stream_of_another_agent_than_the_named_one_is_told(tmp_path: Path) -> None:
    command = agent(tmp_path, "say(DATA)", stream(READ_EDIT))
    code, _, err = run(tmp_path, "--provider", "pi", "--", *command)
    told = "the agent's stream was not understood: looks like claude-stream; tried only pi-stream, pi-session, "
    assert (code, told in err) == (4, True)


FEW = b'{"type":"system","subtype":"init","tools":["Bash"],"model":"m"}\n'
DROID = b'{"type":"message","role":"user","id":"m1","text":"Go.","timestamp":1,"session_id":"s1"}\n'
SAID = b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Hm."}]}}\n'


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        (FEW + SAID, 3, None),  # without its end record
        (FEW + DROID + SAID, 3, None),  # Droid's look, but the target says whose it is
        (b'{"a":1}\n{"a":2}\n', 4, "the agent's stream was not understood: not a log of a known agent"),
        (b"fine\n", 4, "the agent's stream was not understood: not a log of a known agent"),
    ],
)
def test_the_stream_of_a_target_is_that_of_its_agent(tmp_path: Path, data: bytes, code: int, told: str | None) -> None:
    (tmp_path / "claude").write_text(f"#!{sys.executable}\nimport sys\nsys.stdout.buffer.write({data!r})\n")
    (tmp_path / "claude").chmod(0o755)
    targets = "targets:\n  - name: mine\n    provider: claude-cli\n    executable: ./claude\n"
    (tmp_path / "targets.yaml").write_text(targets)
    done, _, err = run(tmp_path, "--target", "mine", "--targets", "targets.yaml", "--prompt", "Go.", "--out", "r")
    value = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert (done, value["session"]["provider"]) == (code, "unknown" if told else "claude"), err
    assert told is None or told in err


@pytest.mark.parametrize(("data", "code"), [(b'{"a":1}\n{"a":2}\n', 4), (b'{"a":1}\n', 0), (b"fine\nor not\n", 0)])
def test_a_stream_that_nobody_can_read_is_no_success(tmp_path: Path, data: bytes, code: int) -> None:
    done, _, err = run(tmp_path, "--out", "r", "--", *agent(tmp_path, "say(DATA)", data))
    assert (done, "was not understood" in err) == (code, code == 4)


@pytest.mark.parametrize("provider", [(), ("--provider", "claude")])
def test_fail_fast_ends_an_agent_whose_stream_is_not_decided_yet(tmp_path: Path, provider: tuple[str, ...]) -> None:
    """Two records, then silence: the verdict came when the agent ended."""
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm -rf /"}}
    said = {"type": "assistant", "message": {"role": "assistant", "content": [use]}}
    (tmp_path / "s.yaml").write_text("assertions:\n  - type: forbid\n    tools: [Bash]\n")
    command = agent(tmp_path, "say(DATA)\nhang()", FEW + json.dumps(said).encode() + b"\n")
    options = ("--check", "s.yaml", "--fail-fast=close", "--out", "r", *provider)
    run(tmp_path, *options, "--", *command)
    value = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert (value["run"]["stopped"], value["session"]["provider"]) == ("fail-fast", "claude")


def test_a_link_at_the_name_of_an_attempt_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "mine").write_text("precious")
    for end in ("json", "stream.jsonl", "stderr.log", "trace.jsonl"):
        (tmp_path / "r" / f"task_a_1.{end}").symlink_to("../mine")
    command = agent(tmp_path, "sys.stderr.write('oh'); say(DATA)", stream(READ_EDIT))
    options = ("--approach", "a", "--attempt", "1", "--dump-traces", "--out", "r")
    assert run(tmp_path, *options, "--", *command)[0] == 0
    assert (tmp_path / "mine").read_text() == "precious"
    assert (tmp_path / "r" / "task_a_1.stderr.log").read_text() == "oh"


def test_the_agent_reads_our_standard_input(tmp_path: Path) -> None:
    command = agent(tmp_path, "sys.stderr.write(sys.stdin.read()); say(DATA)", stream(READ_EDIT))
    process = start(tmp_path, "--out", "r", "--", *command, stdin=subprocess.PIPE)
    process.communicate("fix the größer bug\n", timeout=60)
    (result,) = (tmp_path / "r").glob("*.json")
    assert json.loads(result.read_bytes())["run"]["stderr_tail"] == "fix the größer bug\n"


def test_how_a_silent_agent_ended_is_told(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "--", *agent(tmp_path, "sys.exit(7)"))
    assert code == 3
    assert "the agent printed nothing; it ended with exit code 7" in err


@pytest.mark.parametrize(("code", "status"), [(130, "interrupted"), (143, "killed"), (7, "error")])
def test_an_agent_that_handles_a_signal_ends_with_its_number(tmp_path: Path, code: int, status: str) -> None:
    run(tmp_path, "--out", "r", "--", *agent(tmp_path, f"say(DATA)\nsys.exit({code})", stream(whole=False)))
    value = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert (value["status"], value["evidence"]["reason"]) == (status, f"exit code {code}")


def test_a_signal_to_us_ends_the_agent_and_our_code_says_so(tmp_path: Path) -> None:
    command = agent(tmp_path, "say(DATA)\nos.kill(os.getppid(), signal.SIGTERM)\nhang()", init())
    process = start(tmp_path, "--grace", "0.3", "--out", "r", "--", *command)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "ended by a signal" in err
    assert survivors(tmp_path) == []
    assert json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())["status"] == "killed"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has descriptors of processes")
@pytest.mark.parametrize(
    ("limit", "ends"),
    [
        (
            "--timeout",
            "if os.fork() == 0:\n    os.close(1)\n    select.select([me], [], [])\n    resume()\nsay(DATA[300:])",
        ),
        ("--stall", "say(DATA[300:])\nresume()\nsignal.sigtimedwait([], 0.3)"),
    ],
)
def test_time_in_which_we_were_stopped_is_not_held_against_the_agent(tmp_path: Path, limit: str, ends: str) -> None:
    """After Ctrl-Z and `fg` a run that had been complete for long was told as killed; one that printed, as stalled."""
    code = (
        "import select\n"
        "run, me = os.getppid(), os.pidfd_open(os.getpid())\n"
        "def resume():\n    os.kill(run, signal.SIGCONT)\n"
        "say(DATA[:300])\n"
        "signal.sigtimedwait([], 0.2)\n"
        "os.kill(run, signal.SIGSTOP)\n"
        "signal.sigtimedwait([], 1.3)\n"
    )
    command = agent(tmp_path, code + ends, stream(READ_EDIT))
    exit_code, _, err = run(tmp_path, limit, "1", "--out", "r", "--", *command)
    value = json.loads(next((tmp_path / "r").glob("*.json")).read_bytes())
    assert (value["status"], value["run"]["stopped"], exit_code) == ("complete", None, 0), err


def test_escapes_of_the_agent_do_not_reach_the_terminal(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "--", *agent(tmp_path, "sys.stderr.write('\\x1b]0;pwned\\x07 no'); sys.exit(1)"))
    assert code == 3
    assert "\x1b" not in err and "\x07" not in err
    assert os.linesep in err


def test_fail_fast_alone_means_report_but_not_behind_the_dashes() -> None:
    assert bare_options(["run", "--fail-fast", "--check", "x"]) == ["run", "--fail-fast=report", "--check", "x"]
    assert bare_options(["run", "--fail-fast", "close"]) == ["run", "--fail-fast", "close"]
    assert bare_options(["run", "--", "x", "--fail-fast"]) == ["run", "--", "x", "--fail-fast"]


def test_json_alone_goes_to_standard_output_where_it_takes_a_file() -> None:
    assert bare_options(["stats", "x", "--json"]) == ["stats", "x", "--json=-"]
    assert bare_options(["import", "--json", "--quiet", "x"]) == ["import", "--json=-", "--quiet", "x"]
    assert bare_options(["import", "--json", "-q", "x"]) == ["import", "--json=-", "-q", "x"]
    assert bare_options(["stats", "--json", "-", "x"]) == ["stats", "--json", "-", "x"]
    assert bare_options(["stats", "--json", "y", "x"]) == ["stats", "--json", "y", "x"]
    assert bare_options(["check", "a", "b", "--json"]) == ["check", "a", "b", "--json"]
