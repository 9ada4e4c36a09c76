"""Joins each tool call with its result, by stream and id.

In: batches in file order, their calls normalised. Out: the same batches; each `ToolResult` has its call, an outcome and
a duration (result time minus call time, where both have one and the log gives none). A call or result that the log
repeats is dropped and counted (`repeated-call`, `repeated-result`), and so are texts, beginnings and ends of runs, and
retractions, where their records have ids (`repeated-record`). A result that comes before its call waits for it.
At `flush`, calls without a result yield results with the outcome `unpaired`. Past 10,000 open calls the oldest is
closed as `unpaired`; if its result still comes, it is passed on without a call.
Another call under the id of an open one closes that one as `unpaired` if both are on the same stream. On different
streams both stay open, and a result belongs to the call of its own stream: some servers number each agent's calls from
the start. A result without a stream in the log belongs to an open call elsewhere; if it came before its call,
they are joined at `flush`, where only one open call has that id.
A call of a message that the log takes back (`Retract`) while it is open is closed as `cancelled`.
A result with the end of a call but without its output (`partial`, an outcome) waits for the output,
which is in another file; if that never comes, it is the result.
Faults: `orphan-result` for a result without an open call (never seen, or let go long before); it is passed on
without a call. `interleaved` for the first result of a call that was requested before another session began.
"""

from itertools import islice
from zlib import crc32

from msgspec import Struct, convert, field
from msgspec.structs import replace

from agentv_stages.chain.identity import Identity, IdentityState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, Outcome, Retract, ToolCall, ToolResult, call_key
from agentv_stages.model.fault import Fault
from agentv_stages.model.recent import Recent
from agentv_stages.model.stage import Flushed

MOST_OPEN = 10_000
MOST_EARLY = 256
MOST_RECENT = 1024
MOST_HEADERS = 16
MOST_SEARCHED = 256  # latest open calls that are searched for a call of another stream
_ELSEWHERE = 1 << 32  # no checksum: under this key came the result of another stream's call


class PairState(Struct):
    """Calls without a result (`open`), results without a call (`early`) or an output (`bare`), calls answered lately.

    All are keyed by `call_key`. `recent` holds a checksum of name and input of each answered call, to distinguish a
    repetition from another call under a reused id: some servers number the calls of each answer from the start
    (`call_0`, `functions.read:0`). For a call closed without a result it is inverted (`~`): a result may still come.
    `identity` knows all records, and the answers that share an id. `headers` are file and row of the last headers of
    further sessions, until an earlier session is seen to continue after them.
    """

    open: dict[str, ToolCall] = {}
    early: dict[str, ToolResult] = {}
    recent: dict[str, int] = {}
    bare: dict[str, ToolResult] = {}
    identity: IdentityState = field(default_factory=IdentityState)
    headers: list[tuple[str, int]] = []


