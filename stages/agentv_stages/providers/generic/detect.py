"""Recognises AgentV's own formats and ATIF by their first records."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.generic.trace import TYPES

_ROLES = frozenset({"user", "assistant", "system", "tool", "function", "toolResult"})
_OTHERS = frozenset(
    {
        "call_id",
        "part",
        "payload",
        "sessionID",
        "sessionId",
        "session_id",
        "subtype",
        "toolId",
        "toolName",
        "tool_id",
        "uuid",
    }
)
_SCHEMAS = ("agentv.transcript.", "agentv.normalized_transcript.", "agentv.replay_fixture.")


def _is_trace_event(record: Mapping[str, Any]) -> float:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in TYPES or not _OTHERS.isdisjoint(record):
        return 0.0
    if ("event_id" in record or "eventId" in record) and "ordinal" in record:
        return 1.0
    timed = isinstance(record.get("timestamp"), str) or "startTime" in record
    if kind in ("tool_call", "tool_result") and isinstance(record.get("name"), str):
        return 0.9 if timed else 0.6
    return 0.4 if timed and kind in ("model_step", "message", "error") and "text" in record else 0.0


def detect_trace(head: Head) -> float:
    best = 0.0
    for record in head:
        many = record.get("trace", record.get("events"))
        if isinstance(many, list) and "type" not in record:
            for element in cast("list[object]", many)[:8]:
                if isinstance(element, dict):
                    best = max(best, _is_trace_event(cast("Mapping[str, Any]", element)))
        else:
            best = max(best, _is_trace_event(record))
    return best


def _is_role(role: object) -> bool:
    return isinstance(role, str) and role in _ROLES


def detect_transcript(head: Head) -> float:
    for record in head:
        schema = record.get("schema_version")
        if isinstance(schema, str) and schema.startswith(_SCHEMAS):
            return 1.0
        if "message_index" in record and "test_id" in record and _is_role(record.get("role")):
            return 1.0
        if isinstance(record.get("output"), list) and isinstance(record.get("source"), dict) and "type" not in record:
            return 1.0 if "input" in record else 0.8
    return 0.0


def detect_atif(head: Head) -> float:
    for record in head:
        schema = record.get("schema_version")
        if isinstance(schema, str) and schema.startswith("ATIF-") and isinstance(record.get("steps"), list):
            return 1.0
    return 0.0
