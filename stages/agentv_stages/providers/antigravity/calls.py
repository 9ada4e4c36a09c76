"""The name and the arguments of a call, as the model gave them. Source: agy 1.0.10 to 1.3.1."""

from typing import Any

import msgspec
from msgspec import Raw

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import json_in, to_raw

SHELL = "run_command"
MCP_DOOR = "call_mcp_tool"
_REFUSED = ("permission check failed", "user denied permission", "User denied permission")
_DISPLAY = ("toolAction", "toolSummary")  # sentences for people, in every call
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_any = msgspec.json.Decoder().decode


def requested(name: str | None, arguments: Raw, *, nested: bool = False) -> tuple[str, Raw]:
    """The name of a call and its input, without the display arguments; an MCP tool under its own name.

    `nested`: each value is JSON text once more (`transcript.jsonl`); any other value is kept as it is.
    """
    try:
        members = _decode_members(arguments or EMPTY_OBJECT)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return name or "unknown", arguments
    for key in _DISPLAY:
        members.pop(key, None)
    if nested:
        members = {key: _inner(value) for key, value in members.items()}
    if name == MCP_DOOR:
        server, tool = _text(members.get("ServerName")), _text(members.get("ToolName"))
        if server and tool:
            return f"mcp__{server}__{tool}", _object(members.get("Arguments", EMPTY_OBJECT))
    return name or "unknown", to_raw(members) if members else EMPTY_OBJECT


def _inner(value: Raw) -> Raw:
    text = _text(value)
    found = None if text is None else json_in(text)
    return value if found is None else found


def _object(value: Raw) -> Raw:
    """Arguments of an MCP tool: an object, or an object within a string."""
    found = _inner(value)
    return found if bytes(found)[:1] == b"{" else to_raw({"Arguments": _decode_any(found)})


def _text(value: Raw | None) -> str | None:
    decoded: Any = None if value is None else _decode_any(value)
    return decoded if isinstance(decoded, str) else None


def is_refusal(text: str) -> bool:
    """Whether the text of an error says that the call was denied."""
    return any(mark in text for mark in _REFUSED)
