"""Where bytes come from: standard input, files (compressed ones too), child processes.

A source gives `Chunk`s with their time of arrival and never waits to fill one. It is read by one task.
"""

import gzip
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import aiofiles
import anyio
import anyio.to_thread

from agentv_stages.batch import Chunk
from agentv_stream.errors import SourceError

CHUNK_BYTES = 256 * 1024
PIPE_BYTES = 1024 * 1024
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, Linux


class ByteSource(Protocol):
    """An input of bytes. `name` stands in sources and messages; `finished` says that it does not grow any more."""

    name: str
    finished: bool

    def chunks(self) -> AsyncIterator[Chunk]: ...


def now_ms() -> int:
    """UTC milliseconds."""
    return time.time_ns() // 1_000_000


class DescriptorSource:
    """A pipe, socket or terminal, by file descriptor. Reading can be cancelled without losing bytes."""

    finished = False

    def __init__(self, descriptor: int, name: str = "<stdin>") -> None:
        self.descriptor = descriptor
        self.name = name

    async def chunks(self) -> AsyncIterator[Chunk]:
        descriptor = self.descriptor
        _widen(descriptor)
        while True:
            await anyio.wait_readable(descriptor)
            data = os.read(descriptor, PIPE_BYTES)
            if not data:
                return
            yield Chunk(data, now_ms(), self.name)


class FileSource:
    """A finished file; `.gz` and `.zst` are unpacked while they are read."""

    finished = True

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = str(path)
        check_readable(self.path)

    async def chunks(self) -> AsyncIterator[Chunk]:
        if compression(self.path):
            pieces = read_pieces(self.path)
            while True:
                data = await anyio.to_thread.run_sync(next, pieces, b"")
                if not data:
                    return
                yield Chunk(data, None, self.name)
        else:
            try:
                async with aiofiles.open(self.path, "rb", buffering=0) as file:
                    while data := await file.read(CHUNK_BYTES):
                        yield Chunk(data, None, self.name)
            except OSError as error:
                raise SourceError(f"cannot read {self.path}: {error.strerror or error}") from error


def check_readable(path: Path) -> None:
    """Raises: SourceError for what is missing, a directory, or not ours to read."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise SourceError(f"cannot read {path}: it is a directory; `agentv-stream import {path}` reads a folder of sessions")
    if not os.access(path, os.R_OK):
        raise SourceError(f"cannot read {path}: permission denied")


def compression(path: Path) -> str | None:
    """`gzip` or `zstd`, by the file's first bytes; None for a plain file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError:
        return None
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def open_plain(path: Path) -> BinaryIO:
    """The file's bytes, unpacked. Reading may raise OSError, EOFError or a zstandard error for damaged data."""
    kind = compression(path)
    if kind == "gzip":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if kind == "zstd":
        import zstandard

        return cast(BinaryIO, zstandard.open(path, "rb"))
    return path.open("rb", buffering=0)


def read_pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a file, unpacked, in pieces, in the calling thread.

    Raises: SourceError when it cannot be read or its compression is damaged; what came before has been given.
    """
    failures: tuple[type[Exception], ...] = (OSError, EOFError)
    if compression(path) == "zstd":
        import zstandard

        failures = (OSError, EOFError, zstandard.ZstdError)
    try:
        with open_plain(path) as file:
            while data := file.read(CHUNK_BYTES):
                yield data
    except failures as error:
        raise SourceError(f"cannot read {path}: {error}") from error


def standard_input() -> ByteSource:
    """What stands on standard input: a pipe, a terminal, or a file that was redirected into it."""
    descriptor = sys.stdin.fileno() if sys.stdin is not None else -1
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        raise SourceError("standard input is closed") from error
    if stat.S_ISREG(mode):
        return RedirectedSource(descriptor)
    if stat.S_ISDIR(mode):
        raise SourceError("standard input is a directory")
    return DescriptorSource(descriptor)


class RedirectedSource:
    """A regular file on a descriptor: an event loop cannot wait for it, and need not."""

    finished = True

    def __init__(self, descriptor: int, name: str = "<stdin>") -> None:
        self.descriptor = descriptor
        self.name = name

    async def chunks(self) -> AsyncIterator[Chunk]:
        while True:
            data = await anyio.to_thread.run_sync(os.read, self.descriptor, CHUNK_BYTES)
            if not data:
                return
            yield Chunk(data, None, self.name)


def _widen(descriptor: int) -> None:
    """Asks for a larger pipe, so that a busy writer is woken less often; where that is refused it stays as it is."""
    if sys.platform == "linux":
        import fcntl

        try:
            fcntl.fcntl(descriptor, _SET_PIPE_SIZE, PIPE_BYTES)
        except OSError:
            return
