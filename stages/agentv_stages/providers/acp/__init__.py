"""The Agent Client Protocol: recordings of its messages, whichever agent speaks."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from agentv_stages.model.deltas import ACP_DELTA
from agentv_stages.model.provider import About, Dialect, Head, Provider
from agentv_stages.providers.acp.habits import agent_of, speakers
from agentv_stages.providers.acp.session import AcpDecoder
from agentv_stages.providers.acp.tools import table_of

# Detects whether records are ACP messages, and of which agent.

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


LOSSES = (
    "times, unless the recorder added them",
    "native tool names, if the agent does not give them (titles, kinds and arguments decide)",
    "whether a text or a plan is repeated",
    "the prompt, unless the client's messages were recorded",
    "Gemini: arguments, output and exit codes of most calls; calls of unknown tools",
    "tokens of a prompt that was not answered to its end",
    "Gemini: sub-agents; the tokens of thoughts, and which tokens were cached",
    "OpenCode, Kilo: tokens of all steps but the last, so all of a prompt with calls; sub-agents",
    "Qwen from 0.24: what sub-agents in the background do, and their tokens",
    "Copilot: which text is a sub-agent's (the calls around it decide); that a prompt failed (its text decides)",
)

PROVIDER: Provider


@cache
def _provider() -> Provider:
    return Provider(
        name="acp",
        title="Agent Client Protocol",
        dialects=(
            Dialect(
                "acp",
                detect,
                AcpDecoder,
                live=True,
                has_end=True,
                losses=LOSSES,
                has_prompt=False,
                deltas=(ACP_DELTA,),
                about=About(
                    made_by="gemini --acp, qwen --acp, vibe-acp, and `acp` of opencode, kilo, kimi, openhands "
                    "(one or both directions)",
                    versions="Gemini 0.29.0 to 0.61.0, Qwen 0.10.1 to 0.24.4, OpenCode 1.2.27 to 1.18.33, "
                    "Kilo 7.0.33 to 7.7.9, Kimi Code 0.31.0 to 2.1.0, OpenHands 1.16.0, Mistral Vibe 2.14.0 to 3.0.3",
                    end="the answer to `session/prompt`",
                ),
            ),
        ),
        tools=table_of(provider.tools for provider in speakers()),
    )


def __getattr__(name: str) -> Provider:
    """`PROVIDER`, made when it is asked for: its table has the tools of all agents that speak the protocol, and one of
    these packages may be what imports this one.
    """
    if name != "PROVIDER":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _provider()
