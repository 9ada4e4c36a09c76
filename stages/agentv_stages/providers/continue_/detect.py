"""Distinguishes Continue's sessions and the output of `cn` from others."""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head

WRAPPED = "Response was not valid JSON, so it was wrapped in a JSON object"
"""The `note` beside an answer that is not JSON itself."""
COMPACTED = "Chat history compacted"
"""All that the prompt `/compact` prints."""
NOTICES = frozenset(
    (
        *("Auto-compacting triggered", "Auto-compacted successfully", COMPACTED),
        "Auto-compaction failed, continuing without compaction",
    )
)


def detect_output(head: Head) -> float:
    return max(map(_output, head), default=0.0)


def _output(line: Mapping[str, Any]) -> float:
    if isinstance(line.get("response"), str) and line.get("status") == "success":
        return 1.0 if line.get("note") == WRAPPED else 0.0
    if not isinstance(line.get("status"), str):
        return 0.0
    return 0.9 if isinstance(message := line.get("message"), str) and message in NOTICES else 0.0


def detect_session(head: Head) -> float:
    return max(map(_session, head), default=0.0)


def _session(record: Mapping[str, Any]) -> float:
    inner = record.get("session")
    if "exportedAt" in record and isinstance(inner, dict):
        record = cast("Mapping[str, Any]", inner)
    history = record.get("history")
    if not isinstance(history, list) or not isinstance(record.get("sessionId"), str):
        return 0.0
    if "workspaceDirectory" not in record:
        return 0.0
    known = any(isinstance(item, dict) and "message" in item for item in cast("list[object]", history)[:8])
    return 1.0 if known else 0.5
