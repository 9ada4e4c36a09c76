"""Signals: the first Ctrl-C is noted and reading goes on, a second one or SIGTERM writes what is there and ends."""

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import Popen

import pytest

from support.consuming import LIMIT_SECONDS, STREAM, rows_of, start

LOG = STREAM.read_bytes()
LINES = LOG.splitlines(keepends=True)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix")


def begun(folder: Path) -> "Popen[bytes]":
    """A run that has read half of the stream: what it passes on says how far it is."""
    process = start(folder, "--tee", "--stats", "s.json")
    assert process.stdin is not None
    assert process.stdout is not None
    half = b"".join(LINES[: len(LINES) // 2])
    process.stdin.write(half)
    process.stdin.flush()
    seen = b""
    while len(seen) < len(half):
        seen += os.read(process.stdout.fileno(), 1 << 16)
    return process


def ended(process: "Popen[bytes]", rest: bytes | None = b"") -> tuple[int, str]:
    _, err = process.communicate(rest, timeout=LIMIT_SECONDS)
    assert b"Traceback" not in err
    return process.returncode, err.decode()


def test_one_interrupt_lets_the_agent_finish(tmp_path: Path) -> None:
    process = begun(tmp_path)
    process.send_signal(signal.SIGINT)
    code, _ = ended(process, b"".join(LINES[len(LINES) // 2 :]))
    assert code == 0
    assert json.loads((tmp_path / "s.json").read_bytes())["status"] == "complete"


def test_a_stream_that_ends_after_an_interrupt_is_told_as_it_ended(tmp_path: Path) -> None:
    process = begun(tmp_path)
    process.send_signal(signal.SIGINT)
    code, _ = ended(process)
    assert code == 3
    result = json.loads((tmp_path / "s.json").read_bytes())
    assert result["status"] in ("incomplete", "interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_last_signal_writes_what_is_there_and_is_the_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    process = begun(tmp_path)
    assert process.stderr is not None
    process.send_signal(number)
    if number == signal.SIGINT:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(LINES[len(LINES) // 2])
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 1 << 16)  # the first one has been noted, and reading goes on
        process.send_signal(number)
    process.wait(LIMIT_SECONDS)
    err = process.stderr.read().decode()
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    (path,) = tmp_path.rglob("*.transcript.jsonl")
    rows = rows_of(path)
    assert "transcript_cost_usd" in rows[0]
    assert json.loads((tmp_path / "s.json").read_bytes())["status"] == "incomplete"
    assert {c["id"] for r in rows for c in r.get("tool_calls", [])} >= {"t_read", "t_grep", "t_edit"}
