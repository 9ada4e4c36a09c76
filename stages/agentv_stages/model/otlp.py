"""OTLP as JSON: the wire Structs of spans and log records, written as one line for each export request.

Source: opentelemetry-proto 1.x and its JSON mapping: camel case, ids in hexadecimal, 64-bit numbers as text, enums as
numbers. A line holds `resourceSpans` or `resourceLogs`, as the file exporter of the OpenTelemetry collector writes it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from agentv_stages.model.payload import replace_surrogates

INTERNAL, CLIENT = 1, 3
"""Kinds of spans."""
ERROR = 2
"""The status of a span that failed; 0 is unset."""

Attribute: TypeAlias = "str | bool | int | float | Sequence[str]"
Attributes: TypeAlias = Mapping[str, Attribute]


class ArrayValue(Struct):
    values: list["AnyValue"] = []


class AnyValue(Struct, rename="camel", omit_defaults=True):
    """A value of an attribute; exactly one member is set."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: str | None = None
    double_value: float | None = None
    array_value: ArrayValue | None = None


class KeyValue(Struct):
    key: str
    value: AnyValue


class Status(Struct, omit_defaults=True):
    code: int = 0
    message: str = ""


class Span(Struct, rename="camel", omit_defaults=True):
    """A finished span; ids are 32 and 16 hexadecimal digits, times are nanoseconds since the epoch as text."""

    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    kind: int = 0
    start_time_unix_nano: str = "0"
    end_time_unix_nano: str = "0"
    attributes: list[KeyValue] = []
    status: Status = msgspec.field(default_factory=Status)


class LogRecord(Struct, rename="camel", omit_defaults=True):
    """An event: a log record with a name."""

    time_unix_nano: str = "0"
    observed_time_unix_nano: str = "0"
    event_name: str = ""
    attributes: list[KeyValue] = []
    trace_id: str = ""
    span_id: str = ""


class Scope(Struct, omit_defaults=True):
    name: str = ""
    version: str = ""


class ScopeSpans(Struct):
    scope: Scope
    spans: list[Span]


class ScopeLogs(Struct, rename="camel"):
    scope: Scope
    log_records: list[LogRecord]


class Resource(Struct, omit_defaults=True):
    attributes: list[KeyValue] = []


class ResourceSpans(Struct, rename="camel"):
    resource: Resource
    scope_spans: list[ScopeSpans]


class ResourceLogs(Struct, rename="camel"):
    resource: Resource
    scope_logs: list[ScopeLogs]


class Request(Struct, rename="camel", omit_defaults=True):
    """One export request: spans or log records."""

    resource_spans: list[ResourceSpans] = []
    resource_logs: list[ResourceLogs] = []


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Request).decode


def value_of(value: Attribute) -> AnyValue:
    """A plain value as OTLP writes it."""
    if isinstance(value, str):
        return AnyValue(string_value=value)
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=str(value))
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue([AnyValue(string_value=item) for item in value]))


def pairs(attributes: Attributes) -> list[KeyValue]:
    """Attributes in the given order."""
    return [KeyValue(key, value_of(value)) for key, value in attributes.items()]


def line_of(request: Request) -> bytes:
    """The request as one line of JSON."""
    try:
        return _encode(request) + b"\n"
    except UnicodeEncodeError:  # half of a character, which a log may contain
        clean = msgspec.json.decode(replace_surrogates(_as_text(request)), type=Request)
        return _encode(clean) + b"\n"


def _as_text(request: Request) -> str:
    import json  # only for texts that msgspec refuses

    return json.dumps(msgspec.to_builtins(request), ensure_ascii=False)


def request_of(line: bytes) -> Request:
    """The request that `line_of` wrote. Raises: msgspec.MsgspecError."""
    return _decode(line)
