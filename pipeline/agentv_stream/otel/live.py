"""The sink of a live session that sends its spans. In: batches. Out: requests, sent by a task of its own.

Nothing here waits for the endpoint: spans that it does not take in time are held up to a cap, and then given up.
"""

import math
import os
from collections.abc import Callable

import anyio
from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.output import lines_of
from agentv_stages.sinks.span_log import SpanLog
from agentv_stages.sinks.transcript import Identity
from agentv_stream.errors import SinkError
from agentv_stream.otel.endpoint import endpoint_of
from agentv_stream.otel.options import Export
from agentv_stream.otel.sender import NotTaken, Sender

MOST_HELD = 32 * 1024 * 1024  # bytes of lines that wait for the endpoint


def make_sender(option: str) -> Sender:
    """The sender for `--otel`, as this process's environment describes it. Raises: UsageError."""
    return Sender(endpoint_of(option, os.environ))


class OtelSink:
    """Sends the spans of one session. `run` is a task beside it, which ends soon after `close`.

    `identity` returns the session as known so far, `known` whether it can be named. `warn` takes lines for the user.
    """

    name = "OpenTelemetry"
    required = False

    def __init__(
        self,
        export: Export,
        sender: Sender,
        observer: Observer,
        identity: Callable[[], Identity],
        known: Callable[[], bool],
        warn: Callable[[str], None],
    ) -> None:
        self.output = SpanLog(export.options, export.redactor)
        self.sender = sender
        self._observer = observer
        self._identity = identity
        self._known = known
        self._warn = warn
        self._send, self._receive = anyio.create_memory_object_stream[bytes](math.inf)
        self._held = 0
        self._failure: SinkError | None = None
        self._done = anyio.Event()
        self._all = False  # everything was sent
        self._scope = anyio.CancelScope()
        self._deadline = math.inf  # seconds for the rest

    async def run(self) -> None:
        """Sends the spans as they come, until the session ends or the endpoint is given up."""
        try:
            with self._scope, self._receive:
                async with self.sender as sender:
                    async for line in self._receive:
                        lines = [line]
                        while self._receive.statistics().current_buffer_used:
                            lines.append(self._receive.receive_nowait())
                        await sender.send(lines)
                        self._held -= sum(map(len, lines))
                    self._all = True
        except NotTaken as error:
            self._failure = error
        finally:
            self._done.set()

    def hurry(self, seconds: float) -> None:
        """From now on the endpoint has at most `seconds` to take the rest."""
        self._deadline = seconds

    async def write(self, batch: Batch) -> None:
        """Takes a batch. Raises: SinkError once the endpoint is given up."""
        if self._failure is not None:
            raise self._failure
        output = self.output
        output.take(batch)
        if not output.ready:
            if not output.waiting or not self._known():
                return
            output.begin(await run_sync(self._identity), "")
        self._hand_over(lines_of(output.operations()))

    def _hand_over(self, data: bytes) -> None:
        if not data or self._done.is_set():
            return
        self._held += len(data)
        if self._held > MOST_HELD:
            url = self.sender.endpoint.urls["traces"]
            raise NotTaken(url, "takes spans more slowly than they are made", final=True)
        for line in data.splitlines(keepends=True):
            self._send.send_nowait(line)

    async def close(self, whole: bool) -> None:
        """Waits until the rest is sent, no longer than the endpoint's timeout. Raises: SinkError."""
        output = self.output
        try:
            if whole and self._failure is None:
                if not output.ready and output.waiting:
                    output.begin(await run_sync(self._identity), "")
                if output.ready:
                    self._hand_over(lines_of(output.close(self._observer)))
        finally:
            self._send.close()
            with anyio.move_on_after(min(self.sender.endpoint.timeout, self._deadline)):
                await self._done.wait()
            self._scope.cancel()
        for note in self.sender.sent.notes():
            self._warn(note)
        if whole and self._failure is None and not self._all:
            why = self.sender.trouble or "did not take the last spans in time"
            self._failure = NotTaken(self.sender.endpoint.urls["traces"], why, final=False)
        if self._failure is not None and whole:
            raise self._failure
