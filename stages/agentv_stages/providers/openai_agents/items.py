"""Items of OpenAI's Responses API to events: rows of the Agents SDK's `SQLiteSession`, and response objects.

Items have no boundaries: those of the model up to the next input or result are one answer. A response object is one
answer, with its tokens; stored items have none.
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: openai-agents 0.24.0, recorded (`SQLiteSession` with a chat model), and its published source.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import decode_member, read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import ABSENT, has_value, inner_json, one_line, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import Time, from_epoch, parse_iso

_FAILED = b'"An error occurred while running the tool.'
"""What the SDK returns of a function that raised, unless its maker says otherwise (`default_tool_error_function`)."""
LOSSES = (
    "tokens (a response object has them), the model of stored items",
    "outcomes of functions that say a failure in words of their own",
    "the folder, cost, the version of the program",
)
_HOSTED = "_call"  # tools that OpenAI runs: call and result in one item


class Item(Struct, gc=False):
    type: str | None = None
    role: str | None = None
    content: Raw = ABSENT
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    output: Raw = ABSENT
    summary: Raw = ABSENT
    status: str | None = None


class InputDetails(Struct, gc=False):
    cached_tokens: int | None = None


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


class State(Struct):
    """`answer` is the id of the answer that items belong to; empty before its first item. `ended` is the last text of
    an answer: an end, unless the answer also has a call."""

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
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
            source = self.context.source(record, parse_iso(line.message.created_at))
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
        state, source = self.state, self.context.source(record, from_epoch(line.created_at))
        found = read_each(items, decode_item, "output", record, batch)
        state.end(batch)
        state.answer, state.model = line.id or f"r{record.row}", line.model
        batch.events.append(SessionInfo(source, "", model=line.model))
        for place, item in found:
            self._item(item, f"-{place}", source, record, batch)
        used = line.usage
        if used is not None and any((used.input_tokens, used.output_tokens)):
            inputs, outputs = used.input_tokens_details, used.output_tokens_details
            cached = inputs.cached_tokens if inputs is not None else None
            reasoning = outputs.reasoning_tokens if outputs is not None else None
            key, model = line.id or f"r{record.row}", line.model
            tokens = (used.input_tokens, cached, None, None, used.output_tokens, reasoning)
            batch.events.append(TokenUsage(source, "", key, "call", model, *tokens))
        state.answer = ""

    def _item(self, item: Item, place: str, source: Source, record: Record, batch: Batch) -> None:
        state, kind, add = self.state, item.type or ("message" if item.role else ""), batch.events.append
        if not state.answer or kind == "function_call_output" or (kind == "message" and item.role != "assistant"):
            state.end(batch)
        if kind == "function_call_output":
            state.answer = "" if not place else state.answer
            output = item.output if has_value(item.output) else None
            failed = bytes(item.output).startswith(_FAILED)
            add(ToolResult(source, place, item.call_id or "", output, "error" if failed else None))
            return
        if kind == "message" and item.role != "assistant":
            state.answer = ""
            if item.role == "user":
                body = item.content if bytes(item.content)[:1] == b"[" else text_json(item.content)
                add(UserText(source, place, body, f"user-{record.row}{place}"))
            else:
                batch.ignore(f"message/{item.role}")
            return
        if kind != "message" and kind != "reasoning" and not kind.endswith(_HOSTED):
            batch.unknown_type(kind, record)
            return
        state.answer, state.ended = state.answer or f"answer-{record.row}{place}", None
        answer, model = state.answer, state.model
        if kind == "message":
            text = text_of(item.content) if has_value(item.content) else ""
            add(AssistantText(source, place, answer, to_raw(text), model=model))
            state.ended, state.ended_place = source, place
        elif kind == "reasoning":
            text = text_of(item.summary) if has_value(item.summary) else ""
            add(Reasoning(source, place, answer, to_raw(text), model=model))
        else:
            call_id, name = item.call_id or item.id or f"{answer}{place}", item.name or kind.removesuffix(_HOSTED)
            arguments = inner_json(item.arguments) if has_value(item.arguments) else EMPTY_OBJECT
            parent = self.context.parent_call
            add(ToolCall(source, place, answer, call_id, name, arguments, parent, model))
            if kind != "function_call":
                outcome: Outcome = "error" if item.status == "failed" else "ok"
                add(ToolResult(source, place, call_id, item.output if has_value(item.output) else None, outcome))
