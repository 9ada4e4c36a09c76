"""The sources of bytes: standard input, other descriptors, files (compressed ones too), named pipes.

A source yields `Chunk`s with their time of arrival and never waits to fill one. It is read by one task.
"""

import os
import select
import stat
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from agentv_stages.model.batch import Chunk
from agentv_stream.errors import SourceError
from agentv_stream.sources.async_file import open_unbuffered, read_cached
from agentv_stream.sources.files import CHUNK_BYTES, check_readable, compression, read_pieces

PIPE_BYTES = 1024 * 1024
READ_BYTES = 512 * 1024  # of a file at a time, where a thread has to wait for it: each read is a round trip
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, Linux


class ByteSource(Protocol):
    """An input of bytes. `name` identifies it in events and messages; `finished` means that it no longer grows."""

    name: str
    finished: bool

    def chunks(self) -> AsyncGenerator[Chunk]: ...


def now_ms() -> int:
    """UTC milliseconds."""
    return time.time_ns() // 1_000_000


class DescriptorSource:
    """A pipe, socket or terminal, by file descriptor. Reading can be cancelled without losing bytes."""

    finished = False

    def __init__(self, descriptor: int, name: str = "<stdin>") -> None:
        self.descriptor = descriptor
        self.name = name

    async def chunks(self) -> AsyncGenerator[Chunk]:
        descriptor = self.descriptor
        _widen(descriptor)
        while True:
            try:
                if not _readable(descriptor):  # checked first: waiting takes two system calls and a switch of the loop
                    await anyio.wait_readable(descriptor)
                data = os.read(descriptor, CHUNK_BYTES)
            except OSError as error:
                raise SourceError(f"cannot read {self.name}: {error.strerror or error}") from error
            if not data:
                return
            yield Chunk(data, now_ms(), self.name)


class FileSource:
    """A finished file, decompressed while reading if `.gz` or `.zst`; or a named pipe, which is not finished.

    Reading a named pipe can be cancelled, on Linux also before anybody writes to it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        check_readable(self.path)
        self.finished = not self.path.is_fifo()  # an agent may still be writing into a pipe

    async def chunks(self) -> AsyncGenerator[Chunk]:
        if compression(self.path):
            with closing(read_pieces(self.path)) as pieces:
                while data := await anyio.to_thread.run_sync(next, pieces, b""):
                    yield Chunk(data, None, self.name)
        elif not self.finished:
            async with aclosing(self._piped()) as piped:
                async for chunk in piped:
                    yield chunk
        else:
            try:
                file = await open_unbuffered(self.path, "rb")
                try:
                    while data := await _cached(file.fileno()) or await file.read(READ_BYTES):
                        for at in range(0, len(data), CHUNK_BYTES):
                            yield Chunk(data[at : at + CHUNK_BYTES], None, self.name)
                finally:
                    with anyio.CancelScope(shield=True):
                        await file.close()
            except OSError as error:
                raise SourceError(f"cannot read {self.path}: {error.strerror or error}") from error

    async def _piped(self) -> AsyncGenerator[Chunk]:
        """As a descriptor: a thread that waits for a writer, or for its next bytes, could not be cancelled."""
        # Elsewhere a pipe that has had no writer yet reads as ended.
        flags = os.O_RDONLY | (os.O_NONBLOCK if sys.platform == "linux" else 0)
        try:
            descriptor = await anyio.to_thread.run_sync(os.open, self.path, flags)
        except OSError as error:
            raise SourceError(f"cannot read {self.path}: {error.strerror or error}") from error
        try:
            async with aclosing(DescriptorSource(descriptor, self.name).chunks()) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            os.close(descriptor)


def standard_input() -> ByteSource:
    """The source for standard input: a pipe, a terminal, or a file that was redirected into it.

    Raises: SourceError if it is closed, a directory, or open for writing only.
    """
    descriptor = sys.stdin.fileno() if sys.stdin is not None else -1
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        raise SourceError("standard input is closed") from error
    if stat.S_ISDIR(mode):
        raise SourceError("standard input is a directory")
    return descriptor_source(descriptor, "<stdin>")


def descriptor_source(descriptor: int, name: str) -> ByteSource:
    """The source for an open file descriptor.

    Raises: SourceError if it is none, of a directory, or open for writing only.
    """
    try:
        mode = os.fstat(descriptor).st_mode
        writes_only = _writes_only(descriptor)
    except OSError as error:
        raise SourceError(f"cannot read {name}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise SourceError(f"cannot read {name}: it is a directory")
    if writes_only:  # the writing end of a pipe never becomes readable
        raise SourceError(f"cannot read {name}: it is open for writing only")
    if stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
        return RedirectedSource(descriptor, name)
    return DescriptorSource(descriptor, name)


def _writes_only(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


class RedirectedSource:
    """A regular file (or /dev/null) on a descriptor: an event loop cannot wait for it, and need not."""

    finished = True

    def __init__(self, descriptor: int, name: str = "<stdin>") -> None:
        self.descriptor = descriptor
        self.name = name

    async def chunks(self) -> AsyncGenerator[Chunk]:
        while True:
            try:
                data = await _cached(self.descriptor)
                data = data or await anyio.to_thread.run_sync(os.read, self.descriptor, CHUNK_BYTES)
            except OSError as error:
                raise SourceError(f"cannot read {self.name}: {error.strerror or error}") from error
            if not data:
                return
            yield Chunk(data, None, self.name)


async def _cached(descriptor: int) -> bytes:
    """As `read_cached`, a chunk; can be cancelled before it reads."""
    await anyio.lowlevel.checkpoint_if_cancelled()
    return read_cached(descriptor, CHUNK_BYTES)


def _readable(descriptor: int) -> bool:
    """Whether a read would not block. `select` rather than `poll`, which does not support terminals on macOS."""
    try:
        return bool(select.select((descriptor,), (), (), 0)[0])
    except ValueError:  # a descriptor too large for `select`
        return False


def _widen(descriptor: int) -> None:
    """Enlarges the pipe's buffer, so that a busy writer is woken less often; if that is refused it stays as it is."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(descriptor, _SET_PIPE_SIZE, PIPE_BYTES)
        except OSError:
            return
