"""All outputs of a run stand side by side under one name, whenever they begin and whatever other runs left."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.consuming import SESSION as LOG_ON_DISK
from support.consuming import STREAM, command, consume, environment
from support.decoding import FIXTURES

LIMIT_SECONDS = 60
RAW = ".stream.jsonl"
_FIRST, _SECOND, _THIRD, *_REST = STREAM.read_bytes().splitlines(keepends=True)
LINES = [_FIRST + _SECOND + _THIRD, *_REST]  # the third one tells whose stream it is


def names(folder: Path) -> dict[str, list[str]]:
    """Kinds of outputs by the name that they share."""
    found: dict[str, list[str]] = {}
    for path in sorted((folder / "out").iterdir()):
        stem, _, kind = path.name.partition(".")
        found.setdefault(stem, []).append(kind)
    return found


def feed_slowly(folder: Path, lines: list[bytes], *options: str) -> None:
    """Each line goes into the pipe when the one before stands in the raw log."""
    run = subprocess.Popen(
        [*command("consume", "--out", "out", "--stream-log", "raw", "-q"), *options],
        cwd=folder, env=environment(), stdin=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdin is not None
    deadline = time.monotonic() + LIMIT_SECONDS
    expected = logged(folder)
    for line in lines:
        run.stdin.write(line)
        run.stdin.flush()
        expected += line.count(b"\n")
        while logged(folder) < expected:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    run.stdin.close()
    assert run.wait(LIMIT_SECONDS) == 0


def logged(folder: Path) -> int:
    """Lines in all raw logs."""
    count = 0
    for path in (folder / "out").glob(f"*{RAW}"):
        try:
            count += path.read_bytes().count(b"\n")
        except FileNotFoundError:  # it moves just now
            return -1
    return count


def test_a_stream_log_that_began_before_the_session_was_known_moves_beside_the_transcript(tmp_path: Path) -> None:
    feed_slowly(tmp_path, LINES)
    found = names(tmp_path)
    assert list(found.values()) == [["stream.jsonl", "transcript.jsonl"]]
    (log,) = (tmp_path / "out").glob(f"*{RAW}")
    assert log.read_bytes().count(b"\n") == len(_REST) + 3
    assert "unknown" not in log.name


@pytest.mark.parametrize("kind", ["raw", "summary"])
def test_the_stream_log_of_a_file_waits_for_the_id_in_its_last_record(tmp_path: Path, kind: str) -> None:
    """The log is written long before that record is read, and must not give the session a name without an id."""
    *lines, last = (FIXTURES / "copilot" / "stream.jsonl").read_bytes().splitlines(keepends=True)
    answer = next(line for line in lines if b'"type":"assistant.message"' in line)
    many = [answer.replace(b'"data":{', b'"data":{"padding":"%b",' % (b"%d" % n * 200_000), 1) for n in range(10, 20)]
    (tmp_path / "stream.jsonl").write_bytes(b"".join([*lines, *many, last]))
    for _ in range(2):  # the second reading replaces the outputs of the first one
        assert consume(tmp_path, tmp_path / "stream.jsonl", "--out", "out", "--stream-log", kind, "-q").code == 0
        (name,), (kinds,) = names(tmp_path), names(tmp_path).values()
        assert name.endswith("_copilot_s-1")
        assert kinds == [f"stream.{'jsonl' if kind == 'raw' else 'log'}", "transcript.jsonl"]


def test_the_same_stream_again_leaves_all_that_the_first_run_wrote(tmp_path: Path) -> None:
    noise = [b"no record\n"]
    feed_slowly(tmp_path, [*LINES, *noise])
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    feed_slowly(tmp_path, [*LINES, *noise])
    first, second = names(tmp_path).values()
    assert first == second == ["dead-letters.jsonl", "stream.jsonl", "transcript.jsonl"]
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(names(tmp_path))[1].endswith("-2")


def test_an_output_of_another_kind_makes_the_name_taken(tmp_path: Path) -> None:
    consume(tmp_path, "--out", "out", given=STREAM.read_bytes())
    (transcript,) = (tmp_path / "out").iterdir()
    letters = transcript.with_name(transcript.name.replace(".transcript.", ".dead-letters."))
    transcript.rename(letters)
    consume(tmp_path, "--out", "out", given=STREAM.read_bytes() + b"no record\n")
    assert sorted(names(tmp_path).values()) == [["dead-letters.jsonl"], ["dead-letters.jsonl", "transcript.jsonl"]]


@pytest.mark.parametrize("live", [True, False])
def test_runs_at_the_same_moment_take_nothing_from_each_other(tmp_path: Path, live: bool) -> None:
    def one(_: int) -> int:
        options = ("--out", "out", "-q", "--stream-log", "raw")
        if live:
            return consume(tmp_path, *options, given=STREAM.read_bytes()).code
        return consume(tmp_path, LOG_ON_DISK, *options).code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(one, range(6))) == {0}
    transcripts = sorted((tmp_path / "out").glob("*.transcript.jsonl"))
    assert len({path.read_bytes() for path in transcripts}) == 1
    if live:
        assert sorted(names(tmp_path).values()) == [["stream.jsonl", "transcript.jsonl"]] * 6
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
