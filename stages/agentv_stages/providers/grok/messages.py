"""Grok Build's stream in Claude's form (`grok -p … --output-format streaming-messages-json`) to events.

An answer is one line with all its blocks, and another for the calls after a result of its own; such lines have tokens
of 0. The results of its calls are one `user` line; each is the tool's output as JSON in a text. With
`--include-partial-messages` each answer is first printed in pieces, which count only if the whole never comes.
End rule: `result`. Its totals omit turns that a background notice started; 0 stands for an unknown cost and for unknown
tokens.
Source: Grok Build 1.0.5 and 1.0.41, standard output.
"""

from msgspec import Raw, Struct, field

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.message import call_names
from agentv_stages.model.payload import EMPTY_STRING, has_value, json_in, text_json, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.grok.agents import MOST, Agents
from agentv_stages.providers.grok.notices import MAX_TURNS, ended, reason_of
from agentv_stages.providers.grok.results import Returned, effective_call, returned_text
from agentv_stages.providers.grok.usage import Spending, only_model, spent
from agentv_stages.providers.grok.wire import Block, MessagesLine, StreamEvent, decode_messages

# An answer that Grok prints in pieces (`--include-partial-messages`), as far as it has come.

_MOST_CALLS = 1_000


class PartialCall(Struct):
    id: str
    name: str
    input: list[str] = []

    def arguments(self) -> Raw:
        """The arguments of a call: Grok prints them whole, in one piece."""
        whole = json_in("".join(self.input))
        return whole if whole is not None and bytes(whole)[:1] == b"{" else EMPTY_OBJECT


class Partial(Struct):
    """The answer being printed, in pieces as they came; `row` and `offset` are those of the last piece."""

    begun: bool = False
    message_id: str | None = None
    text: list[str] = []
    thinking: list[str] = []
    calls: list[PartialCall] = []
    row: int = 0
    offset: int = 0

    def take(self, event: StreamEvent | None, record: Record) -> None:
        """Adds one piece."""
        if event is None:
            return
        if event.type == "message_start":
            self.clear()
            self.message_id = event.message.id if event.message is not None else None
            return
        block, delta = event.content_block, event.delta
        if block is not None and block.type.endswith("tool_use") and len(self.calls) < _MOST_CALLS:
            self.calls.append(PartialCall(block.id or f"call-{record.row}", block.name or "unknown"))
        elif delta is not None:
            if delta.text:
                self.text.append(delta.text)
            if delta.thinking:
                self.thinking.append(delta.thinking)
            if delta.partial_json and self.calls:
                self.calls[-1].input.append(delta.partial_json)
        self.begun = bool(self.text or self.thinking or self.calls)
        self.row, self.offset = record.row, record.offset

    def clear(self) -> None:
        """The answer was printed whole, or another begins."""
        self.begun, self.message_id = False, None
        self.text, self.thinking, self.calls = [], [], []


LOSSES = (
    "the prompt, the agent's version; when anything happened, so calls have no duration",
    "an answer that was cut off, with its calls (without --include-partial-messages)",
    "which of several sub-agents at work at once made a call; whose an answer is, while one works in the background",
    "arguments that are not JSON; calls after one whose refusal ended the turn; reasoning tokens",
    "costs of a run in which a call has none, and of turns that background notices started",
    "that an answer was cut off and tried again: its two texts become one",
)


class State(Struct):
    """The state between lines. `runs` counts the runs in the input: each numbers its answers from `msg_0`.

    `answers`: stream -> id of its last answer.
    """

    session_id: str | None = None
    model: str | None = None
    runs: int = 0
    cost_usd: float = 0.0
    agents: Agents = field(default_factory=Agents)
    answers: dict[str, str] = {}
    spending: Spending = field(default_factory=Spending)
    partial: Partial = field(default_factory=Partial)
    repeats: Repeats = field(default_factory=Repeats, name="told")


