"""Checks of finished runs and of running streams: verdicts, outputs, exit codes."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import Any
from xml.etree import ElementTree

import pytest

from agentv_stream.checks.check import (
    Checker,
    SourceCheck,
    cases_for,
    check_source,
    expand,
    report_json,
    report_jsonl,
    worth_telling,
)
from agentv_stream.checks.check_text import clean, failures_first, junit, table
from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.checks.yaml_lines import SpecError
from agentv_stream.cli.checking import check_sources
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_RUN, EXIT_USAGE, EXIT_VERDICT, SourceError, worst
from agentv_stream.sources.folder import LocalFolder
from support.consuming import run
from support.decoding import FIXTURES, corpus
from support.fake_agents import READ_EDIT, init, stream

SPEC = """
tests:
  - id: good
    target: claude
    assertions:
      - {type: tool-trajectory, mode: in_order, expected: [{kind: read}, {tool: Edit}]}
      - {type: watched-commands, used: [bobbin]}
  - id: bad
    target: codex
    assertions:
      - {type: forbid, calls: ["Edit"], name: "no <edits>"}
      - {type: llm-grader}
"""


def spec(tmp_path: Path, text: str = SPEC) -> Spec:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    return load_spec(tmp_path / "s.yaml")


def log(tmp_path: Path, data: bytes = b"", name: str = "run.jsonl") -> Path:
    (tmp_path / name).write_bytes(data or stream(READ_EDIT))
    return tmp_path / name


def run_cli(tmp_path: Path, *, case: str | None = None, **more: Any) -> int:
    options: dict[str, Any] = {
        "case": case,
        "provider": None,
        "threshold": None,
        "as_json": False,
        "jsonl": None,
        "junit_file": None,
        "quiet": False,
        "subagents": True,
        "sources": [str(log(tmp_path))],
    }
    options |= more
    sources = options.pop("sources")
    spec(tmp_path)
    return check_sources([tmp_path / "s.yaml"], sources, **options)


def test_every_case_is_judged_with_the_event_that_decided_it(tmp_path: Path) -> None:
    check = check_source(log(tmp_path), [spec(tmp_path)])
    assert [(case.case, case.verdict) for case in check.cases] == [("good", "pass"), ("bad", "fail")]
    decided = check.cases[1].decided
    assert decided is not None and decided.at is not None
    assert (decided.at.tool, decided.calls) == ("Edit", 3)
    assert check.provider == "claude"
    assert check.exit_code == EXIT_VERDICT


def test_a_target_of_another_agent_is_a_warning(tmp_path: Path) -> None:
    check = check_source(log(tmp_path), [spec(tmp_path)])
    assert check.warnings == ["the case 'bad' is meant for codex, the log is of claude"]


def test_of_cases_whose_ids_begin_alike_the_longest_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    rules = "    assertions: [{type: max-turns, max: 3}]\n"
    path.write_text("tests:\n" + "".join(f"  - id: {i}\n{rules}" for i in ("fix", "fix_1", "a b/c")))
    loaded = load_spec(path)

    def chosen(source: str) -> list[str]:
        return [case.id for _, case in cases_for(source, [loaded], None)]

    assert chosen("fix_1_base_2.stream.jsonl") == ["fix_1"]
    assert chosen("fix_base_1.stream.jsonl") == ["fix"]
    assert chosen("2026-01-02T03-04-05-000Z_base_fix_1_2.transcript.jsonl") == ["fix_1"]
    assert chosen("a-b-c_base_1.stream.jsonl") == ["a b/c"]  # as file names spell it


def test_a_case_can_be_named_and_else_is_told_from_the_file_name(tmp_path: Path) -> None:
    loaded = spec(tmp_path)
    assert [c.id for _, c in cases_for("x.jsonl", [loaded], "good")] == ["good"]
    assert [c.id for _, c in cases_for("bad_base_1.stream.jsonl", [loaded], None)] == ["bad"]
    assert [c.id for _, c in cases_for("2026-01-02T03-04-05-000Z_base_bad_1.transcript.jsonl", [loaded], None)] == [
        "bad"
    ]
    for neither in ("x.jsonl", "goodness.jsonl"):
        assert [c.id for _, c in cases_for(neither, [loaded], None)] == ["good", "bad"]
    with pytest.raises(SpecError, match="no case is called 'goood'; did you mean 'good'"):
        cases_for("x.jsonl", [loaded], "goood")


def test_live_and_finished_checks_agree_for_any_chunking(tmp_path: Path) -> None:
    from agentv_stream.summary import SessionReader

    data = stream(READ_EDIT)
    whole = check_source(log(tmp_path, data), [spec(tmp_path)])
    for size in (1, 7, 100, 1000):
        checker = Checker(spec(tmp_path).cases)
        reader = SessionReader([data[i : i + size] for i in range(0, len(data), size)], str(tmp_path / "run.jsonl"))
        for batch in reader.batches():
            checker.observe(batch)
        assert checker.finish() == whole.cases


def test_what_was_written_for_a_case_is_judged_by_it_whatever_the_file_name_looks_like(tmp_path: Path) -> None:
    """The transcript of the first attempt at `fix` was judged as `fix_1`, and `check` passed what `run` had failed."""
    loaded = spec(
        tmp_path,
        "tests:\n  - {id: fix, assertions: [{type: forbid, calls: [Edit]}]}\n"
        "  - {id: fix_1, assertions: [{type: forbid, calls: [WebSearch]}]}\n",
    )
    source = log(tmp_path)
    names = ("--target", "base", "--attempt", "1", "--out", "o")
    for case in ("fix", "fix_1", "other"):
        assert run(tmp_path, "consume", source, "-q", "--test-id", case, *names).code == 0
    found = {path.name.partition("_")[2]: check_source(path, [loaded]) for path in (tmp_path / "o").glob("*.jsonl")}
    assert {name: [(c.case, c.verdict) for c in check.cases] for name, check in found.items()} == {
        "base_fix_1.transcript.jsonl": [("fix", "fail")],
        "base_fix_1_1.transcript.jsonl": [("fix_1", "pass")],
        "base_other_1.transcript.jsonl": [("fix", "fail"), ("fix_1", "pass")],
    }
    told: dict[str, Any] = {
        "schema_version": "agentv_stream.result.v1",
        "status": "complete",
        "run": {},
        "test_id": "fix",
    }
    (tmp_path / "fix_1_new_1.json").write_text(json.dumps(told), encoding="utf-8")  # the task fix, the approach 1_new
    check = check_source(log(tmp_path, name="fix_1_new_1.stream.jsonl"), [loaded])
    assert [c.case for c in check.cases] == ["fix"]


@pytest.mark.parametrize(
    ("case", "code"), [("good", EXIT_FINE), ("bad", EXIT_VERDICT), (None, EXIT_VERDICT), ("none", EXIT_USAGE)]
)
def test_exit_codes(tmp_path: Path, case: str | None, code: int) -> None:
    assert run_cli(tmp_path, case=case) == code


def test_a_source_that_is_missing_or_no_log_is_told_and_the_others_are_checked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"hello\n")
    sources = [str(tmp_path / "missing"), str(tmp_path / "x.jsonl"), str(log(tmp_path))]
    assert run_cli(tmp_path, sources=sources) == EXIT_IO
    out = capfd.readouterr().out
    assert out.count("ERROR") == 2
    assert "PASS  1.00  good" in out


def test_who_gives_a_pipe_is_told_what_takes_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(tmp_path, sources=["-"]) == EXIT_USAGE
    assert "`… | agentv-stream consume --check SPEC` checks a pipe" in capfd.readouterr().err


def test_an_empty_source_and_one_that_ended_too_early_are_runs_that_failed(tmp_path: Path) -> None:
    assert run_cli(tmp_path, sources=[str(log(tmp_path, b"\n", "e.jsonl"))]) == EXIT_RUN
    cut = log(tmp_path, stream(READ_EDIT, whole=False), "c.jsonl")
    assert run_cli(tmp_path, sources=[str(cut)]) == EXIT_RUN


def test_how_a_failed_run_ended_is_told_for_people_and_build_servers(tmp_path: Path) -> None:
    check = check_source(log(tmp_path, stream(READ_EDIT, whole=False), "c.jsonl"), [spec(tmp_path)], "good")
    assert table([check]).splitlines()[0].endswith("[claude]  the run ended: incomplete")
    errors = ElementTree.fromstring(junit([check])).findall(".//testcase[@name='run']/error")
    assert [error.get("message") for error in errors] == ["the run ended: incomplete"]
    whole = check_source(log(tmp_path), [spec(tmp_path)], "good")
    assert "the run ended" not in table([whole]) and b'name="run"' not in junit([whole])


def test_folders_stand_for_the_logs_below_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    log(tmp_path / "a", name="x.jsonl")
    log(tmp_path / "a", name="x.dead-letters.jsonl")
    assert expand([str(tmp_path / "a")]) == [tmp_path / "a" / "x.jsonl"]
    (tmp_path / "b").mkdir()
    with pytest.raises(SourceError):
        expand([str(tmp_path / "b")])


def test_sub_agents_files_below_a_folder_are_part_of_their_session(tmp_path: Path) -> None:
    root = corpus("clients") / "claude" / "s4" / "home"
    paths = [path for path in expand([str(root)]) if "projects" in path.parts]
    checks = [check_source(path, [spec(tmp_path)]) for path in paths]
    kept = worth_telling(checks, [str(root)])
    assert len(paths) > 1
    assert [Path(check.source).parent.name for check in kept if "subagents" in check.source] == []
    assert len(worth_telling(checks, [check.source for check in checks])) == len(paths)


@pytest.mark.parametrize("subagents", [True, False])
def test_sub_agents_that_are_left_out_are_not_judged_on_their_own(tmp_path: Path, subagents: bool) -> None:
    copytree(FIXTURES / "claude", tmp_path / "logs")
    checks = [check_source(path, [spec(tmp_path)], subagents=subagents) for path in expand([str(tmp_path / "logs")])]
    assert [check for check in checks if "/subagents/" in check.source]
    told = worth_telling(checks, [str(tmp_path / "logs")])
    assert [check.source for check in told if "/subagents/" in check.source] == []


def test_a_folder_is_listed_once_however_many_logs_it_contains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    data = (FIXTURES / "claude" / "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl").read_bytes()
    for n in range(9):
        (tmp_path / "logs" / f"{n}.jsonl").write_bytes(data)
    listed: list[str] = []
    glob = LocalFolder.glob

    def noted(folder: LocalFolder, pattern: str) -> list[str]:
        listed.append(pattern)
        return glob(folder, pattern)

    monkeypatch.setattr(LocalFolder, "glob", noted)
    run_cli(tmp_path, sources=[str(tmp_path / "logs")], quiet=True)
    beside = [pattern for pattern in listed if Path(pattern).parent == tmp_path / "logs"]
    assert len(beside) == len(set(beside)) > 0


def test_a_source_that_is_named_twice_is_checked_once(tmp_path: Path) -> None:
    path = log(tmp_path)
    assert expand([str(path), str(tmp_path), f"{tmp_path}/./{path.name}"]) == [path]


def test_files_below_a_folder_that_are_no_logs_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log(folder)
    (folder / "history.jsonl").write_bytes(b'{"display":"x"}\n')
    assert run_cli(tmp_path, case="good", sources=[str(folder)]) == EXIT_FINE
    assert run_cli(tmp_path, case="good", sources=[str(folder / "history.jsonl")]) == EXIT_IO


def test_json_goes_to_standard_output_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_cli(tmp_path, as_json=True)
    value = json.loads(capfd.readouterr().out)
    assert value["schema_version"] == "agentv_stream.check.v1"
    assert value["summary"] == {"pass": 1, "fail": 1, "skipped": 0, "errors": 0}
    (result,) = value["results"]
    assert [case["verdict"] for case in result["cases"]] == ["pass", "fail"]
    assert result["cases"][1]["evaluators"][1]["reason"] == "it needs a model"


def test_json_lines_have_a_row_for_each_case(tmp_path: Path) -> None:
    run_cli(tmp_path, jsonl=tmp_path / "o.jsonl", quiet=True)
    rows = [json.loads(row) for row in (tmp_path / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["case"], row["verdict"], row["provider"]) for row in rows] == [
        ("good", "pass", "claude"),
        ("bad", "fail", "claude"),
    ]


def test_a_source_that_could_not_be_read_stands_in_json_and_lines_with_its_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_cli(tmp_path, sources=[str(tmp_path / "missing"), str(log(tmp_path))], as_json=True, jsonl=tmp_path / "o.jsonl")
    results = json.loads(capfd.readouterr().out)["results"]
    rows = [json.loads(row) for row in (tmp_path / "o.jsonl").read_bytes().splitlines()]
    assert [row.get("case") for row in rows] == [None, "good", "bad"]
    for told in (results, rows):
        assert "no such file" in told[0]["error"].lower()
        assert {one["error"] for one in told[1:]} == {None}


def test_junit_has_a_test_for_each_evaluator(tmp_path: Path) -> None:
    run_cli(tmp_path, junit_file=tmp_path / "o.xml", quiet=True)
    (suite,) = ElementTree.parse(tmp_path / "o.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "2", "1")
    failed = [test.get("name") for test in suite if test.find("failure") is not None]
    assert failed == ["no <edits>", "case"]


def test_no_two_tests_of_a_junit_file_bear_one_name(tmp_path: Path) -> None:
    """GitLab takes those of one class and name for one test, and told a passed one in place of a failed one."""
    entry = "      - {type: max-turns, max: 99}\n"
    odd = '      - {type: max-turns, max: 99, name: "max-turns (2)"}\n'
    text = f"tests:\n  - id: a\n    assertions:\n{entry}{odd}{entry}{entry}"
    one, other = log(tmp_path), tmp_path / "other.jsonl"
    other.write_bytes(one.read_bytes())
    specs = [spec(tmp_path, text)]
    for paths, mark in (((one,), ""), ((one, other), f" [{one}]")):
        tests = ElementTree.fromstring(junit([check_source(path, specs) for path in paths])).findall(".//testcase")
        names = [(test.get("classname"), test.get("name")) for test in tests]
        assert len(set(names)) == 5 * len(paths)
        told = ["max-turns", "max-turns (2)", "max-turns (2) (2)", "max-turns (3)", "case"]
        assert names[:5] == [("a", f"{name}{mark}") for name in told]


def test_hostile_names_act_neither_in_the_table_nor_in_xml(tmp_path: Path) -> None:
    entry = '      - {type: forbid, calls: [Edit], name: "x\\eb\\u0007"}\n'
    text = f'tests:\n  - id: "a\\e[31m\\u0000"\n    assertions:\n{entry}'
    check = check_source(log(tmp_path), [spec(tmp_path, text)])
    shown = table([check])
    assert "\x1b" not in shown and "\x07" not in shown
    ElementTree.fromstring(junit([check]))
    broken = SourceCheck("x\x1b[2J\x00", error=SourceError("bad\x1b]0;t\x07"))
    assert "\x1b" not in table([broken])
    ElementTree.fromstring(junit([broken]))
    json.loads(report_json([broken]))
    json.loads(report_jsonl([broken]))


def test_of_exit_codes_the_first_of_the_list_is_told() -> None:
    assert worst([EXIT_FINE, EXIT_VERDICT, EXIT_RUN, EXIT_IO, EXIT_USAGE]) == EXIT_USAGE
    assert worst([EXIT_FINE, EXIT_VERDICT, EXIT_RUN, EXIT_IO]) == EXIT_IO
    assert worst([EXIT_FINE, EXIT_VERDICT, EXIT_RUN]) == EXIT_RUN
    assert worst([]) == EXIT_FINE


def consume(tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    words = ["agentv-stream", "consume", "--out", str(tmp_path / "o"), *arguments]
    code = f"import sys; from agentv_stream.cli import main; sys.argv = {words!r}; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_consume_tells_a_violation_at_once_and_drains_the_rest(tmp_path: Path) -> None:
    spec(tmp_path)
    process = consume(tmp_path, "--check", str(tmp_path / "s.yaml"), "--case", "bad", "--fail-fast", "--stats", "-")
    assert process.stdin is not None and process.stderr is not None and process.stdout is not None
    process.stdin.write(stream(READ_EDIT, whole=False))
    process.stdin.flush()
    first = process.stderr.readline()
    assert b"VIOLATED, decided" in first and b"Edit" in first
    process.stdin.write(stream(READ_EDIT).splitlines(keepends=True)[-1])
    out, _ = process.communicate(timeout=60)
    assert process.returncode == EXIT_VERDICT
    value = json.loads(out)
    assert (value["status"], value["verdicts"][0]["verdict"]) == ("complete", "fail")


def test_consume_closes_the_pipe_where_it_is_asked_to(tmp_path: Path) -> None:
    spec(tmp_path)
    process = consume(tmp_path, "--check", str(tmp_path / "s.yaml"), "--case", "bad", "--fail-fast=close")
    assert process.stdin is not None
    process.stdin.write(stream(READ_EDIT, whole=False))
    process.stdin.flush()
    # It ends although its input stays open.
    assert process.wait(timeout=60) == EXIT_VERDICT
    with pytest.raises(BrokenPipeError):
        for _ in range(100):
            process.stdin.write(init() * 100)
            process.stdin.flush()
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            pass


SAME = """
tests:
  - id: same
    assertions:
      - {type: tool-trajectory, mode: in_order, expected: [{kind: read}, {kind: write}]}
      - {type: tool-trajectory, mode: any_order, minimums: {"kind:read": 1, "kind:write": 1}}
      - {type: first-edit-turn, max: 50}
      - {type: forbid, calls: ["Bash(rm *)"]}
      - {type: max-repeats, max: 50}
