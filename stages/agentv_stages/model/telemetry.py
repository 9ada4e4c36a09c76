"""How an agent's program reports its work as OpenTelemetry log records. Each agent with such records has one.

In: the name and the attributes of a log record. Out: what it is, with attributes as the GenAI conventions name them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from agentv_stages.model.tools import ToolTable

RecordKind: TypeAlias = Literal["prompt", "request", "answer", "aside", "text", "call", "script", "denial"]
"""`request`: a model call begins. `aside`: a model call that is no answer, such as one for a title. `text`: the text of
an answer that has a record of its own, with the same id. `script`: a call that counts only if it encloses no other one.
`denial`: a call, by its id, was refused."""
Attributes: TypeAlias = Mapping[str, Any]


class LogFact(Struct):
    """The content of a log record."""

    kind: RecordKind
    attributes: dict[str, Any] = {}


class Telemetry(Struct, frozen=True):
    """The log records of one agent: the beginning of their names, the attribute with the session's id, the agent's
    tools. `read` returns None for a record that is not part of the conversation. `versioned`: `service.version` is
    that of the agent."""

    prefix: str
    session: str
    tools: ToolTable
    read: Callable[[str, Attributes], LogFact | None]
    versioned: bool = True


def renamed(attributes: Attributes, names: Mapping[str, str]) -> dict[str, Any]:
    """The attributes that have a name in the conventions."""
    found = {new: attributes.get(old) for old, new in names.items()}
    return {name: value for name, value in found.items() if value not in (None, "")}


def said(role: str, text: object) -> list[dict[str, Any]]:
    """A message of the conventions with one text."""
    return [{"role": role, "parts": [{"type": "text", "content": text}]}]


def prompt_of(text: object, hidden: str) -> LogFact:
    """A prompt; `hidden` stands in the record where texts are not captured."""
    known = isinstance(text, str) and text not in ("", hidden)
    return LogFact("prompt", {"gen_ai.input.messages": said("user", text)} if known else {})


def whole(value: object) -> int:
    """A count, which programs also write as text; 0 where there is none."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 1 << 63 else 0
