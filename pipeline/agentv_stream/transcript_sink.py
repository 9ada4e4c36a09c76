"""The transcript's file, in its two forms: a row per message, and a line per case."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from anyio.to_thread import run_sync

from agentv_stages.batch import Batch
from agentv_stages.message import Message
from agentv_stages.result import Observer
from agentv_stages.sinks.case import CaseLine
from agentv_stages.sinks.transcript import Identity, TranscriptRows, patch, totals_members
from agentv_stream.errors import SinkError
from agentv_stream.files import is_folder, is_there
from agentv_stream.naming import claim_name, free_name, temporary_name
from agentv_stream.output_file import OutputFile

SUFFIX = ".transcript.jsonl"
GATHER_BYTES = 512 * 1024
LIVE_PATIENCE = 64
FINISHED_PATIENCE = 4096  # Copilot's stream tells its session's id in its last record


class TranscriptSink:
    """The transcript. Its first row waits until the session is known, because every row names it: for 64 records of a
    stream that an agent writes just now, for 4,096 of a finished one.

    A session that is read again replaces its own file atomically; somebody else's file of that name is left alone. A
    file that was asked for by its name (`named`) is written anew, whatever stood there.
    """

    name = "transcript"
    required = True

    def __init__(
        self,
        place: Callable[[], tuple[Path, str, Identity]],
        observer: Observer,
        finished: bool,
        named: Path | None = None,
    ) -> None:
        self._named = named
        self._place = place
        self._observer = observer
        self._finished = finished
        self.patience = FINISHED_PATIENCE if finished else LIVE_PATIENCE  # in records
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
        named = self._named
        if named is not None:
            if await run_sync(is_folder, named):
                raise SinkError(str(named), IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
            path, again = named, self._finished and await run_sync(is_there, named)
        else:
            path, again = await run_sync(transcript_place, folder, name, identity.session_id, self._finished)
            if not again:
                path = await run_sync(claimed, folder, name, SUFFIX)
        self.path = path
        if again:
            self._final = path
            self._file = OutputFile(temporary_name(path), gather=GATHER_BYTES)
        else:
            gather = GATHER_BYTES if self._finished else 0
            self._file = OutputFile(path, gather=gather)
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
                await run_sync(file.path.replace, self._final)
            except OSError as error:
                file.path.unlink(missing_ok=True)
                raise SinkError(str(self._final), error) from error


class _Head(msgspec.Struct):
    """What tells whose transcript a row is of."""

    source: dict[str, object]


def _source(path: Path) -> dict[str, object]:
    """The `source` of a transcript's first row; empty for what is no transcript."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.readline(64 * 1024 * 1024), type=_Head).source
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def is_of_session(path: Path, session_id: str) -> bool:
    """Whether a transcript is one of ours, of that session."""
    return _source(path).get("session_id") == session_id


def transcript_place(folder: Path, name: str, session_id: str, finished: bool) -> tuple[Path, bool]:
    """Where a session's transcript belongs, and whether it stands there already, from an earlier reading.

    Only a finished session has been read before; what else has the name is another's, or another stream of the same
    session, and is left alone.
    """
    wanted = folder / f"{name}{SUFFIX}"
    if not is_there(wanted):
        return wanted, False
    if finished and is_of_session(wanted, session_id):
        return wanted, True
    return free_name(folder, name, SUFFIX), False


def claimed(folder: Path, name: str, suffix: str) -> Path:
    """A file of that name that is ours, with a number where another has the name. Raises: SinkError."""
    try:
        return claim_name(folder, name, suffix)
    except OSError as error:
        raise SinkError(str(folder / f"{name}{suffix}"), error) from error


def log_of(path: Path, session_id: str) -> str:
    """The log that a transcript of that session was made of; empty for one of another session, or none."""
    source = _source(path)
    return str(source.get("path", "")) if source.get("session_id") == session_id else ""


class CaseSink:
    """The one-line-per-case transcript; it appears at the end, at once, because half a line is no JSON."""

    name = "case transcript"
    required = True

    def __init__(
        self, place: Callable[[], tuple[Path, str, Identity]], final: Callable[[], Path], observer: Observer
    ) -> None:
        self._place = place
        self._final = final
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
            self._file = OutputFile(temporary_name(folder / f"{name}.case.jsonl"))
        return self._file

    async def close(self, whole: bool) -> None:
        if self._file is None and not whole:
            return
        file, totals = self._open(), self._observer.totals
        try:
            end = self._line.close(self._place()[2], totals.tokens(), totals.cost_usd, totals.duration_ms)
            await file.write(end)
        finally:
            await file.close()
        try:
            self.path = await run_sync(self._final)
            await run_sync(file.path.replace, self.path)
        except OSError as error:
            file.path.unlink(missing_ok=True)
            raise SinkError(str(self.path), error) from error
