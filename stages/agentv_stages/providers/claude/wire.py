"""Wire shapes of Claude Code, both dialects: only the fields that are used; payloads stay raw.

Source: Claude Code 1.0 to 2.1.332, stream-json and on-disk sessions.
"""

from typing import TypeAlias

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from agentv_stages.model import shapes
from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time

# Compares Claude Code versions as its logs write them: `2.1.330`.


def _numbers(version: str | None) -> list[int]:
    parts = (version or "").split(".")
    return [*map(int, parts)] if all(map(str.isdigit, parts)) else []


def since(version: str | None, first: list[int]) -> bool:
    """Whether a version is `first` or later; False if it is unknown."""
    return _numbers(version) >= first


def before(version: str | None, first: list[int]) -> bool:
    """Whether a version is earlier than `first`; False if it is unknown."""
    numbers = _numbers(version)
    return bool(numbers) and numbers < first


class CacheCreation(Struct, gc=False):
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUse(Struct, gc=False):
    """Work of the server itself, billed per use."""

    web_search_requests: int | None = None


class Usage(Struct, gc=False):
    """`input_tokens` excludes tokens that were read from or written to the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolUse | None = None


class Block(shapes.Block, gc=False):
    """A content block of any kind; `source` is that of an image."""

    source: Raw = ABSENT


class ApiMessage(Struct, gc=False):
    """A message of the Anthropic Messages API; a line holds one of its blocks, or a few."""

    id: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    stop_reason: str | None = None
    usage: Raw = ABSENT  # the same on every line of a message; decoded once, because it is a quarter of all decoding


class ToolUseResult(Struct, gc=False):
    """The structured result beside a `tool_result` block, where it is an object."""

    agentId: str | None = None
    interrupted: bool | None = None


Structured: TypeAlias = ToolUseResult | str | list[Raw] | None


class PermissionDecision(Struct, gc=False):
    decision: str | None = None


class ResultMeta(Struct, gc=False):
    """Facts about a result beside its block: why the call was not run, and the decision about it (2.1.3).

    `id` is the call's.
    """

    id: str | None = None
    non_execution_kind: str | None = None
    permission_decision: PermissionDecision | None = None


class StreamLine(Struct, gc=False):
    """A line of stream-json that may be a message; other types are decoded a second time, into their own shape."""

    type: str = ""
    message: ApiMessage | None = None
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    timestamp: Time = None
    isSynthetic: bool | None = None
    isReplay: bool | None = None
    tool_use_result: Structured = None
    tool_result_meta: list[ResultMeta] | None = None
    supersedes: list[str] | None = None
    request_id: Raw = ABSENT


class SystemLine(Struct, gc=False):
    """A `system` line of stream-json."""

    subtype: str = ""
    uuid: str | None = None
    timestamp: Time = None
    session_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    claude_code_version: str | None = None
    qwen_code_version: str | None = None
    status: str | None = None
    content: Raw = ABSENT
    error: Raw = ABSENT
    attempt: int | None = None
    max_retries: int | None = None
    error_status: Raw = ABSENT
    tool_name: str | None = None
    tool_use_id: str | None = None
    message: Raw = ABSENT
    task_id: str | None = None
    summary: str | None = None
    description: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None
    outcome: str | None = None
    text: Raw = ABSENT
    compact_metadata: Raw = ABSENT
    retracted_message_uuids: list[str] | None = None


class ModelUsage(Struct, gc=False, rename="camel"):
    """One model's share of `result.modelUsage`, cumulative; input excludes the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    thinking_tokens: int | None = None
    web_search_requests: int | None = None
    context_window: int | None = None
    cost_usd: float | None = field(name="costUSD", default=None)
    cache_creation_ephemeral_1h_input_tokens: int | None = field(
        name="cacheCreationEphemeral1hInputTokens", default=None
    )


class ResultLine(Struct, gc=False):
    """The `result` line, or the single object of `--output-format json`."""

    subtype: str = ""
    uuid: str | None = None
    session_id: str | None = None
    is_error: bool | None = None
    duration_ms: float | None = None
    num_turns: int | None = None
    total_cost_usd: float | None = None
    cost_usd: float | None = None
    usage: Usage | None = None
    modelUsage: dict[str, ModelUsage] | None = None
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    result_index: int | None = None
    terminal_reason: str | None = None
    result: Raw = ABSENT
    errors: Raw = ABSENT


class PartialEvent(Struct, gc=False):
    """The API's own event inside a `stream_event` line."""

    type: str = ""
    message: ApiMessage | None = None
    usage: Usage | None = None


