"""Distinguishes Kimi Code's logs from others: its stream's lines have roles, its sessions dotted record types."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import Head

META = frozenset(("system.version", "session.resume_hint", "turn.step.retrying"))
GOAL = "goal.summary"
CERTAIN = frozenset(("context.append_loop_event", "context.append_message", "turn.prompt", "llm.tools_snapshot"))
LIKELY = frozenset(("profile.bind", "usage.record", "token_counting.measured", "runtime.set_binding", "llm.request"))


_KEYS = frozenset(("role", "content", "tool_calls", "tool_call_id"))


def is_stream(head: Head) -> float:
    """A line with the role `meta`, or a goal's summary; versions before 0.43 begin with an answer and nothing else."""
    best = 0.5 if head and all(map(_bare, head)) and any("tool_calls" in line for line in head) else 0.0
    for line in head:
        kind = line.get("type")
        if line.get("role") == "meta" and isinstance(kind, str) and kind in META:
            return 1.0
        if kind == GOAL and "goalId" in line:
            best = 0.9
    return best


def _bare(line: Mapping[str, Any]) -> bool:
    """Whether it may be a line of an old stream, which has only answers and tool results, in plain texts."""
    plain = isinstance(line.get("content", ""), str) and isinstance(line.get("tool_calls", []), list)
    return plain and line.get("role") in ("assistant", "tool") and _KEYS.issuperset(line)


def is_session(head: Head) -> float:
    """Records of the wire protocol; its first one, `metadata`, differs from the older Kimi CLI's only by its time."""
    return max(map(_session_line, head), default=0.0)


def _session_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if not isinstance(kind, str):
        return 0.0
    if kind in CERTAIN:
        return 1.0 if "event" in line or "message" in line or "origin" in line or "tools" in line else 0.0
    if kind == "metadata":
        return 1.0 if "protocol_version" in line and "created_at" in line else 0.0
    return 0.9 if kind in LIKELY and "agentId" in line else 0.0
