"""`tool_use_summary`, the public form of the figures of tool use, with the keys of docs/metrics.md."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import to_builtins

from agentv_stages.figures.call_sequence import CallSequence
from agentv_stages.figures.counters import OUTCOMES, Run, Statistics, StreamSums
from agentv_stages.model.event import MAIN
from agentv_stages.model.slices import Slices

SCHEMA = "agentv_stream.tool_use_summary.v1"
KINDS = ("read", "write", "execute", "search", "plan", "ask", "other")


def members(figures: Statistics, sequence: CallSequence, turns: int, lists: bool = True) -> Iterator[tuple[str, Any]]:
    """The members, made lazily one by one, long lists as `Slices`; open calls count as `unpaired`.

    Without `lists`, whatever grows with the session is left out: sequences, watched commands, figures by stream.
    """
    by_kind: dict[str, int] = dict.fromkeys(KINDS, 0)
    by_origin = {"system": 0, "mcp": 0}
    by_server: dict[str, int] = {}
    by_outcome: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for cell in figures.cells:
        by_kind[cell.kind] += cell.calls
        by_origin[cell.origin] += cell.calls
        if cell.server is not None:
            by_server[cell.server] = by_server.get(cell.server, 0) + cell.calls
        for outcome in OUTCOMES[:-1]:
            by_outcome[outcome] += cell.outcomes.get(outcome, 0)
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
        yield "tool_sequence", sequence.tools()
        yield "bobbin_commands", _slices(figures.watched.get("bobbin", []), _without_stream)
        yield "watched_commands", {name: _slices(runs, to_builtins) for name, runs in figures.watched.items()}
        yield "kind_sequence", sequence.kinds()
    yield "first_successful_edit_turn", figures.first_successful_edit_turn
    yield "first_edit_tool_index", figures.first_edit_tool_index
    yield "first_edit_seconds", seconds
    yield "shell_edits", sum(cell.shell_edits for cell in figures.cells)
    yield "by_kind", by_kind
    yield "by_origin", by_origin
    yield "by_mcp_server", by_server
    yield "by_outcome", by_outcome
    yield "tools", {name: sums.as_json() for name, sums in figures.tools().items()}
    if lists:
        yield "by_stream", _by_stream(figures.streams, turns)
    yield "turns", turns
    yield "first_edit_turn_lines", figures.first_edit_turn_lines
    for name in sorted(figures.truncated):
        yield f"{name}_truncated", True


def _without_stream(run: Run) -> dict[str, Any]:
    return {"command": run.command, "turn": run.turn}


def _by_stream(streams: dict[str, StreamSums], turns: int) -> Slices:
    """The sums as they are now, in 32 bytes a stream. `turns` are those of the main stream."""
    names = list(streams)
    sums = array("q")
    for name, own in streams.items():
        sums.extend((turns if name == MAIN else own.turns, own.tool_calls, own.edits))
    keys = StreamSums.__struct_fields__

    def make(begin: int, end: int) -> dict[str, Any]:
        return {names[i]: dict(zip(keys, sums[3 * i : 3 * i + 3], strict=True)) for i in range(begin, end)}

    return Slices(len(names), make)


def _slices(runs: list[Run], shown: Callable[[Run], Any]) -> Slices:
    return Slices(len(runs), lambda begin, end: [shown(run) for run in runs[begin:end]])
