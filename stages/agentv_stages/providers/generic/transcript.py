"""Transcripts read back: AgentV's shapes A, B and C, its normalised transcript, replay fixtures, and our own rows.

Rows are emitted in the order of `message_index`, which may differ from the order in the file: a row that comes early is
held until the rows before it have come (at most 10,000 rows and 32 MiB). Names are canonical already. Rows of several
groups (`test_id`, `target`) in one file are several sessions in one input; their call ids are kept separate. Totals are
the file's (`transcript_token_usage`); every row repeats them, or only the first or last has them.
End rule: our own rows record how the session ended, beside its totals. Others have none; a transcript that ends with an
answer whose calls all have results counts as complete. In our own rows of a session without an end each model call has
its row, so a session that ends with calls was broken off.
Source: AgentV 4.15 to 5.3 `TranscriptJsonLine`, `NormalizedTranscriptJson`, replay fixtures.

Turns of AgentV's normalised transcript to events.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    MAIN,
    AssistantText,
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
from agentv_stages.model.payload import has_value, one_line, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import Time, parse_iso, whole_ms
from agentv_stages.providers.generic.messages import OUTCOMES, at_time, facts_of, message_events, usage_event
from agentv_stages.providers.generic.places import Places
from agentv_stages.providers.generic.wire import (
    Ending,
    MoreTokens,
    Row,
    RowMessage,
    RowSource,
    Tokens,
    Turn,
    decode_ending,
    decode_row,
    decode_turn,
    read_free,
)


def turn_events(turn: Turn, made_id: str, source: Source, at: str, batch: Batch) -> int:
    """Appends the events of a turn; returns the number of its calls without a result.

    The format does not keep the order of texts and calls within a turn; `tool_name` is a category, `name` the tool.
    """
    message_id = turn.id or made_id
    source = at_time(source, turn.ts)
    events = batch.events
    unanswered = 0
    for i, block in enumerate(turn.content or ()):
        own = f"{at}-{i}"
        kind = block.type
        if turn.type != "assistant":
            if has_value(block.text):
                events.append(UserText(source, own, block.text, message_id, turn.type == "system"))
            else:
                batch.ignore(f"block/{kind}")
        elif kind == "text" and has_value(block.text):
            events.append(AssistantText(source, own, message_id, block.text, False, False, turn.model))
        elif kind == "thinking" and has_value(block.text):
            events.append(Reasoning(source, own, message_id, text_json(block.text), False, turn.model))
        elif kind == "tool_use":
            call_id = block.id or f"{message_id}-tool-{i + 1}"
            name = block.name or block.tool_name or "unknown"
            arguments = block.input if has_value(block.input) else EMPTY_OBJECT
            events.append(ToolCall(source, own, message_id, call_id, name, arguments, None, turn.model))
            result = block.result
            outcome = OUTCOMES.get(result.status or "") if result else None
            output = result.output if result and has_value(result.output) else None
            if result is None or (outcome is None and output is None):
                unanswered += 1
            else:
                duration = whole_ms(result.duration_ms)
                events.append(ToolResult(at_time(source, None), own, call_id, output, outcome, None, duration))
        else:
            batch.ignore(f"block/{kind}")
    if turn.input_tokens is not None or turn.output_tokens is not None:
        tokens = Tokens(turn.input_tokens, turn.output_tokens)
        events.append(usage_event(source, at, message_id, tokens, turn.model))
    return unanswered


MOST_HELD = 10_000
MOST_HELD_BYTES = 32 << 20
NATIVE = 1
"""`Source.answer` of our own rows: their message ids are the log's, so rows with different ids are different."""
_NO_SOURCE, _NO_TOKENS = RowSource(), MoreTokens()


class Held(Struct, gc=False):
    """A row that waits for the ones before it."""

    data: bytes
    row: int
    offset: int
    length: int = 0


class State(Struct):
    """`group` is the session being read, `next_index` the row that it waits for."""

    group: str = ""
    groups: int = 0
    next_index: int = 0
    held: dict[int, Held] = {}
    held_bytes: int = 0
    places: Places = field(default_factory=Places)
    total: str = ""
    last_role: str = ""
    unanswered: int = 0
    asks: bool = False  # the last row is our own, and its calls required another answer
    ending: Ending = field(default_factory=Ending)
    duration_ms: int | None = None
    earlier_ms: int = 0  # the duration of the previous groups
    last_row: int = 0
    last_offset: int = 0


