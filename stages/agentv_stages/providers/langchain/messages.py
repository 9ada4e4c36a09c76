"""LangChain's messages to events, in its three JSON forms: `messages_to_dict`, `dumpd`, and plain `model_dump`.

A list of messages is an array, lines, or the state of a LangGraph run (`values.messages`, `messages`).
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: langchain-core 1.8.3, published source.
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
from agentv_stages.model.payload import ABSENT, EMPTY_STRING, has_value, one_line, text_json, to_raw
from agentv_stages.model.provider import DecodeContext

LOSSES = (
    "times, the session's id and folder",
    "outcomes of calls that the agent does not mark as an error",
    "cost, the version of the program",
    "the work of sub-agents",
)
_CLASSES = {"HumanMessage": "human", "AIMessage": "ai", "ToolMessage": "tool", "SystemMessage": "system"}


class Call(Struct, gc=False):
    name: str | None = None
    args: Raw = ABSENT
    id: str | None = None


class InvalidCall(Struct, gc=False):
    """A call whose arguments are no JSON; nobody runs it."""

    name: str | None = None
    args: Raw = ABSENT
    id: str | None = None
    error: Raw = ABSENT


class InputDetails(Struct, gc=False):
    cache_read: int | None = None
    cache_creation: int | None = None


class OutputDetails(Struct, gc=False):
    reasoning: int | None = None


class Usage(Struct, gc=False):
    """`input_tokens` includes cached ones, `output_tokens` reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_token_details: InputDetails | None = None
    output_token_details: OutputDetails | None = None


class Response(Struct, gc=False):
    model_name: str | None = None
    model: str | None = None


class Message(Struct, gc=False):
    """The members of a message, in every form."""

    type: str | None = None
    content: Raw = ABSENT
    id: str | None = None
    tool_calls: list[Call] | None = None
    invalid_tool_calls: list[InvalidCall] | None = None
    usage_metadata: Usage | None = None
    response_metadata: Response | None = None
    tool_call_id: str | None = None
    status: str | None = None


class Envelope(Struct, gc=False):
    """The object around a message, or around a list of messages."""

    type: str | None = None
    data: Raw = ABSENT
    lc: int | None = None
    id: Raw = ABSENT
    kwargs: Raw = ABSENT
    values: Raw = ABSENT
    messages: list[Raw] | None = None


class Block(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    reasoning: Raw = ABSENT


class State(Struct):
    model: str | None = None


decode_envelope = Decoder(Envelope).decode
decode_message = Decoder(Message).decode
decode_path = Decoder(list[str]).decode
decode_blocks = Decoder(list[Block | str]).decode


class MessagesDecoder:
    """Decoder of `langchain-messages`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        envelope = decode_envelope(data)
        if has_value(envelope.values):
            envelope = decode_member(envelope.values, decode_envelope, "values")
        source = self.context.source(record)
        if envelope.messages is not None:
            for place, (kind, message) in read_each(envelope.messages, _read, "messages", record, batch):
                self._message(kind, message, f"-{place}", source, record, batch)
        else:
            kind, message = _read(data)
            self._message(kind, message, "", source, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _message(self, kind: str, message: Message, place: str, source: Source, record: Record, batch: Batch) -> None:
        message_id = message.id or f"m{record.row}{place}"
        if message.id:
            source = self.context.source(record, None, message.id)  # a message that comes again has its id again
        if kind == "ai":
            self._answer(message, message_id, place, source, batch)
        elif kind == "human":
            body = message.content if bytes(message.content)[:1] == b"[" else text_json(message.content)
            batch.events.append(UserText(source, place, body, message_id))
        elif kind == "tool":
            output = message.content if has_value(message.content) else None
            outcome: Outcome = "error" if message.status == "error" else "ok"
            batch.events.append(ToolResult(source, place, message.tool_call_id or "", output, outcome))
        elif kind == "system":
            batch.ignore(kind)
        else:
            batch.unknown_type(kind, record)

    def _answer(self, message: Message, message_id: str, place: str, source: Source, batch: Batch) -> None:
        add, response = batch.events.append, message.response_metadata
        model = (response.model_name or response.model) if response is not None else None
        if model is not None and model != self.state.model:
            self.state.model = model
            add(SessionInfo(source, f"{place}-model", model=model))
        spoken = False
        for i, (thinks, text) in enumerate(_texts(message.content)):
            if thinks:
                add(Reasoning(source, f"{place}-t{i}", message_id, text, model=model))
            elif text != EMPTY_STRING:
                spoken = True
                add(AssistantText(source, f"{place}-t{i}", message_id, text, model=model))
        calls = message.tool_calls or ()
        for i, call in enumerate(calls):
            call_id, parent = call.id or f"{message_id}-{i}", self.context.parent_call
            arguments = call.args or EMPTY_OBJECT
            add(ToolCall(source, f"{place}-{i}", message_id, call_id, call.name or "unknown", arguments, parent, model))
        invalid = message.invalid_tool_calls or ()
        for i, bad in enumerate(invalid, len(calls)):
            call_id, name = bad.id or f"{message_id}-{i}", bad.name or "unknown"
            arguments = to_raw({"input": bad.args}) if has_value(bad.args) else EMPTY_OBJECT
            add(ToolCall(source, f"{place}-{i}", message_id, call_id, name, arguments, self.context.parent_call, model))
            error = bad.error if has_value(bad.error) else None
            add(ToolResult(source, f"{place}-{i}", call_id, error, "error"))
        usage = _usage(source, place, message_id, message.usage_metadata, model)
        if usage is not None:
            add(usage)
        if spoken and not calls and not invalid:
            add(SessionEnd(source, place, "complete"))


def _read(raw: Raw | bytes) -> tuple[str, Message]:
    """The kind of a message and its members, whatever its form. Raises: msgspec.ValidationError."""
    envelope = decode_envelope(raw)
    if envelope.lc is not None and has_value(envelope.kwargs):
        path = decode_path(envelope.id) if has_value(envelope.id) else []
        name = path[-1].removesuffix("Chunk") if path else ""
        return _CLASSES.get(name, name), decode_member(envelope.kwargs, decode_message, "kwargs")
    kind = (envelope.type or "").removesuffix("MessageChunk").lower() or "(no type)"
    if has_value(envelope.data):
        return kind, decode_member(envelope.data, decode_message, "data")
    return kind, decode_message(raw)


def _texts(content: Raw) -> list[tuple[bool, Raw]]:
    """The texts of a content in their order, each with whether it is reasoning."""
    if bytes(content)[:1] != b"[":
        return [(False, text_json(content))] if has_value(content) else []
    try:
        blocks = decode_blocks(content)
    except ValueError:  # blocks of a shape that no version writes
        return [(False, to_raw(bytes(content).decode("utf-8", "replace")))]
    found: list[tuple[bool, Raw]] = []
    for block in blocks:
        if isinstance(block, str):
            found.append((False, to_raw(block)))
        elif block.type in ("thinking", "reasoning"):
            found.append((True, text_json(block.thinking if has_value(block.thinking) else block.reasoning)))
        elif has_value(block.text):
            found.append((False, text_json(block.text)))
    return found


def _usage(source: Source, place: str, key: str, used: Usage | None, model: str | None) -> TokenUsage | None:
    if used is None or not any((used.input_tokens, used.output_tokens)):
        return None
    inputs, outputs = used.input_token_details or InputDetails(), used.output_token_details or OutputDetails()
    return TokenUsage(
        source, place, key, "call", model, used.input_tokens, inputs.cache_read, inputs.cache_creation, None,
        used.output_tokens, outputs.reasoning,
    )  # fmt: skip
