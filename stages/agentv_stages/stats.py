"""Tool statistics, live: events in, `tool_use_summary` (docs/metrics.md) at any time.

A call counts when it is requested. Lists and maps are capped, each with a `*_truncated` flag; totals stay exact.
"""

from typing import Any

from msgspec import Struct, convert, field

from agentv_stages.batch import Batch
from agentv_stages.event import MAIN, AssistantText, Reasoning, ToolCall, ToolResult
from agentv_stages.histogram import Histogram
from agentv_stages.shell import run_commands
from agentv_stages.turns import Turns, TurnState

SCHEMA = "agentv_stream.tool_use_summary.v1"
MOST_SEQUENCE = 100_000
MOST_ENTRIES = 10_000
KINDS = ("read", "write", "execute", "search", "plan", "ask", "other")
OUTCOMES = ("ok", "error", "denied", "cancelled", "unpaired")
_EDIT_NAMES = ("Edit", "Write")


class ToolFigures(Struct):
    """One tool's figures: calls, calls that did not end well, bytes of the raw arguments and outputs."""

    calls: int = 0
    errors: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    durations: Histogram = field(default_factory=Histogram)


class StreamFigures(Struct):
    turns: int = 0
    tool_calls: int = 0
    edits: int = 0


class Statistics(Struct):
    """The running figures: what `Stats` keeps, takes out as a snapshot, and merges."""

    by_tool: dict[str, int] = field(default_factory=dict[str, int])
    by_kind: dict[str, int] = field(default_factory=dict[str, int])
    by_origin: dict[str, int] = field(default_factory=dict[str, int])
    by_mcp_server: dict[str, int] = field(default_factory=dict[str, int])
    by_outcome: dict[str, int] = field(default_factory=dict[str, int])
    by_stream: dict[str, StreamFigures] = field(default_factory=dict[str, StreamFigures])
    tools: dict[str, ToolFigures] = field(default_factory=dict[str, ToolFigures])
    calls: int = 0
    tool_sequence: list[str] = field(default_factory=list[str])
    kind_sequence: list[str] = field(default_factory=list[str])
    main_calls: int = 0
    shell_edits: int = 0
    turns: TurnState = field(default_factory=TurnState)
    other_turns: dict[str, str] = field(default_factory=dict[str, str])
    first_time_ms: int | None = None
    first_edit_turn: int | None = None
    first_edit_tool_index: int | None = None
    first_edit_ms: int | None = None
    first_successful_edit_turn: int | None = None
    first_edit_turn_lines: int | None = None
    assistant_lines: int = -1
    last_row: tuple[str, int] = ("", -1)
    edit_turns: dict[str, int] = field(default_factory=dict[str, int])
    watched: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    truncated: set[str] = field(default_factory=set[str])


