"""Detects whether records are ACP messages, and of which agent."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import Head
from agentv_stages.providers.acp.habits import agent_of

_WRAPPERS = ("msg", "message", "payload", "data")


def _message(line: Mapping[str, Any]) -> Mapping[str, Any]:
    if "jsonrpc" in line or "method" in line:
        return line
    for key in _WRAPPERS:
        inner = line.get(key)
        if isinstance(inner, dict) and ("jsonrpc" in inner or "method" in inner):
            return inner  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return {}


def detect(head: Head) -> float:
    best = 0.0
    for line in head:
        message = _message(line)
        method, params, result = message.get("method"), message.get("params"), message.get("result")
        if method == "session/update" and isinstance(params, dict):
            update: Any = params.get("update")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            if isinstance(update, dict) and "sessionUpdate" in update:
                return 1.0
        if message.get("jsonrpc") != "2.0":
            continue
        if isinstance(method, str) and method.startswith(("session/", "fs/read_text_file", "fs/write_text_file")):
            best = max(best, 0.9)
        initialize: Any = params if method == "initialize" else result  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if isinstance(initialize, dict) and isinstance(initialize.get("protocolVersion"), int):  # pyright: ignore[reportUnknownMemberType] - decoded JSON
            if initialize is result:  # in the Language Server and Model Context protocols it is a text, or missing
                return 1.0
            best = 0.9  # the answer says which agent it is
        if isinstance(result, dict) and ("agentCapabilities" in result or "stopReason" in result):
            best = max(best, 0.9)
    return best


def speaker(head: Head) -> str:
    """The agent that answered `initialize` (`copilot`, `gemini`…), "" if that was not recorded."""
    for line in head:
        result: Any = _message(line).get("result")
        for key in ("agentInfo", "info") if isinstance(result, dict) else ():
            info: Any = result.get(key)  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            name: Any = info.get("name") if isinstance(info, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            if isinstance(name, str):
                return agent_of(name)
    return ""
