"""LangChain and LangGraph: lists of messages, as their users write them.

Source: langchain-core 1.8.3 with langchain 1.5.2, recorded (`messages_to_dict`); the other forms by its published
source.
"""

from collections.abc import Mapping
from typing import Any, cast

from agentv_stages.model.provider import About, Dialect, Head, Provider
from agentv_stages.model.tools import ToolTable
from agentv_stages.providers.langchain.messages import LOSSES, MessagesDecoder

KINDS = ("human", "ai", "tool", "system")
MARKS = ("additional_kwargs", "response_metadata", "tool_calls", "usage_metadata")


def is_messages(head: Head) -> float:
    return max(map(_line, head), default=0.0)


def _line(line: Mapping[str, Any]) -> float:
    values = line.get("values")
    state = cast("Mapping[str, Any]", values) if isinstance(values, dict) else line
    messages = state.get("messages")
    if isinstance(messages, list):
        found = (_message(message) for message in messages[:8] if isinstance(message, dict))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON
        return max(found, default=0.0)
    return _message(line)


def _message(line: Mapping[str, Any]) -> float:
    """One message in any form; a plain one by the members that only LangChain's have."""
    kind, data, path = line.get("type"), line.get("data"), line.get("id")
    if line.get("lc") == 1 and isinstance(path, list) and isinstance(line.get("kwargs"), dict):
        return float(str(path[-1:]).find("Message") > 0)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
    if kind not in KINDS:
        return 0.0
    if isinstance(data, dict):
        return float("content" in data)
    return 0.9 if "content" in line and any(mark in line for mark in MARKS) else 0.0


PROVIDER = Provider(
    name="langchain",
    title="LangChain",
    dialects=(
        Dialect(
            "langchain-messages",
            is_messages,
            MessagesDecoder,
            live=False,
            has_end=False,
            losses=LOSSES,
            about=About(
                "messages_to_dict(messages), dumpd(messages), message.model_dump(), a LangGraph state",
                "langchain-core 1.8.3; dumpd and model_dump by its source (unverified)",
                "none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=ToolTable(()),
    aliases=("langgraph",),
)
