"""The output of spans: a line of OTLP JSON for the spans that each batch completes.

In: batches. Out: lines, each one export request, in the form that the OpenTelemetry collector's file exporter writes.
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.otlp import (
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
from agentv_stages.sinks.evaluations import evaluations
from agentv_stages.sinks.output import Append, Operation
from agentv_stages.sinks.span_content import SpanContent
from agentv_stages.sinks.span_options import SpanOptions, resource_of
from agentv_stages.sinks.spans import Spans, SpansState
from agentv_stages.sinks.suffixes import SPANS
from agentv_stages.sinks.transcript import Identity

if TYPE_CHECKING:  # importing the evaluators takes 80 ms, and most sessions are not checked
    from agentv_stages.trajectory.case import CaseResult

MOST_SPANS = 512  # in a line
SCOPE = "agentv-stream"
_QUOTES = "gen_ai.evaluation.explanation"


class SpanLogState(Struct):
    spans: Raw = Raw(b"null")


class SpanLog:
    """The spans of one session."""

    suffix, required = SPANS, False

    def __init__(self, options: SpanOptions, redactor: Redactor | None = None) -> None:
        assert redactor is not None or not options.content  # texts are never exported as they are
        self._options = options
        self._redactor = redactor if options.content else None
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

    def verdicts(self, results: "Sequence[CaseResult]") -> bytes:
        """A line with the verdicts on the session, as events about its last prompt. What they quote is content."""
        prompts = self._spans.agents.prompts if self._spans is not None else []
        if not prompts or not results:
            return b""
        last = prompts[-1]
        records = evaluations(results, last.trace_id, last.span_id, last.end_ms or 0)
        scope = Scope(SCOPE, self._options.version)
        if self._redactor is None:
            for record in records:
                record.attributes = [pair for pair in record.attributes if pair.key != _QUOTES]
        line = line_of(Request(resource_logs=[ResourceLogs(self._resource, [ScopeLogs(scope, records)])]))
        return line if self._redactor is None else self._redactor.redact(line)

    def take(self, batch: Batch) -> None:
        if self._spans is None:
            self._held.append(_kept(batch))
        else:
            self._done += self._spans.take(batch)

    def begin(self, identity: Identity, blobs: str) -> None:
        self._spans = self._spans_of(identity)
        self._resource = Resource(pairs(resource_of(self._options, identity)))
        held, self._held = self._held, []
        for batch in held:
            self._done += self._spans.take(batch)

    def _spans_of(self, identity: Identity) -> Spans:
        content = SpanContent(self._redactor) if self._redactor is not None else None
        return Spans(identity, content, self._options.old_names)

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

    def fork(self) -> "SpanLog":
        other = copy(self)
        other._held, other._done = [*self._held], [*self._done]
        if self._spans is not None:
            copied = msgspec.json.decode(msgspec.json.encode(self._spans.snapshot()), type=SpansState)
            other._spans = self._spans_of(self._spans.identity)
            other._spans.restore(copied)
        return other

    def snapshot(self) -> SpanLogState:
        return SpanLogState() if self._spans is None else SpanLogState(Raw(msgspec.json.encode(self._spans.snapshot())))

    def restore(self, state: SpanLogState) -> None:
        if self._spans is not None and bytes(state.spans) != b"null":
            self._spans.restore(msgspec.json.decode(state.spans, type=SpansState))


def _kept(batch: Batch) -> Batch:
    """The part of a batch that spans need; its records would stay in memory."""
    return Batch(batch.file, batch.arrived_ms, events=batch.events, messages=batch.messages)
