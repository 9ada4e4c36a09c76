"""Distinguishes Mistral Vibe's logs from others. Those of 1.x and 2.x are chat messages, which many programs write.

Its output has every member of a message, null ones included; most messages of its sessions say whether they were
injected, or all but results have an id.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head

_ROLES = frozenset(("system", "user", "assistant", "tool"))
_NAMED = ("You are operating as and within Mistral Vibe", "You are Mistral Vibe")
_MEMBERS = frozenset(("role", "content", "tool_calls", "name", "tool_call_id"))
_LATER = frozenset(
    (
        *("reasoning_content", "message_id", "injected", "images", "reasoning_message_id", "reasoning_signature"),
        *("reasoning_state", "reasoning_payloads", "user_display_content", "input_text", "resources", "manual_shell"),
        *("tool_result", "context_boundary"),
    )
)
_KNOWN = _MEMBERS | _LATER
_ENTRY = frozenset(("id", "sessionId", "turnId", "generationStatus", "type"))


def is_old_stream(head: Head) -> float:
    """The output of 1.x and 2.x: messages with all members; the system prompt, unless replaced, names the agent."""
    best = 0.0
    for line in head:
        if _is_message(line) and line.keys() >= _MEMBERS:
            if _names_itself(line):
                return 1.0
            best = max(best, 0.95 if "message_id" in line else 0.7)
    return best


def _is_message(line: Mapping[str, Any]) -> bool:
    role = line.get("role")
    return isinstance(role, str) and role in _ROLES and line.keys() <= _KNOWN


def _names_itself(line: Mapping[str, Any]) -> bool:
    content = line.get("content")
    return line.get("role") == "system" and isinstance(content, str) and content.startswith(_NAMED)


def is_old_session(head: Head) -> float:
    """`messages.jsonl` of 2.x, `meta.json` beside it, the one document of 1.x."""
    return max(map(_session, head), default=0.0)


def _session(line: Mapping[str, Any]) -> float:
    metadata = line.get("metadata")
    if isinstance(metadata, dict) and isinstance(line.get("messages"), list):
        return 1.0 if _is_meta(cast("dict[str, Any]", metadata)) else 0.0
    if _is_message(line) and "content" in line:
        if line["role"] == "tool":
            return 0.9 if "injected" in line and "tool_call_id" in line else 0.0
        return 0.9 if isinstance(line.get("message_id"), str) else 0.0
    return 1.0 if "stats" in line and _is_meta(line) else 0.0


def _is_meta(line: Mapping[str, Any]) -> bool:
    found = isinstance(line.get("session_id"), str) and "start_time" in line and "username" in line
    return found and isinstance(line.get("environment"), dict)


def is_stream(head: Head) -> float:
    """Entries of the history of 3.x as they are printed; on disk they are parts of a session."""
    return 1.0 if any(map(_is_printed, head)) else 0.0


def _is_printed(line: Mapping[str, Any]) -> bool:
    """Whether an entry has the id first, or a null member that is not kept on disk (if something sorted its keys)."""
    return line.keys() >= _ENTRY and (next(iter(line)) == "id" or line.get("userDisplayContent", "") is None)


def is_session(head: Head) -> float:
    """`meta.json` of 3.x, which has no tokens and tools, and the parts of a session, which alone are none."""
    return 1.0 if any(map(_of_session, head)) and not is_stream(head) else 0.0


def _of_session(line: Mapping[str, Any]) -> bool:
    if line.keys() >= _ENTRY or "recovery_journal_record_version" in line or "projection_state_version" in line:
        return True
    return _is_meta(line) and "stats" not in line and "child_sessions" in line
