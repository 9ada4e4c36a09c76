"""Wire shapes of Pi, all dialects: only the fields that are used; payloads stay raw.

Source: pi 0.2x to 1.5.2 (sessions v1 to v3, `--mode json`, `--mode rpc`).
"""

from typing import TYPE_CHECKING, TypeAlias, Union, final

from msgspec import Raw, Struct, defstruct, field
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Cost(Struct, gc=False):
    """US dollars."""

    total: float | None = None


class Usage(Struct, gc=False, rename="camel"):
    """`input` excludes cache reads and writes; `output` includes reasoning, which OpenClaw reports as
    `reasoningTokens`.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = field(name="cacheWrite1h", default=None)
    reasoning: int | None = None
    reasoning_tokens: int | None = None
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


class Nested(Struct, gc=False, rename="camel"):
    """A call that a tool made to another tool, as the tool's result lists it."""

    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    status: str | None = None
    duration_ms: float | None = None
    error: str | None = None


class NestedCalls(Struct, gc=False):
    calls: list[Nested] | None = None


class PiMessage(Struct, gc=False, rename="camel"):
    """A message of any role; `content` is decoded separately where its blocks matter."""

    role: str = ""
    content: Raw = ABSENT
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    response_id: str | None = None
    timestamp: Time = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    summary: Raw = ABSENT
    command: str | None = None
    output: str | None = None
    exit_code: int | None = None
    cancelled: bool | None = None
    exclude_from_context: bool | None = None
    duration_ms: float | None = None
    nested_calls: NestedCalls | None = None


class Entry(Struct, gc=False, rename="camel"):
    """A line of a session file: the header or an entry of the tree."""

    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: Time = None
    message: PiMessage | None = None
    cwd: str | None = None
    parent_session: str | None = None
    model_id: str | None = None
    summary: Raw = ABSENT
    tokens_before: int | None = None
    content: Raw = ABSENT
    name: str | None = None
    from_id: str | None = None
    model: str | None = None
    usage: Usage | None = None


class ToolOutput(Struct, gc=False):
    content: Raw = ABSENT


class Compaction(Struct, gc=False, rename="camel"):
    summary: Raw = ABSENT
    tokens_before: int | None = None
    usage: Usage | None = None


