"""`--transcript`: a file by its name, or a pipe, where the totals stand in the last row."""

import json
import os
import sys
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from support.consuming import LIMIT_SECONDS, SESSION, STREAM, consume, start
from support.decoding import FIXTURES

LOG = STREAM.read_bytes()
LOGS = [*sorted(FIXTURES.glob("*/*.jsonl")), *sorted((FIXTURES.parents[1] / "examples").glob("*.jsonl"))]
TOTALS = ("transcript_token_usage", "transcript_duration_ms", "transcript_cost_usd", "agentv_stream")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes are Unix")


def parsed(data: bytes) -> list[dict[str, Any]]:
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def without_totals(row: dict[str, Any]) -> dict[str, Any]:
    """The row without its totals, and without what is the time of reading where a log has no times and no id."""
    return {key: value for key, value in row.items() if key not in (*TOTALS, "source", "test_id")}


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name[:12]}")
def test_standard_output_gets_the_rows_of_the_file_with_the_totals_in_the_last(tmp_path: Path, log: Path) -> None:
    in_file = consume(tmp_path, log, "--out", "o").rows()
    ran = consume(tmp_path, log, "--transcript", "-", "--quiet")
    on_stdout = parsed(ran.out)
    assert ran.err == ""
    assert [without_totals(row) for row in on_stdout] == [without_totals(row) for row in in_file]
    assert [row for row in on_stdout if "transcript_cost_usd" in row] == on_stdout[-1:]
    assert {k: on_stdout[-1].get(k) for k in TOTALS} == {k: in_file[0].get(k) for k in TOTALS}


def test_no_blanks_are_kept_free_in_a_row_that_cannot_be_patched(tmp_path: Path) -> None:
    assert b"    " not in consume(tmp_path, "--transcript", "-", given=LOG).out.splitlines()[0]


def test_the_closing_lines_and_the_result_say_where_the_rows_went(tmp_path: Path) -> None:
    ran = consume(tmp_path, "--transcript", "-", "--stats", "s.json", given=LOG)
    assert "transcript  standard output\n" in ran.err
    assert json.loads((tmp_path / "s.json").read_bytes())["outputs"]["transcript"] == "-"
    assert not ran.transcripts()


@pytest.mark.parametrize("other", [["--tee"], ["--stats", "-"]])
def test_standard_output_has_one_user(tmp_path: Path, other: list[str]) -> None:
    ran = consume(tmp_path, "--transcript", "-", *other, given=LOG)
    assert (ran.code, ran.out) == (2, b"")
    assert "both want standard output" in ran.err
    assert not list(tmp_path.iterdir())


def test_an_empty_input_gives_no_row(tmp_path: Path) -> None:
    ran = consume(tmp_path, "--transcript", "-", given=b"")
    assert (ran.code, ran.out) == (3, b"")


def test_a_reader_that_leaves_ends_the_transcript_and_not_the_run(tmp_path: Path) -> None:
    process = start(tmp_path, "--transcript", "-", "--stats", "s.json")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(LOG * 50, timeout=LIMIT_SECONDS)
    assert process.returncode == 0, err
    assert b"transcript was given up: cannot write standard output: Broken pipe" in err
    result = json.loads((tmp_path / "s.json").read_bytes())
    assert result["records"] == 50 * len(LOG.splitlines())
    assert result["outputs"]["transcript"] is None


def test_rows_leave_through_a_pipe_while_the_agent_works(tmp_path: Path) -> None:
    """All rows but the newest: it may be the last one, and bear the totals."""
    process = start(tmp_path, "--transcript", "-")
    assert process.stdin is not None
    assert process.stdout is not None
    lines = LOG.splitlines(keepends=True)
    process.stdin.write(b"".join(lines[: 2 * len(lines) // 3]))
    process.stdin.flush()
    first = json.loads(process.stdout.readline())  # the input has not ended, and it is here
    assert first["message_index"] == 0
    assert "transcript_cost_usd" not in first
    rest, _ = process.communicate(b"".join(lines[2 * len(lines) // 3 :]), timeout=LIMIT_SECONDS)
    assert "transcript_cost_usd" in parsed(rest)[-1]


def read_slowly(pipe: Path) -> bytes:
    """A page at a time through a small pipe."""
    descriptor = os.open(pipe, os.O_RDONLY)
    found: list[bytes] = []
    while data := os.read(descriptor, 4096):
        found.append(data)
    os.close(descriptor)
    return b"".join(found)


def test_a_named_pipe_gets_everything_whenever_its_reader_comes_and_however_slow_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "rows.pipe"
    os.mkfifo(pipe)
    process: Popen[bytes] = start(tmp_path, str(SESSION), "--transcript", str(pipe), "--out", "o")
    rows = parsed(read_slowly(pipe))
    _, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0
    assert f"transcript  {pipe}".encode() in err
    assert "transcript_cost_usd" in rows[-1]
    assert len(rows) == len(consume(tmp_path, SESSION, "--out", "o").rows())


def test_a_row_longer_than_a_pipe_holds_comes_whole(tmp_path: Path) -> None:
    text = "x" * 300_000
    log = LOG.replace(b"I will look", text.encode()) if b"I will look" in LOG else LOG + _answer(text)
    process = start(tmp_path, "--transcript", "-")
    out, _ = process.communicate(log, timeout=LIMIT_SECONDS)
    assert any(text in line for line in out.decode().splitlines())
    parsed(out)


def _answer(text: str) -> bytes:
    block = {"type": "text", "text": text}
    message = {"id": "m_long", "role": "assistant", "model": "m", "content": [block], "stop_reason": "end_turn"}
    return json.dumps({"type": "assistant", "message": message, "session_id": "s", "uuid": "u_long"}).encode() + b"\n"


@pytest.mark.parametrize("finished", [True, False])
def test_a_file_gets_the_name_that_was_asked_for_and_the_others_lie_beside_it(tmp_path: Path, finished: bool) -> None:
    for _ in range(2):  # the second time it replaces the first
        ran = consume(
            tmp_path,
            *([STREAM] if finished else []),
            "--transcript", "new/mine.transcript.jsonl", "--stream-log", "raw", "--transcript-shape", "case",
            given=None if finished else LOG,
        )  # fmt: skip
        assert ran.code == 0
        assert "transcript_cost_usd" in ran.rows()[0]
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["mine.case.jsonl", "mine.stream.jsonl", "mine.transcript.jsonl"]


def test_the_input_is_not_written_over(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(LOG)
    for option in ("--transcript", "--stats"):
        ran = consume(tmp_path, log, option, "log.jsonl")
        assert (ran.code, ran.err) == (2, f"agentv-stream: {option} log.jsonl is the input itself\n")
    assert log.read_bytes() == LOG


@pytest.mark.parametrize("given", [None, LOG])
def test_a_folder_is_no_transcript(tmp_path: Path, given: bytes | None) -> None:
    (tmp_path / "folder").mkdir()
    ran = consume(tmp_path, *([STREAM] if given is None else []), "--transcript", "folder", given=given)
    assert ran.code == 4
    assert "cannot write folder: Is a directory" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_without_a_name_is_no_transcript_either(tmp_path: Path, folder: str) -> None:
    ran = consume(tmp_path, "--transcript", folder, given=LOG)
    assert ran.code == 4
    assert f"cannot write {folder}: Is a directory" in ran.err
    assert not list(tmp_path.iterdir())
