"""Files that we write: private, in order, patched in place, published at once or not at all."""

import os
import resource
import stat
from pathlib import Path

import pytest

from agentv_stream.errors import SinkError
from agentv_stream.outputs.output_file import OutputFile, publish


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_it_comes_into_being_with_the_first_write_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "f"
    file = OutputFile(path)
    assert not path.exists()
    before = os.umask(0)
    try:
        await file.write(b"a\n")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"a\n"  # with the kernel, before it is closed
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    await file.write(b"b\n")
    await file.close()
    assert (path.read_bytes(), file.size) == (b"a\nb\n", 4)


async def test_a_new_agentv_folder_is_ignored_by_git_and_an_old_one_left_alone(tmp_path: Path) -> None:
    for folder in (tmp_path / "new", tmp_path / "old"):
        (tmp_path / "old" / ".agentv").mkdir(parents=True, exist_ok=True)
        file = OutputFile(folder / ".agentv" / "logs" / "f")
        await file.write(b"x")
        await file.close()
    assert (tmp_path / "new" / ".agentv" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / "old" / ".agentv" / ".gitignore").exists()


async def test_an_exclusive_file_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"mine")
    others = iter((path, tmp_path / "g"))
    file = OutputFile(path, another=lambda: next(others))
    await file.write(b"x")
    await file.close()
    assert (path.read_bytes(), file.path, file.path.read_bytes()) == (b"mine", tmp_path / "g", b"x")
    with pytest.raises(SinkError, match="every free name was taken"):
        await OutputFile(path, another=lambda: path).write(b"x")
    assert path.read_bytes() == b"mine"


async def test_a_file_that_was_removed_while_it_was_written_is_a_failure(tmp_path: Path) -> None:
    """Every write succeeds; nothing is left of them."""
    file = OutputFile(tmp_path / "o" / "f")
    await file.write(b"a\n")
    file.path.unlink()
    file.path.parent.rmdir()
    await file.write(b"b\n")
    with pytest.raises(SinkError, match="o/f: it was removed while it was written"):
        await file.close()
    assert not file.path.parent.exists()


async def test_a_file_whose_folder_was_moved_away_while_it_was_written_is_a_failure(tmp_path: Path) -> None:
    """It was named as the transcript, and nothing stood there."""
    file = OutputFile(tmp_path / "o" / "f")
    await file.write(b"a\n")
    file.path.parent.rename(tmp_path / "p")
    with pytest.raises(SinkError, match="o/f: it was moved away while it was written"):
        await file.close()
    assert (tmp_path / "p" / "f").read_bytes() == b"a\n"


async def test_a_file_that_moves_goes_on_and_replaces_nothing(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "early")
    await file.write(b"1")
    (tmp_path / "theirs").write_bytes(b"precious")
    await file.move(tmp_path / "theirs")
    assert file.path == tmp_path / "early"
    await file.move(tmp_path / "late")
    await file.write(b"2")
    await file.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"late": b"12", "theirs": b"precious"}


async def test_gathered_bytes_are_written_in_order_at_the_latest_when_it_is_closed(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "f", gather=10)
    await file.write(b"123")
    assert not file.path.exists()
    await file.write(b"4567890")
    assert file.path.read_bytes() == b"1234567890"
    await file.write(b"ab")
    await file.close()
    assert (file.path.read_bytes(), file.size) == (b"1234567890ab", 12)


@pytest.mark.parametrize("gather", [0, 1000])
async def test_a_patch_writes_over_what_stands_there_and_what_comes_goes_behind(tmp_path: Path, gather: int) -> None:
    file = OutputFile(tmp_path / "f", gather=gather)
    await file.write(b"head ____ tail\n")
    await file.patch(5, b"1234")
    await file.write(b"more\n")
    await file.close()
    assert file.path.read_bytes() == b"head 1234 tail\nmore\n"


async def test_closing_what_was_never_written_leaves_nothing(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "f")
    await file.patch(0, b"x")
    await file.close()
    await file.close()
    assert not list(tmp_path.iterdir())


async def test_what_cannot_be_written_is_a_sink_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SinkError, match=r"cannot write .*file/f: ") as caught:
        await OutputFile(tmp_path / "file" / "f").write(b"x")
    assert caught.value.exit_code == 4
    if Path("/dev/full").exists():
        full = OutputFile(Path("/dev/full"))
        with pytest.raises(SinkError, match="No space left"):
            await full.write(b"x")
        await full.close()


async def test_what_is_published_appears_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "f.json"
    for data in (b"one", b"two, and longer"):
        await publish(path, data)
        assert path.read_bytes() == data
        assert mode(path) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["f.json"]


async def test_a_disk_that_is_full_within_a_line_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "f"
    file = OutputFile(path)
    await file.write(b"one\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12, hard))  # the kernel takes what fits, then refuses
    try:
        with pytest.raises(SinkError):
            await file.write(b"two\nthree and more\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (path.read_bytes(), file.size) == (b"one\ntwo\n", 8)
    await file.write(b"four\n")
    await file.close()
    assert path.read_bytes() == b"one\ntwo\nfour\n"
