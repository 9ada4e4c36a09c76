"""Where bytes go: files that are private, published at once or grown line by line, and standard output.

A sink takes batches in order. A required one that fails fails the run; an optional one is detached with a warning.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

import aiofiles
import anyio
import anyio.to_thread
from aiofiles.threadpool.binary import AsyncFileIO

from agentv_stages.batch import Batch
from agentv_stages.fault import Fault
from agentv_stages.message import Message
from agentv_stages.result import Observer
from agentv_stages.sinks import dead_letters
from agentv_stages.sinks.case import CaseLine
from agentv_stages.sinks.transcript import Identity, TranscriptRows, patch, totals_members
from agentv_stream.errors import SinkError
from agentv_stream.naming import free_name, prepare_folder

PRIVATE = 0o600


class Sink(Protocol):
    """One consumer of batches. `required`: its failure is the run's."""

    name: str
    required: bool

    async def write(self, batch: Batch) -> None:
        """Takes one batch. Raises: SinkError."""
        ...

    async def close(self, whole: bool) -> None:
        """The input has ended; `whole` False after a failure elsewhere. Raises: SinkError."""
        ...


def private_opener(path: str, flags: int) -> int:
    """Opens with mode 0600, whatever the umask; a link that somebody laid there is not followed when creating."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), PRIVATE)


async def _open(path: Path, mode: str) -> AsyncFileIO:
    """Opens a file unbuffered, as aiofiles has it; its stubs only know literal modes."""
    opened: Any = aiofiles.open(path, mode, buffering=0, opener=private_opener)  # type: ignore[call-overload]  # pyright: ignore[reportUnknownVariableType,reportCallIssue,reportArgumentType] - see above
    file: AsyncFileIO = cast(AsyncFileIO, await opened)
    return file


class OutputFile:
    """A private file that grows by whole lines; opened at the first write. `size` counts bytes handed to the kernel."""

    def __init__(self, path: Path, *, exclusive: bool = False) -> None:
        self.path = path
        self.size: int = 0
        self._mode = "xb" if exclusive else "wb"
        self._file: AsyncFileIO | None = None

    async def write(self, data: bytes) -> None:
        """Appends `data` and hands it to the kernel before it returns.

        Raises: SinkError.
        """
        try:
            if self._file is None:
                await anyio.to_thread.run_sync(prepare_folder, self.path.parent)
                self._file = await _open(self.path, self._mode)
            view = memoryview(data)
            while view:
                written: int = await self._file.write(view)
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
        if self._file is None:
            return
        descriptor = self._file.fileno()
        try:
            await anyio.to_thread.run_sync(os.pwrite, descriptor, data, offset)
        except OSError as error:
            raise SinkError(str(self.path), error) from error

    async def close(self) -> None:
        """Raises: SinkError (some file systems tell of a full disk only now)."""
        if self._file is None:
            return
        file, self._file = self._file, None
        try:
            await file.close()
        except OSError as error:
            raise SinkError(str(self.path), error) from error


async def publish(path: Path, data: bytes) -> None:
    """Writes a whole file so that it appears at once, or not at all; private.

    Raises: SinkError.
    """
    await anyio.to_thread.run_sync(publish_now, path, data)


def publish_now(path: Path, data: bytes) -> None:
    """As `publish`, in the calling thread."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        prepare_folder(path.parent)
        if path.exists() and not path.is_file():  # /dev/null, a pipe: there is nothing to rename
            with path.open("wb") as file:
                file.write(data)
            return
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SinkError(str(path), error) from error


class RenderSink:
    """Renders each batch with a function and appends the bytes to a file, which `place` names at the first write."""

    def __init__(
        self,
        name: str,
        place: Callable[[], Path],
        render: Callable[[Batch], bytes],
        flush: Callable[[], bytes] = bytes,
        *,
        required: bool = False,
    ) -> None:
        self.name = name
        self.required = required
        self.path: Path | None = None
        self._place = place
        self._file: OutputFile | None = None
        self._render = render
        self._flush = flush

    async def write(self, batch: Batch) -> None:
        await self._append(self._render(batch))

    async def _append(self, data: bytes) -> None:
        if not data:
            return
        if self._file is None:
            self.path = self._place()
            self._file = OutputFile(self.path)
        await self._file.write(data)

    async def close(self, whole: bool) -> None:
        try:
            if whole:
                await self._append(self._flush())
        finally:
            if self._file is not None:
                await self._file.close()