class Stats:
    """An observer of batches after `Pair`; `watch` names the programs whose runs are listed."""

    def __init__(self, watch: tuple[str, ...] = (), lines: bool = False) -> None:
        self.watch = tuple(dict.fromkeys(("bobbin", *watch)))
        self.lines = lines  # whether bobbin's historical count of lines means anything for this dialect
        self.figures = Statistics(watched={name: [] for name in self.watch})
        self._turns = Turns()

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
                self._turn(event)  # type: ignore[arg-type]  # as above

    def _turn(self, event: AssistantText | Reasoning | ToolCall) -> int | None:
        figures = self.figures
        source = event.source
        if self.lines and figures.last_row != (source.file, source.row):
            figures.last_row = (source.file, source.row)
            figures.assistant_lines += 1
        stream = source.stream
        if stream == MAIN:
            return self._turns.turn_of(event)
        if figures.other_turns.get(stream) != event.message_id:
            if len(figures.other_turns) >= MOST_ENTRIES:
                del figures.other_turns[next(iter(figures.other_turns))]
            figures.other_turns[stream] = event.message_id
            row = self._stream(stream)
            row.turns += 1
        return None

    def _stream(self, stream: str) -> StreamFigures:
        by_stream = self.figures.by_stream
        row = by_stream.get(stream)
        if row is None:
            row = StreamFigures()
            if len(by_stream) < MOST_ENTRIES:
                by_stream[stream] = row
            else:
                self.figures.truncated.add("by_stream")
        return row

    def _call(self, call: ToolCall) -> None:
        figures = self.figures
        turn = self._turn(call)
        tool = call.tool or call.name
        figures.calls += 1
        if tool in figures.by_tool:
            figures.by_tool[tool] += 1
        elif len(figures.by_tool) < MOST_ENTRIES:
            figures.by_tool[tool] = 1
        else:
            figures.truncated.add("by_tool")
        kind, origin = call.kind, call.origin
        figures.by_kind[kind] = figures.by_kind.get(kind, 0) + 1
        figures.by_origin[origin] = figures.by_origin.get(origin, 0) + 1
        if call.server is not None and (call.server in figures.by_mcp_server or len(figures.by_mcp_server) < MOST_ENTRIES):
            figures.by_mcp_server[call.server] = figures.by_mcp_server.get(call.server, 0) + 1
        row = figures.tools.get(tool)
        if row is None:
            row = ToolFigures()
            if len(figures.tools) < MOST_ENTRIES:
                figures.tools[tool] = row
            else:
                figures.truncated.add("tools")
        row.calls += 1
        row.bytes_in += len(call.input_json)
        stream = self._stream(call.source.stream)
        stream.tool_calls += 1
        if call.shell_edit:
            figures.shell_edits += 1
        if call.edit:
            stream.edits += 1
        if call.command is not None:
            self._watched(call, call.command, turn)
        if call.source.stream == MAIN:
            if call.edit:
                self._edit(call, turn)
            if figures.main_calls < MOST_SEQUENCE:
                figures.tool_sequence.append(tool)
                figures.kind_sequence.append(kind)
            else:
                figures.truncated.update(("tool_sequence", "kind_sequence"))
            figures.main_calls += 1
        if self.lines and figures.first_edit_turn_lines is None and tool in _EDIT_NAMES:
            figures.first_edit_turn_lines = figures.assistant_lines

    def _edit(self, call: ToolCall, turn: int | None) -> None:
        figures = self.figures
        if figures.first_edit_turn is None and figures.first_edit_tool_index is None:
            figures.first_edit_turn = turn
            figures.first_edit_tool_index = figures.main_calls
            figures.first_edit_ms = call.source.time_ms
        if figures.first_successful_edit_turn is None and turn is not None and len(figures.edit_turns) < MOST_ENTRIES:
            figures.edit_turns[call.call_id] = turn

    def _watched(self, call: ToolCall, command: str, turn: int | None) -> None:
        for name in self.watch:
            if name in command:
                for run in run_commands(command, name):
                    entries = self.figures.watched[name]
                    if len(entries) < MOST_ENTRIES:
                        entries.append({"command": run, "turn": turn, "stream": call.source.stream})
                    else:
                        self.figures.truncated.add("watched_commands")

    def _result(self, result: ToolResult) -> None:
        call = result.call
        if call is None or result.partial:
            return
        figures = self.figures
        outcome = result.outcome or "ok"
        figures.by_outcome[outcome] = figures.by_outcome.get(outcome, 0) + 1
        row = figures.tools.get(call.tool or call.name)
        if row is not None:
            if outcome not in ("ok", "unpaired"):
                row.errors += 1
            if result.output_json is not None:
                row.bytes_out += len(result.output_json)
            if result.duration_ms is not None:
                row.durations.add(result.duration_ms)
        if call.edit and figures.first_successful_edit_turn is None:
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
        return self.figures

    def restore(self, snapshot: object, /) -> None:
        self.figures = convert(snapshot, Statistics, from_attributes=True)
        self._turns.restore(self.figures.turns)

    def summary(self) -> dict[str, Any]:
        """The `tool_use_summary` so far, keys as docs/metrics.md has them; open calls count as `unpaired`."""
        return summarize(self.figures, self._turns.count)


def summarize(figures: Statistics, turns: int) -> dict[str, Any]:
    """The public form of the figures."""
    answered = sum(figures.by_outcome.get(name, 0) for name in OUTCOMES[:-1])
    outcomes = {name: figures.by_outcome.get(name, 0) for name in OUTCOMES[:-1]}
    outcomes["unpaired"] = figures.calls - answered
    seconds = None
    if figures.first_edit_ms is not None and figures.first_time_ms is not None:
        seconds = (figures.first_edit_ms - figures.first_time_ms) / 1000
    main = figures.by_stream.get(MAIN)
    by_stream = {
        name: {"turns": row.turns, "tool_calls": row.tool_calls, "edits": row.edits}
        for name, row in figures.by_stream.items()
        if name != MAIN
    }
    first = {MAIN: {"turns": turns, "tool_calls": main.tool_calls if main else 0, "edits": main.edits if main else 0}}
    bobbin = figures.watched.get("bobbin", [])
    flags = {f"{name}_truncated": True for name in sorted(figures.truncated)}
    return {
        "schema_version": SCHEMA,
        "by_tool": dict(figures.by_tool),
        "total_tool_calls": figures.calls,
        "first_edit_turn": figures.first_edit_turn,
        "tool_sequence": list(figures.tool_sequence),
        "bobbin_commands": [{"command": run["command"], "turn": run["turn"]} for run in bobbin],
        "watched_commands": {name: list(runs) for name, runs in figures.watched.items()},
        "kind_sequence": list(figures.kind_sequence),
        "first_successful_edit_turn": figures.first_successful_edit_turn,
        "first_edit_tool_index": figures.first_edit_tool_index,
        "first_edit_seconds": seconds,
        "shell_edits": figures.shell_edits,
        "by_kind": {name: figures.by_kind.get(name, 0) for name in KINDS},
        "by_origin": {name: figures.by_origin.get(name, 0) for name in ("system", "mcp")},
        "by_mcp_server": dict(figures.by_mcp_server),
        "by_outcome": outcomes,
        "tools": {name: _tool(row) for name, row in figures.tools.items()},
        "by_stream": {**first, **by_stream},
        "turns": turns,
        "first_edit_turn_lines": figures.first_edit_turn_lines,
        **flags,
    }


def _tool(row: ToolFigures) -> dict[str, Any]:
    timed = row.durations.count > 0
    return {
        "calls": row.calls,
        "errors": row.errors,
        "p50_ms": row.durations.quantile(0.5),
        "p95_ms": row.durations.quantile(0.95),
        "total_ms": row.durations.total if timed else None,
        "bytes_in": row.bytes_in,
        "bytes_out": row.bytes_out,
    }
