"""`analyze` from the command line: people see lines without effect on the terminal, programs get JSON lines."""

import json
import sys
from pathlib import Path

import msgspec

from agentv_stages.findings import Finding
from support.consuming import run
from support.powers import run_without_powers

SESSION = {"parentUuid": None, "isSidechain": False, "cwd": "/w", "sessionId": "s-1", "version": "2.1.0"}
ESCAPE = "\x1b]0;owned\x07"


def log_of(folder: Path, command: str) -> Path:
    """A Claude session in which one command fails four times."""
    rows: list[dict[str, object]] = []
    for number in range(4):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": command}}
        rows.append({"type": "assistant", "message": {"id": f"m{number}", "role": "assistant", "content": [call]}})
        failed = {"type": "tool_result", "tool_use_id": f"c{number}", "is_error": True, "content": f"no {number}"}
        rows.append({"type": "user", "message": {"role": "user", "content": [failed]}})
    for number, row in enumerate(rows):
        row |= {**SESSION, "uuid": f"u{number}", "timestamp": f"2026-03-02T09:30:{number:02}.000Z"}
    path = folder / "s-1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_failure_again_is_named_with_its_turns(tmp_path: Path) -> None:
    done = run(tmp_path, "analyze", str(log_of(tmp_path, f"make {ESCAPE}")))
    assert done.code == 0
    assert "repeated-failures" in done.out.decode()
    assert "failed 4 times with no change between" in done.out.decode()
    assert "3 calls · turn 1 Bash · turn 2 Bash · turn 3 Bash · …" in done.out.decode()
    assert "\x1b" not in done.out.decode()


def test_json_lines_hold_the_calls_and_a_folder_is_all_its_sessions(tmp_path: Path) -> None:
    log = log_of(tmp_path, "make")
    done = run(tmp_path, "analyze", str(tmp_path), "--json")
    (row,) = [json.loads(line) for line in done.out.decode().splitlines()]
    assert row.pop("path") == str(log)
    finding = msgspec.convert(row, Finding)
    assert [cite.turn for cite in finding.cites] == [1, 2, 3, 4]
    assert {cite.at.tool for cite in finding.cites} == {"Bash"}


def test_secrets_are_redacted_and_a_missing_log_stops_no_other_one(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    log = log_of(tmp_path, f"curl -H 'Authorization: token {secret}' https://example.org")
    done = run(tmp_path, "analyze", str(tmp_path / "none.jsonl"), str(log), "--json", "--redact")
    assert done.code == 4
    assert "none.jsonl" in done.err
    assert "repeated-failures" in done.out.decode()
    assert secret not in done.out.decode()


def test_a_log_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    log = log_of(tmp_path, "make")
    (tmp_path / "secret.jsonl").write_bytes(log.read_bytes())
    (tmp_path / "secret.jsonl").chmod(0)
    done = run_without_powers([sys.executable, "-m", "agentv_stream", "analyze", str(tmp_path), "--json"])
    assert (done.returncode, "repeated-failures" in done.stdout) == (4, True)
    assert f"cannot read {tmp_path / 'secret.jsonl'}: Permission denied" in done.stderr
