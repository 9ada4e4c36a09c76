"""Recognises Pi's logs by their first records.

The stream and the session file begin with the same header; the record after it decides. Certain only at a message: in
those before it oh-my-pi's and OpenClaw's logs need not differ.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.pi.session import ENTRIES
from agentv_stages.providers.pi.wire import TYPES

ROLES = frozenset(
    {
        *("system", "user", "assistant", "toolResult"),
        *("bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary"),
    }
)
_LIKELY = 0.9
_SHARED = frozenset({"message_start", "message_update", "message_end", "message", "response"})


def is_header(record: Mapping[str, Any]) -> bool:
    """Whether a session begins with this record, in the stream or on disk."""
    return record.get("type") == "session" and all(isinstance(record.get(k), str) for k in ("id", "timestamp", "cwd"))


def kind_of(record: Mapping[str, Any]) -> str:
    """The type of a record; empty if it has none."""
    kind = record.get("type")
    return kind if isinstance(kind, str) else ""


def _role(record: Mapping[str, Any]) -> str:
    message = record.get("message")
    role = cast("Mapping[str, Any]", message).get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def detect_stream(head: Head) -> float:
    header = False
    sure = 0.0
    for record in head:
        kind = kind_of(record)
        if is_header(record):
            header = True
        elif kind in ("message_start", "message_update", "message_end") and _role(record) in ROLES:
            return 1.0
        elif kind in ("agent_start", "turn_start", "tool_execution_start", "tool_execution_end") and len(record) <= 8:
            sure = max(sure, _LIKELY if header else 0.6)
        elif kind in TYPES and kind not in _SHARED and header:
            sure = _LIKELY
    return max(sure, 0.5) if header and len(head) == 1 else sure


def detect_session(head: Head) -> float:
    header = False
    sure = 0.0
    for record in head:
        kind = kind_of(record)
        if is_header(record):
            header = True
        elif kind == "session_start":
            return 0.0  # Droid, whose messages have the same envelope
        elif kind in ENTRIES and isinstance(record.get("timestamp"), str):
            if kind == "message" and _role(record) not in ROLES:
                continue
            if header and kind == "message":
                return 1.0
            if header or ("parentId" in record and isinstance(record.get("id"), str)):
                sure = _LIKELY
    return max(sure, 0.6) if header and len(head) == 1 else sure


def detect_transcript(head: Head) -> float:
    for record in head:
        if record.get("recordType") == "message" and "runId" in record and _role(record) in ROLES:
            return 1.0
    return 0.0
