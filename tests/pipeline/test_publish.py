"""Files that appear at once, or not at all."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import temporary_name
from agentv_stream.outputs.publish import publish_now


def test_a_failed_publication_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    (folder / "inner").mkdir(parents=True)
    with pytest.raises(SinkError, match="cannot write"):
        publish_now(folder, b"x")
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_what_a_killed_process_of_the_same_id_left_is_not_in_the_way(tmp_path: Path) -> None:
    """In a container each run has the same process id, and counts from 0."""
    names = {temporary_name(tmp_path / "f").name for _ in range(2)}
    for name in {*names, *(f".f.{os.getpid()}-{number}.tmp" for number in range(5_000))}:
        (tmp_path / name).touch()
    publish_now(tmp_path / "f", b"x")
    assert (tmp_path / "f").read_bytes() == b"x"


def test_pieces_that_cannot_be_made_leave_nothing(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        publish_now(tmp_path / "f", pieces())
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=publish_now, args=(pipe, b"through"))
    writer.start()
    assert pipe.read_bytes() == b"through"
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
