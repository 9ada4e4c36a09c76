"""Wire shapes of Grok Build: only the fields that are used; payloads stay raw.

Source: Grok Build 0.1.220 to 1.0.41, recordings and the user guide that it puts into `~/.grok/docs`.
"""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.shapes import Block as Block


class Spent(Struct, gc=False):
    """Tokens as both streams print them: the three input counts exclude each other."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    reasoning_tokens: int | None = None


class StreamLine(Struct, gc=False):
    """A line of `--output-format streaming-json`."""

    type: str = ""
    data: Raw = ABSENT
    toolCallId: str | None = None
    toolName: str | None = None
    title: str | None = None
    status: str | None = None
    rawInput: Raw = ABSENT
    rawOutput: Raw = ABSENT
    content: Raw = ABSENT
    tools: Raw = ABSENT
    usage: Spent | None = None
    message: str | None = None
    error: str | None = None
    stopReason: str | None = None
    sessionId: str | None = None
    num_turns: int | None = None
    total_cost_usd: float | None = None
    modelUsage: dict[str, Raw] | None = None


class Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    usage: Spent | None = None


class Delta(Struct, gc=False):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None


class StreamEvent(Struct, gc=False):
    """An increment of `--include-partial-messages`."""

    type: str = ""
    message: Message | None = None
    content_block: Block | None = None
    delta: Delta | None = None


class MessagesLine(Struct, gc=False):
    """A line of `--output-format streaming-messages-json`."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    model: str | None = None
    cwd: str | None = None
    message: Message | None = None
    event: StreamEvent | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    num_turns: int | None = None
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: Spent | None = None
    modelUsage: dict[str, Raw] | None = None
    errors: list[str] | None = None


class Ledger(Struct, gc=False):
    """Tokens of a turn on disk: here the input includes tokens from caches. A dollar has 10^10 ticks."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    cachedReadTokens: int | None = None
    cacheCreationTokens: int | None = None
    reasoningTokens: int | None = None
    numTurns: int | None = None
    costUsdTicks: int | None = None
    costIsPartial: bool | None = None
    modelUsage: "dict[str, Ledger] | None" = None


class TextMeta(Struct, gc=False):
    """`bash_command`: the text is a command that the user ran with `!`."""

    bash_command: str | None = None


class Text(Struct, gc=False):
    type: str = "text"
    text: Raw = ABSENT
    meta: TextMeta | None = field(name="_meta", default=None)


class ToolMeta(Struct, gc=False):
    name: str | None = None


class UpdateMeta(Struct, gc=False):
    modelId: str | None = None
    promptIndex: int | None = None
    hideFromScrollback: bool | None = None
    tool: ToolMeta | None = field(name="x.ai/tool", default=None)


class Task(Struct, gc=False):
    task_id: str | None = None
    description: str | None = None
    exit_code: int | None = None


class Update(Struct, gc=False):
    """`params.update` of a line of `updates.jsonl`, all kinds in one."""

    sessionUpdate: str = ""
    content: Raw = ABSENT
    meta: UpdateMeta | None = field(name="_meta", default=None)
    toolCallId: str | None = None
    title: str | None = None
    status: str | None = None
    rawInput: Raw = ABSENT
    rawOutput: Raw = ABSENT
    stop_reason: str | None = None
    agent_result: str | None = None
    usage: Raw = ABSENT
    elapsed_ms: float | None = None
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    error: str | None = None
    attempt: int | None = None
    subagent_id: str | None = None
    child_session_id: str | None = None
    target_prompt_index: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    task_snapshot: Task | None = None


class ParamsMeta(Struct, gc=False):
    """Beside an update: `eventId` begins with the session that wrote it first, `streamStartMs` is the answer's."""

    eventId: str | None = None
    agentTimestampMs: int | None = None
    streamStartMs: int | None = None
    cancellationCategory: str | None = None
    isReplay: bool | None = None


class Params(Struct, gc=False):
    sessionId: str | None = None
    update: Update | None = None
    meta: ParamsMeta | None = field(name="_meta", default=None)


class Completed(Struct, gc=False):
    """The end of a prompt, of the session that ran it."""

    sessionId: str | None = None
    stopReason: str | None = None
    agentResult: str | None = None


class CompletedLine(Struct, gc=False):
    """`_x.ai/session/prompt_complete`."""

    params: Completed | None = None


class SessionLine(Struct, gc=False):
    """A line of `updates.jsonl`: a message of the Agent Client Protocol, with the second in which it was written."""

    method: str = ""
    timestamp: float | None = None
    params: Params | None = None


class Bridge(Struct, gc=False):
    """A call that the model makes through `use_tool`."""

    tool_name: str
    tool_input: Raw = ABSENT


class Piece(Struct, gc=False):
    """An element of a call's `content`: a text, a diff of a file."""

    type: str = ""
    content: Text | None = None


decode_stream = Decoder(StreamLine).decode
decode_messages = Decoder(MessagesLine).decode
decode_completed = Decoder(CompletedLine).decode
decode_session = Decoder(SessionLine).decode
decode_bridge = Decoder(Bridge).decode
decode_pieces = Decoder(list[Piece]).decode
decode_members = Decoder(dict[str, Raw]).decode
decode_bytes = Decoder(list[int]).decode
decode_text = Decoder(Text).decode
decode_ledger = Decoder(Ledger).decode
decode_spent = Decoder(Spent).decode
