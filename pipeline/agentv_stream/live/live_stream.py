"""A stream to iterate over from Python: events or messages as they arrive, with live statistics."""

from asyncio import StreamReader
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from msgspec.structs import replace

from agentv_stages.figures.result import Result
from agentv_stages.figures.stats import Stats
from agentv_stages.figures.summary import ToolUseSummary, typed
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.message import Message
from agentv_stages.model.stage import Stage
from agentv_stages.session.chain import Watcher
from agentv_stages.session.parts import MakeStage, Parts
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.live.exception_groups import alone
from agentv_stream.live.handover import Handover
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.outputs.sink import Sink
from agentv_stream.settings import Settings
from agentv_stream.sources.files import CHUNK_BYTES
from agentv_stream.sources.source import ByteSource, FileSource, descriptor_source, now_ms, standard_input

Item = TypeVar("Item")
AnySource: TypeAlias = str | PathLike[str] | int | bytes | bytearray | memoryview | AsyncIterable[bytes]


class BytesSource:
    """Bytes in memory, or an async iterable of bytes: an agent's standard output, a network stream."""

    def __init__(self, data: bytes | AsyncIterable[bytes]) -> None:
        self._data = data
        self.name = "<memory>"
        self.finished = isinstance(data, bytes)  # an iterable may have a writer that has not finished

    async def chunks(self) -> AsyncGenerator[Chunk]:
        if isinstance(self._data, bytes):
            yield Chunk(self._data, None, self.name)
            return
        pieces = aiter(self._data)
        try:
            async for data in pieces:
                if not isinstance(data, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
                    raise TypeError(f"the source gave {type(data).__name__}, not bytes")
                if data:  # an empty piece is not the end, but later stages would take it for one
                    yield Chunk(bytes(data), now_ms(), self.name)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise SourceError(f"cannot read {self.name}: {str(error) or type(error).__name__}") from error
        finally:
            if isinstance(pieces, AsyncGenerator):  # only we can close a generator that was made for this call
                await pieces.aclose()


async def _pieces(reader: StreamReader) -> AsyncGenerator[bytes]:
    """The chunks as they come. Iterating over the reader would give lines, and a ValueError for a line over 64 KiB."""
    while data := await reader.read(CHUNK_BYTES):
        yield data


class _IterationSink:
    """Hands batches to the iterating caller. If the iteration is left early, that is an end, not a failure."""

    name = "iteration"
    required = False

    def __init__(self, handover: Handover[Batch]) -> None:
        self._handover = handover
        self._gone = False

    async def write(self, batch: Batch) -> None:
        self._gone = self._gone or not await self._handover.put(batch)

    async def close(self, whole: bool) -> None:
        self._handover.end()


class _Iteration(Generic[Item]):
    """The items of batches, one after the other. Not a generator: trio warns about a generator whose loop left
    early.
    """

    def __init__(self, handover: Handover[Batch], pick: Callable[[Batch], Sequence[Item]], ended: anyio.Event) -> None:
        self._handover = handover
        self._pick = pick
        self._ended = ended
        self._items: Iterator[Item] = iter(())

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        while True:
            for item in self._items:
                return item
            batch = await self._handover.take()
            if batch is None:
                await self._ended.wait()  # until the last output is written and the result is made
                raise StopAsyncIteration
            self._items = iter(self._pick(batch))


class LiveStream:
    """A stream that is being read. Iterate over one of `events()`, `messages()` and `batches()`, once, inside the
    block: an item taken by one iteration is lost to any other, so a second one is refused (UsageError).

    `statistics` is the `tool_use_summary` so far; `result` and `report` are set when the iteration has ended, and stay
    after the block. What failed while reading is raised when the block ends.
    """

    def __init__(self, session: StreamSession, handover: Handover[Batch]) -> None:
        self._session = session
        self._handover = handover
        self._ended = anyio.Event()
        self._iterated: str | None = None
        self._summary: ToolUseSummary | None = None
        self._summary_at = -1  # number of batches observed when it was made
        self.report: Report | None = None

    def batches(self) -> AsyncIterator[Batch]:
        """The envelopes, each with records, events, messages and faults. Raises: UsageError, the second time."""
        return self._iterate("batches", lambda batch: (batch,))

    def events(self) -> AsyncIterator[AnyEvent]:
        """Events in file order, calls normalised, results paired. Raises: UsageError, the second time."""
        return self._iterate("events", lambda batch: batch.events)

    def messages(self) -> AsyncIterator[Message]:
        """Messages in order of completion. Raises: UsageError, the second time."""
        return self._iterate("messages", lambda batch: batch.messages)

    def _iterate(self, name: str, pick: Callable[[Batch], Sequence[Item]]) -> AsyncIterator[Item]:
        if self._iterated is not None:
            raise UsageError(
                f"{name}() of a stream that {self._iterated}() iterates already: take one of events(), messages() and"
                " batches(), once (batches have events and messages)"
            )
        self._iterated = name
        return _Iteration(self._handover, pick, self._ended)

    @property
    def statistics(self) -> ToolUseSummary:
        """The `tool_use_summary` so far (docs/metrics.md); all its keys exist even before the first record.

        A snapshot, which does not change. It is rebuilt when new batches came, in time proportional to its lists.
        """
        observer, at = self._session.observer, self._session.batches
        if observer is None:
            return typed(Stats(self._session.settings.watch).summary())
        if self._summary is None or at != self._summary_at:  # rebuilding it at each event of a batch would be slow
            self._summary, self._summary_at = typed(observer.stats.summary()), at
        return self._summary

    def stop(self) -> None:
        """Stops reading: bytes read so far are still processed and delivered, and the result is as if the input ended
        there.
        The agent is not notified; ending its process is up to the caller. To be called in the event loop's thread; from
        another one with `anyio.from_thread.run_sync`."""
        self._session.stop()

    async def _run(self) -> None:
        try:
            self.report = await self._session.run()
        finally:
            self._ended.set()
            self._handover.end()

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
    records: Iterable[MakeStage] = (),
    stages: Iterable[Stage[Batch, Batch]] = (),
    sinks: Iterable[Sink] = (),
    watchers: Iterable[Watcher] = (),
    settings: Settings | None = None,
) -> AsyncGenerator[LiveStream]:
    """Reads a stream while it grows; `async with open_stream(…) as stream: async for event in stream.events(): …`.

    `source`: a path, `-` for standard input, a file descriptor, bytes, or an async iterable of bytes. With `transcript`
    (or a place for it: `out`, or `out` or `transcript` of the settings) the transcript is also written. `stages` are
    your own stages over `Batch`, run after ours; `records` are classes or functions that make stages over the records
    of the log, run before its dialect is detected; `watchers` see every batch (`observe`) before `sinks` get it.
    Leaving the block early ends the iteration; the source is still read to its end, except after an exception or a
    cancellation.

    Raises: SourceError for a source that does not exist, UsageError and TypeError for wrong arguments (also for a
    `transcript` that would replace an agent's log), at once; the other errors of errors.py when the block ends.
    """
    if settings is not None and not isinstance(settings, Settings):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers that check no types
        raise TypeError(f"settings: expected Settings, not {type(settings).__name__}")
    own_stages = _checked("stages", stages, ("push", "flush"))
    own_sinks = _checked("sinks", sinks, ("name", "required", "write", "close"))
    own_watchers = _checked("watchers", watchers, ("observe",))
    base = settings or Settings()
    wanted = replace(base, provider=provider or base.provider, out=Path(out) if out is not None else base.out)
    opened = make_source(source)
    if wanted.transcript is not None or wanted.tee or wanted.tee_redacted:
        inputs = [source] if isinstance(source, (str, PathLike, int)) else []
        outputs = (("transcript", wanted.transcript), ("tee", "-" if wanted.tee or wanted.tee_redacted else None))
        await anyio.to_thread.run_sync(check_own_files, outputs, inputs)
    with Handover[Batch](wanted.bound) as handover:
        session = StreamSession(
            opened,
            wanted,
            [*own_sinks, _IterationSink(handover)],
            own_watchers,
            transcript=transcript or wanted.out is not None or wanted.transcript is not None,
            stages=own_stages,
            parts=Parts(records=tuple(records)),
        )
        stream = LiveStream(session, handover)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stream._run)  # pyright: ignore[reportPrivateUsage] - its own module
                try:
                    yield stream
                finally:
                    handover.leave()
        except BaseExceptionGroup as group:
            raise alone(group) from None  # the block's exception, or a bug of ours: unwrapped if it is the only one
    if stream.report is not None and stream.report.failures:
        raise stream.report.failures[0]


