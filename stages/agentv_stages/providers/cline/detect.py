"""Distinguishes Cline's logs from others."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import Head

STREAM = frozenset(("agent_event", "hook_event", "team_event", "run_start", "run_result", "run_aborted"))


def detect_stream(head: Head) -> float:
    return max(map(_stream_line, head), default=0.0)


def _stream_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if not isinstance(kind, str) or not isinstance(line.get("ts"), str):
        return 0.0
    if kind in ("agent_event", "team_event"):
        event = line.get("event")
        return 1.0 if isinstance(event, dict) and "type" in event else 0.0
    if kind in STREAM:
        keys = ("hookEventName", "finishReason", "providerId", "reason")
        return 1.0 if any(key in line for key in keys) else 0.0
    return 0.3 if kind == "error" and list(line) == ["ts", "type", "message"] else 0.0


def detect_session(head: Head) -> float:
    return max(map(_session, head), default=0.0)


def _session(line: Mapping[str, Any]) -> float:
    origin = line.get("origin")
    if isinstance(line.get("messages"), list) and isinstance(origin, dict):
        return 1.0 if "agent" in line and "sessionId" in line and "sessionId" in origin else 0.0
    return 1.0 if all(key in line for key in ("session_id", "source", "interactive", "provider", "pid")) else 0.0
