"""Joins each tool call with its result, by id.

In: batches in file order, their calls normalised. Out: the same batches; each `ToolResult` bears its call, an outcome
and a duration (result time minus call time where both have one and the log gives none). A call or result that the log
repeats is dropped and counted (`repeated-call`, `repeated-result`). A result that comes before its call waits for it.
At `flush` the calls without a result come as results with the outcome `unpaired`. Past 10,000 open calls the oldest is
let go; its result, if it still comes, goes on without a call.
A result that says how a call ended and not what it gave (`partial`, an outcome, no output) waits for the output, which
stands in another file; where that does not come, it is the result.
Faults: `orphan-result` for a result whose call was never seen; it goes on without a call.
"""

from zlib import crc32

from msgspec import Struct, convert
from msgspec.structs import replace

from agentv_stages.batch import Batch
from agentv_stages.event import AnyEvent, ToolCall, ToolResult
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
    result it is kept inverted (`~`): a result may still come.
    """

    open: dict[str, ToolCall] = {}
    early: dict[str, ToolResult] = {}
    recent: dict[str, int] = {}
    bare: dict[str, ToolResult] = {}


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
                if not self._call(event, batch):  # type: ignore[arg-type]  # as above
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
        for call in state.open.values():
            batch.events.append(
                ToolResult(call.source, call.part, call.call_id, None, "unpaired", None, None, None, False, call)
            )
        self.left = list(state.open)
        state.early, state.open, state.bare = {}, {}, {}
        return (batch,) if batch.events else ()

    def snapshot(self) -> PairState:
        state = self.state
        return PairState(dict(state.open), dict(state.early), self._recent.items(), dict(state.bare))

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, PairState, from_attributes=True)
        self._recent.load(self.state.recent)
        self.state.recent = {}

    def _call(self, call: ToolCall, batch: Batch) -> bool:
        """Opens a call; False for one that the log repeats."""
        state, key = self.state, call.call_id
        known = state.open.get(key)
        if known is not None:
            if known.name == call.name and bytes(known.input_json) == bytes(call.input_json):
                batch.ignore("repeated-call")
                return False
        elif (seen := self._recent.get(key)) is not None and _checksum(call) in (seen, ~seen):
            batch.ignore("repeated-call")
            return False
        if len(state.open) >= MOST_OPEN:
            oldest = state.open.pop(next(iter(state.open)))
            state.bare.pop(oldest.call_id, None)
            self._recent.put(oldest.call_id, ~_checksum(oldest))
        state.open[key] = call
        return True

    def _result(self, result: ToolResult, batch: Batch, out: list[AnyEvent]) -> None:
        state, key = self.state, result.call_id
        call = state.open.get(key) if result.partial else state.open.pop(key, None)
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
                bare = state.bare.pop(key, result)
                duration = bare.duration_ms if duration is None else duration
                outcome = outcome or bare.outcome
        elif result.output_json is None and outcome is not None:
            state.bare[key] = result
            return
        if duration is None:
            begun, ended = call.source.time_ms, result.source.time_ms
            if begun is not None and ended is not None and ended >= begun:
                duration = ended - begun
        out.append(
            ToolResult(
                result.source,
                result.part,
                key,
                result.output_json,
                outcome or "ok",
                result.exit_code,
                duration,
                result.agent_id,
                result.partial,
                call,
            )
        )

    @staticmethod
    def _orphan(result: ToolResult, batch: Batch, out: list[AnyEvent]) -> None:
        source = result.source
        record = next((r.data for r in batch.records if r.row == source.row), b"")
        detail = f"no call has the id {result.call_id[:80]!r}"
        batch.faults.append(
            Fault("orphan-result", source.file, source.row, source.offset, source.length, detail, record)
        )
        out.append(result)


def _checksum(call: ToolCall) -> int:
    return crc32(call.input_json, crc32(call.name.encode()))
