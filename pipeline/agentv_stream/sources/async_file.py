"""Unbuffered files for an event loop: aiofiles under asyncio; threads under trio, which aiofiles does not support."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import aiofiles
from anyio import CancelScope
from anyio.to_thread import run_sync

Mode = Literal["rb", "wb", "xb"]
_NOWAIT: int | None = getattr(os, "RWF_NOWAIT", None) if hasattr(os, "preadv") else None  # Linux


class AsyncFile(Protocol):
    """The file operations that sources and outputs need."""

    def fileno(self) -> int: ...

    async def read(self, size: int, /) -> bytes: ...

    async def write(self, data: bytes | memoryview, /) -> int:
        """Returns how many bytes were written; being unbuffered, that may be fewer than given."""
        ...

    async def close(self) -> None: ...


class _ThreadFile:
    """A file whose calls run in anyio's worker threads."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def fileno(self) -> int:
        return int(self._file.fileno())

    async def read(self, size: int, /) -> bytes:
        return cast(bytes, await run_sync(self._file.read, size))

    async def write(self, data: bytes | memoryview, /) -> int:
        return cast(int, await run_sync(self._file.write, data))

    async def close(self) -> None:
        await run_sync(self._file.close)


async def open_unbuffered(path: Path, mode: Mode, opener: Callable[[str, int], int] | None = None) -> AsyncFile:
    """Opens a file without a buffer: each call of `read` and `write` is one of the system's. Raises: OSError."""
    if path.is_fifo():  # opening one may wait for its other end, without limit
        return await _open(path, mode, opener)
    opened: list[AsyncFile] = []
    with CancelScope(shield=True):  # else a file opened in a thread during cancellation would never be closed
        opened.append(await _open(path, mode, opener))
    return opened[0]


async def _open(path: Path, mode: Mode, opener: Callable[[str, int], int] | None) -> AsyncFile:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _ThreadFile(await run_sync(lambda: open(path, mode, buffering=0, opener=opener)))
    return cast(AsyncFile, await aiofiles.open(path, mode, buffering=0, opener=opener))  # pyright: ignore[reportCallIssue,reportArgumentType,reportUnknownMemberType] - its stubs know single modes only


def read_cached(descriptor: int, size: int) -> bytes:
    """The next bytes of a file, if the kernel has them in memory; nothing at the end, or if it would take waiting.

    Handing a read over to a thread, which may wait, takes longer than copying the bytes.
    """
    if _NOWAIT is None:
        return b""
    data = bytearray(size)
    try:
        count = os.preadv(descriptor, (data,), os.lseek(descriptor, 0, os.SEEK_CUR), _NOWAIT)
        os.lseek(descriptor, count, os.SEEK_CUR)
    except OSError:  # it would wait, or is no file that can; what else is wrong, a read that waits will say
        return b""
    return bytes(memoryview(data)[:count])
