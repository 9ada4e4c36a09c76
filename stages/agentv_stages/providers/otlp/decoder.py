"""OTLP JSON to events. Spans come in any order, so they are held until the input ends, or there are too many of them.

Faults: `schema` for a span with an id of a wrong length, with an end before its beginning, or without its parent.
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.otlp.events import TraceEvents
from agentv_stages.providers.otlp.tree import trace_of
from agentv_stages.providers.otlp.wire import Event, SpanFacts, Unusable, log_of, parts_of, span_of

MOST_SPANS = 10_000
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class State(Struct):
    """Spans by trace and by id, as they came, and events about spans; the session that came last."""

    spans: dict[str, dict[str, Raw]] = {}
    logs: dict[str, list[Event]] = {}
    held: int = 0
    number: int = 0
    session: str | None = None
    begun: bool = False


class OtlpDecoder:
    """Decodes one input."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        request = _decode(record.data)
        state, place = self.state, (record.row, record.offset, record.length)
        found = 0
        for part in parts_of(request):
            for span in part.spans:
                found += 1
                state.number += 1
                try:
                    facts, trouble = span_of(span, part, state.number, place)
                except Unusable as error:
                    trouble = str(error)
                else:
                    self._hold(facts)
                if trouble:
                    batch.faults.append(self._fault(place, trouble, bytes(to_raw(span))))
            for log in part.logs:
                found += 1
                try:
                    trace, own, event = log_of(log)
                except Unusable as error:
                    batch.faults.append(self._fault(place, str(error), bytes(to_raw(log))))
                    continue
                if trace and own and event.name.startswith("gen_ai.") and state.held < MOST_SPANS:
                    state.logs.setdefault(f"{trace}{own}", []).append(event)
                else:
                    batch.ignore("log record")
        if not found:
            batch.unknown_type("no spans", record)
        while state.held > MOST_SPANS:
            self._emit(next(iter(state.spans)), batch)

    def flush(self, batch: Batch) -> None:
        """All spans have come: the traces in the order of their beginnings."""
        spans = self.state.spans
        times = {trace: [_times(raw) for raw in held.values()] for trace, held in spans.items()}
        for trace in sorted(
            times, key=lambda t: (min(span.start_ns for span in times[t]), max(o.end_ns for o in times[t]))
        ):
            self._emit(trace, batch)

    def _hold(self, span: SpanFacts) -> None:
        """A span that comes again replaces the earlier one."""
        held = self.state.spans.setdefault(span.trace, {})
        self.state.held += span.id not in held
        held[span.id] = Raw(to_raw(span))

    def _emit(self, trace: str, batch: Batch) -> None:
        state = self.state
        held = state.spans.pop(trace)
        state.held -= len(held)
        spans = [msgspec.json.decode(raw, type=SpanFacts) for raw in held.values()]
        for span in spans:
            span.events += state.logs.pop(f"{span.trace}{span.id}", [])
        read = trace_of(spans)
        if read.others:
            batch.ignored["span of no agent"] = batch.ignored.get("span of no agent", 0) + read.others
        for span in read.lost_parents:
            place = (span.row, span.offset, span.length)
            batch.faults.append(self._fault(place, f"the parent of the span {span.id} is missing", b""))
        events = TraceEvents(self.file, read)
        if not events.any:
            return
        batch.events += events.all(state.session, state.begun)
        state.session, state.begun = events.session, True

    def _fault(self, place: tuple[int, int, int], detail: str, data: bytes) -> Fault:
        return Fault("schema", self.file, *place, detail, data)


class _Times(Struct):
    start_ns: int
    end_ns: int


def _times(raw: Raw) -> _Times:
    return msgspec.json.decode(raw, type=_Times)
