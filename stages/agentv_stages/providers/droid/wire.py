"""Wire shapes of Droid: only the fields that are used; payloads stay raw. Source: public logs, October 2025 to 2026."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Usage(Struct, gc=False):
    """Tokens of a run; `input_tokens` excludes cached ones. All zero: unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    thinking_tokens: int | None = None


class Failure(Struct, gc=False):
    type: str | None = None
    message: str | None = None


class Line(Struct, gc=False):
    """A line of the stream; the session's id has two spellings."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    role: str | None = None
    id: str | None = None
    text: Raw = ABSENT
    timestamp: Time = None
    messageId: str | None = None
    toolId: str | None = None
    toolName: str | None = None
    parameters: Raw = ABSENT
    isError: bool | None = None
    value: Raw = ABSENT
    error: Raw = ABSENT
    finalText: Raw = ABSENT
    numTurns: int | None = None
    durationMs: float | None = None
    usage: Usage | None = None
    source: str | None = None
    message: str | None = None


class Block(Struct, gc=False):
    """A block of a message's content, in the form of Anthropic's API."""

    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None


class Message(Struct, gc=False):
    role: str = ""
    content: Raw = ABSENT


class Spent(Struct, gc=False):
    """Tokens of a session, its sub-agents excluded; `inputTokens` excludes cached ones."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheCreationTokens: int | None = None
    cacheReadTokens: int | None = None
    thinkingTokens: int | None = None


class Entry(Struct, gc=False):
    """A line of a session on disk, or its settings file."""

    type: str = ""
    id: str | None = None
    title: str | None = None
    sessionTitle: str | None = None
    cwd: str | None = None
    parent: str | None = None
    callingSessionId: str | None = None
    callingToolUseId: str | None = None
    timestamp: Time = None
    message: Message | None = None
    visibility: str | None = None
    reason: str | None = None
    resultKind: str | None = None
    summaryText: Raw = ABSENT
    model: str | None = None
    tokenUsage: Spent | None = None


decode_line = Decoder(Line).decode
decode_failure = Decoder(Failure).decode
decode_entry = Decoder(Entry).decode
decode_blocks = Decoder(list[Block]).decode
