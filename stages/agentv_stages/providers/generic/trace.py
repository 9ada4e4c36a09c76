"""AgentV's trace events to events: the flat list of 0.25 and the read model of later versions.

Both come as JSON lines, as an array, or in a document (`{text, trace: […]}`, `{events: […]}`). Calls and results are
paired by id; without an id by name, first in first out.
End rule: `final_response` ends a run as complete, `error` of the read model as failed; the list of 0.25 has no end.
Source: AgentV 0.25 (`trace` of a result), 4.x (`TraceEvent`).
"""

import hashlib

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import ABSENT, decode_json, has_value, one_line, plain_text, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import ARRIVAL, from_epoch, whole_ms
from agentv_stages.providers.generic.messages import usage_event
from agentv_stages.providers.generic.wire import (
    TraceEvent,
    TraceFacts,
    TraceMessage,
    TraceModel,
    decode_event,
    decode_events,
    decode_trace_facts,
    first_byte,
    read_free,
)

TYPES = frozenset({"model_step", "model_turn", "tool_call", "tool_result", "message", "final_response", "error"})
OUTCOMES: dict[str, Outcome] = {
    "ok": "ok",
    "error": "error",
    "timeout": "error",
    "cancelled": "cancelled",
    "denied": "denied",
}
_STRING = 34
_NO_FACTS = TraceFacts()
_MOST_OPEN = 1_000


class Open(Struct):
    """A call without a result yet. `outcome` and `duration_ms` are facts about its end from its own record."""

    name: str
    outcome: str | None = None
    duration_ms: int | None = None


class State(Struct):
    """`message_id` is that of the current answer; `model` and `last_text` serve to recognise repetitions."""

    message_id: str = ""
    model: str | None = None
    last_text: str = ""
    made_ids: int = 0
    open: dict[str, Open] = {}


