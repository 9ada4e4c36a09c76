"""Grok Build's own stream (`grok -p … --output-format streaming-json`) to events.

Texts and thoughts come in pieces, then the tokens of the answer (`usage`), then its calls; so `usage` ends an answer's
text, and the next piece or the next `usage` begins another answer. While sub-agents may be at work, pieces are held
until the speaker is known. A call's last update has its result. A text that broke off is printed before that of its
retry.
End rule: `end`, or `error`. A turn that a background notice started is printed before it, with its tokens, but is not
in its totals.
0.1 prints nothing but texts, thoughts and the end, so its answers are one.
Source: Grok Build 0.1.220, 1.0.5 and 1.0.41, standard output.
"""

from msgspec import Raw, Struct, field

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    MAIN,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.providers.grok.agents import MOST, Agents
from agentv_stages.providers.grok.notices import COMPACTION, MAX_TURNS, compaction, ended, reason_of
from agentv_stages.providers.grok.results import OVER, effective_call, returned
from agentv_stages.providers.grok.usage import Spending, only_model, spent
from agentv_stages.providers.grok.wire import StreamLine, decode_stream

LOSSES = (
    "the prompt, the working directory, the agent's version; the session's id and the model until the run ends",
    "times and durations",
    "which of several sub-agents at work at once made a call; simultaneous texts of them and the main agent may mix",
    "arguments that are not JSON; calls after one whose refusal ended the turn",
    "costs of a run in which a call has none, and of turns that background notices started",
    "that an answer was cut off and tried again: its two texts become one",
    "whether a line is repeated",
    "in version 0.1 calls and their results, tokens, where an answer ends",
)
_QUIET = frozenset(("plan",))


class Held(Struct, array_like=True):
    """A piece whose speaker is not known yet."""

    thought: bool
    text: Raw
    row: int
    offset: int
    length: int


class State(Struct):
    """`answers`: stream -> its current answer. `spoken`: the streams whose answer has reported its tokens."""

    session_id: str | None = None
    max_turns: bool = False
    cost_usd: float = 0.0
    agents: Agents = field(default_factory=Agents)
    answers: dict[str, str] = {}
    spoken: list[str] = []
    held: list[Held] = []
    spending: Spending = field(default_factory=Spending)


class StreamDecoder:
    """Decoder of `grok-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_stream(record.data)
        kind, agents = line.type, self.state.agents
        if kind == "text" or kind == "thought":
            self._piece(kind == "thought", text_json(line.data), record, batch)
        elif kind == "tool_call":
            self._call(line, record, batch)
        elif kind == "tool_call_update":
            self._update(line, record, batch)
        elif kind == "usage":
            self._usage(line, record, batch)
        elif kind == "available_commands":
            agents.listed(line.tools)
            batch.ignore(kind)
        elif kind == "end" or kind == "error":
            self._end(line, record, batch)
        elif kind == MAX_TURNS:
            self.state.max_turns = True
            batch.events.append(Notification(self._source(record), "", kind, "", "warning"))
        elif kind.startswith(COMPACTION):
            batch.events.append(compaction(self._source(record), kind, line.error or line.message))
        elif kind in _QUIET:
            batch.ignore(kind)
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits the pieces of unfinished answers; the facts known by now decide which agent wrote them."""
        if self.state.held:
            self._release(self.state.agents.answers(), batch)

    def _source(self, record: Record, stream: str = MAIN) -> Source:
        return Source(self.file, record.row, record.offset, record.length, None, stream)

    def _piece(self, thought: bool, text: Raw, record: Record, batch: Batch) -> None:
        state = self.state
        piece = Held(thought, text, record.row, record.offset, record.length)
        if state.agents.spawned:
            state.held.append(piece)
            batch.ignore("text/held")
        else:
            self._emit_piece(MAIN, piece, batch)

    def _emit_piece(self, stream: str, piece: Held, batch: Batch) -> None:
        source = Source(self.file, piece.row, piece.offset, piece.length, None, stream)
        message_id = self._answer(stream, piece.row, True)
        if piece.thought:
            batch.events.append(Reasoning(source, "", message_id, piece.text, True))
        else:
            batch.events.append(AssistantText(source, "", message_id, piece.text, True))

    def _release(self, stream: str, batch: Batch) -> None:
        held, self.state.held = self.state.held, []
        for piece in held:
            self._emit_piece(stream, piece, batch)

    def _answer(self, stream: str, row: int, begins: bool) -> str:
        """The current answer of a stream; a new one if it `begins` and the last one reported its tokens."""
        state = self.state
        known = state.answers.get(stream)
        if known is None or (begins and stream in state.spoken):
            if stream in state.spoken:
                state.spoken.remove(stream)
            known = remember(state.answers, stream, f"a{row}", MOST)
        return known

    def _usage(self, line: StreamLine, record: Record, batch: Batch) -> None:
        state = self.state
        stream = state.agents.answers()
        self._release(stream, batch)
        message_id = self._answer(stream, record.row, True)
        if len(state.spoken) < 1_000:
            state.spoken.append(stream)
        usage = spent(self._source(record, stream), message_id, None, line.usage)
        if usage is None:
            batch.ignore("usage/empty")
            return
        state.spending.add(usage)
        batch.events.append(usage)

    def _call(self, line: StreamLine, record: Record, batch: Batch) -> None:
        agents = self.state.agents
        if self.state.held:  # pieces of an answer without tokens
            self._release(agents.answers(), batch)
        stream = agents.last
        call_id = line.toolCallId or f"call-{record.row}"
        name, arguments = effective_call(line.toolName or line.title or "unknown", line.rawInput)
        message_id = self._answer(stream, record.row, False)
        agents.calls(call_id, name, stream)
        parent = agents.parent_call(stream)
        batch.events.append(ToolCall(self._source(record, stream), "", message_id, call_id, name, arguments, parent))

    def _update(self, line: StreamLine, record: Record, batch: Batch) -> None:
        call_id, status = line.toolCallId or "", line.status or ""
        if status not in OVER:
            batch.ignore("tool_call_update/progress")
            return
        result = returned(status, line.rawOutput, line.content)
        source = self._source(record, self.state.agents.answered(call_id, result))
        output, code, outcome, agent_id, _ = result
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code, agent_id=agent_id))

    def _end(self, line: StreamLine, record: Record, batch: Batch) -> None:
        state, add = self.state, batch.events.append
        self.flush(batch)
        source = self._source(record)
        if line.sessionId:
            another = other_session(record, line.sessionId, state.session_id, batch)
            state.session_id = line.sessionId
            add(SessionInfo(source, "", line.sessionId, only_model(line.modelUsage), another=another))
        whole = spent(source, f"run-{record.row}", None, line.usage, "segment")
        if whole is not None and not state.spending.covers(whole):
            add(whole)
        cost = None
        if line.total_cost_usd is not None:
            cost = state.cost_usd = state.cost_usd + line.total_cost_usd
        status, reason = ended(line.stopReason or "", MAX_TURNS if state.max_turns else None, None)
        if line.type == "error":
            status, reason = "error", reason_of(line.message)
        add(SessionEnd(source, "", status, reason, cost, None, line.num_turns, Raw(record.data)))
        state.agents, state.spending, state.max_turns = Agents(), state.spending.after(whole), False
        state.answers, state.spoken = {}, []
