"""Unbuffered files from within an event loop: aiofiles under asyncio; under trio, which it knows not, threads."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import aiofiles
from anyio import CancelScope
from anyio.to_thread import run_sync

Mode = Literal["rb", "wb", "xb"]


class AsyncFile(Protocol):
    """What a source and an output need of a file."""

    def fileno(self) -> int: ...

    async def read(self, size: int, /) -> bytes: ...

    async def write(self, data: bytes | memoryview, /) -> int:
        """Gives how many bytes were taken: unbuffered, that may be fewer."""
        ...

    async def close(self) -> None: ...


class _ThreadFile:
    """A file each call of which runs in a thread of anyio's."""

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
    """Raises: OSError."""
    if path.is_fifo():  # which may wait for its other end for ever
        return await _open(path, mode, opener)
    opened: list[AsyncFile] = []
    with CancelScope(shield=True):  # else who is cancelled never gets what a thread has opened, and nobody closes it
        opened.append(await _open(path, mode, opener))
    return opened[0]


async def _open(path: Path, mode: Mode, opener: Callable[[str, int], int] | None) -> AsyncFile:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _ThreadFile(await run_sync(lambda: open(path, mode, buffering=0, opener=opener)))
    return cast(AsyncFile, await aiofiles.open(path, mode, buffering=0, opener=opener))  # pyright: ignore[reportCallIssue,reportArgumentType,reportUnknownMemberType] - its stubs know single modes only