class TraceDecoder:
    """Decoder of `agentv-trace`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        event = decode_event(one_line(record.data))
        many = event.events if has_value(event.events) else event.trace
        if has_value(many) and event.type not in TYPES:
            for i, member in read_each(decode_events(many), decode_event, "events", record, batch):
                self._event(member, f"-{i}", record, batch)
            if has_value(event.text):
                self._text(event.text, self._source(event, record), "-text", batch, False)
        else:
            self._event(event, "", record, batch)

    def flush(self, batch: Batch) -> None:
        self._settle(Source(self.context.file, 0, 0, 0, None, self.context.stream), batch)

    def _source(self, event: TraceEvent, record: Record) -> Source:
        context = self.context
        given_time = event.timestamp if event.timestamp is not None else event.startTime
        time_ms = from_epoch(given_time if given_time is not None else event.start_time)
        base_id = event.event_id or event.eventId or ""
        facts = _facts(event)
        own, time_ms = facts.stream or "", None if facts.timestamp_source == ARRIVAL else time_ms
        stream = own if own.startswith(("sidechain:", "subagent:")) else context.stream
        return Source(context.file, record.row, record.offset, record.length, time_ms, stream, base_id)

    def _event(self, event: TraceEvent, at: str, record: Record, batch: Batch) -> None:
        kind = event.type
        source = self._source(event, record)
        if kind == "tool_call":
            self._call(event, source, at, batch)
            return
        if kind == "tool_result":
            self._result(event, source, at, batch)
            return
        self._settle(source, batch)
        if kind in ("message", "model_turn", "model_step"):
            self._message(event, source, at, record, batch)
        elif kind == "final_response":
            content = _content(event)
            if has_value(content):
                self._text(content, source, at, batch, True)
            batch.events.append(SessionEnd(source, f"{at}-end", "complete"))
        elif kind == "error":
            text = _error_text(event)
            batch.events.append(Notification(source, at, "error", text, "error"))
            if source.base_id:
                batch.events.append(SessionEnd(source, f"{at}-end", "error", text))
        else:
            batch.unknown_type(kind, record)

    def _message(self, event: TraceEvent, source: Source, at: str, record: Record, batch: Batch) -> None:
        state = self.state
        message, model = event.message, event.model
        role = message.role if isinstance(message, TraceMessage) else _facts(event).role
        content = _content(event)
        if role in ("user", "system"):
            state.message_id = ""
            if has_value(content):
                own = source.base_id or f"m{record.row}{at}"
                batch.events.append(UserText(source, at, content, own, role == "system"))
            return
        name = model.name if isinstance(model, TraceModel) else model
        if name and name != state.model:
            state.model = name
            batch.events.append(SessionInfo(source, f"{at}-model", None, name))
        if event.type != "model_step" or has_value(content):
            state.message_id = source.base_id or f"m{record.row}{at}"
        if has_value(content):
            self._text(content, source, at, batch, event.type == "model_turn")
        tokens = model.token_usage if isinstance(model, TraceModel) else None
        if tokens is None and isinstance(message, TraceMessage):
            tokens = message.token_usage
        if tokens is not None:
            key = source.base_id if event.turn_index is None else f"turn-{event.turn_index}"
            batch.events.append(usage_event(source, at, key or f"m{record.row}{at}", tokens, state.model))

    def _text(self, content: Raw, source: Source, at: str, batch: Batch, repeats: bool) -> None:
        """Appends the model's text; with `repeats` only if it is not the last text again."""
        text = content if first_byte(content) == _STRING else to_raw(plain_text(decode_json(content)))
        mark = hashlib.sha1(bytes(text), usedforsecurity=False).hexdigest()
        if repeats and mark == self.state.last_text:
            return
        self.state.last_text = mark
        message_id = self._answer(source, at)
        batch.events.append(AssistantText(source, at, message_id, text, False, False, self.state.model))

    def _answer(self, source: Source, at: str) -> str:
        state = self.state
        if not state.message_id:
            state.message_id = f"m{source.row}{at}"
        return state.message_id

    def _call(self, event: TraceEvent, source: Source, at: str, batch: Batch) -> None:
        state = self.state
        tool = event.tool
        name = (tool.name if tool else None) or event.name or "unknown"
        call_id = (tool.call_id or tool.callId if tool else None) or event.id
        if not call_id:
            state.made_ids += 1
            call_id = f"made-{state.made_ids}"
        arguments = tool.input if tool else event.input
        message_id = self._answer(source, at)
        batch.events.append(
            ToolCall(
                source,
                at,
                message_id,
                call_id,
                name,
                arguments if has_value(arguments) else EMPTY_OBJECT,
                self.context.parent_call,
                state.model,
            )
        )
        output = tool.output if tool else event.output
        status = tool.status if tool else None
        duration = _duration(event)
        if has_value(output):
            batch.events.append(ToolResult(source, at, call_id, output, OUTCOMES.get(status or ""), None, duration))
        elif len(state.open) < _MOST_OPEN:
            state.open[call_id] = Open(name, status, duration)

    def _result(self, event: TraceEvent, source: Source, at: str, batch: Batch) -> None:
        state = self.state
        tool = event.tool
        name = (tool.name if tool else None) or event.name or ""
        call_id = (tool.call_id or tool.callId if tool else None) or event.id
        if not call_id:
            call_id = next((known for known, entry in state.open.items() if entry.name == name), name)
        entry = state.open.pop(call_id, None)
        facts = _facts(event)
        if facts.status == "unpaired":  # written by us: there was no result
            return
        status = (tool.status if tool else None) or (entry.outcome if entry else None) or facts.status
        output = tool.output if tool else event.output
        if not has_value(output) and tool is not None and has_value(tool.error):
            output = tool.error
        duration = _duration(event)
        if duration is None and entry is not None:
            duration = entry.duration_ms
        state.message_id = ""
        batch.events.append(
            ToolResult(
                source, at, call_id, output if has_value(output) else None, OUTCOMES.get(status or ""), None, duration
            )
        )

    def _settle(self, source: Source, batch: Batch) -> None:
        """Ends the calls that have no result record but a status of their own."""
        state = self.state
        if not state.open:
            return
        ended = [(call_id, entry) for call_id, entry in state.open.items() if entry.outcome in OUTCOMES]
        for call_id, entry in ended:
            del state.open[call_id]
            outcome = OUTCOMES[entry.outcome or ""]
            batch.events.append(ToolResult(source, f"-{call_id}", call_id, None, outcome, None, entry.duration_ms))
        if ended:
            state.message_id = ""


def _content(event: TraceEvent) -> Raw:
    message = event.message
    if isinstance(message, TraceMessage):
        return message.content
    if isinstance(message, str):
        return to_raw(message)
    if has_value(event.text):
        return event.text
    return event.output if event.type == "final_response" else ABSENT


def _duration(event: TraceEvent) -> int | None:
    value = event.duration_ms if event.duration_ms is not None else event.durationMs
    return whole_ms(value if value is not None else _facts(event).duration_ms)


def _facts(event: TraceEvent) -> TraceFacts:
    return read_free(event.metadata, decode_trace_facts) or _NO_FACTS


def _error_text(event: TraceEvent) -> str:
    raw = event.error if has_value(event.error) else event.text
    if not has_value(raw):
        return event.message if isinstance(event.message, str) else "error"
    value = decode_json(raw)
    if isinstance(value, dict):
        value = value.get("message") or value.get("name") or ""  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType] - decoded JSON
    return value if isinstance(value, str) and value else "error"