"""

CLIENTS = ("claude", "codex", "codex_classic", "copilot", "copilot_oai", "gemini", "pi", "opencode", "qwen")


@pytest.mark.parametrize("scenario", ["s1", "s3", "s9"])
def test_the_same_work_gets_the_same_verdicts_whoever_did_it(tmp_path: Path, scenario: str) -> None:
    loaded = spec(tmp_path, SAME)
    root = corpus("clients")
    seen: dict[str, list[tuple[str, float | None, str]]] = {}
    for client in CLIENTS:
        found = sorted((root / client / scenario).glob("stream.jsonl*"))
        if not found:
            continue
        check = check_source(found[0], [loaded], subagents=False)
        assert check.error is None, (client, str(check.error))
        seen[client] = [(r.name, r.score, r.verdict) for r in check.cases[0].evaluators]
    assert len(seen) >= 6
    first = seen["claude"]
    assert all(verdict == "pass" for _, _, verdict in first)
    assert {client: results for client, results in seen.items() if results != first} == {}


def test_every_agents_skill_is_seen_by_skill_used(tmp_path: Path) -> None:
    root = corpus("clients")
    failed: dict[str, Any] = {}
    for client in CLIENTS:
        found = sorted((root / client / "s8").glob("stream.jsonl*"))
        if not found:
            continue
        names = _skills(root / client / "s8")
        assert names, client
        text = "".join(f"      - {{type: skill-used, value: {name}}}\n" for name in names)
        check = check_source(found[0], [spec(tmp_path, f"tests:\n  - id: s\n    assertions:\n{text}")])
        if check.error is not None or check.cases[0].verdict != "pass":
            failed[client] = check.to_json()
    assert failed == {}


def _skills(folder: Path) -> list[str]:
    """The skills that lie in the recorded workspace's home, or are named in the truth."""
    truth = (folder / "truth.json").read_text(encoding="utf-8")
    found = re.findall(r"skills/([A-Za-z0-9_-]+)/", truth) + re.findall(r'"skill"\s*:\s*"([A-Za-z0-9_-]+)"', truth)
    return list(dict.fromkeys(found))


