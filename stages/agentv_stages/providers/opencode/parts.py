"""Parts of OpenCode messages to events: shared by the stream, the export and the stores."""

import msgspec
from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, text_json, text_of, to_raw
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.opencode.tools import TABLE
from agentv_stages.providers.opencode.wire import (
    ErrorInfo,
    Metadata,
    Part,
    Tokens,
    ToolState,
    decode_error,
    decode_invalid,
    decode_metadata,
)

CONTINUES = frozenset({"tool-calls", "unknown"})
SILENT = frozenset({"agent", "patch", "snapshot", "step-start", "file"})
_WITH_FACTS = frozenset({"bash", "shell", "task", "agent"})
_NO_METADATA = Metadata()
_DENIED = (
    "The user rejected permission",
    "The user has specified a rule which prevents",
    "The user dismissed this question",
    "A global policy prevents",
    "This agent's policy prevents",
    "An automatic reviewer denied",
    "Plan mode refused",
)
_KIND = "Error: "  # of an exception, which OpenCode 1.2 and Kilo 7.0 write before its message
REJECTED = "permission rejected"
_STOPS = ("The user rejected permission to use this specific tool call.", "The user dismissed this question")
_CANCELLED = ("Tool execution aborted", "The operation was aborted", "Tool call aborted", "Aborted")
_TIMED_OUT = b"terminated command after exceeding timeout"
_ABORTED_SHELL = b"User aborted the command"
_UNAVAILABLE = b'"Model tried to call unavailable tool'
_TAIL = 400
_BY_TYPE: dict[str, Outcome] = {
    "permission.rejected": "denied",
    "aborted": "cancelled",
    "tool.stale": "cancelled",
    "tool.interrupted": "cancelled",
}
"""Outcomes by the kinds of errors of 2.x."""


def at_time(source: Source, time_ms: float | None) -> Source:
    """The source with a time of its own; without one it keeps the record's."""
    if time_ms is None:
        return source
    time = epoch_ms(time_ms)
    return Source(
        source.file, source.row, source.offset, source.length, time, source.stream, source.base_id, source.answer
    )


def content(
    part: Part, message_id: str, source: Source, at: str, batch: Batch, model: str | None, parent_call: str | None
) -> None:
    """Appends a text, a thought or a tool of an answer. `source` has the record's time; parts have more exact ones."""
    kind = part.type
    if kind == "tool":
        tool(part, message_id, source, at, batch, model, parent_call)
        return
    start = part.time.start if part.time else None
    if kind == "text":
        text = part.text or EMPTY_STRING
        synthetic = bool(part.synthetic or part.ignored)
        batch.events.append(AssistantText(at_time(source, start), at, message_id, text, False, synthetic, model))
    else:
        batch.events.append(Reasoning(at_time(source, start), at, message_id, text_json(part.text), False, model))


def tool(
    part: Part, message_id: str, source: Source, at: str, batch: Batch, model: str | None, parent_call: str | None
) -> None:
    """Appends a call, and its result if it has ended."""
    state = part.state
    call_id = part.callID or (part.id if part.partID else None) or f"{message_id}{at}"
    name = part.tool or "unknown"
    if state is None:  # an unknown shape: only the call itself can be reported
        batch.events.append(ToolCall(source, at, message_id, call_id, name, EMPTY_OBJECT, parent_call, model))
        return
    if state.status == "pending":
        batch.ignore("tool/pending")
        return
    arguments = state.input if has_value(state.input) else EMPTY_OBJECT
    invalid = name == "invalid"
    if invalid:
        name = _asked_for(arguments) or name
    elif "_" in name and bytes(state.error).startswith(_UNAVAILABLE):  # Kilo's form
        name = name if name in TABLE.by_name else "invalid"
    time = state.time
    begun = at_time(source, time.start if time else None)
    batch.events.append(ToolCall(begun, at, message_id, call_id, name, arguments, parent_call, model))
    if state.status == "running":
        return
    ended = at_time(source, time.end if time else None)
    duration = whole_ms(time.end - time.start) if time and time.start is not None and time.end is not None else None
    facts = metadata(state) if name in _WITH_FACTS or state.status == "error" else _NO_METADATA
    output, outcome = _ending(state, facts, invalid)
    child = facts.sessionId or facts.sessionID
    batch.events.append(ToolResult(ended, at, call_id, output, outcome, facts.exit, duration, child))


