"""What a run that cannot write leaves behind, and tells: no empty file, no half of a better one, no name of either."""

import json
import resource
import subprocess
from pathlib import Path

import pytest

from support.consuming import LIMIT_SECONDS, STREAM, Ran, command, environment

LARGE = 700 * 1024  # more than is gathered before the first write


def ran_with_room(folder: Path, room: int, *arguments: str | Path, given: bytes | None = None) -> Ran:
    """The command where no file gets longer than `room` bytes: what is longer meets a full disk."""
    done = subprocess.run(
        command(*arguments),
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        cwd=folder,
        env=environment(),
        timeout=LIMIT_SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    told = done.stderr.decode()
    assert "Traceback" not in told
    return Ran(done.returncode, done.stdout, told, folder)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != ".gitignore")


@pytest.mark.parametrize("form", ["pipe", "file"])
def test_a_transcript_that_got_nothing_is_not_there_and_not_named(tmp_path: Path, form: str) -> None:
    """A 0-byte file stood there, and the closing lines named it as if it had been written."""
    given, source = (STREAM.read_bytes(), "-") if form == "pipe" else (None, str(STREAM))
    ran = ran_with_room(
        tmp_path, 0, "consume", source, "--out", "o", "--stream-log", "raw", "--stats", "-",
        given=given,
    )  # fmt: skip
    assert ran.code == 4
    assert "cannot write" in ran.err
    assert "transcript  none\n" in ran.err
    assert json.loads(ran.out)["outputs"] == {"transcript": None}
    assert files(tmp_path) == []


def test_a_transcript_that_was_cut_short_is_told_as_such(tmp_path: Path) -> None:
    ran = ran_with_room(tmp_path, 5_000, "consume", "--out", "o", given=STREAM.read_bytes())
    assert ran.code == 4
    (path,) = ran.transcripts()
    assert 0 < path.stat().st_size <= 5_000
    assert f"transcript  o/{path.name} (cut short)\n" in ran.err


@pytest.mark.parametrize("shape", ["message", "case", "atif"])
@pytest.mark.parametrize("room", [0, 600 * 1024])
def test_an_earlier_reading_stands_where_a_further_one_cannot_be_written(tmp_path: Path, room: int, shape: str) -> None:
    """The half of a transcript took the place of the whole one; of a smaller disk a hidden file was left."""
    log = tmp_path / "log.jsonl"
    head, sep, rest = STREAM.read_bytes().partition(b'"text":"')
    log.write_bytes(head + sep + b"x" * LARGE + rest)
    asked = ("consume", log, "--out", "o", "--transcript-shape", shape)
    assert ran_with_room(tmp_path, 1 << 30, *asked).code == 0
    whole = {name: (tmp_path / "o" / name).read_bytes() for name in files(tmp_path / "o")}
    assert len(whole) == (1 if shape == "message" else 2)
    ran = ran_with_room(tmp_path, room, *asked)
    assert ran.code == 4
    assert "transcript  none\n" in ran.err
    assert ".tmp" not in ran.err
    assert {name: (tmp_path / "o" / name).read_bytes() for name in files(tmp_path / "o")} == whole


def test_a_device_that_takes_nothing_stays_where_it_is(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    ran = ran_with_room(tmp_path, 1 << 30, "consume", STREAM, "--transcript", "/dev/full")
    assert ran.code == 4
    assert "transcript  none\n" in ran.err
    assert Path("/dev/full").exists()


def test_what_was_saved_of_a_stream_until_the_disk_was_full_is_told(tmp_path: Path) -> None:
    """As nothing, though 3,000 bytes of it were there."""
    ran = ran_with_room(
        tmp_path, 3_000, "run", "--json", "-q", "--task", "t", "--approach", "a", "--out", "r", "--", "cat", STREAM
    )
    assert ran.code == 4
    told = json.loads(ran.out)["run"]
    saved = (tmp_path / "r" / "t_a_1.stream.jsonl").stat().st_size
    assert (told["saved_bytes"], told["stream"]) == (saved, "t_a_1.stream.jsonl")
    assert 0 < saved < told["stream_bytes"]
