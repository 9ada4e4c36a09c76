"""Joins each tool call with its result, by id.

In: batches in file order, their calls normalised. Out: the same batches; each `ToolResult` bears its call, an outcome
and a duration (result time minus call time where both have one and the log gives none). A call or result that the log
repeats is dropped and counted (`repeated-call`, `repeated-result`). A result that comes before its call waits for it.
At `flush` the calls without a result come as results with the outcome `unpaired`. Past 10,000 open calls the oldest is
let go, as one without a result; if that still comes, it goes on without a call.
Another call under the id of an open one of its stream gives that one up, as `unpaired`; under that of another stream's
both are open, and a result is of the call of its stream: some servers count each agent's calls anew, too.
A result that says how a call ended and not what it gave (`partial`, an outcome, no output) waits for the output, which
stands in another file; where that does not come, it is the result.
Faults: `orphan-result` for a result whose call was never seen; it goes on without a call.
"""

from zlib import crc32

from msgspec import Struct, convert
from msgspec.structs import replace

from agentv_stages.batch import Batch
from agentv_stages.event import AnyEvent, Outcome, ToolCall, ToolResult
from agentv_stages.fault import Fault
from agentv_stages.recent import Recent
from agentv_stages.stage import Flushed

MOST_OPEN = 10_000
MOST_EARLY = 256
MOST_RECENT = 1024


class PairState(Struct):
    """Calls without a result, results without a call or an output, and the calls that were answered lately.

    Of those a checksum of name and input is kept by id, to tell a repetition from another call under a reused id:
    some servers count each answer's calls anew (`call_0`, `functions.read:0`). Of a call that was let go without a
    result it is kept inverted (`~`): a result may still come. `others` are open calls whose id one of another stream
    took; they, and results without an output (`bare`), stand by stream and id.
    """

    open: dict[str, ToolCall] = {}
    early: dict[str, ToolResult] = {}
    recent: dict[str, int] = {}
    bare: dict[str, ToolResult] = {}
    others: dict[str, ToolCall] = {}