def _asked_for(arguments: Raw) -> str | None:
    """The tool that a call of `invalid` meant. An unknown name with `_` stays `invalid`: it would look like MCP."""
    try:
        name = decode_invalid(arguments).tool
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return name if name and ("_" not in name or name in TABLE.by_name) else None


def metadata(state: ToolState) -> Metadata:
    """The facts in a tool's metadata; none if it has another shape."""
    if not has_value(state.metadata):
        return _NO_METADATA
    try:
        facts = decode_metadata(state.metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _NO_METADATA
    return facts.metadata or facts  # the stream of 2.x has it one level deeper


def _ending(state: ToolState, facts: Metadata, invalid: bool) -> tuple[Raw | None, Outcome | None]:
    if state.status == "error":
        output = state.error if has_value(state.error) else None
        outcome = failure(_error_text(state))
        if bytes(state.error)[:1] == b"{":
            output, outcome = _error(state.error, outcome)
        return output, "cancelled" if outcome == "error" and facts.interrupted else outcome
    output = state.output if has_value(state.output) else None
    if state.status != "completed":
        return output, None
    if invalid or facts.exit or facts.timeout:
        return output, "error"
    if output is not None and facts is not _NO_METADATA and facts.exit is None:
        tail = bytes(output)[-_TAIL:]
        if _TIMED_OUT in tail:
            return output, "error"
        if _ABORTED_SHELL in tail:
            return output, "cancelled"
    return output, "ok"


def _error(error: Raw, outcome: Outcome) -> tuple[Raw, Outcome]:
    """The text of an error object of 2.x, and the outcome that its kind stands for."""
    try:
        kind, message = error_text(decode_error(error))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return error, outcome
    return to_raw(message), _BY_TYPE.get(kind, outcome)


def _error_text(state: ToolState) -> str:
    return text_of(state.error) if has_value(state.error) else ""


def failure(message: str) -> Outcome:
    """The outcome of a call that is marked as failed, from the message that the model got."""
    message = message.removeprefix(_KIND)
    return "denied" if message.startswith(_DENIED) else "cancelled" if message.startswith(_CANCELLED) else "error"


def stops(part: Part) -> bool:
    """Whether the call was refused without a message to the model: then no step follows."""
    state = part.state
    return state is not None and state.status == "error" and _error_text(state).removeprefix(_KIND).startswith(_STOPS)


def usage_event(source: Source, key: str, tokens: Tokens, cost: float | None, model: str | None) -> TokenUsage:
    """Usage of one step; `input` includes the cached tokens, `output` the reasoning.

    OpenCode subtracts the cached tokens from the input even if a server did not include them; it may be below 0.
    In 1.2 the output includes the reasoning already where the server's did: then the total is the sum without it.
    """
    cached = tokens.cache.read if tokens.cache else None
    written = tokens.cache.write if tokens.cache else None
    plain, visible, reasoning = tokens.input, tokens.output, tokens.reasoning
    total = None if plain is None or plain < 0 else plain + (cached or 0) + (written or 0)
    output = None if visible is None else visible + (reasoning or 0)
    if reasoning and tokens.total == (total or 0) + (visible or 0):
        output = visible
    return TokenUsage(
        source, "", key, "call", model, total, cached, written, None, output, reasoning, True, False, cost
    )


def error_text(error: ErrorInfo | str) -> tuple[str, str]:
    """Name and message of an error."""
    if isinstance(error, str):
        return "error", error
    name = error.name or error.type or "error"
    text = (error.data.message if error.data else None) or error.message
    return name, text or name


def failed(source: Source, error: ErrorInfo | str, batch: Batch) -> None:
    """Appends the error that ended a run."""
    name, text = error_text(error)
    status: Status = "interrupted" if name in ("MessageAbortedError", "aborted") else "error"
    interrupted = status == "interrupted"
    batch.events.append(Notification(source, "-error", name, text, "warning" if interrupted else "error"))
    batch.events.append(SessionEnd(source, "-end", status, f"{name}: {text}" if text != name else name))


def finished(source: Source, reason: str | None, batch: Batch) -> None:
    """Appends the end of a run if a step's finish reason is a final one."""
    if reason and reason not in CONTINUES:
        batch.events.append(SessionEnd(source, "-end", "error" if reason == "error" else "complete", reason))