def shown(tmp_path: Path, capfd: pytest.CaptureFixture[str], **more: Any) -> list[str]:
    run_cli(tmp_path, **more)
    return capfd.readouterr().out.splitlines()


def test_the_output_starts_with_a_line_for_each_case_then_the_failures_in_full(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A hundred lines of PASS stood before the one FAIL, and that did not say which call it was."""
    path = log(tmp_path)
    summary = "cases: 1 pass, 1 fail; evaluators skipped: llm-grader (it needs a model)"
    assert shown(tmp_path, capfd) == [
        f"PASS  1.00  good  {path} [claude]",
        f"FAIL  0.00  bad  {path} [claude]",
        "",
        f"FAIL  0.00  bad  {path} [claude]",
        "    FAIL  0.00  no <edits> (forbid) required",
        "           - Edit was called",
        "             Edit: a.py  (turn 3, row 6)",
        "",
        f"warning: {path}: the case 'bad' is meant for codex, the log is of claude",
        "",
        summary,
    ]
    assert shown(tmp_path, capfd, quiet=True) == [summary]
    everything = shown(tmp_path, capfd, verbose=True)
    assert any("tool-trajectory" in line for line in everything) and everything[-1] == summary


def test_many_cases_are_a_character_each(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sources = [str(log(tmp_path, name=f"{n}.jsonl")) for n in range(6)]
    lines = shown(tmp_path, capfd, sources=[*sources, str(log(tmp_path, b"no log\n", "x.jsonl"))])
    assert lines[0] == ".F" * 6 + "E"
    assert lines[-1] == "cases: 6 pass, 6 fail; 1 not read; evaluators skipped: llm-grader (it needs a model)"
    assert sum(line.startswith("FAIL") for line in lines) == 6


def test_what_fails_only_in_the_mean_says_so(tmp_path: Path) -> None:
    half = "{type: tool-trajectory, mode: superset, expected: [Read, Nope], min_score: 0.5}"
    text = f"tests:\n  - id: a\n    assertions: [{half}]\n"
    shown = failures_first([check_source(log(tmp_path), [spec(tmp_path, text)])])
    assert "its evaluators pass, but the score 0.50 is below 0.8" in shown


def test_junit_has_totals_and_times(tmp_path: Path) -> None:
    root = ElementTree.fromstring(junit([check_source(log(tmp_path), [spec(tmp_path)])] * 2))
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "12",
        "failures": "4",
        "errors": "0",
        "skipped": "2",
        "time": "2.400",
    }
    suite = root[0]
    assert suite.get("time") == "1.200"
    assert [test.get("time") for test in suite if test.get("name") == "case [" + str(tmp_path / "run.jsonl") + "]"] == [
        "1.200"
    ] * 2


def test_a_spec_that_judges_nothing_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every run passed."""
    (tmp_path / "n.yaml").write_text("tests:\n  - {id: a, assertions: [{type: llm-grader}, 'be polite']}\n")
    options: dict[str, Any] = {"case": None, "provider": None, "threshold": None, "as_json": False, "jsonl": None}
    options |= {"junit_file": None, "quiet": False, "subagents": True}
    assert check_sources([tmp_path / "n.yaml"], [str(log(tmp_path))], **options) == EXIT_USAGE
    assert "judges nothing here" in capfd.readouterr().err
    spec(tmp_path)
    assert check_sources([tmp_path / "n.yaml", tmp_path / "s.yaml"], [str(log(tmp_path))], **options) == EXIT_VERDICT


def ran(folder: Path, task: str, **more: Any) -> Path:
    """A stream that `run` stored, with its result beside it."""
    folder.mkdir(exist_ok=True)
    stem = f"{task}_a_1"
    end = {"schema_version": "agentv_stream.result.v1", "status": "complete", "test_id": task}
    value = {**end, "run": {"stream": f"{stem}.stream.jsonl"}, **more}
    (folder / f"{stem}.json").write_text(json.dumps(value), encoding="utf-8")
    (folder / f"{stem}.stream.jsonl").write_bytes(stream(READ_EDIT))
    return folder / f"{stem}.stream.jsonl"


def test_a_run_of_a_task_that_the_spec_does_not_have_is_listed_and_not_failed(tmp_path: Path) -> None:
    """It was judged by all cases, and failed."""
    loaded = [spec(tmp_path)]
    path = ran(tmp_path / "r", "other", status="error")
    check = check_source(path, loaded)
    assert (check.cases, check.exit_code, check.unlisted) == ([], EXIT_FINE, "other")
    assert "not judged, the spec has no case for them: other" in failures_first([check])
    assert check.to_json()["warnings"] == ["the spec has no case 'other': the run is not judged"]


def test_what_run_itself_judged_or_a_spec_for_everything_is_judged_all_the_same(tmp_path: Path) -> None:
    loaded = [spec(tmp_path)]
    judged = check_source(ran(tmp_path / "r", "other", verdicts=[{"case": "bad"}]), loaded)
    assert [case.case for case in judged.cases] == ["bad"]
    assert [case.case for case in check_source(ran(tmp_path / "r", "task"), loaded).cases] == ["good", "bad"]
    assert [case.case for case in check_source(ran(tmp_path / "r", "good"), loaded).cases] == ["good"]
    assert [case.case for case in check_source(ran(tmp_path / "r", "other"), loaded, "bad").cases] == ["bad"]
    whole = [spec(tmp_path, "assertions: [{type: max-turns, max: 9}]\n")]
    assert [case.verdict for case in check_source(ran(tmp_path / "r", "other"), whole).cases] == ["pass"]


def test_texts_of_junit_do_not_act() -> None:
    assert clean("a\x9b31m\u202eb\x7f\u2028c\x00\tü") == "a\\x9b31m\\u202eb\\x7f\\u2028c�\tü"
