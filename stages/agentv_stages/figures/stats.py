"""Live tool statistics: events in, `tool_use_summary` (docs/metrics.md) at any time.

A call counts when it is requested. There is one table of cells, one cell for each tool, kind, origin and server; every
breakdown except that by stream is a sum over it. Lists and maps are capped, each with a `*_truncated` flag; totals stay
exact.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import convert

from agentv_stages.figures.call_sequence import CallSequence, SequenceState
from agentv_stages.figures.counters import Cell, Run, Statistics, StreamSums
from agentv_stages.figures.tool_use_summary import members
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN, AssistantText, Reasoning, Source, ToolCall, ToolResult
from agentv_stages.model.payload import printable_path
from agentv_stages.model.slices import whole
from agentv_stages.model.turns import AnswersBeside, Turns

MOST_SEQUENCE = 100_000
MOST_ENTRIES = 10_000
OVERFLOW = "(other)"  # stands for all tools over the cap, by kind and origin
_EDIT_NAMES = ("Edit", "Write")

Key: TypeAlias = tuple[str, str, str, str | None]


class Stats:
    """An observer of batches after `Pair`; `watch` names the programs whose runs are listed."""

    def __init__(self, watch: str | tuple[str, ...] = (), lines: bool = False) -> None:
        watched = (watch,) if isinstance(watch, str) else watch
        self.watch = tuple(dict.fromkeys(("bobbin", *map(printable_path, watched))))  # as outputs show them
        self.lines = lines  # whether bobbin's older count by lines is meaningful for this dialect
        self.figures = Statistics(watched={name: [] for name in self.watch})
        self.sequence = CallSequence()  # of the main stream
        self.begun: deque[AssistantText | Reasoning | ToolCall] | None = None  # events that begin turns, for `Dated`
        self._cells: dict[Key, Cell] = {}
        self._turns = Turns()
        self._beside = AnswersBeside()
        self._source: Source | None = None  # of the last assistant event, to distinguish lines
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
                new = event.source is not self._source or event.message_id != self._message_id  # type: ignore[union-attr]  # as above
                if new or self._turn_now is None:
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
            # Most events belong to the same message as the one before. Text of the agent's program may begin a message.
            if event.message_id != self._message_id or self._turn_now is None:
                before = self._turns.count
                self._turn_now = self._turns.turn_of(event)
                self._message_id = event.message_id
                if self.begun is not None and self._turns.count > before:
                    self.begun.append(event)
            return self._turn_now
        if self._beside.begins(event):
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
            key = (OVERFLOW, key[1], key[2], None)
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
        from agentv_stages.shell import run_commands  # most sessions have none of these programs

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
        if call.edit and call.source.stream == MAIN:
            figures = self.figures
            turn = figures.edit_turns.pop(result.call_id, None)
            if outcome == "ok" and turn is not None:
                # Results may come in any order: those of edits in earlier turns are still awaited.
                figures.first_successful_edit_turn = turn
                figures.edit_turns = {own: at for own, at in figures.edit_turns.items() if at < turn}

    @property
    def turns(self) -> int:
        """Turns of the main stream so far."""
        return self._turns.count

    def snapshot(self) -> Statistics:
        self.figures.turns = self._turns.snapshot()
        self.figures.sequence = self.sequence.snapshot()
        self.figures.stream_messages = self._beside.snapshot()
        return self.figures

    def restore(self, snapshot: object, /) -> None:
        """As `Stateful.restore`; programs that were not watched before are listed from here on."""
        self.figures = convert(snapshot, Statistics, from_attributes=True)
        known = self.figures.watched
        self.figures.watched = {name: known.get(name, []) for name in self.watch}
        if self.figures.cells and not known.keys() >= self.figures.watched.keys():
            self.figures.truncated.add("watched_commands")
        self._cells = {(c.tool, c.kind, c.origin, c.server): c for c in self.figures.cells}
        self._turns.restore(self.figures.turns)
        self.sequence.restore(self.figures.sequence)
        self.figures.sequence = SequenceState()
        self._beside.restore(self.figures.stream_messages)
        self.figures.stream_messages = {}

    def summary(self, lists: bool = True) -> dict[str, Any]:
        """The `tool_use_summary` so far, with the keys of docs/metrics.md; open calls count as `unpaired`.

        Without `lists`, whatever grows with the session is left out: sequences, watched commands, figures by stream.
        """
        return {name: whole(value) for name, value in self.members(lists)}

    def members(self, lists: bool = True) -> Iterator[tuple[str, Any]]:
        """As `summary`, but lazily, member by member, long lists as `Slices`."""
        return members(self.figures, self.sequence, self._turns.count, lists)
