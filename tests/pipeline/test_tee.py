"""`--tee` and what goes wrong beside it: whatever fails, the source is read to its end and passed on byte for byte."""

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.consuming import LIMIT_SECONDS, STREAM, command, consume, environment, start
from support.made_sessions import claude_session

LOG = STREAM.read_bytes()
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and limits are Unix")


@pytest.mark.parametrize("data", [LOG, LOG * 40, LOG[:-1], b"\xff\x00noise\r\n" + LOG + b'{"torn'], ids=range(4))
def test_standard_input_goes_through_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    ran = consume(tmp_path, "--tee", given=data)
    assert ran.out == data
    assert ran.transcripts()


@pytest.mark.parametrize("data", [b"", b"plain words\n" * 5000, b"\x00\x01\x02"])
def test_what_is_no_stream_goes_through_too(tmp_path: Path, data: bytes) -> None:
    ran = consume(tmp_path, "--tee", given=data)
    assert ran.out == data
    assert ran.code in (3, 4)


def test_an_output_that_cannot_be_written_costs_the_tee_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    data = LOG * 60
    ran = consume(tmp_path, "--tee", "--out", "file/x", given=data)
    assert (ran.code, ran.out) == (4, data)


def test_a_full_disk_costs_the_tee_nothing(tmp_path: Path) -> None:
    data = claude_session(1, 400)

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))

    process = subprocess.run(
        command("consume", "--tee", "--stats", "s.json"),
        input=data, capture_output=True, cwd=tmp_path, env=environment(), timeout=LIMIT_SECONDS, check=False,
        preexec_fn=small_disk,
    )  # fmt: skip
    err = process.stderr.decode()
    assert process.stdout == data
    assert process.returncode == 4
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if "cannot write" in line]) == 1


def test_a_full_standard_output_is_four_and_the_input_is_read(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        process = start(tmp_path, "--tee", stdout=full)
        _, err = process.communicate(LOG * 20, timeout=LIMIT_SECONDS)
    assert process.returncode == 4
    assert b"Traceback" not in err
    assert list(tmp_path.rglob("*.transcript.jsonl"))


def test_a_reader_that_leaves_ends_the_tee_and_not_the_run(tmp_path: Path) -> None:
    process = start(tmp_path, "--tee")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(LOG)
    process.stdin.flush()
    assert process.stdout.read(100) == LOG[:100]
    process.stdout.close()
    writer = threading.Thread(target=_write_all, args=(process.stdin.fileno(), LOG * 50))
    writer.start()
    writer.join(LIMIT_SECONDS)
    process.stdin.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(LIMIT_SECONDS) == 0
    assert "Traceback" not in err
    (path,) = tmp_path.rglob("*.transcript.jsonl")
    assert path.read_bytes().count(b"\n") > 8


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def test_the_reader_of_the_statistics_may_leave(tmp_path: Path) -> None:
    process = start(tmp_path, "--stats", "-")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(LOG, timeout=LIMIT_SECONDS)
    assert process.returncode == 0
    assert b"Traceback" not in err


def test_the_tee_comes_before_anything_is_decided(tmp_path: Path) -> None:
    """What the agent says is passed on at once, while we still wait for enough records to know it."""
    process = start(tmp_path, "--tee")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"half a li")
    process.stdin.flush()
    assert os.read(process.stdout.fileno(), 100) == b"half a li"
    process.communicate(LOG, timeout=LIMIT_SECONDS)
