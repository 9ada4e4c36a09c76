"""Files that a running session writes: private, grown by whole lines; from within an event loop."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

import anyio
import anyio.to_thread

from agentv_stream.async_file import AsyncFile, Mode, open_unbuffered
from agentv_stream.errors import SinkError
from agentv_stream.naming import prepare_folder
from agentv_stream.publish import private_opener, publish_now


class OutputFile:
    """A private file that grows by whole lines; opened at the first write. `size` counts bytes handed to the kernel.

    `gather`: so many bytes are collected before they are written. Only for inputs that are finished: behind a pipe
    everything goes to the kernel at once, so that nothing is lost when we are killed.
    """

    def __init__(self, path: Path, *, exclusive: bool = False, gather: int = 0) -> None:
        self.path = path
        self.gather = gather
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self.size: int = 0
        self._mode: Mode = "xb" if exclusive else "wb"
        self._file: AsyncFile | None = None

    async def write(self, data: bytes) -> None:
        """Appends `data`; without `gather` it is with the kernel when this returns.

        Raises: SinkError.
        """
        if self.gather:
            self._gathered.append(data)
            self._gathered_bytes += len(data)
            if self._gathered_bytes < self.gather:
                return
            data = self._take_gathered()
        await self._write(data)

    def _take_gathered(self) -> bytes:
        data = b"".join(self._gathered)
        self._gathered, self._gathered_bytes = [], 0
        return data

    async def _write(self, data: bytes) -> None:
        try:
            if self._file is None:
                await anyio.to_thread.run_sync(prepare_folder, self.path.parent)
                self._file = await open_unbuffered(self.path, self._mode, private_opener)
            view = memoryview(data)
            while view:
                written = await self._file.write(view)
                if not written:
                    raise OSError(errno.EIO, "nothing was written")
                self.size += written
                view = view[written:]
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    async def patch(self, offset: int, data: bytes) -> None:
        """Writes `data` at `offset`, over what stands there.

        Raises: SinkError.
        """
        if self._gathered:
            await self._write(self._take_gathered())
        if self._file is None:
            return
        descriptor = self._file.fileno()
        try:
            await anyio.to_thread.run_sync(os.pwrite, descriptor, data, offset)
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    async def close(self) -> None:
        """Writes what was gathered. Raises: SinkError (some file systems tell of a full disk only now)."""
        try:
            if self._gathered:
                await self._write(self._take_gathered())
        finally:
            await self._close()

    async def _close(self) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            await file.close()
        except OSError as error:
            raise SinkError(str(self.path), error) from error


async def publish(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Writes a whole file so that it appears at once, or not at all; private.

    Raises: SinkError.
    """
    await anyio.to_thread.run_sync(publish_now, path, data)
