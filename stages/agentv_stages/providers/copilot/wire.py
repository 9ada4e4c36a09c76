"""The members of Copilot's events that are used. Source: Copilot CLI 0.0.400 to 1.0.102."""

from functools import cache
from typing import TYPE_CHECKING, TypeAlias, Union

import msgspec
from msgspec import Raw, Struct, defstruct, field

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time
from agentv_stages.providers.copilot.catalogue import DECODED, IGNORED, NOTICES

NOTHING = (ABSENT, Raw(b"null"))


NAMES: dict[type, str] = {}
"""The type of each line's Struct. Cached, because msgspec builds a new configuration whenever the tag is asked for."""


class Head(Struct, gc=False):
    """The type of a line of an unknown type."""

    type: str = ""


class Line(Struct, gc=False, tag_field="type"):
    """The members of every line besides its type and its data."""

    id: str | None = None
    timestamp: Time = None
    agentId: str | None = None

    @property
    def kind(self) -> str:
        return NAMES[type(self)]


class Rare(Line):
    """A line of a type whose data its handler decodes."""

    data: Raw = EMPTY_OBJECT


class UserMessage(Struct, gc=False):
    content: Raw = ABSENT
    messageId: str | None = None
    source: str | None = None
    isAutopilotContinuation: bool | None = None


class ToolRequest(Struct, gc=False):
    toolCallId: str = ""
    name: str = ""
    arguments: Raw = EMPTY_OBJECT
    mcpServerName: str | None = None
    mcpToolName: str | None = None


class AssistantMessage(Struct, gc=False):
    messageId: str | None = None
    content: Raw = ABSENT
    toolRequests: list[ToolRequest] | None = None
    reasoningText: Raw = ABSENT
    model: str | None = None
    apiCallId: str | None = None
    outputTokens: int | None = None
    parentToolCallId: str | None = None
    chunkIndex: int | None = None


class MessageDelta(Struct, gc=False):
    messageId: str = ""
    deltaContent: str = ""
    parentToolCallId: str | None = None


class ReasoningPiece(Struct, gc=False):
    reasoningId: str = ""
    deltaContent: str = ""
    content: str = ""
    parentToolCallId: str | None = None


class ToolStart(Struct, gc=False):
    toolCallId: str = ""
    toolName: str = ""
    arguments: Raw = EMPTY_OBJECT
    mcpServerName: str | None = None
    mcpToolName: str | None = None
    model: str | None = None
    parentToolCallId: str | None = None


class ShellExit(Struct, gc=False):
    exitCode: int | None = None


class ToolOutput(Struct, gc=False):
    content: Raw = ABSENT
    contents: list[ShellExit] | None = None


class ToolError(Struct, gc=False):
    message: Raw = ABSENT
    code: str | None = None


class ToolComplete(Struct, gc=False):
    toolCallId: str = ""
    success: bool | None = None
    result: Raw = ABSENT
    error: Raw = ABSENT
    shellExecution: ShellExit | None = None
    parentToolCallId: str | None = None
    isUserRequested: bool | None = None


class Usage(Struct, gc=False):
    """`inputTokens` includes the cached ones; `cost` counts premium requests, not money."""

    model: str | None = None
    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheReadTokens: int | None = None
    cacheWriteTokens: int | None = None
    reasoningTokens: int | None = None
    apiCallId: str | None = None
    parentToolCallId: str | None = None


class UsageRecord(Struct, gc=False):
    usage: Usage | None = None


class Compaction(Struct, gc=False):
    compactionTokensUsed: Usage | None = None
    requestId: str | None = None


class ModelMetrics(Struct, gc=False):
    usage: Usage | None = None


class Shutdown(Struct, gc=False):
    """`accountingSnapshot` and `providerModelMetrics` repeat the totals; one copy is read."""

    shutdownType: str | None = None
    errorReason: str | None = None
    modelMetrics: dict[str, ModelMetrics] | None = None
    currentModel: str | None = None
    accountingSnapshot: Raw = ABSENT


class Place(Struct, gc=False):
    cwd: str | None = None
    branch: str | None = None


class Session(Struct, gc=False):
    """The session's start, resumption, and every change of its facts."""

    sessionId: str | None = None
    copilotVersion: str | None = None
    selectedModel: str | None = None
    newModel: str | None = None
    chosenModel: str | None = None
    model: str | None = None
    context: Place | None = None
    cwd: str | None = None
    branch: str | None = None
    title: str | None = None
    parentSessionId: str | None = None
    detachedFromSpawningParentSessionId: str | None = None


class SubagentStarted(Struct, gc=False):
    toolCallId: str | None = None
    agentName: str | None = None
    agentDisplayName: str | None = None


class PermissionAsked(Struct, gc=False):
    kind: str | None = None
    toolCallId: str | None = None
    intention: str | None = None
    fullCommandText: str | None = None


class PermissionRequested(Struct, gc=False):
    permissionRequest: PermissionAsked | None = None


class PermissionResult(Struct, gc=False):
    kind: str = ""


class PermissionCompleted(Struct, gc=False):
    toolCallId: str | None = None
    result: PermissionResult | None = None


