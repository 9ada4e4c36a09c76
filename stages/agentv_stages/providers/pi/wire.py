"""Wire shapes of Pi, all dialects: only the fields that are used; payloads stay raw.

Source: pi-mono 0.2x to 0.73 (sessions v1 to v3, `--mode json`, `--mode rpc`).
"""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

ABSENT = Raw(b"")
NULL = Raw(b"null")


class Cost(Struct, gc=False):
    """Dollars."""

    total: float | None = None


class Usage(Struct, gc=False, rename="camel"):
    """`input` excludes what was read from and written to the cache; `output` includes reasoning."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = field(name="cacheWrite1h", default=None)
    reasoning: int | None = None
    cost: Cost | None = None


class Block(Struct, gc=False):
    """A content block of an assistant message."""

    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    partialJson: Raw = ABSENT


class PiMessage(Struct, gc=False, rename="camel"):
    """A message of any role; `content` is decoded again where its blocks matter."""

    role: str = ""
    content: Raw = ABSENT
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    response_id: str | None = None
    timestamp: float | str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    custom_type: str | None = None
    summary: Raw = ABSENT
    command: str | None = None
    output: str | None = None
    exit_code: int | None = None


class Entry(Struct, gc=False, rename="camel"):
    """A line of a session file: the header or an entry of the tree."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | float | None = None
    message: PiMessage | None = None
    cwd: str | None = None
    parent_session: str | None = None
    model_id: str | None = None
    summary: Raw = ABSENT
    tokens_before: int | None = None
    content: Raw = ABSENT
    name: str | None = None
    from_id: str | None = None


class ToolOutput(Struct, gc=False):
    content: Raw = ABSENT


class Compaction(Struct, gc=False, rename="camel"):
    summary: Raw = ABSENT
    tokens_before: int | None = None


class Line(Struct, gc=False, rename="camel"):
    """A line of `--mode json` or `--mode rpc`. `result` has another shape in each type that bears it."""

    type: str = ""
    message: Raw = ABSENT
    tool_call_id: str | None = None
    tool_name: str | None = None
    args: Raw = ABSENT
    result: Raw = ABSENT
    is_error: bool | None = None
    will_retry: bool | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    delay_ms: float | None = None
    error_message: str | None = None
    success: bool | None = None
    final_error: str | None = None
    reason: str | None = None
    aborted: bool | None = None
    id: str | None = None
    cwd: str | None = None
    timestamp: str | float | None = None
    parent_session: str | None = None
    name: str | None = None
    title: str | None = None
    method: str | None = None
    command: str | None = None
    error: str | None = None
    steering: list[str] | None = None
    follow_up: list[str] | None = None


class StreamingEvent(Struct, gc=False):
    partial: PiMessage | None = None


class Update(Struct, gc=False, rename="camel"):
    """A `message_update`: the snapshot stands in `message`, in the event beside it, or in both."""

    message: PiMessage | None = None
    assistant_message_event: StreamingEvent | None = None


class TranscriptRow(Struct, gc=False, rename="camel"):
    """A row of the transcript that the sub-agents extension keeps of a child."""

    record_type: str = ""
    message: PiMessage | None = None
    run_id: str | None = None
    child_index: int | None = None
    agent: str | None = None
    cwd: str | None = None
    timestamp: str | float | None = None
    text: str | None = None
    source_event_type: str | None = None


decode_entry = Decoder(Entry).decode
decode_line = Decoder(Line).decode
decode_message = Decoder(PiMessage).decode
decode_blocks = Decoder(list[Block]).decode
decode_output = Decoder(ToolOutput).decode
decode_compaction = Decoder(Compaction).decode
decode_update = Decoder(Update).decode
decode_row = Decoder(TranscriptRow).decode


def given(raw: Raw) -> bool:
    """Whether a raw member stands in the record and is not null."""
    return bool(raw) and raw != NULL


def first_byte(raw: Raw) -> int:
    """The byte that tells the JSON type: 34 string, 91 array, 123 object; 0 of nothing. Copies no payload."""
    return memoryview(raw)[0] if raw else 0
