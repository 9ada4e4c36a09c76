"""Files that a running session writes: private, growing by whole lines, written from within an event loop."""

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from agentv_stream.errors import SinkError
from agentv_stream.outputs.durable import sync_file, sync_path
from agentv_stream.outputs.naming import prepare_folder
from agentv_stream.outputs.publish import private_opener, publish_now
from agentv_stream.sources.async_file import AsyncFile, open_unbuffered

_MOST_TRIES = 100


class OutputFile:
    """A private file that grows by whole lines; opened at the first write. `size` counts bytes handed to the kernel.

    `another`: the file must be new; if one exists, this returns the path to try next.
    `gather`: this many bytes are buffered before they are written. Only for finished inputs: behind a pipe everything
    goes to the kernel at once, so that nothing is lost when we are killed.
    `final`: if `path` is a temporary name, the final path, which errors show.

    `failed` is set by a write that failed. On close, a temporary file is then removed, and so is an empty file that we
    created.
    """

    def __init__(
        self,
        path: Path,
        *,
        another: Callable[[], Path] | None = None,
        gather: int = 0,
        final: Path | None = None,
    ) -> None:
        self.path = path
        self.failed = False
        self.final = final
        self._made = False
        self._another = another
        self.gather = gather
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self.size: int = 0
        self._file: AsyncFile | None = None

    async def write(self, data: bytes) -> None:
        """Appends `data`; without `gather` it has reached the kernel when this returns.

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
        view = memoryview(data)
        try:
            if self._file is None:
                self._file = await self._begin()
            while view:
                written = await self._file.write(view)
                if not written:
                    raise OSError(errno.EIO, "nothing was written")
                self.size += written
                view = view[written:]
        except OSError as error:
            if data.endswith(b"\n"):
                self._cut_half_line(data[: len(data) - len(view)])
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> SinkError:
        self.failed = True
        return SinkError(str(self.place), error)

    def _cut_half_line(self, written: bytes) -> None:
        """Removes the partial line that a full disk left: it would break readers that expect whole lines of JSON."""
        half = len(written) - (written.rfind(b"\n") + 1)
        if self._file is not None and half:
            with suppress(OSError):  # a pipe or a device cannot be truncated
                os.ftruncate(self._file.fileno(), self.size - half)
                self.size -= half
                os.lseek(self._file.fileno(), self.size, os.SEEK_SET)

    async def open(self) -> None:
        """Creates the file, which otherwise the first write does. Raises: SinkError."""
        await self._write(b"")

    async def _begin(self) -> AsyncFile:
        await anyio.to_thread.run_sync(prepare_folder, self.path.parent)
        if self._another is None:
            self._made = not await anyio.to_thread.run_sync(os.path.lexists, self.path)
            return await open_unbuffered(self.path, "wb", private_opener)
        for _ in range(_MOST_TRIES):
            try:
                file = await open_unbuffered(self.path, "xb", private_opener)
            except FileExistsError:  # created by another process after it was looked for
                self.path = await anyio.to_thread.run_sync(self._another)
            else:
                self._made = True
                return file
        raise FileExistsError(errno.EEXIST, "every free name was taken by another process")

    async def move(self, path: Path) -> None:
        """Renames the file; keeps its name if the new one exists or renaming fails."""

        def link() -> None:
            os.link(self.path, path)  # unlike a rename it replaces nothing
            self.path.unlink()
            sync_path(path.parent)

        try:
            await anyio.to_thread.run_sync(link)
        except OSError:
            return
        self.path = path

    async def patch(self, offset: int, data: bytes) -> None:
        """Overwrites the bytes at `offset` with `data`.

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
            raise self._failure(error) from error

    async def close(self) -> None:
        """Writes the buffered bytes; then the file is on the disk.

        Raises: SinkError (some file systems report a full disk only now), also if the file has been removed.
        """
        try:
            if self._gathered:
                await self._write(self._take_gathered())
        finally:
            await self._close()

    async def _close(self) -> None:
        if self._file is None:
            return
        file, self._file = self._file, None
        removed = self.size > 0 and os.fstat(file.fileno()).st_nlink == 0
        try:
            if self.size and not removed and not self.failed:
                await anyio.to_thread.run_sync(sync_file, file.fileno())
            await file.close()
            if self.size and self.final is None:
                await anyio.to_thread.run_sync(sync_path, self.path.parent)
            if removed or (self.size > 0 and not os.path.lexists(self.path)):  # although every write to it succeeded
                how = "removed" if removed else "moved away"
                raise FileNotFoundError(errno.ENOENT, f"it was {how} while it was written")
        except OSError as error:
            raise self._failure(error) from error
        finally:
            temporary = self.final is not None
            if self.failed and (temporary or (self._made and not self.size)):
                await self.remove()

    @property
    def place(self) -> Path:
        """Its current or final path."""
        return self.final or self.path

    async def take_place(self) -> None:
        """Moves a closed temporary file to its final path. Raises: SinkError; the temporary file is removed then."""
        try:
            await anyio.to_thread.run_sync(self.path.replace, self.place)
            await anyio.to_thread.run_sync(sync_path, self.place.parent)
        except OSError as error:
            await self.remove()
            raise self._failure(error) from error

    @property
    def got_nothing(self) -> bool:
        """Whether the writing failed before a byte was written."""
        return self.failed and not self.size

    async def remove(self) -> None:
        """Removes the file, if possible."""
        with suppress(OSError):
            await anyio.to_thread.run_sync(self.path.unlink)


async def publish(path: Path, data: bytes | Iterable[bytes], *, sync: bool = True) -> None:
    """As `publish_now`.

    Raises: SinkError.
    """
    await anyio.to_thread.run_sync(partial(publish_now, path, data, sync=sync))
