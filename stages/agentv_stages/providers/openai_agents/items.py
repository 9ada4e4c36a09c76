"""Items of OpenAI's Responses API to events: rows of the Agents SDK's `SQLiteSession`, and response objects.

A response object is one answer, with its tokens; stored items have none. Stored items of the SDK's chat models name
their model call; others have no boundaries, so those of the model up to the next input or result are one answer. All
items of a turn are stored at its end, so that nothing says how long a call took.
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: openai-agents 0.24.0, recorded (`SQLiteSession` with a chat model and with a Responses model), and its
published source.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import decode_member, read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import ABSENT, has_value, one_line, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import Time, from_epoch, parse_iso
from agentv_stages.providers.openai_agents.calls import (
    CALL,
    RESULT,
    Answered,
    Item,
    hosted_outcome,
    hosted_output,
    request_of,
    result_of,
)

LOSSES = (
    "tokens (a response object has them), the model of stored items but those of chat models",
    "outcomes of functions that say a failure in words of their own",
    "how long a call took",
    "the folder, cost, the version of the program",
)
_ENDS: dict[str | None, Status] = {"failed": "error", "incomplete": "incomplete", "cancelled": "interrupted"}
NO_USE = frozenset(
    (
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "item_reference", "additional_tools"),
        *("tool_search_output", "compaction_trigger", "program", "program_output"),
    )
)


class Problem(Struct, gc=False):
    """Why a response failed (`message`), or is not whole (`reason`)."""

    message: str | None = None
    reason: str | None = None


class InputDetails(Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputDetails(Struct, gc=False):
    reasoning_tokens: int | None = None


class Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None


class StoredSession(Struct, gc=False):
    session_id: str | None = None
    created_at: Time = None


class StoredItem(Struct, gc=False):
    id: int | None = None
    message_data: Raw = ABSENT
    created_at: Time = None


class Line(Struct, gc=False):
    """A row of the store, or a response object."""

    session: StoredSession | None = None
    message: StoredItem | None = None
    totals: Raw = ABSENT
    object: str | None = None
    id: str | None = None
    model: str | None = None
    created_at: float | str | None = None
    output: Raw = ABSENT
    usage: Usage | None = None
    status: str | None = None
    error: Problem | None = None
    incomplete_details: Problem | None = None


class State(Struct):
    """`answer` is the id of the answer that items belong to; empty before its first item. `response` is the model call
    that its items name. `ended` is the last text of an answer: an end, unless the answer also has a call."""

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
    response: str | None = None
    ended: Source | None = None
    ended_place: str = ""

    def end(self, batch: Batch) -> None:
        if self.ended is not None:
            batch.events.append(SessionEnd(self.ended, self.ended_place, "complete"))
            self.ended = None


decode_line = Decoder(Line).decode
decode_item = Decoder(Item).decode
decode_items = Decoder(list[Raw]).decode


class ItemsDecoder:
    """Decoder of `openai-agents-items`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        line = decode_line(data)
        if line.object == "response":
            items = decode_member(line.output, decode_items, "output") if has_value(line.output) else []
            self._response(line, items, record, batch)
        elif line.message is not None:
            item = decode_member(line.message.message_data, decode_item, "message.message_data")
            own = "" if line.message.id is None else str(line.message.id)
            source = self.context.source(record, parse_iso(line.message.created_at), own)
            self._item(item, "", source, record, batch)
        elif line.session is not None:
            session = line.session.session_id
            self.state.session_id = session
            batch.events.append(
                SessionInfo(self.context.source(record, parse_iso(line.session.created_at)), "", session)
            )
        elif has_value(line.totals):
            batch.ignore("totals")
        else:
            self._item(decode_item(data), "", self.context.source(record), record, batch)

    def flush(self, batch: Batch) -> None:
        self.state.end(batch)

    def _response(self, line: Line, items: list[Raw], record: Record, batch: Batch) -> None:
        state, source = self.state, self.context.source(record, from_epoch(line.created_at), line.id or "")
        found = read_each(items, decode_item, "output", record, batch)
        state.end(batch)
        state.answer, state.model = line.id or f"r{record.row}", line.model
        batch.events.append(SessionInfo(source, "", model=line.model))
        for place, item in found:
            self._item(item, f"-{place}", source, record, batch)
        used = line.usage
        if used is not None and any((used.input_tokens, used.output_tokens)):
            inputs, outputs = used.input_tokens_details, used.output_tokens_details
            cached, written = (inputs.cached_tokens, inputs.cache_write_tokens) if inputs is not None else (None, None)
            reasoning = outputs.reasoning_tokens if outputs is not None else None
            key, model = line.id or f"r{record.row}", line.model
            tokens = (used.input_tokens, cached, written, None, used.output_tokens, reasoning)
            batch.events.append(TokenUsage(source, "", key, "call", model, *tokens))
        state.answer = ""
        status = _ENDS.get(line.status)
        if status is not None:
            state.ended, problem = None, line.error or line.incomplete_details or Problem()
            batch.events.append(SessionEnd(source, "-status", status, problem.message or problem.reason))

    def _item(self, item: Item, place: str, source: Source, record: Record, batch: Batch) -> None:
        state, kind, add = self.state, item.type or ("message" if item.role else ""), batch.events.append
        if item.provider_data is not None:
            self._answered(item.provider_data, source, batch)
        is_result = kind.endswith(RESULT)
        if not state.answer or is_result or (kind == "message" and item.role != "assistant"):
            state.end(batch)
        if is_result:
            state.answer = "" if not place else state.answer
            output, outcome, code = result_of(item)
            call_id = item.call_id or item.id or ""
            add(ToolResult(self.context.source(record, None, source.base_id), place, call_id, output, outcome, code))
            return
        if kind == "message" and item.role != "assistant":
            state.answer = ""
            if item.role == "user":
                body = item.content if bytes(item.content)[:1] == b"[" else text_json(item.content)
                add(UserText(source, place, body, f"user-{record.row}{place}"))
            else:
                batch.ignore(f"message/{item.role}")
            return
        if kind == "compaction":
            add(Notification(source, place, "compact_boundary", ""))
            return
        if kind in NO_USE:
            batch.ignore(kind)
            return
        if kind != "message" and kind != "reasoning" and not kind.endswith(CALL):
            batch.unknown_type(kind, record)
            return
        state.answer, state.ended = state.answer or f"answer-{record.row}{place}", None
        answer, model = state.answer, state.model
        if kind == "message":
            text = text_of(item.content) if has_value(item.content) else ""
            add(AssistantText(source, place, answer, to_raw(text), model=model))
            state.ended, state.ended_place = source, place
        elif kind == "reasoning":
            text = next((text_of(said) for said in (item.summary, item.content) if has_value(said)), "")
            add(Reasoning(source, place, answer, to_raw(text), model=model))
        else:
            call_id, (name, arguments) = item.call_id or item.id or f"{answer}{place}", request_of(item, kind)
            add(ToolCall(source, place, answer, call_id, name, arguments, self.context.parent_call, model))
            outcome = hosted_outcome(item)
            if item.call_id is None and kind != "function_call" and outcome is not None:
                source, output = self.context.source(record, None, source.base_id), hosted_output(item)
                add(ToolResult(source, place, call_id, output, outcome))

    def _answered(self, by: Answered, source: Source, batch: Batch) -> None:
        """The item names its model call: another one is another answer."""
        state = self.state
        if by.response_id is not None and by.response_id != state.response:
            state.response, state.answer = by.response_id, ""
        if by.model is not None and by.model != state.model:
            state.model = by.model
            batch.events.append(SessionInfo(source, "-model", model=by.model))
