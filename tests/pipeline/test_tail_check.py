"""`tail --check`: verdicts of followed sessions, the same as those of `consume --check`, over restarts."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from support.consuming import Ran, run
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"
SPEC = """
tests:
  - id: first
    assertions:
      - {type: tool-trajectory, mode: any_order, minimums: {Bash: 6}}
  - id: other
    assertions:
      - {type: forbid, calls: ["Bash"], name: no shell}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def tail(folder: Path, spec: Path, *more: str) -> Ran:
    places = ("--out", "out", "--state", "state")
    return run(folder, "tail", "logs", "--once", "-q", "--check", spec, *places, *more)


def verdicts(folder: Path) -> dict[str, Any]:
    (result,) = (folder / "out").glob("*.result.json")
    found = json.loads(result.read_bytes())["verdicts"]
    return {one["case"]: one for one in found}


def write(folder: Path, records: list[bytes]) -> Path:
    log = folder / "logs" / f"{SESSION}.jsonl"
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as file:
        file.write(b"\n".join(records) + b"\n")
    return log


def consumed(folder: Path, log: Path, spec: Path, *more: str) -> dict[str, Any]:
    run(folder, "consume", log, "-q", "--check", spec, "--out", "consumed", "--stats", "stats.json", *more)
    return {one["case"]: one for one in json.loads((folder / "stats.json").read_bytes())["verdicts"]}


def test_verdicts_grow_with_the_session_over_restarts(tmp_path: Path, spec: Path) -> None:
    records = claude_records(SESSION, 8)
    for start in range(0, len(records), 6):
        log = write(tmp_path, records[start : start + 6])
        assert tail(tmp_path, spec).code == 0
        assert verdicts(tmp_path) == consumed(tmp_path, log, spec)
    assert {name: one["verdict"] for name, one in verdicts(tmp_path).items()} == {"first": "pass", "other": "fail"}


def test_a_spec_is_read_once(tmp_path: Path) -> None:
    """It may be a pipe, as `<(...)` is in a shell: a second reader waits for ever."""
    write(tmp_path, claude_records(SESSION, 8))
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(SPEC,), daemon=True)
    writer.start()
    assert tail(tmp_path, pipe).code == 0
    writer.join()
    assert set(verdicts(tmp_path)) == {"first", "other"}


def test_one_case_can_be_named(tmp_path: Path, spec: Path) -> None:
    log = write(tmp_path, claude_records(SESSION, 3))
    assert tail(tmp_path, spec, "--case", "other").code == 0
    assert list(verdicts(tmp_path)) == ["other"]
    assert verdicts(tmp_path) == consumed(tmp_path, log, spec, "--case", "other")
    assert tail(tmp_path, spec, "--case", "none").code == 2
    assert run(tmp_path, "tail", "logs", "--once", "--case", "other").code == 2


def test_a_spec_that_changed_is_held_against_the_whole_session(tmp_path: Path, spec: Path) -> None:
    records = claude_records(SESSION, 8)
    write(tmp_path, records[:18])
    tail(tmp_path, spec)
    spec.write_text(SPEC.replace("Bash: 6", "Bash: 7"), encoding="utf-8")
    log = write(tmp_path, records[18:])
    assert tail(tmp_path, spec).code == 0
    assert verdicts(tmp_path)["first"]["verdict"] == "pass"
    assert verdicts(tmp_path) == consumed(tmp_path, log, spec)
    assert len(list((tmp_path / "out").glob("*.transcript.jsonl"))) == 1