class Notice(Struct, gc=False):
    """`session.info`."""

    infoType: str | None = None
    message: str | None = None


class Follows(Struct, gc=False):
    parentId: str | None = None


class HookError(Struct, gc=False):
    message: str | None = None


class HookEnd(Struct, gc=False):
    hookType: str | None = None
    success: bool | None = None
    error: HookError | None = None


class Failure(Struct, gc=False):
    """`session.error`, `abort`, `session.idle`, `system.notification`, `tool.user_requested`."""

    errorType: str | None = None
    message: str | None = None
    reason: str | None = None
    aborted: bool | None = None
    content: Raw = ABSENT
    toolCallId: str | None = None
    toolName: str | None = None


class ResultUsage(Struct, gc=False):
    sessionDurationMs: float | None = None


class MessageLine(Line, tag="assistant.message"):
    data: AssistantMessage = field(default_factory=AssistantMessage)


class DeltaLine(Struct, gc=False, tag_field="type", tag="assistant.message_delta"):
    """The few members of a delta that are used; `Piece` has the rest, for an answer that never comes whole."""

    agentId: str | None = None
    data: MessageDelta = field(default_factory=MessageDelta)


class ThoughtLine(Line):
    data: ReasoningPiece = field(default_factory=ReasoningPiece)


class PieceData(Struct, gc=False):
    parentToolCallId: str | None = None


class Piece(Struct, gc=False):
    """The place of a delta, of an answer or a thought."""

    id: str | None = None
    timestamp: Time = None
    agentId: str | None = None
    data: PieceData = field(default_factory=PieceData)


class ThoughtDelta(ThoughtLine, tag="assistant.reasoning_delta"):
    pass


class ThoughtWhole(ThoughtLine, tag="assistant.reasoning"):
    pass


class Attempt(Line):
    """The model is called, maybe once more; the data is not read."""


class CallStart(Attempt, tag="model.call_start"):
    pass


class TurnRetry(Attempt, tag="assistant.turn_retry"):
    pass


class StartLine(Line, tag="tool.execution_start"):
    data: ToolStart = field(default_factory=ToolStart)


class CompleteLine(Line, tag="tool.execution_complete"):
    data: ToolComplete = field(default_factory=ToolComplete)


class ResultLine(Line, tag="result"):
    """The closing line of standard output, which has no `data`."""

    sessionId: str | None = None
    exitCode: int | None = None
    usage: ResultUsage | None = None


HOT = (MessageLine, DeltaLine, ThoughtDelta, ThoughtWhole, CallStart, TurnRetry, StartLine, CompleteLine, ResultLine)
if TYPE_CHECKING:
    AnyLine: TypeAlias = (
        Rare
        | MessageLine
        | DeltaLine
        | ThoughtDelta
        | ThoughtWhole
        | CallStart
        | TurnRetry
        | StartLine
        | CompleteLine
        | ResultLine
    )


class Lines:
    """The decoder of all known types in one pass, each into its own Struct.

    `quiet` names the types without useful content: their members are not even read. msgspec picks the Struct by the
    type; reading the type first would scan each line twice (0.2 µs for 500 bytes, half the cost of a line).
    """

    def __init__(self) -> None:
        known = {str(kind.__struct_config__.tag) for kind in HOT}
        silent = {name: defstruct("Quiet", [], tag_field="type", tag=name, gc=False) for name in sorted(IGNORED)}
        rare = [
            defstruct("Rare", [], bases=(Rare,), tag=name, gc=False)
            for name in sorted((DECODED | NOTICES.keys()) - known)
        ]
        self.quiet: dict[type, str] = {kind: name for name, kind in silent.items()}
        every: tuple[type[Struct], ...] = (*HOT, *rare, *silent.values())
        NAMES.update({kind: str(kind.__struct_config__.tag) for kind in every})
        read: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(Union[every])  # noqa: UP007 - made of a tuple
        self.read = read.decode


@cache
def lines() -> Lines:
    """Built when the first Copilot log is read, as it takes 3 ms."""
    return Lines()


decode_head = msgspec.json.Decoder(Head).decode
decode_piece = msgspec.json.Decoder(Piece).decode
decode_user = msgspec.json.Decoder(UserMessage).decode
decode_output = msgspec.json.Decoder(ToolOutput).decode
decode_error = msgspec.json.Decoder(ToolError).decode
decode_usage = msgspec.json.Decoder(Usage).decode
decode_record = msgspec.json.Decoder(UsageRecord).decode
decode_notice = msgspec.json.Decoder(Notice).decode
decode_follows = msgspec.json.Decoder(Follows).decode
decode_compaction = msgspec.json.Decoder(Compaction).decode
decode_shutdown = msgspec.json.Decoder(Shutdown).decode
decode_session = msgspec.json.Decoder(Session).decode
decode_subagent = msgspec.json.Decoder(SubagentStarted).decode
decode_permission = msgspec.json.Decoder(PermissionRequested).decode
decode_permitted = msgspec.json.Decoder(PermissionCompleted).decode
decode_hook = msgspec.json.Decoder(HookEnd).decode
decode_failure = msgspec.json.Decoder(Failure).decode
