"""Reads a stream's source to its end, whatever fails downstream, and copies it to standard output first.

The agent behind the pipe must never die because of us: its bytes are read even when no stage processes them any more.
"""

import os
import signal
import stat
from collections.abc import Iterable
from contextlib import aclosing

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from anyio.streams.memory import MemoryObjectSendStream

from agentv_stages.model.batch import Chunk
from agentv_stream.errors import SinkError, SourceError
from agentv_stream.live.pump import hand_on
from agentv_stream.live.session_report import Report
from agentv_stream.outputs.pipe_output import write_all
from agentv_stream.settings import Settings
from agentv_stream.sources.source import ByteSource, FileSource


class Reading:
    """Reads one source, then the files that belong to it. Failures are added to `report`.

    `grace_seconds` is how long an agent may go on writing after Ctrl-C.
    """

    grace_seconds = 10.0

    def __init__(self, source: ByteSource, settings: Settings, report: Report) -> None:
        self.saw_bytes = False
        self.whole = False
        self._source = source
        self._report = report
        self._scope = anyio.CancelScope()
        self._stopped = False
        self._more: list[str] = []
        self._more_known = anyio.Event()
        self._tee: int | None = 1 if settings.tee or settings.tee_redacted else None
        self._redacted = None
        if settings.tee_redacted:
            from agentv_stream.redaction.redaction import redacted_copy, redaction_with, redactor_of

            self._redacted = redacted_copy(redactor_of(redaction_with(settings)))

    async def run(self, send: MemoryObjectSendStream[Chunk]) -> None:
        """Reads and tees to the end, whatever happens downstream; then reads the files given to `go_on_with`."""
        forward = True
        with send, self._scope:
            try:
                async with aclosing(self._source.chunks()) as chunks:
                    async for chunk in chunks:
                        self.saw_bytes = True
                        try:
                            if self._tee is not None:
                                await self._write_tee(self._copy(chunk.data))
                        finally:
                            forward = forward and await _forward(send, chunk)
                        await checkpoint_if_cancelled()
                self.whole = True
            except SourceError as error:
                self._report.failures.append(error)
            finally:
                if self._tee is not None and self._redacted is not None:
                    with anyio.CancelScope(shield=True):
                        await self._write_tee(self._redacted.flush())
            if forward and self._source.finished:
                await self._read_more(send)
        self.whole = self.whole and not self._scope.cancelled_caught

    def go_on_with(self, paths: Iterable[str]) -> None:
        """Sets the files to read after the source; the reading waits for this call. Only the first call counts."""
        if not self._more_known.is_set():
            self._more = list(paths)
            self._more_known.set()

    async def _read_more(self, send: MemoryObjectSendStream[Chunk]) -> None:
        if not await _forward(send, Chunk(b"", None, self._source.name)):
            return
        await self._more_known.wait()
        for path in self._more:
            try:
                async with aclosing(FileSource(path).chunks()) as chunks:
                    async for chunk in chunks:
                        if not await _forward(send, chunk):
                            return
            except SourceError as error:
                self.whole = False
                self._report.failures.append(error)

    def _copy(self, data: bytes) -> bytes:
        """The bytes that `--tee` and `--tee-redacted` pass on."""
        return data if self._redacted is None else self._redacted.push(data)

    async def _write_tee(self, data: bytes) -> None:
        """Copies to standard output. A reader that leaves ends the tee, not the run; the tee waits for a reader that
        does not read.

        But only until the reading is cancelled, so not in a thread: a blocked write in a thread cannot be
        interrupted.
        """
        assert self._tee is not None
        try:
            if stat.S_ISREG(os.fstat(self._tee).st_mode):
                view = memoryview(data)
                while view:
                    view = view[await anyio.to_thread.run_sync(os.write, self._tee, view) :]
            else:
                await write_all(self._tee, data)
        except BrokenPipeError:
            self._tee = None
            self._report.warnings.append("the reader of standard output left; the run goes on without it")
        except OSError as error:
            self._tee = None
            self._report.failures.append(SinkError("standard output", error))

    def stop(self) -> None:
        """Stops reading; bytes read so far are still processed."""
        self._stopped = self._stopped or not self._scope.cancel_called
        self._scope.cancel()

    def goes_on_after(self, number: int) -> bool:
        """Handles a signal; returns whether reading continues: only after a first SIGINT, and not for a finished log.

        It then continues for `grace_seconds`, because the agent at the other end of the pipe may still print its end.
        """
        first = number == signal.SIGINT and not self._source.finished
        if first and self._report.signalled is None and not self._scope.cancel_called:
            self._report.signalled = number
            self._scope.deadline = anyio.current_time() + self.grace_seconds
            return True
        if not self._scope.cancel_called:
            self._report.signalled = number
            self._scope.cancel()
        return False

    @property
    def cut_short(self) -> bool:
        """Whether a signal ended the reading before the input did."""
        return self._scope.cancelled_caught and not self._stopped


async def _forward(send: MemoryObjectSendStream[Chunk], chunk: Chunk) -> bool:
    """Sends a chunk, even if the reading is cancelled: it was read, so it is processed. False without a receiver."""
    try:
        with anyio.CancelScope(shield=True):
            await hand_on(send, chunk)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return False
    return True
