"""Distinguishes oh-my-pi's logs from Pi's, whose shapes they have, by entries and lines that Pi never wrote.

A session begins with a slot for its title, or names its model in one member (`mock/mock-model`); the stream begins with
`advisor_cost_changed`, and each of its prompts says who it is from.
Source: oh-my-pi 18.2.3; pi up to 1.5.2 has none of it.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.oh_my_pi.catalogue import ENTRIES, LINES, MARKERS
from agentv_stages.providers.pi.detect import detect_session as is_session
from agentv_stages.providers.pi.detect import detect_stream as is_stream
from agentv_stages.providers.pi.detect import is_header, kind_of


def detect_stream(head: Head) -> float:
    if any(kind_of(line) in LINES for line in head):
        # its own first line precedes those that identify a stream of Pi
        return 1.0 if any(map(is_header, head)) or is_stream(head) else 0.0
    return is_stream(head) if any(map(_attributed, head)) else 0.0


def detect_session(head: Head) -> float:
    if not any(map(_own, head)):
        return 0.0
    if any(map(is_header, head)):
        return 0.0 if any(kind_of(line) in LINES for line in head) else 1.0
    return max(is_session(head), 0.7 if _slot(head[0]) else 0.0)


def _slot(record: Mapping[str, Any]) -> bool:
    return kind_of(record) == "title" and "v" in record and isinstance(record.get("updatedAt"), str)


def _own(record: Mapping[str, Any]) -> bool:
    kind = kind_of(record)
    if kind == "title":
        return _slot(record)
    if not isinstance(record.get("id"), str) or "parentId" not in record:
        return False
    if kind == "model_change":
        return isinstance(record.get("model"), str) and "modelId" not in record
    if kind == "custom":
        marker = record.get("customType")
        return isinstance(marker, str) and marker in MARKERS
    return kind in ENTRIES or (kind == "message" and _attributed(record))


def _attributed(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    if not isinstance(message, dict):
        return False
    members = cast("Mapping[str, Any]", message)
    return members.get("role") == "user" and members.get("attribution") in ("user", "agent")
