"""The transcript file: one row per message."""

import errno
import os
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.output import Append, Operation, Patch
from agentv_stages.sinks.outputs import Transcript
from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import TRANSCRIPT, temporary_name
from agentv_stream.outputs.output_file import OutputFile
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.session_name import FINISHED_PATIENCE, LIVE_PATIENCE, is_known
from agentv_stream.outputs.transcript_file import is_of_session
from agentv_stream.sources.files import is_file, is_folder, is_there

GATHER_BYTES = 512 * 1024


class TranscriptSink:
    """The transcript. Its first row is held until the session is known, because every row names it: for at most 64
    records of a live stream, 4,096 of a finished one.

    A session that is read again replaces its own file atomically; another program's file of that name is left alone. A
    file requested by its name (`named`) is overwritten, whatever it is.
    """

    name = "transcript"
    required = True

    def __init__(
        self,
        names: OutputNames,
        observer: Observer,
        finished: bool,
        named: Path | None = None,
        output: Transcript | None = None,
    ) -> None:
        self._named = named
        self._names = names
        self._observer = observer
        self._finished = finished
        self.patience = FINISHED_PATIENCE if finished else LIVE_PATIENCE  # in records
        self._output = output or Transcript()
        self._file: OutputFile | None = None
        self._kept = False
        self.known = False

    @property
    def replaces(self) -> bool:
        """Whether it replaces the transcript of an earlier reading."""
        return self._file is not None and self._file.final is not None and not self._kept

    @property
    def path(self) -> Path | None:
        """The current or final path of the transcript; None before it exists, and if none was written."""
        if self._file is None or self._kept or self._file.got_nothing:
            return None
        if self._file.final is not None and self._file.failed:
            return None
        return self._file.place

    async def write(self, batch: Batch) -> None:
        output = self._output
        output.take(batch)
        if not output.ready:
            facts = self._observer.facts
            self.known = facts.named
            if not output.held or not is_known(facts, self.patience):
                return
        if output.held:
            await self._write(output)

    async def _write(self, output: Transcript) -> None:
        if not output.ready:
            await self._open()
        await self._apply(output.operations())

    async def _apply(self, operations: list[Operation]) -> None:
        assert self._file is not None
        for operation in operations:
            if isinstance(operation, Append):
                await self._file.write(operation.data)
                self._names.sure = True
            elif isinstance(operation, Patch):
                await self._file.patch(operation.offset, operation.data)

    async def _open(self) -> None:
        folder, name, identity = await run_sync(self._names.place)
        wanted = self._named or folder / f"{name}{TRANSCRIPT}"
        gather = GATHER_BYTES if self._finished else 0

        def replacing() -> bool:
            if not self._finished or not is_there(wanted):
                return False
            return self._named is not None or is_of_session(wanted, identity.session_id)

        def another() -> Path:
            """The path to use instead of a path where another process created a file."""
            if not replacing():
                return self._names.another(TRANSCRIPT)
            file.final = wanted
            return temporary_name(wanted)

        if self._named is not None and await run_sync(is_folder, wanted):
            raise SinkError(str(wanted), IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
        if await run_sync(replacing):
            file = OutputFile(temporary_name(wanted), gather=gather, final=wanted)
        elif self._named is not None:
            file = OutputFile(wanted, gather=gather)
        else:
            exists = await run_sync(os.path.lexists, wanted)
            first = await run_sync(self._names.another, TRANSCRIPT) if exists else wanted
            file = OutputFile(first, another=another, gather=gather)
        self._file = file
        self._output.begin(identity, "")

    def _remove_earlier(self, named: Path) -> None:
        """Removes a file that was to be replaced: its rows are of another session. Raises: SinkError."""
        if not is_file(named) or self._names.keeps(named):
            return
        try:
            named.unlink()
        except OSError as error:
            raise SinkError(str(named), error) from error

    async def close(self, whole: bool) -> None:
        """Writes the rows still held, then the totals into the first row.

        If this transcript could not be written, that of an earlier reading stays.
        """
        output = self._output
        if not output.ready and not output.held:  # no message, no file
            if whole and self._named is not None:
                await run_sync(self._remove_earlier, self._named)
            return
        if not output.ready:
            await self._open()
        file = self._file
        assert file is not None
        try:
            await self._apply(output.close(self._observer))
        finally:
            await file.close()
        if file.final is not None and file.size and not file.failed:
            self._kept = await run_sync(self._names.keeps, file.final)
            if self._kept:
                await file.remove()
            else:
                await file.take_place()
