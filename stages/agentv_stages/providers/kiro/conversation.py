"""Conversations of Amazon Q CLI and older Kiro CLI to events: rows of `data.sqlite3`, and the file of `/chat save`.

An element of the history is an input and the answer to it; the results of an answer's calls are in the next element.
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: Amazon Q CLI, published source of April 2026; no real conversation was seen.
"""

from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Outcome,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, one_line, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import epoch_ms, parse_iso
from agentv_stages.providers.kiro.results import arguments, ending
from agentv_stages.providers.kiro.wire import (
    Exchange,
    Inputs,
    Reply,
    decode_conversation,
    decode_exchange,
)

LOSSES = (
    "tokens, cost",
    "the time of results, in older versions all times",
    "the version of the program",
)


class State(Struct):
    session_id: str | None = None
    cwd: str | None = None
    model: str | None = None


class ConversationDecoder:
    """Decoder of `kiro-conversation`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        whole = decode_conversation(data)
        if whole.history is not None:
            elements = read_each(whole.history, decode_exchange, "history", record, batch)
            self._session(whole.conversation_id, None, record, batch)
            for place, exchange in elements:
                self._exchange(exchange, f"{place}", record, batch)
        elif whole.session is not None:
            self._session(whole.session.id, whole.session.directory, record, batch)
        elif has_value(whole.message):
            self._exchange(decode_exchange(whole.message), f"r{record.row}", record, batch)
        else:
            batch.unknown_type("(no history)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _session(self, session_id: str | None, cwd: str | None, record: Record, batch: Batch) -> None:
        self.state.session_id, self.state.cwd = session_id, cwd
        batch.events.append(SessionInfo(self.context.source(record), "", session_id, cwd=cwd))

    def _exchange(self, exchange: Exchange, place: str, record: Record, batch: Batch) -> None:
        state, user, assistant = self.state, exchange.user, exchange.assistant
        times = exchange.request_metadata
        begun = epoch_ms(times.request_start_timestamp_ms) if times is not None else None
        ended = epoch_ms(times.stream_end_timestamp_ms) if times is not None else None
        env = user.env_context.env_state if user is not None and user.env_context is not None else None
        cwd, model = env.current_working_directory if env else None, times.model_id if times is not None else None
        if (state.cwd is None and cwd is not None) or (model is not None and model != state.model):
            state.cwd, state.model = state.cwd or cwd, model or state.model
            info = SessionInfo(self.context.source(record), f"-{place}-facts", None, model, None, state.cwd)
            batch.events.append(info)
        if user is not None and user.content is not None:
            content = user.content
            source = self.context.source(record, parse_iso(user.timestamp) or begun)
            for inputs, final in (
                (content.ToolUseResults, None),
                (content.CancelledToolUses, "cancelled"),
                (content.Prompt, None),
            ):
                if inputs is not None:
                    self._inputs(inputs, final, place, source, batch)  # type: ignore[arg-type]  # a literal in a tuple
        if assistant is not None:
            source = self.context.source(record, ended)
            for reply in (assistant.Response, assistant.ToolUse):
                if reply is not None:
                    self._answer(reply, place, source, batch)

    def _inputs(self, inputs: Inputs, final: Outcome | None, place: str, source: Source, batch: Batch) -> None:
        for i, result in enumerate(inputs.tool_use_results or ()):
            parts = [value for part in result.content or () for value in part.values()]
            output, outcome, code = ending(parts, result.status)
            call_id = result.tool_use_id or ""
            batch.events.append(ToolResult(source, f"-{place}-{i}", call_id, output, final or outcome, code))
        if has_value(inputs.prompt):
            batch.events.append(UserText(source, f"-{place}", text_json(inputs.prompt), f"user-{place}"))

    def _answer(self, reply: Reply, place: str, source: Source, batch: Batch) -> None:
        source = replace(source, answer=crc32(place.encode()) or 1)
        message_id, model, uses = reply.message_id or f"answer-{place}", self.state.model, reply.tool_uses or ()
        text = text_json(reply.content)
        if text != EMPTY_STRING:
            batch.events.append(AssistantText(source, f"-{place}", message_id, text, model=model))
        for i, use in enumerate(uses):
            call_id, name = use.id or f"{message_id}-{i}", use.name or "unknown"
            batch.events.append(
                ToolCall(source, f"-{place}-{i}", message_id, call_id, name, arguments(use.args), None, model)
            )
        if not uses and text != EMPTY_STRING:
            batch.events.append(SessionEnd(source, f"-{place}", "complete"))