class CaseSink:
    """The one-line-per-case transcript; it appears at the end, at once, because half a line is no JSON."""

    name = "case transcript"
    required = True

    def __init__(self, place: Callable[[], tuple[Path, str, Identity]], observer: Observer) -> None:
        self._place = place
        self._observer = observer
        self._line = CaseLine()
        self._file: OutputFile | None = None
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        data = self._line.render(batch.messages) if batch.messages else b""
        if data:
            await self._open().write(data)

    def _open(self) -> OutputFile:
        if self._file is None:
            folder, name, _ = self._place()
            self.path = folder / f"{name}.case.jsonl"
            self._file = OutputFile(self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp"))
        return self._file

    async def close(self, whole: bool) -> None:
        if self._file is None and not whole:
            return
        file, totals = self._open(), self._observer.totals
        try:
            _, _, identity = self._place()
            end = self._line.close(identity, totals.tokens(), totals.cost_usd, totals.duration_ms)
            await file.write(end)
        finally:
            await file.close()
        assert self.path is not None
        try:
            await anyio.to_thread.run_sync(file.path.replace, self.path)
        except OSError as error:
            raise SinkError(str(self.path), error) from error


class TranscriptSink:
    """The transcript. Its first row waits until the session is known, or for 64 records, because every row names it.

    A session that is read again replaces its own file atomically; somebody else's file of that name is left alone.
    """

    name = "transcript"
    required = True
    patience = 64

    def __init__(self, place: Callable[[], tuple[Path, str, Identity]], observer: Observer, finished: bool) -> None:
        self._place = place
        self._observer = observer
        self._finished = finished
        self._held: list[Message] = []
        self._rows: TranscriptRows | None = None
        self._file: OutputFile | None = None
        self._final: Path | None = None
        self.path: Path | None = None
        self.known = False

    async def write(self, batch: Batch) -> None:
        if batch.messages:
            self._held += batch.messages
        facts = self._observer.facts
        if self._rows is None:
            self.known = facts.session_id is not None and facts.model is not None
            if not self._held or not (self.known or facts.records >= self.patience):
                return
        if self._held:
            await self._write()

    async def _write(self) -> None:
        if self._rows is None:
            await self._open()
        assert self._rows is not None and self._file is not None
        data = self._rows.render(self._held)
        self._held = []
        if data:
            await self._file.write(data)

    async def _open(self) -> None:
        folder, name, identity = self._place()
        suffix = ".transcript.jsonl"
        wanted = folder / f"{name}{suffix}"
        taken = await anyio.to_thread.run_sync(wanted.exists)
        if taken and self._finished and await anyio.to_thread.run_sync(is_of_session, wanted, identity.session_id):
            self._final = self.path = wanted
            self._file = OutputFile(wanted.with_name(f".{wanted.name}.{os.getpid()}.tmp"))
        else:
            self.path = await anyio.to_thread.run_sync(free_name, folder, name, suffix) if taken else wanted
            self._file = OutputFile(self.path, exclusive=True)
        self._rows = TranscriptRows(identity)

    async def close(self, whole: bool) -> None:
        """Writes what waits, then the totals into the first row."""
        if self._rows is None and not whole and not self._held:
            return
        if self._rows is None:
            await self._open()
        file, rows = self._file, self._rows
        assert file is not None and rows is not None
        try:
            await self._write()
            totals = self._observer.totals
            patched = patch(totals_members(totals.tokens(), totals.cost_usd, totals.duration_ms))
            if patched is not None and rows.rows:
                await file.patch(*patched)
        finally:
            await file.close()
        if self._final is not None and file.size:
            try:
                await anyio.to_thread.run_sync(file.path.replace, self._final)
            except OSError as error:
                raise SinkError(str(self._final), error) from error


def is_of_session(path: Path, session_id: str) -> bool:
    """Whether a transcript is one of ours, of that session."""
    import msgspec

    class Head(msgspec.Struct):
        source: dict[str, object]

    try:
        with path.open("rb") as file:
            row = msgspec.json.decode(file.readline(64 * 1024 * 1024), type=Head)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return row.source.get("session_id") == session_id


class DeadLetterSink:
    """Dead letters, beside the transcript; the file comes into being with the first fault."""

    name = "dead letters"
    required = True

    def __init__(self, place: Callable[[], tuple[Path, str]]) -> None:
        self._place = place
        self._file: OutputFile | None = None
        self._blob: OutputFile | None = None
        self._blob_fault: Fault | None = None
        self._folder = Path()
        self.path: Path | None = None

    async def write(self, batch: Batch) -> None:
        for fault in batch.faults:
            await self._fault(fault)

    async def _fault(self, fault: Fault) -> None:
        if self._file is None:
            folder, name = self._place()
            self.path = folder / f"{name}.dead-letters.jsonl"
            self._folder = folder / f"{name}.dead"
            self._file = OutputFile(self.path)
        if fault.part == "whole":
            blob = None
            if dead_letters.inline_text(fault) is None and fault.data:
                path = self._folder / f"{fault.offset}.bin"
                await publish(path, fault.data)
                blob = f"{self._folder.name}/{path.name}"
            await self._file.write(dead_letters.render(fault, blob))
            return
        if fault.part == "begin":
            self._blob_fault = fault
            self._blob = OutputFile(self._folder / f"{fault.offset}.bin")
        if self._blob is not None and fault.data:
            await self._blob.write(fault.data)
        if fault.part == "end" and self._blob is not None and self._blob_fault is not None:
            await self._blob.close()
            blob = f"{self._folder.name}/{self._blob.path.name}"
            await self._file.write(dead_letters.render(self._blob_fault, blob, self._blob.size))
            self._blob = self._blob_fault = None

    async def close(self, whole: bool) -> None:
        if self._blob is not None:
            await self._blob.close()
        if self._file is not None:
            await self._file.close()