class TranscriptDecoder:
    """Decoder of `agentv-transcript`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        row = decode_row(data)
        state = self.state
        state.last_row, state.last_offset = record.row, record.offset
        if row.turns is not None:
            turns = read_each(row.turns, decode_turn, "turns", record, batch)
            self._group(row, record, batch)
            for index, turn in turns:
                at = f"-{index}"
                state.unanswered += turn_events(turn, f"m{record.row}{at}", self._source(record), at, batch)
                state.last_role = turn.type
        elif row.output is not None:
            self._group(row, record, batch)
            self._case(row, row.output, record, batch)
        elif row.role:
            if row.message_index is None:
                if not (has_value(row.content) or row.tool_calls or row.toolCalls):
                    batch.strangers.append(record)
                self._group(row, record, batch)
                self._row(row, record, batch)
            else:
                self._indexed(row, row.message_index, record.replaced(data), batch)
        else:
            batch.unknown_type(row.schema_version or "row without a role", record)

    def flush(self, batch: Batch) -> None:
        self._release(batch)
        state = self.state
        if state.groups:
            complete = state.last_role == "assistant" and state.unanswered == 0 and not state.asks
            source = Source(self.context.file, state.last_row, state.last_offset, 0, None, self.context.stream)
            ending = state.ending
            status: Status = ending.status or ("complete" if complete else "unknown")
            end = SessionEnd(source, "-end", status, ending.reason, None, state.duration_ms, certain=ending.certain)
            batch.events.append(end)

    def _source(self, record: Record, stream: str | None = None, time: Time = None) -> Source:
        context = self.context
        own = stream if stream and stream != MAIN else context.stream
        return Source(context.file, record.row, record.offset, record.length, parse_iso(time), own)

    def _indexed(self, row: Row, index: int, record: Record, batch: Batch) -> None:
        state = self.state
        if _group_name(row) != state.group or not state.groups:
            self._release(batch)
            self._group(row, record, batch)
        else:
            self._totals(row, record, batch)
        if index > state.next_index:
            state.held[index] = Held(record.data, record.row, record.offset, record.length)
            state.held_bytes += len(record.data)
            if len(state.held) > MOST_HELD or state.held_bytes > MOST_HELD_BYTES:
                self._release(batch)
            return
        self._row(row, record, batch)
        state.next_index = max(state.next_index, index + 1)
        while state.next_index in state.held:
            held = state.held.pop(state.next_index)
            state.held_bytes -= len(held.data)
            self._held(held, batch)
            state.next_index += 1

    def _release(self, batch: Batch) -> None:
        state = self.state
        for index in sorted(state.held):
            self._held(state.held[index], batch)
            state.next_index = index + 1
        state.held.clear()
        state.held_bytes = 0
        state.places.release(batch.events)

    def _held(self, held: Held, batch: Batch) -> None:
        self._row(decode_row(held.data), Record(held.data, held.offset, held.row, size=held.length), batch)

    def _group(self, row: Row, record: Record, batch: Batch) -> None:
        """Begins a session."""
        state = self.state
        state.group = _group_name(row)
        state.groups += 1
        state.next_index = 0
        state.places = Places()
        state.total = ""
        state.ending = Ending()
        state.earlier_ms = state.duration_ms or 0
        facts = row.source or _NO_SOURCE
        source = self._source(record, None, facts.timestamp)
        batch.events.append(
            SessionInfo(
                *(source, "", facts.session_id or row.test_id, facts.model, facts.version, facts.cwd, facts.git_branch),
                another=state.groups > 1,
            )
        )
        self._totals(row, record, batch)

    def _totals(self, row: Row, record: Record, batch: Batch) -> None:
        """Emits the session's totals, once; stores how it ended."""
        state = self.state
        state.ending = read_free(row.agentv_stream, decode_ending) or state.ending
        shape_a = row.output is not None
        tokens = row.transcript_token_usage or (row.token_usage if shape_a else None)
        cost = row.transcript_cost_usd if row.transcript_cost_usd is not None else row.cost_usd if shape_a else None
        duration = row.transcript_duration_ms
        if duration is None and shape_a:
            duration = row.duration_ms
        took = whole_ms(duration)
        if took:
            state.duration_ms = state.earlier_ms + took
        mark = "cost" if tokens is None else str(tokens)
        more = state.ending.tokens
        if (
            (tokens is None and cost is None and more is None)
            or mark == state.total
            or (state.total and tokens is None)
        ):
            return
        state.total = mark
        known, more = tokens or Tokens(), more or _NO_TOKENS
        batch.events.append(
            TokenUsage(
                self._source(record, time=state.ending.first_time),
                "-total",
                state.group,
                "session",
                None,
                known.input,
                known.cached,
                more.cache_write,
                more.cache_write_1h,
                known.output if more.output_at_least is None else more.output_at_least,
                known.reasoning,
                more.output_at_least is None,
                True,
                cost,
                True,
            )
        )

    def _case(self, row: Row, output: list[RowMessage], record: Record, batch: Batch) -> None:
        """Shape A: a whole case in one line, with its first user text in a member of its own."""
        started = row.source.timestamp if row.source else None
        if has_value(row.input) and not any(message.role == "user" for message in output[:1]):
            source = self._source(record, None, started)
            batch.events.append(UserText(source, "-input", row.input, f"m{record.row}-input"))
        for index, message in enumerate(output):
            self._message(message, f"m{record.row}-{index}", f"-{index}", record, batch)

    def _row(self, row: Row, record: Record, batch: Batch) -> None:
        index = record.row if row.message_index is None else row.message_index
        self._message(row, f"m{index}", "", record, batch)

    def _message(self, message: RowMessage, made_id: str, at: str, record: Record, batch: Batch) -> None:
        state = self.state
        facts, model = facts_of(message)
        prefix = "" if state.groups <= 1 else f"{state.groups}:"
        message_id = prefix + (facts.message_id or made_id)
        source = at_time(self._source(record, facts.stream), message.start_time or message.startTime)
        if facts.message_id:
            source = replace(source, answer=NATIVE)
        first = len(batch.events)
        state.unanswered += message_events(message, facts, model, message_id, prefix, source, at, batch)
        if facts.message_id:
            state.places.row(batch.events, first, facts.order or ())
        if message.role in ("user", "assistant"):
            state.last_role = message.role
            state.asks = bool(facts.message_id and (message.tool_calls or message.toolCalls))


def _group_name(row: Row) -> str:
    return f"{row.test_id}\0{row.target}"
