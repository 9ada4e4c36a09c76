"""Spans of logs, as one session or in any cut, and their attributes as plain values."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from agentv_stages.model.otlp import AnyValue, KeyValue, Span, request_of
from agentv_stages.redaction.redactor import Redactor
from agentv_stages.sinks.output import Operation, lines_of
from agentv_stages.sinks.span_log import SpanLog
from agentv_stages.sinks.span_options import SpanOptions
from agentv_stream.outputs.session_name import Log, identity_of
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader

WITH_CONTENT = SpanOptions(content=True)


def spans_in(lines: bytes | Iterable[bytes]) -> list[Span]:
    """The spans of lines of OTLP JSON, in order."""
    data = lines.splitlines() if isinstance(lines, bytes) else lines
    return [
        span
        for line in data
        for part in request_of(line).resource_spans
        for scope in part.scope_spans
        for span in scope.spans
    ]


def spans_of(path: Path, options: SpanOptions | None = None, pieces: Sequence[bytes] | None = None) -> list[Span]:
    """The spans of a finished log; `pieces` are its bytes in another cut."""
    reader = SessionReader(iter(pieces) if pieces is not None else read_pieces(path), str(path), messages=True)
    output, done = SpanLog(options or SpanOptions(), Redactor(b"k" * 32)), list[Operation]()
    for batch in reader.batches():
        output.take(batch)
        if not output.ready and output.waiting and reader.observer.facts.named:
            output.begin(identity_of(reader.observer, Log(str(path), str(path), 1_000)), "")
        if output.ready:
            done += output.operations()
    if not output.ready:
        output.begin(identity_of(reader.observer, Log(str(path), str(path), 1_000)), "")
    return spans_in(lines_of([*done, *output.close(reader.observer)]))


def last_of_each(spans: Iterable[Span]) -> dict[str, Span]:
    """By id: the span as it was sent last."""
    return {span.span_id: span for span in spans}


def value_in(value: AnyValue) -> Any:
    if value.int_value is not None:
        return int(value.int_value)
    if value.array_value is not None:
        return [value_in(item) for item in value.array_value.values]
    plain = (value.string_value, value.bool_value, value.double_value)
    return next(known for known in plain if known is not None)


def attributes(holder: Span | Sequence[KeyValue]) -> dict[str, Any]:
    pairs = holder.attributes if isinstance(holder, Span) else holder
    return {pair.key: value_in(pair.value) for pair in pairs}
