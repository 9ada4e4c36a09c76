"""Kill -9 at any moment: what was written is whole lines, and what was handed to the kernel is there."""

import json
import os
import sys
from pathlib import Path
from random import Random

import pytest

from support.consuming import LIMIT_SECONDS, STREAM, start

LINES = STREAM.read_bytes().splitlines(keepends=True)
ROUNDS = 8
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_run_leaves_whole_lines(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    process = start(tmp_path, "--tee", "--stream-log", "raw", "--out", "o")
    assert process.stdin is not None
    assert process.stdout is not None
    upto = chance.randrange(3, len(LINES))
    at, seen = 0, 0
    while at < upto:
        step = chance.randrange(1, 6)
        data = b"".join(LINES[at : at + step])
        process.stdin.write(data)
        process.stdin.flush()
        at += step
        wanted = len(b"".join(LINES[:at]))
        while seen < wanted:  # it has been read
            seen += len(os.read(process.stdout.fileno(), 1 << 16))
    process.stdin.write(LINES[min(at, len(LINES) - 1)][:-5])
    process.stdin.flush()
    process.kill()
    process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == -9
    for path in (tmp_path / "o").glob("*.jsonl"):
        data = path.read_bytes()
        assert data.endswith(b"\n") or not data
        for line in data.split(b"\n")[:-1]:
            assert isinstance(json.loads(line), dict)


def test_what_was_answered_is_in_the_transcript_before_the_next_line_is_read(tmp_path: Path) -> None:
    """A row that is complete does not wait for more input."""
    process = start(tmp_path, "--out", "o")
    assert process.stdin is not None
    upto = next(i for i, line in enumerate(LINES) if b'"msg_3"' in line)
    process.stdin.write(b"".join(LINES[: upto + 1]))
    process.stdin.flush()
    rows: list[bytes] = []
    while len(rows) < 2:  # nothing more is written: it has to come by itself
        assert process.poll() is None
        rows = [line for path in (tmp_path / "o").glob("*.transcript.jsonl") for line in path.read_bytes().splitlines()]
    process.kill()
    process.communicate(timeout=LIMIT_SECONDS)
    ids = [call["id"] for row in rows for call in json.loads(row).get("tool_calls", [])]
    assert ids[:3] == ["t_read", "t_grep", "t_edit"]
