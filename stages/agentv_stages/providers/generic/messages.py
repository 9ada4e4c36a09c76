"""Messages of AgentV's transcripts to events, for every shape of transcript."""

import msgspec
from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    Reasoning,
    Retract,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.message import call_names
from agentv_stages.model.payload import EMPTY_STRING, decode_json, has_value, plain_text, text_json, to_raw
from agentv_stages.model.times import Time, parse_iso, whole_ms
from agentv_stages.providers.generic.tools import own_call
from agentv_stages.providers.generic.wire import (
    Call,
    CallFacts,
    Facts,
    Metadata,
    RowMessage,
    Tokens,
    decode_blocks,
    decode_metadata,
    first_byte,
    read_free,
)

OUTCOMES: dict[str, Outcome] = {
    "ok": "ok",
    "success": "ok",
    "error": "error",
    "timeout": "error",
    "denied": "denied",
    "cancelled": "cancelled",
}
_ARRAY = 91
_STRING = 34
_NO_CALL = CallFacts()
_NO_FACTS = Facts()
_NO_METADATA = Metadata()


def facts_of(message: RowMessage) -> tuple[Facts, str | None]:
    """Our own facts of a row, and the model if the metadata has it; foreign metadata of another form gives none."""
    metadata = read_free(message.metadata, decode_metadata) or _NO_METADATA
    facts = metadata.agentv_stream or _NO_FACTS
    return facts, facts.model or metadata.model


def message_events(
    message: RowMessage,
    facts: Facts,
    model: str | None,
    message_id: str,
    prefix: str,
    source: Source,
    at: str,
    batch: Batch,
) -> int:
    """Appends the events of a message; returns the number of its calls that have no result.

    `source` has the message's time; `prefix` is put before call ids, to keep the transcripts in one file apart.
    """
    role = message.role
    if role in ("user", "system"):
        if has_value(message.content):
            injected = bool(facts.injected) or role == "system"
            batch.events.append(UserText(source, at, message.content, message_id, injected))
        return 0
    if role == "assistant":
        return _answer(message, facts, model, message_id, prefix, source, at, batch)
    calls = message.tool_calls or message.toolCalls or ()
    for i, call in enumerate(calls):  # a late result: its call is in the message's own row
        known = (facts.calls or {}).get(call.id or "", _NO_CALL)
        _result(call, known, _call_id(call, message_id, i, prefix), source, f"{at}-{i}", batch)
    if not calls and has_value(message.content):
        batch.events.append(ToolResult(source, at, prefix + (message.name or message_id), message.content))
    return 0


def _answer(
    message: RowMessage,
    facts: Facts,
    model: str | None,
    message_id: str,
    prefix: str,
    source: Source,
    at: str,
    batch: Batch,
) -> int:
    events, before = batch.events, len(batch.events)
    for i, thought in enumerate(facts.thinking or ()):
        events.append(Reasoning(source, f"{at}-t{i}", message_id, text_json(thought), False, model))
    _texts(message.content, facts, model, message_id, source, at, batch)
    unanswered = 0
    calls = message.tool_calls or message.toolCalls or []
    for i, (call, name) in enumerate(zip(calls, call_names([call.id or "" for call in calls]), strict=True)):
        if not call.tool:
            batch.ignore("call without a tool")
            continue
        call_id = _call_id(call, message_id, i, prefix)
        own = f"{at}-{i}"
        arguments = call.input if has_value(call.input) else EMPTY_OBJECT
        begun = at_time(source, call.start_time or call.startTime)
        known = (facts.calls or {}).get(name, _NO_CALL)
        call_event = ToolCall(begun, own, message_id, call_id, call.tool, arguments, facts.parent_call, model)
        events.append(own_call(call_event, known))
        unanswered += not _result(call, known, call_id, source, own, batch)
    if facts.message_id and len(events) == before:  # a row of our own: an answer without content
        events.append(AssistantText(source, at, message_id, EMPTY_STRING, False, _synthetic(facts), model))
    tokens = message.token_usage or message.tokenUsage
    if tokens is not None:
        events.append(usage_event(source, at, message_id, tokens, model))
    if facts.retracted:
        events.append(Retract(source, at, (message_id,), "the transcript says so"))
    return unanswered


def _texts(
    content: Raw, facts: Facts, model: str | None, message_id: str, source: Source, at: str, batch: Batch
) -> None:
    first = first_byte(content)
    synthetic = _synthetic(facts)
    if first == _STRING:
        if len(content) > 2:
            batch.events.append(AssistantText(source, at, message_id, content, False, synthetic, model))
    elif first == _ARRAY:
        try:
            blocks = decode_blocks(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            text = to_raw(plain_text(decode_json(content)))  # blocks of an unknown shape
            batch.events.append(AssistantText(source, at, message_id, text, False, synthetic, model))
            return
        for i, block in enumerate(blocks):
            if has_value(block.text):
                own = f"{at}-c{i}"
                batch.events.append(AssistantText(source, own, message_id, block.text, False, synthetic, model))
            else:
                batch.ignore(f"block/{block.type}")


def _synthetic(facts: Facts) -> bool:
    """Whether nothing in a row is from the model; a row with a turn that the program began does not count."""
    return bool(facts.synthetic) and facts.turn is None


def _call_id(call: Call, message_id: str, index: int, prefix: str) -> str:
    return prefix + call.id if call.id else f"{message_id}-tool-{index + 1}"


def _result(call: Call, known: CallFacts, call_id: str, source: Source, at: str, batch: Batch) -> bool:
    """Appends a call's result; False if the row has none."""
    status = known.outcome or call.status
    outcome = OUTCOMES.get(status or "")
    output = call.output if has_value(call.output) else None
    if outcome is None and output is None:
        return False
    if known.outcome == "unpaired":
        return False
    ended = at_time(source, call.end_time or call.endTime)
    duration = call.duration_ms if call.duration_ms is not None else call.durationMs
    batch.events.append(ToolResult(ended, at, call_id, output, outcome, known.exit_code, whole_ms(duration)))
    return True


def at_time(source: Source, text: Time) -> Source:
    """The source with the given time of a call's end or beginning; without one it has no time."""
    time_ms, own = parse_iso(text), source.base_id
    return Source(source.file, source.row, source.offset, source.length, time_ms, source.stream, own, source.answer)


def usage_event(source: Source, at: str, key: str, tokens: Tokens, model: str | None) -> TokenUsage:
    """Usage of one answer, unchanged: AgentV does not say whether `input` includes the cached tokens."""
    return TokenUsage(
        source, at, key, "call", model, tokens.input, tokens.cached, None, None, tokens.output, tokens.reasoning
    )
