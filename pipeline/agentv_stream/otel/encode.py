"""Export requests to the bodies of HTTP requests: as JSON, or encoded by the official protobuf messages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentv_stages.model.otlp import AnyValue, KeyValue, LogRecord, Request, Span, line_of

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue as ValueMessage
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue as PairMessage
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage


def json_body(request: Request) -> bytes:
    """The request as JSON."""
    return line_of(request).rstrip(b"\n")


def protobuf_body(request: Request) -> bytes:
    """The request as protobuf: spans or log records, whichever it has."""
    return _logs_body(request) if request.resource_logs else _spans_body(request)


def _spans_body(request: Request) -> bytes:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans

    parts = [
        ResourceSpans(
            resource=Resource(attributes=_pairs(part.resource.attributes)),
            scope_spans=[
                ScopeSpans(
                    scope=InstrumentationScope(name=own.scope.name, version=own.scope.version),
                    spans=map(_span, own.spans),
                )
                for own in part.scope_spans
            ],
        )
        for part in request.resource_spans
    ]
    return ExportTraceServiceRequest(resource_spans=parts).SerializeToString()


def _logs_body(request: Request) -> bytes:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs, ScopeLogs
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource

    parts = [
        ResourceLogs(
            resource=Resource(attributes=_pairs(part.resource.attributes)),
            scope_logs=[
                ScopeLogs(
                    scope=InstrumentationScope(name=own.scope.name, version=own.scope.version),
                    log_records=map(_record, own.log_records),
                )
                for own in part.scope_logs
            ],
        )
        for part in request.resource_logs
    ]
    return ExportLogsServiceRequest(resource_logs=parts).SerializeToString()


def _span(span: Span) -> "SpanMessage":
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
    from opentelemetry.proto.trace.v1.trace_pb2 import Status

    return SpanMessage(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_span_id),
        name=span.name,
        kind=SpanMessage.SpanKind.Name(span.kind),  # type: ignore[arg-type]  # any number of the enum
        status=Status(code=Status.StatusCode.Name(span.status.code), message=span.status.message),  # type: ignore[arg-type]  # as above
        start_time_unix_nano=int(span.start_time_unix_nano),
        end_time_unix_nano=int(span.end_time_unix_nano),
        attributes=_pairs(span.attributes),
    )


def _record(record: LogRecord) -> "LogMessage":
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage

    return LogMessage(
        time_unix_nano=int(record.time_unix_nano),
        observed_time_unix_nano=int(record.observed_time_unix_nano),
        event_name=record.event_name,
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        attributes=_pairs(record.attributes),
    )


def _pairs(attributes: Sequence[KeyValue]) -> "list[PairMessage]":
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue as PairMessage

    return [PairMessage(key=pair.key, value=_value(pair.value)) for pair in attributes]


def _value(value: AnyValue) -> "ValueMessage":
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue as ValueMessage
    from opentelemetry.proto.common.v1.common_pb2 import ArrayValue

    if value.string_value is not None:
        return ValueMessage(string_value=value.string_value)
    if value.bool_value is not None:
        return ValueMessage(bool_value=value.bool_value)
    if value.int_value is not None:
        return ValueMessage(int_value=int(value.int_value))
    if value.double_value is not None:
        return ValueMessage(double_value=value.double_value)
    if value.array_value is not None:
        return ValueMessage(array_value=ArrayValue(values=map(_value, value.array_value.values)))
    return ValueMessage()
