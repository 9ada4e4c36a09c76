"""OTLP JSON, and the forms of Tempo and Jaeger, to spans with plain attributes; spans that cannot be used are named.

Source: opentelemetry-proto's JSON mapping; numbers as text or as numbers, ids in hexadecimal or base64, attributes of
any type. Tempo writes `batches` and `instrumentationLibrarySpans`; Jaeger is in `jaeger`.
"""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

from msgspec import Struct

from agentv_stages.providers.otlp.jaeger import jaeger_spans
from agentv_stages.providers.otlp.values import as_list, as_object, items_of

_MOST_DEPTH = 20


class Event(Struct):
    """An event of a span, or a log record about it."""

    name: str
    attributes: dict[str, Any] = {}


class SpanFacts(Struct):
    """A span. Times are UTC ms; `row`, `offset` and `length` are those of its record, `number` is its place among all
    spans. `error`: its status is an error. `broken` are the names of attributes whose JSON cannot be read."""

    trace: str
    id: str
    parent: str
    name: str
    start_ms: int
    end_ms: int
    start_ns: int
    end_ns: int
    error: bool
    scope: str
    version: str | None
    attributes: dict[str, Any]
    events: list[Event]
    number: int
    row: int
    offset: int
    length: int
    broken: list[str] = []


class Part(NamedTuple):
    """The spans or log records of one scope, still as they are in the JSON."""

    resource: dict[str, Any]
    scope: str
    spans: list[dict[str, Any]]
    logs: list[dict[str, Any]]


class Unusable(ValueError):
    """A span that cannot be used; the message says why."""


def _object(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The object under one of the names."""
    return as_object(next((value[name] for name in names if isinstance(value.get(name), dict)), None))


def parts_of(record: Mapping[str, Any]) -> Iterator[Part]:
    """The parts of one export request, or of a document with a whole trace."""
    trace = _object(record, "trace") or record
    for resource in (
        *items_of(trace, "resourceSpans", "resource_spans", "batches"),
        *items_of(trace, "resourceLogs", "resource_logs"),
    ):
        attributes = plain(_object(resource, "resource").get("attributes"))
        for scope in items_of(
            resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs"
        ):
            name = _object(scope, "scope", "instrumentationLibrary").get("name")
            spans, logs = items_of(scope, "spans"), items_of(scope, "logRecords", "log_records")
            yield Part(attributes, name if isinstance(name, str) else "", spans, logs)
    if "resourceSpans" not in trace:
        for resource, scope_name, span in jaeger_spans(record):
            yield Part(resource, scope_name, [span], [])


def plain(pairs: object, depth: int = 0) -> dict[str, Any]:
    """Attributes as plain values."""
    entries = map(as_object, as_list(pairs))
    return {str(entry["key"]): _value(entry.get("value"), depth) for entry in entries if "key" in entry}


def _value(value: Any, depth: int) -> Any:
    """The plain value of an `AnyValue`."""
    if not isinstance(value, dict) or depth > _MOST_DEPTH:
        return None
    for name, content in as_object(value).items():
        match name:
            case "intValue" | "int_value":
                return whole(content)
            case "arrayValue" | "array_value":
                return [_value(item, depth + 1) for item in as_list(as_object(content).get("values"))]
            case "kvlistValue" | "kvlist_value":
                return plain(as_object(content).get("values"), depth + 1)
            case _:
                return content
    return None


def whole(value: object) -> int | None:
    """A whole number that may be written as a text."""
    if isinstance(value, int):
        return value if abs(value) < 1 << 64 else None  # the format has 64 bits
    if isinstance(value, float):
        return int(value) if isfinite(value) else None
    return int(value) if isinstance(value, str) and len(value) < 20 and value.lstrip("-").isdecimal() else None


def _hex(value: object, digits: int) -> str:
    """An id as hexadecimal digits; "" for none, which some exporters write as zeros. Raises: Unusable."""
    if not isinstance(value, str) or not value:
        return ""
    data = b""
    with suppress(ValueError):  # also `binascii.Error`
        data = bytes.fromhex(value) if len(value) == digits else b64decode(value, validate=True)  # as protobuf has it
    if len(data) * 2 != digits:
        raise Unusable(f"an id of {len(value)} characters where {digits} hexadecimal digits are expected")
    return data.hex() if any(data) else ""


def _nanoseconds(span: Mapping[str, Any], *names: str) -> int:
    for name in names:
        found = whole(span.get(name))
        if found is not None:
            return int(found) if 0 <= found < 1 << 64 else 0  # the format has 64 bits; `True` is 1
    return 0


def span_of(span: Mapping[str, Any], part: Part, number: int, place: tuple[int, int, int]) -> tuple[SpanFacts, str]:
    """A span, and its defect if it can be used all the same. Raises: Unusable."""
    trace, own = _hex(span.get("traceId", span.get("trace_id")), 32), _hex(span.get("spanId", span.get("span_id")), 16)
    if not trace or not own:
        raise Unusable("a span without an id")
    start = _nanoseconds(span, "startTimeUnixNano", "start_time_unix_nano")
    end = _nanoseconds(span, "endTimeUnixNano", "end_time_unix_nano")
    trouble = "a span that ends before it begins" if end < start else ""
    status = _object(span, "status").get("code")
    version = part.resource.get("service.version")
    name = span.get("name")
    facts = SpanFacts(
        trace,
        own,
        _hex(span.get("parentSpanId", span.get("parent_span_id")), 16),
        name if isinstance(name, str) else "",
        start // 1_000_000,
        max(start, end) // 1_000_000,
        start,
        max(start, end),
        status in (2, "2", "STATUS_CODE_ERROR"),
        part.scope,
        version if isinstance(version, str) else None,
        plain(span.get("attributes")),
        [Event(str(event.get("name")), plain(event.get("attributes"))) for event in items_of(span, "events")],
        number,
        *place,
    )
    return facts, trouble


class LogRecord(NamedTuple):
    """A log record. Its name is the event's, with the program before it; `time_ns` is when it happened."""

    name: str
    trace: str
    span: str
    time_ns: int
    version: str | None
    attributes: dict[str, Any]


def event_name(record: Mapping[str, Any], attributes: Mapping[str, Any], body: object) -> str:
    """The name of the event. Claude Code has the whole name in the body; in Rust programs the record's own name is a
    place in their source."""
    name = attributes.get("event.name")
    if isinstance(body, str) and isinstance(name, str) and body.endswith(f".{name}"):
        return body
    return str(name or record.get("eventName", record.get("event_name")) or "")


def log_of(record: Mapping[str, Any], part: Part) -> LogRecord:
    """A log record as it is read. Raises: Unusable."""
    attributes = plain(record.get("attributes"))
    body = None if record.get("body") is None else _value(record.get("body"), 0)
    name = event_name(record, attributes, body)
    if body is not None:
        attributes["body"] = body
    time = _nanoseconds(record, "timeUnixNano", "time_unix_nano")
    version = part.resource.get("service.version")
    return LogRecord(
        name,
        _hex(record.get("traceId", record.get("trace_id")), 32),
        _hex(record.get("spanId", record.get("span_id")), 16),
        time or _nanoseconds(record, "observedTimeUnixNano", "observed_time_unix_nano"),
        version if isinstance(version, str) else None,
        attributes,
    )