class PartialLine(Struct, gc=False):
    event: PartialEvent
    uuid: str | None = None
    parent_tool_use_id: str | None = None


class Delta(Struct, gc=False):
    """A piece of a block; one of a call's arguments, or of a signature, has neither field."""

    text: str | None = None
    thinking: str | None = None


class DeltaEvent(Struct, gc=False):
    delta: Delta | None = None


class DeltaLine(Struct, gc=False):
    event: DeltaEvent
    parent_tool_use_id: str | None = None


class RateLimit(Struct, gc=False):
    status: str | None = None


class OtherLine(Struct, gc=False):
    """Lines of stream-json that inform a person."""

    uuid: str | None = None
    summary: str | None = None
    rate_limit_info: RateLimit | None = None
    new_conversation_id: str | None = None
    state: str | None = None
    error: Raw = ABSENT


class SessionLine(Struct, gc=False):
    """A line of a session on disk. `promptSource` is `system` for a prompt that the program itself wrote."""

    type: str = ""
    message: ApiMessage | None = None
    uuid: str | None = None
    timestamp: Time = None
    isSidechain: bool | None = None
    agentId: str | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    toolUseResult: Structured = None
    toolDenialKind: str | None = None
    toolDenialBeforeRun: bool | None = None
    permissionDecision: PermissionDecision | None = None
    version: str | None = None
    promptSource: str | None = None
    requestId: Raw = ABSENT


class ForkedFrom(Struct, gc=False):
    sessionId: str | None = None


class SessionHead(Struct, gc=False):
    """Facts about the session that every line of some types repeats; read until they are known."""

    sessionId: str | None = None
    session_id: str | None = None
    parentUuid: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    entrypoint: str | None = None
    forkedFrom: ForkedFrom | None = None
    requestSessionId: str | None = None
    sessionKind: str | None = None


class Snapshot(Struct, gc=False):
    timestamp: Time = None


class SnapshotLine(Struct, gc=False):
    """The state of files before the prompt `messageId`."""

    messageId: str | None = None
    snapshot: Snapshot = field(default_factory=Snapshot)


class Attachment(Struct, gc=False):
    type: str = ""
    prompt: Raw = ABSENT
    commandMode: str | None = None
    hookName: str | None = None
    hookEvent: str | None = None


class CompactMetadata(Struct, gc=False):
    trigger: str | None = None
    preTokens: int | None = None


class ProgressData(Struct, gc=False):
    type: str = ""
    hookName: str | None = None
    hookEvent: str | None = None


class Ending(Struct, gc=False):
    kind: str | None = None


class PromptEnding(Struct, gc=False):
    """Why a prompt never reached the model (2.1.332)."""

    ending: Ending = field(default_factory=Ending)


class MetaLine(Struct, gc=False):
    """A line on disk that is not a message: system notices, titles, queue operations, counters."""

    type: str = ""
    subtype: str = ""
    uuid: str | None = None
    timestamp: Time = None
    sessionId: str | None = None
    isSidechain: bool | None = None
    agentId: str | None = None
    content: Raw = ABSENT
    summary: str | None = None
    leafUuid: str | None = None
    operation: str | None = None
    customTitle: str | None = None
    aiTitle: str | None = None
    title: str | None = None
    attachment: Attachment | None = None
    data: ProgressData | None = None
    compactMetadata: CompactMetadata | None = None
    durationMs: float | None = None
    hookCount: int | None = None
    retryAttempt: int | None = None
    maxRetries: int | None = None
    promptSubmitEnding: PromptEnding | None = None
    error: Raw = ABSENT
    prNumber: int | None = None
    prUrl: str | None = None
    totalCostUSD: float | None = None
    startTime: int | None = None
    totalDuration: int | None = None
    modelUsage: dict[str, ModelUsage] | None = None
    version: str | None = None
    cwd: str | None = None
    gitBranch: str | None = None


decode_stream = Decoder(StreamLine).decode
decode_system = Decoder(SystemLine).decode
decode_result = Decoder(ResultLine).decode
decode_partial = Decoder(PartialLine).decode
decode_delta = Decoder(DeltaLine).decode
decode_other = Decoder(OtherLine).decode
decode_session = Decoder(SessionLine).decode
decode_head = Decoder(SessionHead).decode
decode_snapshot = Decoder(SnapshotLine).decode
decode_usage = Decoder(Usage).decode
decode_meta = Decoder(MetaLine).decode
