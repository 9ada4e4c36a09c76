"""Distinguishes Grok Build's logs from others, above all from Claude's streams and from ACP recordings."""

import re
from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import Head
from agentv_stages.providers.grok.tools import OWN

_SYNTHETIC = re.compile(r"msg_\d{1,7}\Z")
_COMPACTION = "auto_compact_"
_OUTPUTS = ('{"type":"', '[{"type":"content"')
_BILLED = {
    *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "server_tool_use"),
}
_NOT_BEGUN = ("Couldn't start session", "Couldn't set model")


def is_stream(head: Head) -> float:
    """`streaming-json`: the agent's updates, one flat object each."""
    return max(map(_stream_line, head), default=0.0)


def _stream_line(line: Mapping[str, Any]) -> float:
    kind = line.get("type")
    if kind == "available_commands":
        return 1.0 if isinstance(line.get("tools"), list) and "commands" in line else 0.0
    if kind == "tool_call":
        return 1.0 if "toolCallId" in line and "toolName" in line and "rawInput" in line else 0.0
    if kind == "tool_call_update":
        return 0.9 if "toolCallId" in line and "rawOutput" in line and "sessionUpdate" not in line else 0.0
    if kind == "end":
        return 1.0 if "stopReason" in line and "requestId" in line else 0.0
    if kind == "usage":
        usage = line.get("usage")
        return 0.9 if isinstance(usage, dict) and "cache_creation_input_tokens" in usage else 0.0
    if kind in ("thought", "text") and isinstance(line.get("data"), str):
        return (0.9 if kind == "thought" else 0.6) if len(line) == 2 else 0.0
    if isinstance(kind, str) and kind.startswith(_COMPACTION):
        return 0.9
    if kind == "error" and isinstance(line.get("message"), str):  # Codex has such a line too, but never first
        return 0.95 if str(line["message"]).startswith(_NOT_BEGUN) else 0.3 if "num_turns" in line else 0.0
    return 0.0


def is_messages(head: Head) -> float:
    """`streaming-messages-json`: Claude's lines with Grok's tools and without Claude's version."""
    best = 0.0
    for line in head:
        kind, message = line.get("type"), line.get("message")
        if kind == "system" and line.get("subtype") == "init":
            return 1.0 if is_own_init(line) else 0.0
        if kind == "assistant" and "session_id" in line and isinstance(message, dict):
            best = max(best, _message(cast("dict[str, Any]", message)))
        elif kind == "user" and "session_id" in line and isinstance(message, dict):
            best = max(best, _results(cast("dict[str, Any]", message)))
        elif kind == "result" and "session_id" in line and "modelUsage" in line and "permission_denials" not in line:
            usage = line.get("usage")
            best = max(best, 0.95 if isinstance(usage, dict) and usage.keys() == _BILLED else 0.0)
        elif kind == "stream_event" and "session_id" in line:
            event = line.get("event")
            begun: Any = cast("dict[str, Any]", event).get("message") if isinstance(event, dict) else None
            if isinstance(begun, dict):
                best = max(best, _message(cast("dict[str, Any]", begun)))
    return best


def is_own_init(line: Mapping[str, Any]) -> bool:
    """Whether an `init` is Grok's: it lists skills, but lacks what every Claude Code that lists them also prints."""
    return "skills" in line and "claude_code_version" not in line and "output_style" not in line


def _message(message: Mapping[str, Any]) -> float:
    """Scores ids that Grok made itself, or calls of its tools."""
    found, content = message.get("id"), message.get("content")
    if isinstance(found, str) and _SYNTHETIC.match(found):
        return 0.95
    if not isinstance(content, list):
        return 0.0
    names = [cast("dict[str, Any]", block).get("name") for block in content if isinstance(block, dict)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return 0.95 if any(isinstance(name, str) and name in OWN for name in names) else 0.0


def _results(message: Mapping[str, Any]) -> float:
    """Scores results that are JSON in a text: the tool's output, or the content if there is nothing else."""
    content = message.get("content")
    if not isinstance(content, list):
        return 0.0
    texts = [cast("dict[str, Any]", block).get("content") for block in content if isinstance(block, dict)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return 0.95 if any(isinstance(text, str) and text.startswith(_OUTPUTS) for text in texts) else 0.0


def is_acp(head: Head) -> float:
    """ACP with the agent's own methods and marks; the login methods in its first answer identify it."""
    for line in head:
        message = line
        for name in ("msg", "message", "payload", "data"):
            inner = line.get(name)
            if "jsonrpc" not in line and isinstance(inner, dict):
                message = cast("dict[str, Any]", inner)
                break
        if message.get("jsonrpc") == "2.0" and _speaks(message):
            return 1.0
    return 0.0


def _speaks(message: Mapping[str, Any]) -> bool:
    method, params, result = message.get("method"), message.get("params"), message.get("result")
    if isinstance(method, str) and method.startswith("_x.ai/"):
        return True
    meta = cast("dict[str, Any]", params).get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and "eventId" in meta and "agentTimestampMs" in meta:
        return True
    able = cast("dict[str, Any]", result).get("agentCapabilities") if isinstance(result, dict) else None
    own = cast("dict[str, Any]", able).get("_meta") if isinstance(able, dict) else None
    return isinstance(own, dict) and any(str(key).startswith("x.ai/") for key in cast("dict[object, object]", own))


def is_session(head: Head) -> float:
    """`updates.jsonl`: updates of ACP with the agent's own marks, and no `jsonrpc`."""
    for line in head:
        params = line.get("params")
        if "jsonrpc" in line or "timestamp" not in line or not isinstance(params, dict):
            continue
        meta = cast("dict[str, Any]", params).get("_meta")
        if line.get("method") == "_x.ai/session/update" or (isinstance(meta, dict) and "eventId" in meta):
            return 1.0
    return 0.0