class Pair:
    """A stage over batches. `open_calls` is live: the calls that wait for a result, oldest first.

    `left` has, after `flush`, the ids of those that never got one.
    """

    def __init__(self) -> None:
        self.state = PairState()
        self.left: list[str] = []
        self._recent = Recent[int](MOST_RECENT)
        self._flushed = Flushed()

    @property
    def open_calls(self) -> dict[str, ToolCall]:
        return self.state.open

    def push(self, batch: Batch, /) -> tuple[Batch]:
        events = batch.events
        out: list[AnyEvent] | None = None
        for i, event in enumerate(events):
            kind = type(event)
            if kind is ToolResult:
                if out is None:
                    out = events[:i]
                self._result(event, batch, out)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is ToolCall:
                known = self.state.open.get(event.call_id)  # type: ignore[union-attr, arg-type]  # as above
                if out is None and (known is not None or self.state.others or len(self.state.open) >= MOST_OPEN):
                    out = events[:i]
                if not self._call(event, known, batch, out):  # type: ignore[arg-type]  # as above
                    if out is None:
                        out = events[:i]
                    continue
                if out is not None:
                    out.append(event)
                if self.state.early and event.call_id in self.state.early:  # type: ignore[union-attr, operator]  # as above
                    if out is None:
                        out = events[: i + 1]
                    self._result(self.state.early.pop(event.call_id), batch, out)  # type: ignore[union-attr]  # as above
            elif out is not None:
                out.append(event)
        if out is not None:
            batch.events = out
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        """Gives what is left: results whose call never came, calls whose result never came."""
        self._flushed.once()
        state = self.state
        batch = Batch()
        for result in state.early.values():
            self._orphan(result, batch, batch.events)
        for result in list(state.bare.values()):
            self._result(replace(result, partial=False), batch, batch.events)
        left = [*state.others.values(), *state.open.values()]
        batch.events += map(_unpaired, left)
        self.left = [call.call_id for call in left]
        state.early, state.open, state.bare, state.others = {}, {}, {}, {}
        return (batch,) if batch.events else ()

    def snapshot(self) -> PairState:
        state = self.state
        return PairState(
            dict(state.open), dict(state.early), self._recent.items(), dict(state.bare), dict(state.others)
        )

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, PairState, from_attributes=True)
        self._recent.load(self.state.recent)
        self.state.recent = {}

    def _call(self, call: ToolCall, known: ToolCall | None, batch: Batch, out: list[AnyEvent] | None) -> bool:
        """Opens a call; False for one that the log repeats. `known` is the open one of that id."""
        state, key = self.state, call.call_id
        if out is not None and (known is not None or state.others) and not self._make_way(call, known, out):
            batch.ignore("repeated-call")
            return False
        if known is None and (seen := self._recent.get(key)) is not None and _checksum(call) in (seen, ~seen):
            batch.ignore("repeated-call")
            return False
        if out is not None and len(state.open) + len(state.others) >= MOST_OPEN:
            oldest = state.others or state.open
            gone = oldest.pop(next(iter(oldest)))
            self._recent.put(gone.call_id, ~_checksum(gone))
            self._give_up(gone, out)
        state.open[key] = call
        return True

    def _make_way(self, call: ToolCall, known: ToolCall | None, out: list[AnyEvent]) -> bool:
        """An open call of this id is given up, or stands apart if it is of another stream; False for the same call."""
        state, key, stream = self.state, call.call_id, call.source.stream
        twin = known
        if known is None or known.source.stream != stream:
            twin = state.others.get(_apart(stream, key))
        if (known is not None and _same(known, call)) or (twin is not None and _same(twin, call)):
            return False
        if known is not None:
            del state.open[key]
            if known is not twin:
                state.others[_apart(known.source.stream, key)] = known
        if twin is not None:
            state.others.pop(_apart(stream, key), None)
            self._give_up(twin, out)
        return True

    def _give_up(self, call: ToolCall, out: list[AnyEvent]) -> None:
        """A call that is open no longer has no result, or what was told of its end."""
        told = self.state.bare.pop(_apart(call.source.stream, call.call_id), None)
        if told is None:
            out.append(_unpaired(call))
        else:
            out.append(_joined(replace(told, partial=False), call, told.outcome, told.duration_ms))

    def _open_call(self, result: ToolResult) -> ToolCall | None:
        """The open call that a result is of: that of its stream, where several have its id."""
        state, key, stream = self.state, result.call_id, result.source.stream
        calls = state.open
        call = calls.get(key)
        if state.others and (call is None or call.source.stream != stream):
            apart = _apart(stream, key)
            if apart not in state.others and call is None:
                apart = next((name for name, other in state.others.items() if other.call_id == key), apart)
            other = state.others.get(apart)
            if other is not None:
                calls, key, call = state.others, apart, other
        if call is not None and not result.partial:
            del calls[key]
        return call

    def _result(self, result: ToolResult, batch: Batch, out: list[AnyEvent]) -> None:
        state, key = self.state, result.call_id
        call = self._open_call(result)
        if call is None:
            checksum = self._recent.get(key)
            if checksum is not None and checksum >= 0:
                batch.ignore("repeated-result")
                return
            if checksum is not None:  # its call was let go
                if not result.partial:
                    self._recent.put(key, ~checksum)
                out.append(result)
                return
            if len(state.early) >= MOST_EARLY:
                self._orphan(state.early.pop(next(iter(state.early))), batch, out)
            state.early[key] = result
            return
        duration, outcome = result.duration_ms, result.outcome
        if not result.partial:
            self._recent.put(key, _checksum(call))
            if state.bare:
                bare = state.bare.pop(_apart(call.source.stream, key), result)
                duration = bare.duration_ms if duration is None else duration
                outcome = outcome or bare.outcome
        elif result.output_json is None and outcome is not None:
            state.bare[_apart(call.source.stream, key)] = result
            return
        out.append(_joined(result, call, outcome, duration))

    @staticmethod
    def _orphan(result: ToolResult, batch: Batch, out: list[AnyEvent]) -> None:
        """Its record may have come batches before: the fault tells its place, not its bytes."""
        source, detail = result.source, f"no call has the id {result.call_id[:80]!r}"
        batch.faults.append(Fault("orphan-result", source.file, source.row, source.offset, source.length, detail, b""))
        out.append(result)


def _apart(stream: str, call_id: str) -> str:
    return f"{stream}\0{call_id}"


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and bytes(one.input_json) == bytes(other.input_json)


def _unpaired(call: ToolCall) -> ToolResult:
    return ToolResult(call.source, call.part, call.call_id, None, "unpaired", None, None, None, False, call)


def _joined(result: ToolResult, call: ToolCall, outcome: Outcome | None, duration_ms: int | None) -> ToolResult:
    """The result with its call; the duration is the time between, where nothing tells it."""
    if duration_ms is None:
        begun, ended = call.source.time_ms, result.source.time_ms
        if begun is not None and ended is not None and ended >= begun:
            duration_ms = ended - begun
    return ToolResult(
        result.source,
        result.part,
        result.call_id,
        result.output_json,
        outcome or "ok",
        result.exit_code,
        duration_ms,
        result.agent_id,
        result.partial,
        call,
    )


def _checksum(call: ToolCall) -> int:
    return crc32(call.input_json, crc32(call.name.encode()))
