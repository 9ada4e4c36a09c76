"""Distinguishes Gemini CLI's logs from others by their first records."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head

_STREAM_KEYS = {"tool_use": "tool_name", "tool_result": "tool_id", "message": "role", "result": "stats"}


def is_stream(head: Head) -> float:
    """Stream-json begins with `init`; lines from its middle have `tool_name` and `tool_id`."""
    best = 0.0
    for line in head:
        kind = line.get("type")
        if kind == "init" and "session_id" in line and "subtype" not in line:
            return 1.0 if "timestamp" in line and "model" in line else 0.9
        if not isinstance(line.get("timestamp"), str) or not isinstance(kind, str):
            continue
        if _STREAM_KEYS.get(kind, "") in line and "id" not in line and "sessionId" not in line:
            best = max(best, 0.8 if kind.startswith("tool_") else 0.5)
    return best


def is_document(head: Head) -> float:
    """The older form: one object that contains the messages."""
    if not head:
        return 0.0
    first = head[0]
    messages: Any = first.get("messages")
    if not isinstance(messages, list) or "sessionId" not in first or "type" in first:
        return 0.0
    if not messages and len(head) > 1:
        return 0.0
    sure = "projectHash" in first or _has_answer(messages)
    return 1.0 if sure else 0.7 if "startTime" in first else 0.0


def is_log(head: Head) -> float:
    """The newer form: a header, then messages and patches."""
    best = 0.0
    for line in head:
        if "$rewindTo" in line or "$set" in line:
            best = max(best, 0.9)
        elif _is_header(line):
            if "projectHash" in line:
                return 1.0
            best = max(best, 0.7)
        elif line.get("type") == "gemini" and "id" in line and ("content" in line or "tokens" in line):
            best = max(best, 0.9)
    return best


def _has_answer(messages: Any) -> bool:
    return any(isinstance(m, dict) and cast(dict[str, Any], m).get("type") == "gemini" for m in messages)


def _is_header(line: Mapping[str, Any]) -> bool:
    """Qwen's usage ledger (`usage_record.jsonl`) has the same two members, but its times are numbers."""
    if not isinstance(line.get("startTime"), str):
        return False
    return "sessionId" in line and "type" not in line and not line.get("messages")
