"""The output of spans: a line of OTLP JSON for the spans that each batch completes.

In: batches. Out: lines, each one export request, in the form that the OpenTelemetry collector's file exporter writes.
"""

from copy import copy

import msgspec
from msgspec import Raw, Struct

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.otlp import (
    LogRecord,
    Request,
    Resource,
    ResourceLogs,
    ResourceSpans,
    Scope,
    ScopeLogs,
    ScopeSpans,
    Span,
    line_of,
    pairs,
)
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.sinks.output import Append, Operation
from agentv_stages.sinks.span_content import SpanContent
from agentv_stages.sinks.span_options import SpanOptions, resource_of
from agentv_stages.sinks.spans import Spans, SpansState
from agentv_stages.sinks.suffixes import SPANS
from agentv_stages.sinks.transcript import Identity

MOST_SPANS = 512  # in a line
SCOPE = "agentv-stream"


class SpanLogState(Struct):
    spans: Raw = Raw(b"null")


class SpanLog:
    """The spans of one session."""

    suffix, required = SPANS, False

    def __init__(self, options: SpanOptions) -> None:
        self._options = options
        self._held: list[Batch] = []  # until the session is known
        self._done: list[Span] = []
        self._spans: Spans | None = None
        self._resource = Resource()

    @property
    def ready(self) -> bool:
        return self._spans is not None

    @property
    def waiting(self) -> bool:
        return self._spans is None and any(batch.messages for batch in self._held)

    @property
    def urgent(self) -> bool:
        return False

    @property
    def last_prompt(self) -> tuple[str, str, int] | None:
        """Trace, span and end (UTC ms) of the last prompt."""
        if self._spans is None or not self._spans.agents.prompts:
            return None
        last = self._spans.agents.prompts[-1]
        return last.trace_id, last.span_id, last.end_ms or 0

    def take(self, batch: Batch) -> None:
        if self._spans is None:
            self._held.append(_kept(batch))
        else:
            self._done += self._spans.take(batch)

    def begin(self, identity: Identity, blobs: str) -> None:
        options = self._options
        content = SpanContent(Redactor(options.key)) if options.content else None
        self._spans = Spans(identity, content, options.old_names)
        self._resource = Resource(pairs(resource_of(options, identity)))
        held, self._held = self._held, []
        for batch in held:
            self._done += self._spans.take(batch)

    def operations(self) -> list[Operation]:
        spans, self._done = self._done, []
        return [Append(self.suffix, self._line(spans[at : at + MOST_SPANS])) for at in range(0, len(spans), MOST_SPANS)]

    def _line(self, spans: list[Span]) -> bytes:
        scope = Scope(SCOPE, self._options.version)
        return line_of(Request(resource_spans=[ResourceSpans(self._resource, [ScopeSpans(scope, spans)])]))

    def close(self, observer: Observer) -> list[Operation]:
        assert self._spans is not None  # `begin` was called
        self._done += self._spans.close(observer)
        return self.operations()

    def events(self, records: list[LogRecord]) -> bytes:
        """A line of log records about the session."""
        scope = Scope(SCOPE, self._options.version)
        return line_of(Request(resource_logs=[ResourceLogs(self._resource, [ScopeLogs(scope, records)])]))

    def fork(self) -> "SpanLog":
        other = copy(self)
        other._held, other._done = [*self._held], [*self._done]
        if self._spans is not None:
            copied = msgspec.json.decode(msgspec.json.encode(self._spans.snapshot()), type=SpansState)
            options = self._options
            content = SpanContent(Redactor(options.key)) if options.content else None
            other._spans = Spans(self._spans.identity, content, options.old_names)
            other._spans.restore(copied)
        return other

    def snapshot(self) -> SpanLogState:
        return SpanLogState() if self._spans is None else SpanLogState(Raw(msgspec.json.encode(self._spans.snapshot())))

    def restore(self, state: SpanLogState) -> None:
        if self._spans is not None and bytes(state.spans) != b"null":
            self._spans.restore(msgspec.json.decode(state.spans, type=SpansState))


def _kept(batch: Batch) -> Batch:
    """What spans need of a batch; its records would stay in memory."""
    return Batch(batch.file, batch.arrived_ms, events=batch.events, messages=batch.messages)
