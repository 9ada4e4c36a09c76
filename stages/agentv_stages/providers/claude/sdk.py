"""Messages of Claude's Agent SDK for Python, as its users write them, to events.

A line is `json.dumps(asdict(message))`, the same with the name of the class as `type`, or what `print(message)` prints.
The SDK makes its dataclasses of stream-json lines, without their `type`; here the lines are made again, so that they
are decoded as Claude Code's own. The messages of the SDK for TypeScript are such lines already.
Source: claude-agent-sdk 0.2.189 with Claude Code 2.1.332, recorded; `types.py` and `message_parser.py` of it.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, ValidationError
from msgspec.json import Decoder, Encoder

from agentv_stages.chain.python_repr import read_repr
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import Head
from agentv_stages.providers.claude.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.claude.stream import StreamDecoder

LOSSES = ("the times of messages", *(loss for loss in STREAM_LOSSES if not loss.startswith("with --output-format")))

_members = Decoder(dict[str, Raw]).decode
_blocks = Decoder(list[Raw]).decode
_encode = Encoder().encode
_NOT_OF_A_MESSAGE = frozenset(("content", "model", "usage", "message_id", "stop_reason", "type"))
_SERVER = b'"srvtoolu_'


class SdkDecoder(StreamDecoder):
    """Decodes `claude-sdk`."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = stream_line(record.data)
        super().decode(record if line is record.data else record.replaced(line), batch)


def is_sdk(head: Head) -> float:
    return max(map(_line, head), default=0.0)


def _line(line: Mapping[str, Any]) -> float:
    """By the members that the dataclasses always print, None or not."""
    if "message" in line or ("message_id" in line and "role" in line):
        return 0.0
    data = line.get("data")
    if isinstance(data, dict) and "subtype" in line and data.get("subtype") == line["subtype"]:  # pyright: ignore[reportUnknownMemberType] - decoded JSON
        return 1.0 if data.get("type") == "system" and "session_id" in data else 0.0  # pyright: ignore[reportUnknownMemberType] - decoded JSON
    if "parent_tool_use_id" in line and isinstance(line.get("content"), str | list):
        return 0.9 if "model" in line or "tool_use_result" in line else 0.0
    ends = "num_turns" in line and "duration_api_ms" in line and "model_usage" in line
    return 0.9 if ends and line.get("type") in (None, "ResultMessage") else 0.0


def stream_line(data: bytes) -> bytes:
    """The line of stream-json that a message was made of; the same bytes where it is one.

    Raises: msgspec.MsgspecError.
    """
    printed = read_repr(data)
    members = _members(data if printed is None else bytes(to_raw(printed)))
    if bytes(members.get("type", Raw()))[1:2].islower():  # classes have capitals
        return data
    if "data" in members and "subtype" in members:
        return bytes(members["data"])
    if "content" in members:
        return _message(members)
    kind = b'"stream_event"' if "event" in members else b'"rate_limit_event"' if "rate_limit_info" in members else None
    if "num_turns" in members:
        kind = b'"result"'
        if "model_usage" in members:
            members["modelUsage"] = members.pop("model_usage")
    elif "new_conversation_id" in members:
        kind = b'"conversation_reset"'
    return _encode(members | {"type": Raw(kind)}) if kind is not None else data


def _message(members: dict[str, Raw]) -> bytes:
    """A message of the conversation; only an answer names its model."""
    assistant = "model" in members
    content = members["content"]
    blocks = bytes(content)[:1] == b"["
    message: dict[str, object] = {"content": _content(content) if blocks else content}
    for name in ("model", "usage", "stop_reason"):
        if name in members:
            message[name] = members[name]
    if "message_id" in members:
        message["id"] = members["message_id"]
    line = {name: value for name, value in members.items() if name not in _NOT_OF_A_MESSAGE}
    role = "assistant" if assistant else "user"
    return _encode({"type": role, "message": {"role": role, **message}, **line})


def _content(content: Raw) -> list[object]:
    found: list[object] = []
    for block in _blocks(content):
        try:
            members = _members(block)
        except ValidationError:
            found.append(block)
            continue
        found.append(members | {"type": _kind(members)})
    return found


def _kind(block: Mapping[str, Raw]) -> object:
    """The type of a block, by its members; its own where the members are of no block of the SDK."""
    if "tool_use_id" in block:
        return "server_tool_result" if bytes(block["tool_use_id"]).startswith(_SERVER) else "tool_result"
    if "name" in block and "input" in block:
        return "server_tool_use" if bytes(block.get("id", Raw())).startswith(_SERVER) else "tool_use"
    for name in ("thinking", "text"):
        if name in block:
            return name
    return block.get("type", "unknown")