class Pair:
    """A stage over batches. `open_calls` is live: the calls waiting for a result, oldest first, by `call_key`."""

    def __init__(self) -> None:
        self.state = PairState()
        self._left: list[ToolCall] = []
        self._recent = Recent[int](MOST_RECENT)
        self._identity = Identity()
        self._flushed = Flushed()

    @property
    def open_calls(self) -> dict[str, ToolCall]:
        return self.state.open

    @property
    def left(self) -> list[str]:
        """The ids of the calls waiting for a result; after `flush`, of the calls that never got one."""
        return [call.call_id for call in self._left or self.state.open.values()]

    def push(self, batch: Batch, /) -> tuple[Batch]:
        self._identity.settle(batch)
        if batch.begun:
            headers = [(batch.file, begun.row) for begun in batch.begun if begun.header]
            self.state.headers = [*self.state.headers, *headers][-MOST_HEADERS:]
        events = batch.events
        state, answered, put = self.state, self._recent.get, self._recent.put
        calls, early, bare, headers = state.open, state.early, state.bare, state.headers
        out: list[AnyEvent] | None = None
        for i, event in enumerate(events):
            kind = type(event)
            if kind is ToolResult:
                result: ToolResult = event  # type: ignore[assignment]  # narrowed by `kind`, which mypy does not follow
                key = call_key(result)
                answers = calls.get(key)
                if answers is not None and not (result.partial or bare or headers):  # nearly every result
                    del calls[key]
                    put(key, _checksum(answers))
                    joined = _joined(result, answers, result.outcome, result.duration_ms)
                    if out is None:
                        events[i] = joined
                    else:
                        out.append(joined)
                    continue
                if out is None:
                    out = events[:i]
                self._result(result, batch, out)
            elif kind is ToolCall:
                call: ToolCall = event  # type: ignore[assignment]  # as above
                key = call_key(call)
                known = calls.get(key)
                if known is not None:
                    repeated = known.name == call.name and bytes(known.input_json) == bytes(call.input_json)
                else:
                    seen = answered(key)
                    repeated = seen is not None and _checksum(call) in (seen, ~seen)
                if repeated:
                    batch.ignore("repeated-call")
                    if out is None:
                        out = events[:i]
                    continue
                if known is not None or len(calls) >= MOST_OPEN:
                    if out is None:
                        out = events[:i]
                    self._let_go(key if known is not None else next(iter(calls)), out)
                calls[key] = call
                if out is not None:
                    out.append(event)
                if early and key in early:
                    if out is None:
                        out = events[: i + 1]
                    self._result(early.pop(key), batch, out)
            else:
                if out is not None:
                    out.append(event)
                if kind is Retract and calls:
                    if out is None:
                        out = events[: i + 1]
                    self._void(event, out)  # type: ignore[arg-type]  # as above
        if out is not None:
            batch.events = out
        if self.state.headers and batch.faults:
            last = _last_interleaved(batch)
            self.state.headers = [(file, row) for file, row in self.state.headers if file != batch.file or row > last]
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        """Returns the rest: results whose call never came, calls whose result never came."""
        self._flushed.once()
        state = self.state
        batch = Batch()
        elsewhere: dict[str, list[str]] = {}
        for key, call in state.open.items() if state.early else ():
            elsewhere.setdefault(call.call_id, []).append(key)
        for key, result in state.early.items():
            keys = elsewhere.pop(result.call_id, ())
            if len(keys) == 1:  # the call came later, and on another stream
                state.open[key] = state.open.pop(keys[0])
                self._result(result, batch, batch.events)
            else:
                self._orphan(result, batch, batch.events)
        for key in list(state.bare):
            self._let_go(key, batch.events)
        self._left = list(state.open.values())
        batch.events += map(_closed, self._left)
        state.early, state.open, state.bare = {}, {}, {}
        return (batch,) if batch.events else ()

    def snapshot(self) -> PairState:
        state = self.state
        return PairState(
            dict(state.open),
            dict(state.early),
            self._recent.items(),
            dict(state.bare),
            self._identity.snapshot(),
            list(state.headers),
        )

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, PairState, from_attributes=True)
        self._recent.load(self.state.recent)
        self._identity.restore(self.state.identity)
        self.state.recent, self.state.identity = {}, IdentityState()

    def _let_go(self, key: str, out: list[AnyEvent]) -> None:
        """Closes an open call: with the known facts about its end, or as `unpaired`."""
        call, end = self.state.open.pop(key), self.state.bare.pop(key, None)
        self._recent.put(key, ~_checksum(call))
        if end is None:
            out.append(_closed(call))
        else:
            out.append(_joined(replace(end, partial=False), call, end.outcome, end.duration_ms))

    def _void(self, retract: Retract, out: list[AnyEvent]) -> None:
        """Closes the open calls of the messages that the log takes back."""
        ids = set(retract.message_ids)
        latest = list(islice(reversed(self.state.open.items()), MOST_SEARCHED))
        for key, call in reversed(latest):
            if call.message_id in ids or call.source.base_id in ids:
                del self.state.open[key]
                self._recent.put(key, ~_checksum(call))
                self.state.bare.pop(key, None)
                out.append(_closed(call, "cancelled"))

    def _elsewhere(self, result: ToolResult) -> str | None:
        """The key of an open call with this id on another stream: a log may not say on which stream a result is."""
        latest = islice(reversed(self.state.open.items()), MOST_SEARCHED)
        return next((key for key, call in latest if call.call_id == result.call_id), None)

    def _result(self, result: ToolResult, batch: Batch, out: list[AnyEvent]) -> None:
        state, key = self.state, call_key(result)
        call = state.open.get(key)
        if call is None:
            checksum = self._recent.get(key)
            if checksum is not None and 0 <= checksum < _ELSEWHERE:
                batch.ignore("repeated-result")
                return
            if checksum is not None and checksum < 0:  # its call was closed without a result
                if not result.partial:
                    self._recent.put(key, ~checksum)
                out.append(result)
                return
            other = self._elsewhere(result)
            if other is None:
                if checksum == _ELSEWHERE:
                    batch.ignore("repeated-result")
                else:
                    self._wait(result, key, batch, out)
                return
            if not result.partial:
                self._recent.put(key, _ELSEWHERE)
            key, call = other, state.open[other]
        if state.headers:
            self._continued(call, result, batch)
        duration, outcome = result.duration_ms, result.outcome
        if not result.partial:
            del state.open[key]
            self._recent.put(key, _checksum(call))
            if state.bare:
                bare = state.bare.pop(key, result)
                duration = bare.duration_ms if duration is None else duration
                outcome = outcome or bare.outcome
        elif result.output_json is None and outcome is not None:
            state.bare[key] = result
            return
        out.append(_joined(result, call, outcome, duration))

    def _wait(self, result: ToolResult, key: str, batch: Batch, out: list[AnyEvent]) -> None:
        """Keeps a result until its call comes; an earlier one of that call, or the oldest of too many, is given up."""
        early = self.state.early
        if key in early or len(early) >= MOST_EARLY:
            given_up = early.pop(key if key in early else next(iter(early)))
            self._orphan(given_up, batch, out, result.source.offset)
        early[key] = result

    def _continued(self, call: ToolCall, result: ToolResult, batch: Batch) -> None:
        """Whether a call of an earlier session ends after the header of another one; each header is in one fault."""
        source, known = result.source, _last_interleaved(batch, result.source.row)
        if call.source.file == source.file and any(
            file == source.file and max(call.source.row, known) < row <= source.row for file, row in self.state.headers
        ):
            detail = f"a call of row {call.source.row} ends after another session began: no total is known"
            batch.faults.append(
                Fault("interleaved", source.file, source.row, source.offset, source.length, detail, b"")
            )
            batch.faults.sort(key=_offset)

    @staticmethod
    def _orphan(result: ToolResult, batch: Batch, out: list[AnyEvent], before: int | None = None) -> None:
        """Passes on a result without a call; the fault gives its position, as its record may be batches back. It stands
        `before` faults of later records than that offset: their order must not depend on the chunking."""
        source, detail = result.source, f"no open call has the id {result.call_id[:80]!r}"
        fault = Fault("orphan-result", source.file, source.row, source.offset, source.length, detail, b"")
        at = len(batch.faults)
        while before is not None and at and batch.faults[at - 1].offset > before:
            at -= 1
        batch.faults.insert(at, fault)
        out.append(result)


def _closed(call: ToolCall, outcome: Outcome = "unpaired") -> ToolResult:
    return ToolResult(call.source, call.part, call.call_id, None, outcome, None, None, None, False, call)


def _joined(result: ToolResult, call: ToolCall, outcome: Outcome | None, duration_ms: int | None) -> ToolResult:
    """The result with its call; `duration_ms` None is replaced by the time between them."""
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


def _last_interleaved(batch: Batch, until: int | None = None) -> int:
    """The row of the last such fault in the batch, `until` that row; -1 if there is none."""
    rows = [fault.row for fault in batch.faults if fault.reason == "interleaved" and fault.file == batch.file]
    return max((row for row in rows if until is None or row <= until), default=-1)


def _offset(fault: Fault) -> int:
    return fault.offset


def _checksum(call: ToolCall) -> int:
    return crc32(call.input_json, crc32(call.name.encode()))
