"""The model's answers in Gemini's chat recordings. In: an answer as recorded. Out: events of its new parts."""

from zlib import crc32

from msgspec import Raw, structs

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Reasoning,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS
from agentv_stages.providers.gemini.parts import is_empty, message_text
from agentv_stages.providers.gemini.prompts import Session
from agentv_stages.providers.gemini.results import outcome_of, output_of, plain_output
from agentv_stages.providers.gemini.state import KEEP, Emitted
from agentv_stages.providers.gemini.tools import tool_name
from agentv_stages.providers.gemini.wire import Call, CallHead, ChatMessage, PlainCall, PlainMessage, Tokens

ENDED = frozenset(("success", "error", "cancelled"))
PARTS = tuple(f"-tool-{i}" for i in range(64))


def emit(
    at: Session, message: ChatMessage | PlainMessage, emitted: Emitted, source: Source, record: Record, batch: Batch
) -> None:
    """Emits the new parts of an answer: its thoughts, calls, results, text and tokens.

    Over ACP the calls of a whole session are in one record without text and tokens, which is written again after each
    answer that asks for a call; the new calls belong to that answer.
    """
    events = batch.events
    before = len(events)
    model = message.model
    message_id = source.base_id
    if model is not None and model != at.state.model:
        at.facts(source, batch, None, model, None)
    thoughts = message.thoughts
    if thoughts:
        for i in range(emitted.thoughts, len(thoughts)):
            subject, text = thoughts[i].subject, thoughts[i].description or ""
            text = f"{subject}: {text}" if subject and text else subject or text
            events.append(Reasoning(source, f"-thought-{i}", message_id, to_raw(text), False, model))
        emitted.thoughts = max(emitted.thoughts, len(thoughts))
    tokens, has_text = message.tokens, len(message.content) != 2 or message.parts  # `""`
    if message.toolCalls:
        asked_by, begun = message_id, source
        if at.state.asking and tokens is None and not has_text and emitted.is_empty():
            asked_by, asked_ms = at.state.asking, at.state.asking_ms
            begun = structs.replace(source, time_ms=asked_ms, answer=asked_ms or None)
        for i, call in enumerate(message.toolCalls):
            _call(at, call, i, source, asked_by, begun, model, record, batch)
    if tokens is not None or has_text or thoughts:
        at.state.asking = "" if message.toolCalls else message_id
        at.state.asking_ms = source.time_ms
    if has_text:
        _emit_text(message_text(message, source, batch), emitted, source, model, batch)
    if tokens is not None:
        figures = (tokens.input, tokens.cached, tokens.output, tokens.thoughts, tokens.tool)
        if figures != emitted.tokens:
            suffix = f"-{record.row}" if emitted.tokens else ""
            emitted.tokens = figures
            events.append(_usage(source, suffix, tokens, model))
    if len(events) == before:
        batch.ignore("gemini/again")


def _emit_text(text: Raw, emitted: Emitted, source: Source, model: str | None, batch: Batch) -> None:
    """Emits a text, or the part that was added to it; a text that was rewritten stays as it was emitted."""
    body = bytes(text)[1:-1]
    if len(body) <= emitted.size:
        return
    if emitted.size:
        if crc32(body[: emitted.size]) != emitted.crc:
            batch.ignore("gemini/rewritten")
            return
        text = Raw(b'"' + body[emitted.size :] + b'"')
    at = f"-{emitted.size}" if emitted.size else ""
    batch.events.append(AssistantText(source, at, source.base_id, text, emitted.size > 0, False, model))
    emitted.size, emitted.crc = len(body), crc32(body)


def _call(
    at: Session,
    call: CallHead,
    index: int,
    source: Source,
    asked_by: str,
    begun: Source,
    model: str | None,
    record: Record,
    batch: Batch,
) -> None:
    calls, suffix = at.state.calls, PARTS[index] if index < 64 else f"-tool-{index}"
    call_id = call.id or f"{source.base_id}{suffix}"
    name = call.name or "unknown"
    done = calls.get(call_id)
    if done is None:
        remember(calls, call_id, False, KEEP)
        tool = tool_name(name, call.displayName)
        arguments = call.args or EMPTY_OBJECT
        batch.events.append(ToolCall(begun, suffix, asked_by, call_id, tool, arguments, at.parent_call, model))
        if call.status == "awaiting_approval":
            text = f"{name} waits for approval"
            batch.events.append(Notification(source, suffix, "permission_request", text, "info", call_id))
    if done:
        return
    if isinstance(call, PlainCall):
        if call.status not in ENDED and not call.result:
            return
        output, failed = plain_output(call, index, record, source, batch)
    else:
        assert isinstance(call, Call)
        if call.status not in ENDED and is_empty(call.result):
            return
        output, failed = output_of(call, source, batch)
    calls[call_id] = True
    status = "error" if failed and call.status == "success" else call.status
    outcome, exit_code = outcome_of(output, status, name in SHELL_TOOLS)
    # The message's time is when the answer began, so a result without its own time has none.
    ended = Source(
        source.file,
        source.row,
        source.offset,
        source.length,
        parse_iso(call.timestamp),
        source.stream,
        source.base_id,
        source.answer,
    )
    batch.events.append(ToolResult(ended, suffix, call_id, output, outcome, exit_code, None, call.agentId))


def _usage(source: Source, at: str, tokens: Tokens, model: str | None) -> TokenUsage:
    prompt, output = tokens.input, tokens.output
    if output is not None and tokens.thoughts:
        output += tokens.thoughts
    prompt = with_tool_use(prompt, tokens.tool, output, tokens.total)
    return TokenUsage(
        source, at, source.base_id, "call", model, prompt, tokens.cached, None, None, output, tokens.thoughts
    )


def with_tool_use(prompt: int | None, tool: int | None, output: int | None, total: int | None) -> int | None:
    """The prompt's tokens, plus the tokens that the server's own tools added, unless the total already includes
    them.
    """
    if not tool or tool < 0 or (total is not None and total == (prompt or 0) + (output or 0)):
        return prompt
    return (prompt or 0) + tool
