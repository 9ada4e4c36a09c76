"""One stream: a source, the chain of stages, sinks, and the result.

    source -> lines -> decode -> normalize -> pair -> consolidate -> observe -> fan-out -> sinks

Each stage is a task, with bounded channels between them; of a finished input, where nothing is live, all of them are
one, and the sinks another. The reader is independent: whatever fails downstream, the source is read (and teed) to its
end, so that the agent behind the pipe never dies because of us.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.figures.result import Observer, Outputs, Result
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import Source, ToolCall, UserText
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.model.stage import Chain, Stage
from agentv_stages.session.chain import SessionChain, Watcher
from agentv_stages.session.detect import Detector
from agentv_stages.session.inputs import ReadLines
from agentv_stages.session.parts import NONE, Parts, framed, last_records
from agentv_stream.errors import EmptyInput, NotALog, SinkError, SourceError, UsageError
from agentv_stream.live.fan_out import fan_out, write_in_turn
from agentv_stream.live.pump import hand_on, pump
from agentv_stream.live.reading import Reading
from agentv_stream.live.session_report import Report
from agentv_stream.names import named_provider
from agentv_stream.outputs.durable import SYNC
from agentv_stream.outputs.live_outputs import LiveOutputs
from agentv_stream.outputs.sink import Sink
from agentv_stream.settings import Settings
from agentv_stream.sources.folder import companions_of, context_of
from agentv_stream.sources.opened import opened
from agentv_stream.sources.source import ByteSource, now_ms

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor
    from agentv_stages.sinks.span_log import SpanLog
    from agentv_stages.trajectory.trace_events import TraceList


class StreamSession:
    """Runs one stream. Once its dialect is known, `chain` holds its current state.

    `parts` and `stages` are the caller's: functions that make stages, and stages that were made.

    `verdicts` returns those of the session, for its page, when all of it was seen.

    Without `lists` the report's result omits whatever grows with the session; the observer still has it. Without
    `answers` the last answer alone (`Dialect.answer_only`) is no log.
    """

    def __init__(
        self,
        source: ByteSource,
        settings: Settings,
        sinks: Sequence[Sink] = (),
        watchers: Sequence[Watcher] = (),
        *,
        transcript: bool = True,
        lists: bool = True,
        answers: bool = True,
        stages: Sequence[Stage[Batch, Batch]] = (),
        parts: Parts = NONE,
    ) -> None:
        self.source = source
        self.settings = settings
        self.watchers = list(watchers)
        self._traces: TraceList | None = None
        self.report = Report()
        self.provider: Provider | None = named_provider(settings.provider)
        self.dialect: Dialect | None = None
        self.chain: SessionChain | None = None
        self.started_ms = now_ms()
        self.verdicts: Callable[[], list[Any]] = list[Any]
        self._extra = list(sinks)
        self._stages = list(stages)
        self._transcript = transcript
        self._lists = lists
        self._answers = answers
        self._outputs: LiveOutputs | None = None
        self._reading = Reading(source, settings, self.report)
        self._lines = ReadLines(source.name, settings.max_record)
        if settings.redact:
            from agentv_stream.redaction.redaction import redactor_for

            parts = replace(parts, redactor=redactor_for(settings))
        self._parts = parts
        self._records = parts.make_records()

    @property
    def redactor(self) -> "Redactor | None":
        """The redactor of the session's records, if the settings ask for one."""
        return self._parts.redactor

    @property
    def open_calls(self) -> dict[str, ToolCall]:
        """The calls without a result, oldest first, by `call_key`."""
        return self.chain.pair.open_calls if self.chain is not None else {}

    @property
    def spans(self) -> "SpanLog | None":
        """The output of spans, if there is one."""
        return self._outputs.spans if self._outputs is not None else None

    @property
    def batches(self) -> int:
        """How many batches have passed all stages."""
        return self.chain.batches if self.chain is not None else 0

    @property
    def observer(self) -> Observer | None:
        """The facts and figures so far; None until the dialect is known."""
        return self.chain.observer if self.chain is not None else None

    async def run(self) -> Report:
        """Reads the source to its end. Failures are put into the report, bugs are raised."""
        SYNC.set(self.settings.sync)
        bug: BaseException | None = None
        failed = False
        async with anyio.create_task_group() as outer:
            send, receive = anyio.create_memory_object_stream[Chunk](self.settings.bound)
            outer.start_soon(self._reading.run, send)
            try:
                with receive:
                    await self._pipeline(receive)
            except* (SinkError, SourceError, EmptyInput, UsageError) as group:
                failed = True
                self.report.fail(group)
            except* Exception as group:
                # Tasks upstream of a failed one find their channel broken: only the cause is worth reporting.
                bug = group.split((anyio.BrokenResourceError, anyio.ClosedResourceError))[1]
                if bug is None and not failed:
                    bug = group
            finally:
                self._reading.go_on_with(())
        if bug is not None:
            raise bug
        self.report.result = self._result()
        return self.report

    def stop(self) -> None:
        """Stops reading; bytes read so far are still processed."""
        self._reading.stop()
        self._lines.cut_short = self.source.finished

    def interrupt(self, number: int) -> None:
        """Handles a signal. After a first SIGINT a pipe is read for a while longer; a second one or SIGTERM ends that.

        Later signals end nothing more: everything that was read is still written. But the reader of an output pipe of
        ours then gets only that while to take it.
        """
        if self._reading.goes_on_after(number):
            return
        self._lines.cut_short = self.source.finished
        if self._outputs is not None:
            self._outputs.hurry(self._reading.grace_seconds)

    @property
    def saw_bytes(self) -> bool:
        """Whether any input has arrived."""
        return self._reading.saw_bytes

    @property
    def cut_short(self) -> bool:
        """Whether a signal ended the reading before the input did."""
        return self._reading.cut_short

    # --- the chain

    async def _pipeline(self, receive: MemoryObjectReceiveStream[Chunk]) -> None:
        framing = framed(self._lines, self._records)
        held = await self._detect(framing, receive)
        assert self.provider is not None and self.dialect is not None
        contexts: dict[str, DecodeContext] = {}
        if self.source.finished:
            subagents = self.settings.subagents
            found = await anyio.to_thread.run_sync(companions_of, self.provider, self.source.name, subagents)
            self._lines.contexts = {companion.path: companion.context for companion in found}
            contexts = {self.source.name: context_of(self.provider, self.source.name), **self._lines.contexts}
        self._reading.go_on_with(self._lines.contexts)
        chain = self.chain = SessionChain(
            self.provider, self.dialect, self.settings.watch, file=self.source.name, contexts=contexts,
            parts=self._parts, records=self._records, stages=self._stages,
        )  # fmt: skip
        if self.settings.include_trace:
            from agentv_stages.trajectory.trace_events import TraceList  # 80 ms that few sessions need

            self.watchers.append(traces := TraceList())
            self._traces = traces
        chain.watchers += self.watchers
        self._put_prompt(held)
        bound = self.settings.bound
        self._outputs = LiveOutputs(
            self.settings, self.source, chain.observer, self.started_ms, lambda: self._reading.whole,
            self.report.warnings.append,
        )  # fmt: skip
        self._outputs.open_calls, self._outputs.verdicts = lambda: chain.pair.left, lambda: self.verdicts()
        sinks = [*self._extra, *self._outputs.sinks(self._transcript)]
        stages = chain.stages
        first: Stage[Batch, Batch] = Chain()
        if self.source.finished:  # nothing is live: a task for each stage would only cost switches of the event loop
            first, stages = Chain(*stages), []
        async with anyio.create_task_group() as tasks:
            send, batches = anyio.create_memory_object_stream[Batch](bound)
            tasks.start_soon(_pump_from, held, framing, first, receive, send)
            if self._outputs.exporter is not None:
                tasks.start_soon(self._outputs.exporter.run)
            for stage in stages:
                send, of_stage = anyio.create_memory_object_stream[Batch](bound)
                tasks.start_soon(pump, stage, batches, send)
                batches = of_stage
            if self.source.finished:
                await write_in_turn(batches, sinks, self._failed)
            else:
                await fan_out(batches, sinks, bound, self._failed)
        await self._outputs.settle()
        if self._outputs.kept_earlier:
            self.report.warnings.append("not all was read: the outputs of an earlier reading were kept")

    async def _detect(self, framing: Stage[Chunk, Batch], receive: MemoryObjectReceiveStream[Chunk]) -> list[Batch]:
        """Reads until the dialect is known; returns the batches read so far."""
        detector = Detector(self.provider)
        while True:
            waiting = receive.statistics()
            silent = not (self.source.finished or waiting.tasks_waiting_send or waiting.current_buffer_used)
            if silent and detector.settle():  # it is unknown when the agent continues
                break
            try:
                chunk = await receive.receive()
            except anyio.EndOfStream:
                break
            if not chunk.data:
                break
            decided = False
            for batch in framing.push(chunk):
                decided = detector.push(batch) or decided
            if decided or detector.given_up:
                break
        last = last_records(self._lines.reader, self._parts)
        self.provider, self.dialect = opened(detector, self.source.name, last, self.settings.max_record)
        if self.dialect.answer_only and not self._answers:
            raise NotALog(f"{self.source.name}: an agent's last answer alone, no stream of events")
        return detector.held

    def _put_prompt(self, held: list[Batch]) -> None:
        """A prompt from the settings becomes the first message if the log does not contain it."""
        prompt = self.settings.prompt
        assert self.dialect is not None
        if prompt is None or self.dialect.has_prompt:
            return
        if not held:
            held.append(Batch(self.source.name))
        source, body = Source(self.source.name, -1, 0, 0, base_id="prompt"), to_raw(prompt)
        if self.redactor is not None:
            body = Raw(self.redactor.redact(bytes(body)))
        held[0].events.insert(0, UserText(source, "", body, "prompt"))

    # --- sinks and result

    def _failed(self, sink: Sink, error: SinkError) -> None:
        if sink.required:
            self.report.failures.append(error)
        else:
            self.report.warnings.append(f"{sink.name} was given up: {error}")

    def _result(self) -> Result | None:
        if self.chain is None:
            return None
        outputs = Outputs() if self._outputs is None else self._outputs.written_paths()
        result = self.chain.observer.result(self.chain.pair.left, outputs, self._lists)
        settings = self.settings
        if self._traces is not None:
            self._traces.put_into(result)
        if settings.machine is not None:
            result.machine = settings.machine
        if settings.target is not None:
            result.target = settings.target
        if settings.test_id is not None:
            result.test_id = settings.test_id
        if settings.attempt is not None:
            result.attempt = settings.attempt
        return result


async def _pump_from(
    held: list[Batch],
    framing: Stage[Chunk, Batch],
    first: Stage[Batch, Batch],
    receive: MemoryObjectReceiveStream[Chunk],
    send: MemoryObjectSendStream[Batch],
) -> None:
    """The pump of the line reader and the stage after it, which begins with the batches that detection has read."""
    with receive, send:
        for batch in held:
            for out in first.push(batch):
                await hand_on(send, out)
        held.clear()
        await pump(Chain(framing, first), receive, send)
