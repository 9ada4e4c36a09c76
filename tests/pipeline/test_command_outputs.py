"""What commands print and write as JSON, held against the schemas that `agentv-stream schema` prints."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentv_stream.documentation.schemas import SHAPES, VERSIONS
from support.consuming import SESSION, STREAM, consume, run
from support.fake_agents import READ_EDIT, agent, stream
from support.following import Desk
from support.schemas import fits

SPEC = """
tests:
  - id: reads-first
    assertions:
      - {type: tool-trajectory, mode: in_order, expected: [{kind: read}, {tool: Edit}]}
      - {type: composite, name: both, assertions: [{type: forbid, calls: ["Bash"]}, {type: max-turns, value: 3}]}
      - {type: llm-grader}
  - id: never-edits
    assertions:
      - {type: forbid, calls: ["Edit"]}
"""


def one(text: str | bytes, name: str) -> Any:
    value = json.loads(text)
    fits(name, value)
    return value


def each(text: str | bytes, name: str) -> list[Any]:
    values = [json.loads(line) for line in text.splitlines()]
    assert values
    for value in values:
        fits(name, value)
    return values


def checked(tmp_path: Path, *more: str) -> bytes:
    (tmp_path / "spec.yaml").write_text(SPEC)
    return run(tmp_path, "check", "spec.yaml", STREAM, SESSION, "missing.jsonl", *more).out


def test_check(tmp_path: Path) -> None:
    value = one(checked(tmp_path, "--json", "--jsonl", "rows.jsonl"), "check")
    assert value["summary"]["errors"] == 1
    rows = each((tmp_path / "rows.jsonl").read_bytes(), "check-line")
    assert [row.get("case") for row in rows] == ["reads-first", "never-edits"] * 2 + [None]


def test_validate(tmp_path: Path) -> None:
    odd = tmp_path / "a:1: b.yaml"  # a name that looks like the beginning of a message
    odd.write_text(SPEC, encoding="utf-8")
    (tmp_path / "t.yaml").write_text("targets:\n  - {name: a, provider: codex}\n", encoding="utf-8")
    given = run(tmp_path, "validate", "--json", odd.name, "t.yaml")
    value = one(given.out, "validation")
    assert (given.code, value["valid"]) == (0, True)
    counts = [{k: v for k, v in file.items() if isinstance(v, int) and v} for file in value["files"]]
    assert counts == [{"cases": 2, "evaluators": 4, "skipped": 1}, {"targets": 1, "agents": 1}]

    odd.write_text("tests:\n  - file://cases.jsonl\n  - {id: a, assertion: []}\n", encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('\n{"id": "b", "treshold": 1}\n', encoding="utf-8")
    wrong = run(tmp_path, "validate", "--json", odd.name, "none.yaml")
    value = one(wrong.out, "validation")
    assert (wrong.code, value["valid"], len(wrong.err.splitlines())) == (2, False, 3)
    found = [(error["file"], error["line"]) for file in value["files"] for error in file["errors"]]
    assert found == [(str(tmp_path / "cases.jsonl"), 2), (odd.name, 3), ("none.yaml", None)]
    assert value["files"][1]["errors"][0]["message"] == "cannot be read: No such file or directory"


def test_verdicts_in_a_result(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    consume(tmp_path, STREAM, "--check", "spec.yaml", "--stats", "s.json", "--quiet")
    assert len(one((tmp_path / "s.json").read_bytes(), "result")["verdicts"]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are Unix")
def test_run_and_report(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    for approach, code in (("plain", "say(DATA)"), ("loud", "say(DATA)\nsys.stderr.write('oh')\nsys.exit(3)")):
        command = agent(tmp_path, f"import sys\n{code}", stream(READ_EDIT))
        run(
            tmp_path, "run", "--task", "t", "--approach", approach, "--out", "runs", "--check", "spec.yaml",
            "--include-trace", "--dump-traces", "--", *command,
        )  # fmt: skip
        value = one((tmp_path / "runs" / f"t_{approach}_1.json").read_bytes(), "run-result")
        assert value["traces"]
        each((tmp_path / "runs" / f"t_{approach}_1.trace.jsonl").read_bytes(), "trace")
    for name, data in (("text", b"just words\n"), ("object", b'{"total_cost_usd": 0.5}\n'), ("nothing", b"")):
        run(
            tmp_path,
            "run",
            "--task",
            "t",
            "--approach",
            name,
            "--out",
            "runs",
            "--",
            *agent(tmp_path, "say(DATA)", data),
        )
        one((tmp_path / "runs" / f"t_{name}_1.json").read_bytes(), "output")
    report = one(run(tmp_path, "report", "runs", "--format", "json", "--baseline", "plain").out, "report")
    assert report["differences"]
    assert len(report["runs"]) == 5
    assert report["set_apart"]


def test_sessions(tmp_path: Path) -> None:
    root = f"claude={SESSION.parent}"
    lines = each(run(tmp_path, "sessions", "--json", "--root", root).out, "sessions")
    assert [line["session_id"] for line in lines if line["subagents"]] == [SESSION.stem]
    each(run(tmp_path, "sessions", "--json", "--tree", "--root", root).out, "sessions")


@pytest.mark.parametrize("name", ["tools", "providers"])
def test_tables(tmp_path: Path, name: str) -> None:
    assert len(one(run(tmp_path, name, "--json").out, name)) > 10


def test_faults(tmp_path: Path) -> None:
    lines = STREAM.read_bytes().splitlines(keepends=True)
    consume(tmp_path, given=b"".join([*lines[:5], b"no json\n", b'{"type":"user"}{"type":"user"}\n', *lines[5:]]))
    found = each(run(tmp_path, "faults", "list", "--json").out, "faults")
    assert {fault["reason"] for fault in found} == {"not-json", "welded"}


def test_cursors(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / "s.jsonl").write_bytes(SESSION.read_bytes()[:-200])
    desk.catch_up()
    state = ("--state", str(desk.state))
    (line,) = each(run(tmp_path, "cursors", "list", "--json", *state).out, "cursors")
    shown = one(run(tmp_path, "cursors", "show", line["session_id"], *state).out, "cursors")
    assert shown["state_bytes"] > 0
    assert shown["outputs"]["transcript"] > 0


def test_where_there_is_nothing_json_is_nothing_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.catch_up()
    state = ("--state", str(desk.state))
    for words in (("faults", "list"), ("cursors", "list", *state), ("sessions", "--root", f"claude={desk.logs}")):
        assert run(tmp_path, *words, "--json").out == b""
        assert run(tmp_path, *words).out.startswith(b"no ")


@pytest.mark.parametrize("by", ["provider", "day", "tool"])
def test_stats(tmp_path: Path, by: str) -> None:
    (tmp_path / "plain.jsonl").write_text("words\n")
    value = one(run(tmp_path, "stats", STREAM, SESSION, "plain.jsonl", "--by", by, "--json", "-").out, "stats")
    assert value["total"]["sessions"] == 2
    assert len(value["failures"]) == 1


def test_import(tmp_path: Path) -> None:
    (tmp_path / "plain.jsonl").write_text("words\n")
    sources = (STREAM, SESSION.parent, tmp_path / "plain.jsonl")
    plan = one(run(tmp_path, "import", *sources, "--dry-run", "--json", "-").out, "import-plan")
    report = one(run(tmp_path, "import", *sources, "--json", "-", "--jsonl", "all.jsonl").out, "import-report")
    assert report["found"] == plan["found"]
    assert report["failures"]
    each((tmp_path / "all.jsonl").read_bytes(), "result")


@pytest.mark.parametrize("name", SHAPES)
def test_every_schema_is_printed(tmp_path: Path, name: str) -> None:
    made = json.loads(run(tmp_path, "schema", name).out)
    Draft202012Validator.check_schema(made)
    assert made["title"] == VERSIONS[name]


def test_schemas_are_listed_with_their_versions_and_an_unknown_one_is_a_usage_error(tmp_path: Path) -> None:
    listed = run(tmp_path, "schema").out.decode().splitlines()
    assert [line.split()[:2] for line in listed] == [[name, version] for name, version in VERSIONS.items()]
    refused = run(tmp_path, "schema", "nonsense" + os.sep)
    assert refused.code == 2
    assert "check-line" in refused.err
