"""The members of Cursor's records that are used. Source: cursor-agent 2025.08 to 2026.03, transcripts to 2026.09."""

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import ABSENT

NOTHING = (ABSENT, Raw(b"null"))


class LineHead(Struct, gc=False):
    """The plain members of a line of the stream."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    timestamp_ms: int | float | None = None
    model_call_id: str | None = None
    text: Raw = ABSENT
    call_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    query_type: str | None = None


class Block(Struct, gc=False):
    """A content block of the stream or of a transcript."""

    type: str = "text"
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str = ""
    input: Raw = EMPTY_OBJECT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None


class Message(Struct, gc=False):
    content: Raw = ABSENT
    model: str | None = None


class Usage(Struct, gc=False):
    """`inputTokens` excludes the cached ones."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheReadTokens: int | None = None
    cacheWriteTokens: int | None = None
    totalCost: float | None = None


class Result(Struct, gc=False):
    subtype: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    result: Raw = ABSENT
    request_id: str | None = None
    usage: Usage | None = None


class Tool(Struct, gc=False):
    """`tool_call` has one member, named after the tool; `name` and `arguments` are those of the generic form."""

    args: Raw = ABSENT
    result: Raw = ABSENT
    name: str | None = None
    arguments: Raw = ABSENT


class Line(LineHead, gc=False):
    """A line, decoded in one pass."""

    message: Message | None = None
    tool_call: dict[str, Tool] | None = None


class OddLine(LineHead, gc=False):
    """A line with a message or a call of another shape."""

    message: Raw = ABSENT
    tool_call: Raw = ABSENT


class McpArguments(Struct, gc=False):
    name: str | None = None
    toolName: str | None = None
    providerIdentifier: str | None = None
    args: Raw = EMPTY_OBJECT


class Exit(Struct, gc=False):
    exitCode: int | None = None
    aborted: bool | None = None


class Ran(Struct, gc=False):
    localExecutionTimeMs: float | None = None
    executionTime: float | None = None


class Failure(Struct, gc=False):
    message: str | None = None


class Entry(Struct, gc=False):
    """A line of an IDE transcript: a message, or the end of a turn (`type`, `status`, `error`)."""

    role: str = ""
    id: str | None = None
    message: Message | None = None
    type: str | None = None
    status: str | None = None
    error: str | Failure | None = None


decode_line = msgspec.json.Decoder(Line).decode
decode_odd_line = msgspec.json.Decoder(OddLine).decode
decode_message = msgspec.json.Decoder(Message).decode
decode_blocks = msgspec.json.Decoder(list[Block]).decode
decode_result = msgspec.json.Decoder(Result).decode
decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_tools = msgspec.json.Decoder(dict[str, Tool]).decode
decode_tool = msgspec.json.Decoder(Tool).decode
decode_mcp = msgspec.json.Decoder(McpArguments).decode
decode_ran = msgspec.json.Decoder(Ran).decode
decode_exit = msgspec.json.Decoder(Exit).decode
decode_entry = msgspec.json.Decoder(Entry).decode
