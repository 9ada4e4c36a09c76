"""Sources: every byte, in order, as soon as it is there."""

import fcntl
import gzip
import os
import sys
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from anyio import wait_all_tasks_blocked

from agentv_stages.model.batch import Chunk
from agentv_stream.errors import SourceError
from agentv_stream.sources import async_file
from agentv_stream.sources.async_file import read_cached
from agentv_stream.sources.source import (
    ByteSource,
    DescriptorSource,
    FileSource,
    RedirectedSource,
    descriptor_source,
    now_ms,
    standard_input,
)

DATA = bytes(range(256)) * 10_000


async def chunks_of(source: ByteSource) -> list[Chunk]:
    return [chunk async for chunk in source.chunks()]


async def test_a_pipe_gives_everything_with_its_time_of_arrival() -> None:
    read_end, write_end = os.pipe()
    before = now_ms()
    source = DescriptorSource(read_end)
    got: list[Chunk] = []
    async with anyio.create_task_group() as tasks:

        async def read() -> None:
            got.extend(await chunks_of(source))

        tasks.start_soon(read)
        await anyio.to_thread.run_sync(_write_all, write_end, DATA)
    os.close(read_end)
    assert b"".join(chunk.data for chunk in got) == DATA
    assert all(chunk.arrived_ms is not None and before <= chunk.arrived_ms <= now_ms() for chunk in got)
    assert {chunk.file for chunk in got} == {"<stdin>"}
    assert not source.finished


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.close(descriptor)


async def test_what_is_there_is_given_without_waiting_for_more() -> None:
    read_end, write_end = os.pipe()
    chunks = DescriptorSource(read_end).chunks()
    os.write(write_end, b"a")
    assert (await anext(aiter(chunks))).data == b"a"
    os.write(write_end, b"bc")
    assert (await anext(aiter(chunks))).data == b"bc"
    os.close(write_end)
    assert [chunk async for chunk in chunks] == []
    os.close(read_end)


async def test_a_cancelled_reader_has_lost_nothing() -> None:
    read_end, write_end = os.pipe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chunks_of, DescriptorSource(read_end))
        await wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    os.write(write_end, b"still here")
    os.close(write_end)
    assert [chunk.data for chunk in await chunks_of(DescriptorSource(read_end))] == [b"still here"]
    os.close(read_end)


async def test_what_is_in_memory_is_read_as_what_a_thread_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(DATA)
    descriptor = os.open(path, os.O_RDONLY)
    parts = iter(lambda: read_cached(descriptor, 1_000_000), b"")
    assert b"".join(parts) in (DATA, b"")  # not every file system can tell
    os.close(descriptor)
    assert read_cached(descriptor, 10) == b""  # the read that waits says what is wrong
    read_end, write_end = os.pipe()
    os.write(write_end, b"x")
    assert read_cached(read_end, 10) == b""
    os.close(read_end)
    os.close(write_end)
    monkeypatch.setattr(async_file, "_NOWAIT", None)
    assert b"".join(chunk.data for chunk in await chunks_of(FileSource(path))) == DATA


@pytest.mark.parametrize("packed", [False, True])
async def test_a_file_gives_its_bytes_unpacked_and_has_no_arrival(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(DATA) if packed else DATA)
    source = FileSource(path)
    got = await chunks_of(source)
    assert b"".join(chunk.data for chunk in got) == DATA
    assert {(chunk.arrived_ms, chunk.file) for chunk in got} == {(None, str(path))}
    assert source.finished


async def test_an_empty_file_has_no_chunk(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"")
    assert await chunks_of(FileSource(tmp_path / "log")) == []


