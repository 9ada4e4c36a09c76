"""One event of OpenHands, printed or on disk, to events of ours; without state.

Each call of a model answer is an event of its own, all with one `llm_response_id`; the first has the text and the
thoughts. An answer without a call ends the run, as the tool `finish` does. After an answer that is entirely empty, a
message in the user's name demands one.
Source: openhands-sdk 1.16.1 to 1.58.2.
"""

from collections.abc import Iterator

from msgspec import Raw

from agentv_stages.chain.pruning import REFUSED, fitting
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Level,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json, text_json, text_of, to_raw
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.openhands.wire import (
    Event,
    Message,
    Observation,
    decode_block,
    decode_reasoning,
    decode_thinking,
)

RUNS_ON = -1
"""The exit code of a command that has not ended."""
_DEMAND = "Your last response did not include a function call or a message."
_QUIET = frozenset(("CondensationRequest", "ConversationStateUpdateEvent", "TokenEvent", "LLMCompletionLogEvent"))
_STOPS = frozenset(("PauseEvent", "InterruptEvent"))


def source_of(event: Event, record: Record, file: str, stream: str) -> Source:
    """The source of an event; its own id is the base of our ids, so that stream and disk give the same ones."""
    return Source(file, record.row, record.offset, record.length, parse_iso(event.timestamp), stream, event.id or "")


def emit(event: Event, source: Source, record: Record, batch: Batch) -> None:
    """Appends what an event says to `batch`."""
    kind, add = event.kind or "", batch.events.append
    if kind == "ActionEvent":
        _action(event, source, record, batch)
    elif kind == "ObservationEvent":
        _observation(event, source, batch)
    elif kind == "MessageEvent":
        _message(event, source, record, batch)
    elif kind == "AgentErrorEvent":
        add(ToolResult(source, "", event.tool_call_id or "", _filled(event.error), "error"))
    elif kind == "UserRejectObservation":
        add(ToolResult(source, "", event.tool_call_id or "", _filled(event.rejection_reason), "denied"))
    elif kind == "ConversationErrorEvent":
        reason = ": ".join(filter(None, (event.code, event.detail)))
        add(SessionEnd(source, "", "error", reason or None, result_json=Raw(record.data)))
    elif kind in _STOPS:
        add(SessionEnd(source, "", "interrupted", kind, result_json=Raw(record.data)))
    elif kind == "Condensation":
        add(Notification(source, "", "condensation", event.summary or ""))
    elif kind == "HookExecutionEvent":
        level: Level = "info" if event.success else "warning"
        add(Notification(source, "", f"hook/{event.hook_event_type or ''}", event.reason or "", level))
    elif kind == "SystemPromptEvent":
        prompt = text_json(event.system_prompt)
        add(UserText(source, "", prompt, f"{event.id or record.row}", injected=True))
    elif kind in _QUIET:
        batch.ignore(kind)
    else:
        batch.unknown_type(kind, record)


def _action(event: Event, source: Source, record: Record, batch: Batch) -> None:
    message_id = event.llm_response_id or event.id or f"answer-{record.row}"
    message = Message(event.thought, event.reasoning_content, event.thinking_blocks, event.responses_reasoning_item)
    _emit_texts(message, message_id, source, batch)
    arguments = inner_json(event.tool_call.arguments) if event.tool_call is not None else EMPTY_OBJECT
    name = event.tool_name or "unknown"
    if event.action is not None and event.action.kind == "MCPToolAction":
        name = f"mcp__{name}"
    call_id = event.tool_call_id or event.id or f"call-{record.row}"
    batch.events.append(
        ToolCall(source, "", message_id, call_id, name, arguments if has_value(arguments) else EMPTY_OBJECT)
    )


def _observation(event: Event, source: Source, batch: Batch) -> None:
    seen = event.observation or Observation()
    code = None if seen.exit_code == RUNS_ON else seen.exit_code
    outcome: Outcome | None = "ok"
    if seen.is_error or seen.timeout or code:
        outcome = "error"
    elif seen.exit_code == RUNS_ON:
        outcome = None
    output = _shown(seen.content)
    batch.events.append(ToolResult(source, "", event.tool_call_id or "", output, outcome, code))
    if seen.kind == "FinishObservation" and not seen.is_error:
        batch.events.append(SessionEnd(source, "", "complete", "finish"))


def _message(event: Event, source: Source, record: Record, batch: Batch) -> None:
    message = event.llm_message or Message()
    if event.source == "agent":
        message_id = event.llm_response_id or event.id or f"answer-{record.row}"
        before = len(batch.events)
        if _emit_texts(message, message_id, source, batch):
            batch.events.append(SessionEnd(source, "", "complete", "answer"))
        elif len(batch.events) == before:  # still an answer
            batch.events.append(AssistantText(source, "", message_id, EMPTY_STRING))
        return
    message_id, body = event.id or f"user-{record.row}", _shown(message.content) or EMPTY_STRING
    injected = event.source != "user" or event.sender is not None or text_of(body).startswith(_DEMAND)
    batch.events.append(UserText(source, "", body, message_id, injected))
    added = text_json(event.extended_content)
    if added != EMPTY_STRING:
        batch.events.append(UserText(source, "-extended", added, f"{message_id}-extended", injected=True))


def _emit_texts(message: Message, message_id: str, source: Source, batch: Batch) -> bool:
    """Appends thoughts and texts; returns whether there was a text."""
    for i, thought in enumerate(_thoughts(message)):
        batch.events.append(Reasoning(source, f"-{i}", message_id, thought))
    text = text_json(message.content)
    if text == EMPTY_STRING:
        return False
    batch.events.append(AssistantText(source, "", message_id, text))
    return True


def _thoughts(message: Message) -> Iterator[Raw]:
    """The reasoning, for any API; `reasoning_content` also has Anthropic's blocks."""
    texts = [text_json(message.reasoning_content)]
    if texts == [EMPTY_STRING] and has_value(message.thinking_blocks):
        texts = [text_json(block.thinking) for block in fitting(message.thinking_blocks, decode_thinking)]
    if has_value(message.responses_reasoning_item):
        try:
            item = decode_reasoning(message.responses_reasoning_item)
        except REFUSED:
            pass
        else:
            texts += [to_raw("\n".join(part)) for part in (item.summary, item.content) if part]
    return (text for text in texts if text != EMPTY_STRING)


def _filled(text: Raw) -> Raw | None:
    return text if has_value(text) else None


def _shown(content: Raw) -> Raw | None:
    """Blocks of text as one text; unchanged if one of them is an image."""
    if not has_value(content):
        return None
    mixed = any(block.type != "text" for block in fitting(content, decode_block))
    return content if mixed else text_json(content)