def _checked(option: str, parts: Iterable[Item], members: Sequence[str]) -> list[Item]:
    """The parts as a list: a generator gives them once.

    Raises: TypeError, before anything is read, for a part that would fail at its first batch or at the end.
    """
    found = list(parts)
    for part in found:
        if isinstance(part, type):
            raise TypeError(f"{option}: {part.__name__} is a class; give an object of it")
        missing = [member for member in members if not hasattr(part, member)]
        if missing:
            raise TypeError(f"{option}: {type(part).__name__} has no {', no '.join(missing)}")
    return found


def make_source(source: AnySource) -> ByteSource:
    """The source for an argument of `open_stream`.

    Raises: SourceError for a file that cannot be read; TypeError for an unsupported type.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return BytesSource(bytes(source))
    if isinstance(source, StreamReader):
        return BytesSource(_pieces(source))
    if isinstance(source, AsyncIterable):
        return BytesSource(source)
    if isinstance(source, int) and not isinstance(source, bool):
        if source < 0:
            raise SourceError(f"cannot read <descriptor {source}>: it is negative")
        return descriptor_source(source, f"<descriptor {source}>")
    if isinstance(source, (str, PathLike)):
        return standard_input() if source == "-" else FileSource(Path(source))
    expected = "a path, '-', a file descriptor, bytes or an async iterable of bytes"
    raise TypeError(f"expected {expected} as a source, not {type(source).__name__}")
