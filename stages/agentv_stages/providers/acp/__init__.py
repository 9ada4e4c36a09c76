"""The Agent Client Protocol: recordings of its messages, whichever agent speaks."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.provider import Dialect, Head, Provider
from agentv_stages.providers.acp.session import AcpDecoder
from agentv_stages.providers.acp.tools import TABLE

LOSSES = (
    "no times, unless the recorder added them",
    "tool names are taken from titles, kinds and arguments where the agent does not tell them",
    "the prompt is known only where the client's messages were recorded",
    "Gemini: no arguments and no output of most calls, no sub-agents, thoughts are not in the output tokens",
    "OpenCode: tokens of the last step only, so none of a prompt with calls; no sub-agents",
    "Copilot: text of sub-agents is not marked and told apart by the calls around it; an error ends as a good prompt",
)

_WRAPPERS = ("msg", "message", "payload", "data")


def _message(line: Mapping[str, Any]) -> Mapping[str, Any]:
    if "jsonrpc" in line or "method" in line:
        return line
    for key in _WRAPPERS:
        inner = line.get(key)
        if isinstance(inner, dict) and ("jsonrpc" in inner or "method" in inner):
            return inner  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return {}


def _detect(head: Head) -> float:
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
        given: Any = params if method == "initialize" else result  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if isinstance(given, dict) and isinstance(given.get("protocolVersion"), int):  # pyright: ignore[reportUnknownMemberType] - decoded JSON
            return 1.0  # the Language Server and Model Context protocols have a text or none there
        if isinstance(result, dict) and ("agentCapabilities" in result or "stopReason" in result):
            best = max(best, 0.9)
    return best


PROVIDER = Provider(
    name="acp",
    title="Agent Client Protocol",
    dialects=(Dialect("acp", _detect, AcpDecoder, live=True, has_end=True, losses=LOSSES),),
    tools=TABLE,
)
