"""An output that grows: what is kept stays, what is behind it may be taken back, what was lost is told."""

import stat
from pathlib import Path

import pytest

from agentv_stream.errors import SinkError
from agentv_stream.following.growing_output import GrowingOutput, ShortOutput


def test_what_is_not_kept_is_written_over_by_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "out"
    made: list[Path] = []
    output = GrowingOutput(path, on_create=made.append)
    output.append(b"one\n")
    output.append(b"provisional, and longer\n", keep=False)
    assert path.read_bytes() == b"one\nprovisional, and longer\n"
    output.append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    assert (output.length, made) == (8, [path])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_one_cuts_what_a_crash_left_behind_the_length(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"one\nhalf a li")
    output = GrowingOutput(path, 4)
    output.cut()
    assert path.read_bytes() == b"one\n"
    path.write_bytes(b"one\nhalf a li")
    GrowingOutput(path, 4).append(b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_bytes_that_were_kept_and_are_gone_are_told(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(ShortOutput):
        GrowingOutput(path, 4).cut()
    with pytest.raises(ShortOutput, match="removed"):
        GrowingOutput(path, 4).append(b"two\n")
    path.write_bytes(b"o")
    with pytest.raises(ShortOutput, match="1 of 4 bytes"):
        GrowingOutput(path, 4).cut()


def test_nothing_to_cut_makes_no_file(tmp_path: Path) -> None:
    output = GrowingOutput(tmp_path / "out")
    output.cut()
    output.append(b"")
    assert not list(tmp_path.iterdir())


def test_a_part_is_written_over_in_place(tmp_path: Path) -> None:
    output = GrowingOutput(tmp_path / "out")
    output.append(b"one\ntwo\n")
    output.write_at(4, b"2")
    output.append(b"three\n")
    assert output.path.read_bytes() == b"one\n2wo\nthree\n"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"somebody's\n")
    (tmp_path / "out").symlink_to(tmp_path / "target")
    with pytest.raises(SinkError):
        GrowingOutput(tmp_path / "out").append(b"one\n")
    assert (tmp_path / "target").read_bytes() == b"somebody's\n"


@pytest.mark.parametrize("patch", [False, True])
def test_what_was_cut_by_others_is_not_written_on_behind_a_hole(tmp_path: Path, patch: bool) -> None:
    output = GrowingOutput(tmp_path / "out")
    output.append(b"one\ntwo\n")
    output.path.write_bytes(b"")
    with pytest.raises(ShortOutput):
        output.write_at(4, b"TWO") if patch else output.append(b"three\n")
    assert output.path.read_bytes() == b""
