"""Wire shapes of Qwen Code, stream and chats: only the fields that are used; payloads stay raw.

Source: Qwen Code 0.14 to 0.24.4, `--output-format stream-json` and `projects/*/chats/*.jsonl`.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.shapes import Block as Block
from agentv_stages.model.times import Time


class Usage(Struct, gc=False):
    """Claude's names with another meaning: `input_tokens` includes cache reads."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class StreamMessage(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    usage: Usage | None = None


class StreamLine(Struct, gc=False):
    """A line of stream-json of any type."""

    type: str = ""
    subtype: str = ""
    uuid: str | None = None
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    message: StreamMessage | None = None
    model: str | None = None
    cwd: str | None = None
    qwen_code_version: str | None = None
    claude_code_version: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    num_turns: int | None = None
    result: Raw = ABSENT
    error: Raw = ABSENT
    usage: Usage | None = None
    data: Raw = ABSENT


class Notice(Struct, gc=False):
    """The content of a `system` line of the stream."""

    tool_use_id: str | None = None
    description: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    preserveText: bool | None = None


class Delta(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT


class PartialEvent(Struct, gc=False):
    type: str = ""
    delta: Delta | None = None


class PartialLine(Struct, gc=False):
    event: PartialEvent
    uuid: str | None = None
    parent_tool_use_id: str | None = None


class Failure(Struct, gc=False):
    message: str | None = None


class FunctionCall(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    args: Raw = ABSENT


class FunctionResponse(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    response: Raw = ABSENT


class Part(Struct, gc=False):
    """A part of a message on disk, as in Gemini's interface."""

    text: Raw = ABSENT
    thought: bool | None = None
    functionCall: FunctionCall | None = None
    functionResponse: FunctionResponse | None = None
    inlineData: Raw = ABSENT
    fileData: Raw = ABSENT


class ChatMessage(Struct, gc=False):
    parts: list[Part] | None = None


class UsageMetadata(Struct, gc=False):
    """Tokens of one answer: the prompt includes the cached ones."""

    promptTokenCount: int | None = None
    candidatesTokenCount: int | None = None
    thoughtsTokenCount: int | None = None
    cachedContentTokenCount: int | None = None
    totalTokenCount: int | None = None


class ToolCallResult(Struct, gc=False):
    callId: str | None = None
    status: str | None = None
    errorType: str | None = None
    durationMs: float | None = None


class ForkedFrom(Struct, gc=False):
    sessionId: str | None = None


class SessionLine(Struct, gc=False):
    """A line of a session on disk; `forkedFrom` marks what `/branch` copied from another session."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    sessionId: str | None = None
    timestamp: Time = None
    cwd: str | None = None
    version: str | None = None
    gitBranch: str | None = None
    model: str | None = None
    message: ChatMessage | None = None
    usageMetadata: UsageMetadata | None = None
    contextWindowSize: int | None = None
    forkedFrom: ForkedFrom | None = None
    toolCallResult: ToolCallResult | None = None
    agentId: str | None = None
    isSidechain: bool | None = None
    systemPayload: Raw = ABSENT


class UiEvent(Struct, gc=False):
    """Telemetry of one model call, one tool call or one error; its fields show which."""

    call_id: str | None = None
    parent_call_id: str | None = None
    source: str | None = None
    error: str | None = None
    error_type: str | None = None
    function_name: str | None = None
    function_args: Raw = ABSENT
    duration_ms: float | None = None
    status: str | None = None
    success: bool | None = None
    decision: str | None = None
    prompt_id: str | None = None
    response_id: str | None = None
    model: str | None = None
    input_token_count: int | None = None
    output_token_count: int | None = None
    cached_content_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None
    response_text: Raw = ABSENT
    error_message: str | None = None
    subagent_name: str | None = None


class CompressionInfo(Struct, gc=False):
    originalTokenCount: int | None = None
    newTokenCount: int | None = None


class Payload(Struct, gc=False):
    """The payload of a `system` line."""

    uiEvent: UiEvent | None = None
    info: CompressionInfo | None = None
    phase: str | None = None
    rawCommand: str | None = None
    sentToModel: bool | None = None
    customTitle: str | None = None
    targetUuid: str | None = None
    parentSessionId: str | None = None
    displayText: str | None = None


class Response(Struct, gc=False):
    output: Raw = ABSENT
    error: Raw = ABSENT


decode_stream = Decoder(StreamLine).decode
decode_partial = Decoder(PartialLine).decode
decode_failure = Decoder(Failure).decode
decode_notice = Decoder(Notice).decode
decode_session = Decoder(SessionLine).decode
decode_payload = Decoder(Payload).decode
decode_response = Decoder(Response).decode
