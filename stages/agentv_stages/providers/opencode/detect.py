"""Recognises OpenCode's logs by their first records."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.opencode.stream import LINES

_LIKELY = 0.9


def detect_stream(head: Head) -> float:
    """Certain only at the end of a step, because Kilo differs there (`kilo`). The decoder also holds parts until
    then.
    """
    sure = 0.0
    for record in head:
        if "sessionID" not in record or not isinstance(record.get("timestamp"), int | float):
            continue
        part = record.get("part")
        if isinstance(part, dict) and "type" in part:
            if part["type"] == "step-finish":
                return 1.0
            sure = _LIKELY
        kind = record.get("type")
        if isinstance(kind, str) and kind in LINES and "error" in record:
            return 1.0
    return sure


def member(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty object if it is missing or something else."""
    value = record.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def detect_export(head: Head) -> float:
    for record in head:
        messages = record.get("messages")
        if isinstance(messages, list):
            info = member(record, "info") or member(record, "session")
            named = "directory" in info or "version" in info or "location" in info
            if str(info.get("id", "")).startswith("ses") and named:
                return 1.0
    return 0.0


def detect_rows(head: Head) -> float:
    sure = 0.0
    for record in head:
        if "messages" in record or "type" in record:
            continue
        info, new = member(record, "info"), member(record, "message")
        if "sessionID" in new and "type" in new and "id" in new:
            return 1.0
        if "sessionID" in info and info.get("role") in ("user", "assistant") and isinstance(record.get("parts"), list):
            return 1.0
        if str(info.get("id", "")).startswith("ses") and "directory" in info:
            sure = 1.0
        stored = "sessionID" in record and "created" in member(record, "time")
        if stored and record.get("role") in ("user", "assistant"):
            sure = max(sure, 0.95)
    return sure
