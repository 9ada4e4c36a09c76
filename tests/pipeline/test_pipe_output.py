"""Outputs that cannot seek: readers that come late, are slow, leave, or never come."""

import os
from pathlib import Path

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from agentv_stream.errors import SinkError
from agentv_stream.outputs.pipe_output import PipeOutput, cannot_seek

LONG = bytes(range(256)) * 4096  # 1 MiB: more than a pipe holds


def fifo(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


def test_standard_output_pipes_and_devices_cannot_seek(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert cannot_seek("-")
    assert cannot_seek(str(fifo(tmp_path)))
    assert cannot_seek("/dev/null")
    assert not cannot_seek(str(tmp_path / "file"))
    assert not cannot_seek(str(tmp_path))
    assert not cannot_seek(str(tmp_path / "missing"))


async def test_what_cannot_be_opened_is_told_and_not_waited_for(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SinkError, match=target.name):
            await PipeOutput(str(target)).write(b"x")


async def read_all(path: Path) -> bytes:
    return await anyio.Path(path).read_bytes()


async def test_everything_arrives_however_much_it_is(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    output = PipeOutput(str(path))
    got: list[bytes] = []

    async def read() -> None:
        got.append(await read_all(path))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await output.write(LONG)
        await output.write(b"end")
        output.close()
    assert got == [LONG + b"end"]


async def test_a_reader_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    output = PipeOutput(str(path))

    async def write() -> None:
        await output.write(b"hello")
        output.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await wait_all_tasks_blocked()
        assert await read_all(path) == b"hello"


async def test_a_reader_that_leaves_is_told_apart_from_other_failures(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    output = PipeOutput(str(path))
    await output.write(b"x")
    os.close(reader)
    with pytest.raises(SinkError, match="Broken pipe"):
        await output.write(b"y")
    assert output.left
    output.close()


async def test_a_full_device_is_a_failure() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    output = PipeOutput("/dev/full")
    with pytest.raises(SinkError, match="No space left"):
        await output.write(b"x")
    assert not output.left
    output.close()


@pytest.mark.parametrize("reader_comes", [False, True])
async def test_in_a_hurry_nobody_is_waited_for_for_long(tmp_path: Path, reader_comes: bool) -> None:
    path = fifo(tmp_path)
    output = PipeOutput(str(path))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if reader_comes else None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_hurry_when_blocked, output)
        with pytest.raises(SinkError, match="nobody reads it"):
            await output.write(LONG)
    with pytest.raises(SinkError, match="nobody reads it"):  # and from now on it is known
        await output.write(LONG)
    output.close()
    if reader is not None:
        os.close(reader)


async def _hurry_when_blocked(output: PipeOutput) -> None:
    await wait_all_tasks_blocked()
    output.hurry(0.01)
    output.hurry(3600)  # the first call counts


async def test_in_a_hurry_what_is_read_is_still_written(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    output = PipeOutput(str(path))
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    output.hurry(3600)
    await output.write(b"all of it")
    output.close()
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