IGNORED = frozenset(
    {
        "agent_settled",
        "agent_start",
        "bash_execution_update",
        "message_start",
        "session_action_update",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "thinking_level_changed",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)
TYPES = IGNORED | {
    "agent_end",
    "auto_compaction_end",
    "auto_compaction_start",
    "auto_retry_end",
    "auto_retry_start",
    "compaction_end",
    "compaction_start",
    "entry_appended",
    "extension_error",
    "extension_ui_request",
    "message_end",
    "message_update",
    "queue_update",
    "response",
    "session_info_changed",
    "summarization_retry_scheduled",
    "tool_execution_end",
    "tool_execution_start",
}


class Head(Struct, gc=False):
    """The type of a line of an unknown type."""

    type: str = ""


@final
class Answer(Struct, gc=False, rename="camel", tag_field="role", tag="assistant"):
    """An answer as it is nearly always printed: its blocks are decoded with it."""

    content: list[Block]
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    response_id: str | None = None
    timestamp: Time = None


class ResultCopy(Struct, gc=False, rename="camel", tag_field="role", tag="toolResult"):
    """All that counts in a result that `tool_execution_end` gave before. `usage` is that of models the tool called."""

    tool_call_id: str | None = None
    usage: Usage | None = None


@final
class Prompt(Struct, gc=False, tag_field="role", tag="user"):
    content: Raw = ABSENT
    timestamp: Time = None


@final
class MessageEnd(Struct, gc=False, tag_field="type", tag="message_end"):
    message: Answer | ResultCopy | Prompt


class DeltaEvent(Struct, gc=False, rename="camel"):
    """`delta` is a piece of a block, `content` the whole block; an event with `partial` also has the answer so far."""

    type: str = ""
    content_index: int | None = None
    delta: str | None = None
    content: str | None = None
    partial: Raw = ABSENT


@final
class Growth(Struct, gc=False, rename="camel", tag_field="type", tag="message_update"):
    """Before 0.84 `message` is the answer so far."""

    assistant_message_event: DeltaEvent | None = None
    message: Raw = ABSENT


class AnyMessageEnd(Struct, gc=False):
    """A message of any other role or shape."""

    message: PiMessage | None = None


@final
class ToolStart(Struct, gc=False, rename="camel", tag_field="type", tag="tool_execution_start"):
    tool_call_id: str | None = None
    tool_name: str | None = None
    args: Raw = ABSENT
    parent_tool_call_id: str | None = None


@final
class ToolEnd(Struct, gc=False, rename="camel", tag_field="type", tag="tool_execution_end"):
    result: ToolOutput
    tool_call_id: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None


class AnyToolEnd(Struct, gc=False, rename="camel"):
    """A result of any shape."""

    tool_call_id: str | None = None
    result: Raw = ABSENT
    is_error: bool | None = None
    duration_ms: float | None = None


@final
class AgentEnd(Struct, gc=False, rename="camel", tag_field="type", tag="agent_end"):
    """`is_terminal` False (oh-my-pi): background work continues, and its end resumes the session."""

    will_retry: bool | None = None
    is_terminal: bool | None = None


class Line(Struct, gc=False, rename="camel", tag_field="type"):
    """A line of `--mode json` or `--mode rpc` of a rarer type. The shape of `result` depends on the type."""

    message: Raw = ABSENT
    result: Raw = ABSENT
    entry: Raw = ABSENT
    attempt: int | None = None
    max_attempts: int | None = None
    error_message: str | None = None
    success: bool | None = None
    final_error: str | None = None
    reason: str | None = None
    aborted: bool | None = None
    id: str | None = None
    cwd: str | None = None
    timestamp: Time = None
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
    """A `message_update`: the snapshot is in `message`, in the event beside it, or in both."""

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
    timestamp: Time = None
    text: str | None = None


decode_entry = Decoder(Entry).decode
decode_head = Decoder(Head).decode
decode_blocks = Decoder(list[Block]).decode
decode_output = Decoder(ToolOutput).decode
decode_compaction = Decoder(Compaction).decode
decode_update = Decoder(Update).decode
decode_row = Decoder(TranscriptRow).decode
decode_message_end = Decoder(AnyMessageEnd).decode
decode_tool_end = Decoder(AnyToolEnd).decode


_HOT = (MessageEnd, Growth, ToolStart, ToolEnd, AgentEnd)
_silent = {name: defstruct("Quiet", [], tag_field="type", tag=name, gc=False) for name in sorted(IGNORED)}
_hot = {str(kind.__struct_config__.tag): kind for kind in _HOT}
_rare = {
    name: defstruct("Rare", [], bases=(Line,), tag=name, rename="camel", gc=False)
    for name in sorted((TYPES | {"session"}) - IGNORED - _hot.keys())
}
QUIET: dict[type, str] = {kind: name for name, kind in _silent.items()}
"""The Structs of lines without useful content: their members are not even read."""
NAMES: dict[type, str] = {kind: name for name, kind in _rare.items()}
"""The types of the rarer lines."""
if TYPE_CHECKING:
    AnyLine: TypeAlias = MessageEnd | Growth | ToolStart | ToolEnd | AgentEnd | Line
_every: tuple[type[Struct], ...] = (*_HOT, *_rare.values(), *_silent.values())
# msgspec picks the Struct by the type, so each line is scanned once
_lines: Decoder["AnyLine"] = Decoder(Union[_every])  # noqa: UP007 - made of a tuple
decode_line = _lines.decode


def first_byte(raw: Raw) -> int:
    """The byte that shows the JSON type: 34 string, 91 array, 123 object; 0 if empty. Copies no payload."""
    return memoryview(raw)[0] if raw else 0
