"""Distinguishes OpenClaw's transcripts from Pi's, whose shape they have, by its marks on messages and its own entries.

Source: OpenClaw 2026.9.6 (`version` 4); pi up to 1.5.2 is at version 3 and has none of it.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import Head
from agentv_stages.providers.pi.detect import detect_session as is_session
from agentv_stages.providers.pi.detect import is_header, kind_of

_SNAPSHOT = "model-snapshot"


def detect_session(head: Head) -> float:
    return is_session(head) if any(map(_own, head)) else 0.0


def _own(record: Mapping[str, Any]) -> bool:
    kind = kind_of(record)
    if kind == "session":
        return record.get("version") == 4 and is_header(record)
    if kind in ("custom", "custom_message"):
        name = record.get("customType")
        return isinstance(name, str) and (name == _SNAPSHOT or name.startswith("openclaw"))
    message = record.get("message")
    return kind == "message" and isinstance(message, dict) and "__openclaw" in message
