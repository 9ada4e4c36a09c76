"""Tool statistics, live: events in, `tool_use_summary` (docs/metrics.md) at any time.

A call counts when it is requested. One table of cells is kept, a cell for each tool, kind, origin and server; every
breakdown but that by stream is a sum over it. Lists and maps are capped, each with a `*_truncated` flag; totals stay
exact.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, convert, field, to_builtins

from agentv_stages.batch import Batch
from agentv_stages.call_sequence import CallSequence, SequenceState
from agentv_stages.event import MAIN, AssistantText, Reasoning, Source, ToolCall, ToolResult
from agentv_stages.histogram import Histogram
from agentv_stages.recent import Recent
from agentv_stages.shell import run_commands
from agentv_stages.turns import Turns, TurnState

SCHEMA = "agentv_stream.tool_use_summary.v1"
MOST_SEQUENCE = 100_000
MOST_ENTRIES = 10_000
_RECENT_STREAMS = 1_024  # whose last message is remembered: of more at once, one may count a turn twice
KINDS = ("read", "write", "execute", "search", "plan", "ask", "other")
OUTCOMES = ("ok", "error", "denied", "cancelled", "unpaired")
OVERFLOW = ("(other)", "other", "system", None)
_EDIT_NAMES = ("Edit", "Write")

Key = tuple[str, str, str, str | None]


class Cell(Struct):
    """The calls of one tool, kind, origin and MCP server. Bytes are of the raw arguments and outputs."""

    tool: str
    kind: str
    origin: str
    server: str | None
    calls: int = 0
    edits: int = 0
    shell_edits: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    durations: Histogram = field(default_factory=Histogram)


class StreamSums(Struct, gc=False):
    """What one stream came to. The turns of the main stream are counted by `Turns`."""

    turns: int = 0
    tool_calls: int = 0
    edits: int = 0


class Run(Struct):
    """One run of a watched program."""

    command: str
    turn: int | None
    stream: str


class Statistics(Struct):
    """The running figures: what `Stats` keeps and takes out as a snapshot."""

    cells: list[Cell] = field(default_factory=list[Cell])
    sequence: SequenceState = field(default_factory=SequenceState)
    main_calls: int = 0
    turns: TurnState = field(default_factory=TurnState)
    streams: dict[str, StreamSums] = field(default_factory=lambda: {MAIN: StreamSums()})
    stream_messages: dict[str, str] = field(default_factory=dict[str, str])
    first_time_ms: int | None = None
    first_edit_turn: int | None = None
    first_edit_tool_index: int | None = None
    first_edit_ms: int | None = None
    first_successful_edit_turn: int | None = None
    first_edit_turn_lines: int | None = None
    assistant_lines: int = -1
    last_row: tuple[str, int] = ("", -1)
    edit_turns: dict[str, int] = field(default_factory=dict[str, int])
    watched: dict[str, list[Run]] = field(default_factory=dict[str, list[Run]])
    truncated: set[str] = field(default_factory=set[str])

    @property
    def calls(self) -> int:
        """All calls, of all streams."""
        return sum(cell.calls for cell in self.cells)

    def by_tool(self) -> dict[str, int]:
        """Calls per tool, in the order of first use."""
        counts: dict[str, int] = {}
        for cell in self.cells:
            counts[cell.tool] = counts.get(cell.tool, 0) + cell.calls
        return counts


class Stats:
    """An observer of batches after `Pair`; `watch` names the programs whose runs are listed."""

    def __init__(self, watch: str | tuple[str, ...] = (), lines: bool = False) -> None:
        self.watch = tuple(dict.fromkeys(("bobbin", *((watch,) if isinstance(watch, str) else watch))))
        self.lines = lines  # whether bobbin's historical count of lines means anything for this dialect
        self.figures = Statistics(watched={name: [] for name in self.watch})
        self.sequence = CallSequence()  # of the main stream
        self._cells: dict[Key, Cell] = {}
        self._turns = Turns()
        self._messages = Recent[str](_RECENT_STREAMS)
        self._source: Source | None = None  # of the last assistant event, to tell lines apart
        self._message_id: str | None = None  # of the last event of the main stream, and its turn
        self._turn_now: int | None = None

    def observe(self, batch: Batch) -> None:
        figures = self.figures
        if figures.first_time_ms is None:
            times = (event.source.time_ms for event in batch.events)
            figures.first_time_ms = next((t for t in times if t is not None), None)
        for event in batch.events:
            kind = type(event)
            if kind is ToolCall:
                self._call(event)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is ToolResult:
                self._result(event)  # type: ignore[arg-type]  # as above
            elif kind is AssistantText or kind is Reasoning:
                if event.source is not self._source or event.message_id != self._message_id:  # type: ignore[union-attr]  # as above
                    self._turn(event)  # type: ignore[arg-type]  # as above

    def _turn(self, event: AssistantText | Reasoning | ToolCall) -> int | None:
        figures = self.figures
        source = event.source
        if source is not self._source:
            self._source = source
            if self.lines and figures.last_row != (source.file, source.row):
                figures.last_row = (source.file, source.row)
                figures.assistant_lines += 1
        stream = source.stream
        if stream == MAIN:
            if event.message_id != self._message_id:  # most events are of the message of the one before
                self._turn_now = self._turns.turn_of(event)
                self._message_id = event.message_id
            return self._turn_now
        if self._messages.get(stream) != event.message_id:
            self._messages.put(stream, event.message_id)
            self._sums(stream).turns += 1
        return None

    def _sums(self, stream: str) -> StreamSums:
        streams = self.figures.streams
        sums = streams.get(stream)
        if sums is None:
            sums = StreamSums()
            if len(streams) < MOST_ENTRIES:
                streams[stream] = sums
            else:
                self.figures.truncated.add("by_stream")
        return sums

    def _new_cell(self, key: Key) -> Cell:
        if len(self._cells) >= MOST_ENTRIES:
            self.figures.truncated.update(("by_tool", "tools", "by_mcp_server"))
            key = OVERFLOW
            if key in self._cells:
                return self._cells[key]
        cell = Cell(*key)
        self._cells[key] = cell
        self.figures.cells.append(cell)
        return cell

    def _call(self, call: ToolCall) -> None:
        figures = self.figures
        turn = self._turn(call)
        tool, stream = call.tool or call.name, call.source.stream
        key = (tool, call.kind, call.origin, call.server)
        cell = self._cells.get(key) or self._new_cell(key)
        sums = figures.streams.get(stream) or self._sums(stream)
        sums.tool_calls += 1
        cell.calls += 1
        cell.bytes_in += len(call.input_json)
        if call.shell_edit:
            cell.shell_edits += 1
        if call.edit:
            cell.edits += 1
            sums.edits += 1
        if call.command is not None:
            for name in self.watch:
                if name in call.command:
                    self._watched(name, call.command, turn, stream)
        if stream == MAIN:
            if call.edit:
                self._edit(call, turn)
            if figures.main_calls < MOST_SEQUENCE:
                self.sequence.add(tool, call.kind)
            else:
                figures.truncated.update(("tool_sequence", "kind_sequence"))
            figures.main_calls += 1
        if self.lines and figures.first_edit_turn_lines is None and tool in _EDIT_NAMES:
            figures.first_edit_turn_lines = figures.assistant_lines

    def _edit(self, call: ToolCall, turn: int | None) -> None:
        figures = self.figures
        if figures.first_edit_tool_index is None:
            figures.first_edit_turn = turn
            figures.first_edit_tool_index = figures.main_calls
            figures.first_edit_ms = call.source.time_ms
        if figures.first_successful_edit_turn is None and turn is not None and len(figures.edit_turns) < MOST_ENTRIES:
            figures.edit_turns[call.call_id] = turn

    def _watched(self, name: str, command: str, turn: int | None, stream: str) -> None:
        entries = self.figures.watched[name]
        for run in run_commands(command, name):
            if len(entries) < MOST_ENTRIES:
                entries.append(Run(run, turn, stream))
            else:
                self.figures.truncated.add("watched_commands")

    def _result(self, result: ToolResult) -> None:
        call = result.call
        if call is None or result.partial:
            return
        key = (call.tool or call.name, call.kind, call.origin, call.server)
        cell = self._cells.get(key) or self._new_cell(key)
        outcome = result.outcome or "ok"
        cell.outcomes[outcome] += 1
        if result.output_json is not None:
            cell.bytes_out += len(result.output_json)
        if result.duration_ms is not None:
            cell.durations.add(result.duration_ms)
        if call.edit:
            figures = self.figures
            if figures.first_successful_edit_turn is None:
                turn = figures.edit_turns.pop(result.call_id, None)
                if outcome == "ok":
                    figures.first_successful_edit_turn = turn
                    figures.edit_turns.clear()

    @property
    def turns(self) -> int:
        """Turns of the main stream so far."""
        return self._turns.count

    def snapshot(self) -> Statistics:
        self.figures.turns = self._turns.snapshot()
        self.figures.sequence = self.sequence.snapshot()
        self.figures.stream_messages = self._messages.items()
        return self.figures

    def restore(self, snapshot: object, /) -> None:
        self.figures = convert(snapshot, Statistics, from_attributes=True)
        self._cells = {(c.tool, c.kind, c.origin, c.server): c for c in self.figures.cells}
        self._turns.restore(self.figures.turns)
        self.sequence.restore(self.figures.sequence)
        self.figures.sequence = SequenceState()
        self._messages.load(self.figures.stream_messages)
        self.figures.stream_messages = {}

    def summary(self, lists: bool = True) -> dict[str, Any]:
        """The `tool_use_summary` so far, keys as docs/metrics.md has them; open calls count as `unpaired`.

        Without `lists` what grows with the session is left out: sequences, watched commands, figures by stream.
        """
        return {name: to_builtins(value) for name, value in self.members(lists)}

    def members(self, lists: bool = True) -> Iterator[tuple[str, Any]]:
        """As `summary`, one member after the other, each made when it is asked for; for msgspec to encode."""
        return members(self.figures, self.sequence, self._turns.count, lists)


def members(figures: Statistics, sequence: CallSequence, turns: int, lists: bool = True) -> Iterator[tuple[str, Any]]:
    """The public form of the figures."""
    by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
    by_origin = {"system": 0, "mcp": 0}
    by_server: dict[str, int] = {}
    by_outcome: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    tools: dict[str, list[Cell]] = {}
    for cell in figures.cells:
        by_kind[cell.kind] += cell.calls
        by_origin[cell.origin] += cell.calls
        if cell.server is not None:
            by_server[cell.server] = by_server.get(cell.server, 0) + cell.calls
        for outcome in OUTCOMES[:-1]:
            by_outcome[outcome] += cell.outcomes.get(outcome, 0)
        tools.setdefault(cell.tool, []).append(cell)
    total = figures.calls
    by_outcome["unpaired"] = total - sum(by_outcome.values())
    seconds = None
    if figures.first_edit_ms is not None and figures.first_time_ms is not None:
        seconds = (figures.first_edit_ms - figures.first_time_ms) / 1000
    yield "schema_version", SCHEMA
    yield "by_tool", figures.by_tool()
    yield "total_tool_calls", total
    yield "first_edit_turn", figures.first_edit_turn
    if lists:
        bobbin = figures.watched.get("bobbin", [])
        yield "tool_sequence", sequence.tools()
        yield "bobbin_commands", [{"command": run.command, "turn": run.turn} for run in bobbin]
        yield "watched_commands", figures.watched
        yield "kind_sequence", sequence.kinds()
    yield "first_successful_edit_turn", figures.first_successful_edit_turn
    yield "first_edit_tool_index", figures.first_edit_tool_index
    yield "first_edit_seconds", seconds
    yield "shell_edits", sum(cell.shell_edits for cell in figures.cells)
    yield "by_kind", by_kind
    yield "by_origin", by_origin
    yield "by_mcp_server", by_server
    yield "by_outcome", by_outcome
    yield "tools", {name: _tool(cells) for name, cells in tools.items()}
    if lists:
        main = figures.streams[MAIN]
        yield "by_stream", {**figures.streams, MAIN: StreamSums(turns, main.tool_calls, main.edits)}
    yield "turns", turns
    yield "first_edit_turn_lines", figures.first_edit_turn_lines
    for name in sorted(figures.truncated):
        yield f"{name}_truncated", True


def _tool(cells: list[Cell]) -> dict[str, Any]:
    durations = Histogram()
    for cell in cells:
        durations.merge(cell.durations)
    return {
        "calls": sum(cell.calls for cell in cells),
        "errors": sum(cell.outcomes.get(name, 0) for cell in cells for name in ("error", "denied", "cancelled")),
        "p50_ms": durations.quantile(0.5),
        "p95_ms": durations.quantile(0.95),
        "total_ms": durations.total if durations.count else None,
        "bytes_in": sum(cell.bytes_in for cell in cells),
        "bytes_out": sum(cell.bytes_out for cell in cells),
    }