class MessagesDecoder:
    """Decoder of `grok-messages`."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_messages(record.data)
        kind = line.type
        if self.state.repeats.again(line.uuid, checksum(record.data)):
            batch.ignore(f"{kind}/again")
        elif kind == "stream_event":
            self.state.partial.take(line.event, record)
            batch.ignore(kind)
        elif kind == "assistant" and line.message is not None:
            self._assistant(line, record, batch)
        elif kind == "user" and line.message is not None:
            self._user(line, record, batch)
        elif kind == "system":
            self._system(line, record, batch)
        elif kind == "result":
            self._end(line, record, batch)
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits the printed part of an answer that was never completed."""
        state, partial = self.state, self.state.partial
        if not partial.begun:
            return
        stream = state.agents.answers()
        source = Source(self.file, partial.row, partial.offset, 0, None, stream)
        message_id = self._id(partial.message_id, partial.row)
        if partial.thinking:
            thought = to_raw("".join(partial.thinking))
            batch.events.append(Reasoning(source, "-cut", message_id, thought, False, state.model))
        if partial.text:
            text = to_raw("".join(partial.text))
            batch.events.append(AssistantText(source, "-cut", message_id, text, model=state.model))
        for name, call in zip(call_names([call.id for call in partial.calls]), partial.calls, strict=True):
            self._call(source, f"-cut-{name}", message_id, call.id, call.name, call.arguments(), state.model, batch)
        state.partial = Partial()

    def _source(self, line: MessagesLine, record: Record, stream: str) -> Source:
        return Source(self.file, record.row, record.offset, record.length, None, stream, line.uuid or "")

    def _id(self, message_id: str | None, row: int) -> str:
        known = message_id or f"m{row}"
        return known if self.state.runs < 2 else f"{known}#{self.state.runs}"

    def _assistant(self, line: MessagesLine, record: Record, batch: Batch) -> None:
        message, state = line.message, self.state
        assert message is not None
        model = state.model = message.model or state.model
        usage = spent(Source(self.file, 0, 0, 0), "", model, message.usage)
        blocks = [Block("text", to_raw(message.content))] if isinstance(message.content, str) else message.content or ()
        counts = usage is not None or not state.spending.output  # else no answer has counts
        goes_on = not counts and all(block.type == "tool_use" for block in blocks)
        stream = state.agents.last if goes_on else state.agents.answers(usage.input if usage is not None else None)
        state.partial.clear()
        if goes_on and stream in state.answers:  # the part after a result of its own
            message_id = state.answers[stream]
        else:
            message_id = remember(state.answers, stream, self._id(message.id, record.row), MOST)
        source = self._source(line, record, stream)
        for i, block in enumerate(blocks):
            self._block(block, f"-{i}", source, message_id, model, record, batch)
        call_usage = spent(source, message_id, model, message.usage)
        if call_usage is not None:
            state.spending.add(call_usage)
            batch.events.append(call_usage)

    def _block(
        self, block: Block, part: str, source: Source, message_id: str, model: str | None, record: Record, batch: Batch
    ) -> None:
        kind, add = block.type, batch.events.append
        if kind == "text":
            add(AssistantText(source, part, message_id, text_json(block.text), model=model))
        elif kind == "thinking":
            add(Reasoning(source, part, message_id, text_json(block.thinking), model=model))
        elif kind == "tool_use" or kind == "server_tool_use":
            call_id = block.id or f"call-{record.row}{part}"
            self._call(source, part, message_id, call_id, block.name or "unknown", block.input, model, batch)
        elif kind == "web_search_tool_result":
            outcome: Outcome = "error" if b'"web_search_tool_result_error"' in bytes(block.content) else "ok"
            add(ToolResult(source, part, block.tool_use_id or "", block.content or None, outcome))
            self.state.agents.answered(block.tool_use_id or "", Returned())
        else:
            batch.unknown_type(f"block/{kind}", record)

    def _call(
        self,
        source: Source,
        part: str,
        message_id: str,
        call_id: str,
        name: str,
        arguments: Raw,
        model: str | None,
        batch: Batch,
    ) -> None:
        agents = self.state.agents
        name, arguments = effective_call(name, arguments if has_value(arguments) else EMPTY_OBJECT)
        agents.calls(call_id, name, source.stream)
        parent = agents.parent_call(source.stream)
        batch.events.append(ToolCall(source, part, message_id, call_id, name, arguments, parent, model))

    def _user(self, line: MessagesLine, record: Record, batch: Batch) -> None:
        assert line.message is not None
        content, agents = line.message.content, self.state.agents
        blocks = [Block("text", to_raw(content))] if isinstance(content, str) else content or ()
        for i, block in enumerate(blocks):
            if block.type == "tool_result":
                call_id = block.tool_use_id or ""
                returned = returned_text(block.content, bool(block.is_error))
                source = self._source(line, record, agents.answered(call_id, returned))
                output, code, outcome, agent_id, _ = returned
                batch.events.append(ToolResult(source, f"-{i}", call_id, output, outcome, code, agent_id=agent_id))
            elif block.type == "text":
                body = block.text if has_value(block.text) else EMPTY_STRING
                source = self._source(line, record, "main")
                batch.events.append(UserText(source, f"-{i}", body, f"u{record.row}", True))
            else:
                batch.unknown_type(f"block/{block.type}", record)

    def _system(self, line: MessagesLine, record: Record, batch: Batch) -> None:
        state, source = self.state, self._source(line, record, "main")
        if line.subtype == "init":
            another = other_session(record, line.session_id, state.session_id, batch)
            state.session_id, state.model = line.session_id or state.session_id, line.model
            state.runs += 1
            cwd, model = line.cwd, line.model
            batch.events.append(SessionInfo(source, "", line.session_id, model, cwd=cwd, another=another, begins=True))
        elif line.subtype == "compact_boundary":
            batch.events.append(Notification(source, "", line.subtype, ""))
        else:
            batch.unknown_type(f"system/{line.subtype}", record)

    def _end(self, line: MessagesLine, record: Record, batch: Batch) -> None:
        state, add = self.state, batch.events.append
        self.flush(batch)
        source = self._source(line, record, "main")
        model = only_model(line.modelUsage)
        if model is not None and model != state.model:
            add(SessionInfo(source, "", line.session_id, model))
        whole = spent(source, f"run-{record.row}", model, line.usage, "segment")
        if whole is not None and not state.spending.covers(whole):
            add(whole)
        cost = None
        if line.total_cost_usd:
            cost = state.cost_usd = state.cost_usd + line.total_cost_usd
        failure = reason_of(line.errors[0]) if line.errors else None
        if line.subtype == "success" and not line.is_error:
            status, reason = ended(line.stop_reason or "end_turn", None, None)
        elif line.stop_reason == "cancelled":
            by = MAX_TURNS if line.subtype == "error_max_turns" else None
            status, reason = ended(line.stop_reason, by, failure)
        else:
            status, reason = "error", failure or line.subtype
        duration = whole_ms(line.duration_ms)
        add(SessionEnd(source, "", status, reason, cost, duration, line.num_turns, Raw(record.data)))
        state.agents, state.spending, state.answers = Agents(), state.spending.after(whole), {}
