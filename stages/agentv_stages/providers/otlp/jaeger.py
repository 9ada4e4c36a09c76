"""Jaeger's JSON export of traces to spans of OTLP JSON.

Jaeger has times in microseconds, `tags` for attributes, `logs` for events, `references` for parents, and the resource
in `processes`. The status and the scope are tags (`otel.status_code`, `error`, `otel.scope.name`).
Source: Jaeger's documentation of its query API, `model/json`; no real file was seen.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentv_stages.providers.otlp.values import as_object, items_of

_SCOPES = ("otel.scope.name", "otel.library.name")
_IDS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def jaeger_spans(record: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Each span of an export, or of one trace in it, with the attributes of its resource and the name of its scope."""
    for trace in items_of(record, "data") or [as_object(record)]:
        processes = as_object(trace.get("processes"))
        for span in items_of(trace, "spans"):
            if "spanID" not in span:
                continue
            process = as_object(as_object(span.get("process")) or processes.get(str(span.get("processID"))))
            resource = {"service.name": process.get("serviceName")} | _tags(process)
            tags = _tags(span)
            scope = next((name for name in map(tags.get, _SCOPES) if isinstance(name, str)), "")
            yield resource, scope, _span(span, tags)


def _span(span: Mapping[str, Any], tags: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": span.get("operationName"), "attributes": _attributes(tags)}
    parents = [r.get("spanID") for r in items_of(span, "references") if r.get("refType") == "CHILD_OF"]
    ids = span.get("traceID"), span["spanID"], (parents or [span.get("parentSpanID")])[0]
    for (name, digits), value in zip(_IDS.items(), ids, strict=True):
        # zeros at the beginning may be missing
        found[name] = value.zfill(digits) if isinstance(value, str) and value.strip("0") else value
    start, duration = span.get("startTime"), span.get("duration")
    if isinstance(start, int) and isinstance(duration, int):
        found |= {"startTimeUnixNano": start * 1000, "endTimeUnixNano": (start + duration) * 1000}
    if tags.get("otel.status_code") == "ERROR" or tags.get("error") in (True, "true"):
        found["status"] = {"code": 2}
    found["events"] = [_event(log) for log in items_of(span, "logs")]
    return found


def _event(log: Mapping[str, Any]) -> dict[str, Any]:
    fields = _tags(log, "fields")
    return {"name": fields.pop("event", ""), "attributes": _attributes(fields)}


def _tags(value: Mapping[str, Any], name: str = "tags") -> dict[str, Any]:
    return {str(tag["key"]): tag.get("value") for tag in items_of(value, name) if "key" in tag}


def _attributes(tags: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in tags.items()]