async def test_a_file_that_is_gone_when_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    source = FileSource(path)
    path.unlink()
    with pytest.raises(SourceError, match="No such file"):
        await chunks_of(source)


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_told_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError):
        FileSource(tmp_path / name)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "written",
    [
        pytest.param(None, marks=pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it reads as ended")),
        b"so",
    ],
)
def test_a_named_pipe_that_is_silent_can_be_left(tmp_path: Path, written: bytes | None, backend: str) -> None:
    """A thread waited for a writer, or for its next bytes, and everything for the thread."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR) if written is not None else None
    if writer is not None:
        os.write(writer, written or b"")

    async def main() -> None:
        got: list[Chunk] = []

        async def read() -> None:
            async with aclosing(FileSource(path).chunks()) as chunks:
                async for chunk in chunks:
                    got.append(chunk)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            while written is not None and not got:
                await anyio.lowlevel.checkpoint()
            for _ in range(3):
                await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert b"".join(chunk.data for chunk in got) == (written or b"")
        assert all(chunk.arrived_ms is not None for chunk in got)

    try:
        anyio.run(main, backend=backend)
    finally:
        if writer is not None:
            os.close(writer)


async def test_a_named_pipe_gives_everything_its_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    chunks: list[Chunk] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, path.write_bytes, DATA)
        chunks += await chunks_of(FileSource(path))
    assert b"".join(chunk.data for chunk in chunks) == DATA


@contextmanager
def stdin(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    with os.fdopen(descriptor) as file:
        monkeypatch.setattr(sys, "stdin", file)
        yield


async def test_a_file_on_standard_input_is_finished_and_a_pipe_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_bytes(DATA)
    with stdin(os.open(tmp_path / "log", os.O_RDONLY), monkeypatch):
        source = standard_input()
        assert isinstance(source, RedirectedSource)
        assert source.finished
        assert b"".join(chunk.data for chunk in await chunks_of(source)) == DATA
    read_end, write_end = os.pipe()
    os.close(write_end)
    with stdin(read_end, monkeypatch):
        assert not standard_input().finished
    with stdin(os.open("/dev/null", os.O_RDONLY), monkeypatch):
        assert await chunks_of(standard_input()) == []


async def test_a_descriptor_is_read_as_what_it_is(tmp_path: Path) -> None:
    """The number may be beyond what `select` takes, and the event loop cannot wait for a file."""
    (tmp_path / "log").write_bytes(DATA)
    descriptor = os.open(tmp_path / "log", os.O_RDONLY)
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 1024)
    except OSError:  # more than this process may open
        high = os.dup(descriptor)
    try:
        source = descriptor_source(high, "<descriptor>")
        assert source.finished
        assert b"".join(chunk.data for chunk in await chunks_of(source)) == DATA
    finally:
        os.close(high)
        os.close(descriptor)


def test_the_writing_end_of_a_pipe_and_a_folder_are_refused(tmp_path: Path) -> None:
    """From the writing end nothing ever came, and nobody was told."""
    read_end, write_end = os.pipe()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert not descriptor_source(read_end, "<descriptor>").finished
        with pytest.raises(SourceError, match="open for writing only"):
            descriptor_source(write_end, "<descriptor>")
        with pytest.raises(SourceError, match="it is a directory"):
            descriptor_source(folder, "<descriptor>")
    finally:
        for descriptor in (read_end, write_end, folder):
            os.close(descriptor)
    with pytest.raises(SourceError, match="Bad file descriptor"):
        descriptor_source(read_end, "<descriptor>")


def test_a_closed_standard_input_and_a_folder_on_it_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnFolder:
        def __init__(self) -> None:
            self.descriptor = os.open(tmp_path, os.O_RDONLY)

        def fileno(self) -> int:
            return self.descriptor

    folder = OnFolder()
    monkeypatch.setattr(sys, "stdin", folder)
    with pytest.raises(SourceError, match="is a directory"):
        standard_input()
    os.close(folder.descriptor)
    with pytest.raises(SourceError, match="is closed"):
        standard_input()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="is closed"):
        standard_input()


async def test_a_named_pipe_is_read_from_its_first_byte(tmp_path: Path) -> None:
    """`consume <(agent …)` lost four bytes to the look for compression; with a name it waited for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def fill() -> None:
        pipe.write_bytes(b"abcdef\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, fill)
        with anyio.fail_after(10):
            assert b"".join([chunk.data for chunk in await chunks_of(FileSource(pipe))]) == b"abcdef\n"
