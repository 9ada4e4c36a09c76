"""OTLP JSON to events. Spans come in any order, so they are held until the input ends, or there are too many of them.

Log records of agents' programs are held likewise. Where a session has both, they count, and not its spans: the spans of
Codex and Gemini CLI have neither outcomes nor tokens, and most of their answers and calls have nothing in common.

Faults: `schema` for a span with an id of a wrong length, with an end before its beginning, without its parent, or
with messages that are no JSON (an exporter may cut long attributes).
"""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.events import TraceEvents
from agentv_stages.providers.otlp.records import Fact, fact_of, spans_of
from agentv_stages.providers.otlp.tree import conversations_of, trace_of
from agentv_stages.providers.otlp.wire import Event, LogRecord, SpanFacts, Unusable, log_of, parts_of, span_of

MOST_SPANS = 10_000
MOST_SESSIONS = 10_000
"""Sessions with log records that are remembered, so that their spans do not count too."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class State(Struct):
    """Spans by trace and by id, as they came, events about spans, log records by session; the session that came last.
    `recorded` are sessions that have log records."""

    spans: dict[str, dict[str, Raw]] = {}
    records: dict[str, list[Fact]] = {}
    recorded: dict[str, bool] = {}
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
                state.number += 1
                try:
                    log_record = log_of(log, part)
                except Unusable as error:
                    batch.faults.append(self._fault(place, str(error), bytes(to_raw(log))))
                    continue
                if not self._hold_record(log_record, place):
                    batch.ignore("log record")
        if "resourceMetrics" in request:
            batch.ignore("metrics")
        elif not found:
            batch.unknown_type("no spans", record)
        while state.held > MOST_SPANS:
            self._settle()
            self._emit(next(iter(state.spans)), batch)

    def flush(self, batch: Batch) -> None:
        """All spans have come: the traces in the order of their beginnings."""
        self._settle()
        spans = self.state.spans
        times = {trace: [_times(raw) for raw in held.values()] for trace, held in spans.items()}
        for trace in sorted(
            times, key=lambda t: (min(span.start_ns for span in times[t]), max(o.end_ns for o in times[t]))
        ):
            self._emit(trace, batch)

    def _hold(self, span: SpanFacts) -> None:
        """A span that comes again replaces the earlier one, unless that ended later."""
        held = self.state.spans.setdefault(span.trace, {})
        if span.id in held and _times(held[span.id]).end_ns > span.end_ns:
            return
        self.state.held += span.id not in held
        held[span.id] = Raw(to_raw(span))

    def _hold_record(self, log: LogRecord, place: tuple[int, int, int]) -> bool:
        """Holds a log record that is of use."""
        state = self.state
        found = fact_of(log, state.number, place)
        if found is not None:
            session, fact = found
            state.records.setdefault(session, []).append(fact)
            state.recorded[session] = True
            if len(state.recorded) > MOST_SESSIONS:
                del state.recorded[next(iter(state.recorded))]
            state.held += 1
            return True
        if not (log.trace and log.span and log.name in names.EVENTS and state.held < MOST_SPANS):
            return False
        state.logs.setdefault(f"{log.trace}{log.span}", []).append(Event(log.name, log.attributes))
        return True

    def _settle(self) -> None:
        """Log records become spans."""
        state = self.state
        for session, records in state.records.items():
            state.held -= len(records)
            for span in spans_of(session, records):
                self._hold(span)
        state.records = {}

    def _emit(self, trace: str, batch: Batch) -> None:
        state = self.state
        held = state.spans.pop(trace)
        state.held -= len(held)
        spans = [msgspec.json.decode(raw, type=SpanFacts) for raw in held.values()]
        for span in spans:
            span.events += state.logs.pop(f"{span.trace}{span.id}", [])
            for event in span.events:
                if event.name == names.DETAILS:
                    span.attributes = event.attributes | span.attributes
        for conversation in conversations_of(spans):
            self._emit_conversation(conversation, batch)

    def _emit_conversation(self, spans: list[SpanFacts], batch: Batch) -> None:
        state, read = self.state, trace_of(spans)
        if read.others:
            batch.ignored["span of no agent"] = batch.ignored.get("span of no agent", 0) + read.others
        for span in read.lost_parents:
            place = (span.row, span.offset, span.length)
            batch.faults.append(self._fault(place, f"the parent of the span {span.id} is missing", b""))
        events = TraceEvents(self.file, read)
        if not events.any:
            return
        if events.session in state.recorded and not events.recorded:
            batch.ignored["span beside log records"] = batch.ignored.get("span beside log records", 0) + len(spans)
            return
        batch.events += events.all(state.session, state.begun)
        for span in read.spans:
            for name in span.broken:
                place = (span.row, span.offset, span.length)
                batch.faults.append(self._fault(place, f"{name} of the span {span.id} is no JSON", b""))
        state.session, state.begun = events.session, True

    def _fault(self, place: tuple[int, int, int], detail: str, data: bytes) -> Fault:
        return Fault("schema", self.file, *place, detail, data)


class _Times(Struct):
    start_ns: int
    end_ns: int


def _times(raw: Raw) -> _Times:
    return msgspec.json.decode(raw, type=_Times)
