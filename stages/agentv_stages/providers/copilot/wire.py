"""The members of Copilot's events that are used. Source: Copilot CLI 0.0.400 to 1.0.102."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T")

EMPTY = Raw(b"{}")
ABSENT = Raw()
NOTHING = (ABSENT, Raw(b"null"))


class Envelope(Struct, gc=False):
    """Every line; the closing `result` line of standard output has no `data`, but members of its own."""

    type: str = ""
    data: Raw = EMPTY
    id: str | None = None
    timestamp: str | None = None
    agentId: str | None = None


class UserMessage(Struct, gc=False):
    content: Raw = ABSENT
    messageId: str | None = None
    source: str | None = None
    isAutopilotContinuation: bool | None = None


class ToolRequest(Struct, gc=False):
    toolCallId: str = ""
    name: str = ""
    arguments: Raw = EMPTY
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
    arguments: Raw = EMPTY
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
    """`inputTokens` holds the cached ones; `cost` counts premium requests, no money."""

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
    """The start, the resumption, and every change of what is known of the session."""

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


class Result(Struct, gc=False):
    sessionId: str | None = None
    exitCode: int | None = None
    usage: ResultUsage | None = None


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


decode_envelope = decoder(Envelope).decode
decode_user = decoder(UserMessage).decode
decode_assistant = decoder(AssistantMessage).decode
decode_delta = decoder(MessageDelta).decode
decode_reasoning = decoder(ReasoningPiece).decode
decode_start = decoder(ToolStart).decode
decode_complete = decoder(ToolComplete).decode
decode_output = decoder(ToolOutput).decode
decode_error = decoder(ToolError).decode
decode_usage = decoder(Usage).decode
decode_record = decoder(UsageRecord).decode
decode_shutdown = decoder(Shutdown).decode
decode_session = decoder(Session).decode
decode_subagent = decoder(SubagentStarted).decode
decode_permission = decoder(PermissionRequested).decode
decode_permitted = decoder(PermissionCompleted).decode
decode_hook = decoder(HookEnd).decode
decode_failure = decoder(Failure).decode
decode_result = decoder(Result).decode
decode_any: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
