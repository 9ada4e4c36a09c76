"""A stream to iterate over, from Python: events or messages as they come, the statistics live beside them."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from agentv_stages.batch import Batch, Chunk
from agentv_stages.event import AnyEvent
from agentv_stages.message import Message
from agentv_stages.result import Result
from agentv_stages.stage import Stage
from agentv_stages.stats import Stats
from agentv_stream.errors import SourceError
from agentv_stream.session import StreamSession, Watcher
from agentv_stream.session_report import Report
from agentv_stream.settings import Settings
from agentv_stream.sink import Sink
from agentv_stream.source import ByteSource, DescriptorSource, FileSource, now_ms, standard_input

AnySource: TypeAlias = str | PathLike[str] | int | bytes | bytearray | memoryview | AsyncIterable[bytes]


class BytesSource:
    """Bytes in memory, or an async iterable of bytes: an agent's standard output, a stream of the network."""

    def __init__(self, data: bytes | AsyncIterable[bytes], name: str = "<memory>") -> None:
        self._data = data
        self.name = name
        self.finished = isinstance(data, bytes)  # who hands over an iterator may still be writing

    async def chunks(self) -> AsyncIterator[Chunk]:
        if isinstance(self._data, bytes):
            yield Chunk(self._data, None, self.name)
            return
        try:
            async for data in self._data:
                if not isinstance(data, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
                    raise TypeError(f"the source gave {type(data).__name__}, not bytes")
                if data:  # an empty piece is no end; to the stages behind it would be one
                    yield Chunk(bytes(data), now_ms(), self.name)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise SourceError(f"cannot read {self.name}: {str(error) or type(error).__name__}") from error


class _ChannelSink:
    """Hands batches to whoever iterates; his leaving is an end, not a failure."""

    name = "iteration"
    required = False

    def __init__(self, send: MemoryObjectSendStream[Batch]) -> None:
        self._send = send
        self._gone = False

    async def write(self, batch: Batch) -> None:
        if self._gone:
            return
        try:
            await self._send.send(batch)
        except anyio.BrokenResourceError:
            self._gone = True

    async def close(self, whole: bool) -> None:
        self._send.close()


class LiveStream:
    """A stream that is being read. Iterate `events()` or `messages()` or `batches()`, one of them, once.

    `statistics` is the `tool_use_summary` so far; `result` and `report` are there when the iteration has ended, and
    behind the block. What failed in the reading is raised when the block ends.
    """

    def __init__(self, session: StreamSession, receive: MemoryObjectReceiveStream[Batch]) -> None:
        self._session = session
        self._receive = receive
        self._ended = anyio.Event()
        self.report: Report | None = None

    async def batches(self) -> AsyncIterator[Batch]:
        """The envelopes, each with records, events, messages and faults."""
        async for batch in self._receive:
            yield batch
        await self._ended.wait()  # the last output is written, the result made

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Events in file order, calls normalised, results paired."""
        async for batch in self._receive:
            for event in batch.events:
                yield event
        await self._ended.wait()

    async def messages(self) -> AsyncIterator[Message]:
        """Messages in order of completion."""
        async for batch in self._receive:
            for message in batch.messages:
                yield message
        await self._ended.wait()

    @property
    def statistics(self) -> dict[str, Any]:
        """The `tool_use_summary` so far (docs/metrics.md); all its keys are there before the first record, too."""
        observer = self._session.observer
        return (Stats(self._session.settings.watch) if observer is None else observer.stats).summary()

    async def _run(self, send: MemoryObjectSendStream[Batch]) -> None:
        try:
            with send:
                self.report = await self._session.run()
        finally:
            self._ended.set()

    @property
    def result(self) -> Result | None:
        """The result of the session; None while it runs."""
        return self.report.result if self.report is not None else None


@asynccontextmanager
async def open_stream(
    source: AnySource,
    *,
    provider: str | None = None,
    out: str | Path | None = None,
    transcript: bool = False,
    stages: Sequence[Stage[Batch, Batch]] = (),
    sinks: Sequence[Sink] = (),
    watchers: Sequence[Watcher] = (),
    settings: Settings | None = None,
) -> AsyncGenerator[LiveStream]:
    """Reads a stream while it grows; `async with open_stream(…) as stream: async for event in stream.events(): …`.

    `source`: a path, `-` for standard input, a file descriptor, bytes, or an async iterable of bytes. With `transcript`
    (or `out`) the transcript is written too. `stages` are your own, over `Batch`, behind ours; `sinks` and `watchers`
    get every batch. Leaving the block early ends the iteration; the source is read to its end all the same.

    Raises: the errors of errors.py, when the block ends.
    """
    base = settings or Settings()
    wanted = replace(base, provider=provider or base.provider, out=Path(out) if out is not None else base.out)
    opened = make_source(source)
    send, receive = anyio.create_memory_object_stream[Batch](wanted.bound)
    with send, receive:
        session = StreamSession(
            opened,
            wanted,
            [*sinks, _ChannelSink(send)],
            watchers,
            transcript=transcript or out is not None,
            stages=stages,
        )
        stream = LiveStream(session, receive)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stream._run, send)  # pyright: ignore[reportPrivateUsage] - its own module
                with receive:
                    yield stream
        except BaseExceptionGroup as group:
            raise _alone(group) from None  # what the block raised, or a bug of ours: one thing, told as it is
    if stream.report is not None and stream.report.failures:
        raise stream.report.failures[0]


def _alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The exception of a group of one; a group of several as it is."""
    inner: list[BaseException] = list(group.exceptions)
    if len(inner) > 1:
        return group
    return _alone(inner[0]) if isinstance(inner[0], BaseExceptionGroup) else inner[0]  # pyright: ignore[reportUnknownArgumentType] - of any exceptions


def make_source(source: AnySource) -> ByteSource:
    """What `open_stream` accepts, as a source.

    Raises: SourceError for a file that cannot be read; TypeError for what is no source.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return BytesSource(bytes(source))
    if isinstance(source, AsyncIterable):
        return BytesSource(source)
    if isinstance(source, int) and not isinstance(source, bool):
        return DescriptorSource(source, f"<descriptor {source}>")
    if isinstance(source, (str, PathLike)):
        return standard_input() if source == "-" else FileSource(Path(source))
    expected = "a path, '-', a file descriptor, bytes or an async iterable of bytes"
    raise TypeError(f"expected {expected} as a source, not {type(source).__name__}")
