"""Distinguishes Qwen Code's logs from others, above all from Claude's stream and Claude's sessions."""

from typing import Any, cast

from agentv_stages.model.provider import Head


def is_stream(head: Head) -> float:
    """`init` has Qwen's version or `permission_mode` in snake case; a message's id is that of its line."""
    best = 0.0
    for line in head:
        kind = line.get("type")
        if kind == "system" and line.get("subtype") == "init":
            if "qwen_code_version" in line:
                return 1.0
            if "permission_mode" in line and "permissionMode" not in line and "claude_code_version" not in line:
                return 1.0
            return 0.0
        if kind == "assistant" and "session_id" in line and line.get("uuid") and isinstance(line.get("message"), dict):
            if cast(dict[str, Any], line["message"]).get("id") == line["uuid"]:
                best = 0.9
    return best


def is_session(head: Head) -> float:
    """Claude's envelope around Gemini's parts."""
    best = 0.0
    for line in head:
        if "sessionId" not in line or "uuid" not in line or ("isSidechain" in line and "agentName" not in line):
            continue
        kind, message = line.get("type"), line.get("message")
        if kind in ("user", "assistant", "tool_result") and isinstance(message, dict) and "parts" in message:
            return 1.0
        if kind == "system" and "systemPayload" in line:
            best = 1.0 if line.get("subtype") in ("ui_telemetry", "attribution_snapshot") else max(best, 0.9)
    return best
