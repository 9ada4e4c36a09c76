"""The `tool_use_summary` of a session as Structs; docs/metrics.md defines every number."""

from typing import Any, Literal

from msgspec import UNSET, UnsetType, convert

from agentv_stages.model.event import Kind
from agentv_stages.model.keyed import Keyed


class WatchedRun(Keyed, frozen=True):
    """One run of a watched program; `turn` is None on the stream of a sub-agent."""

    command: str
    turn: int | None
    stream: str


class BobbinRun(Keyed, frozen=True):
    """One run of `bobbin`."""

    command: str
    turn: int | None


class ToolRowFigures(Keyed, frozen=True):
    """The calls of one tool; durations in ms, None where no call has one; bytes of raw arguments and outputs."""

    calls: int
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    total_ms: int | None
    bytes_in: int
    bytes_out: int


class StreamRow(Keyed, frozen=True):
    """Counts of one stream: the main one or a sub-agent's."""

    turns: int
    tool_calls: int
    edits: int


class ByKind(Keyed, frozen=True):
    """Calls by purpose."""

    read: int
    write: int
    execute: int
    search: int
    plan: int
    ask: int
    other: int


class ByOrigin(Keyed, frozen=True):
    """Calls of the agent's own tools and of MCP servers."""

    system: int
    mcp: int


class ByOutcome(Keyed, frozen=True):
    """Calls by how they ended; `unpaired` are those without a result."""

    ok: int
    error: int
    denied: int
    cancelled: int
    unpaired: int


class ToolUseSummary(Keyed, frozen=True):
    """Tool statistics of a session; docs/metrics.md defines every number."""

    schema_version: Literal["agentv_stream.tool_use_summary.v1"]
    by_tool: dict[str, int]
    total_tool_calls: int
    first_edit_turn: int | None
    tool_sequence: list[str]
    bobbin_commands: list[BobbinRun]
    watched_commands: dict[str, list[WatchedRun]]
    kind_sequence: list[Kind]
    first_successful_edit_turn: int | None
    first_edit_tool_index: int | None
    first_edit_seconds: float | None
    shell_edits: int
    by_kind: ByKind
    by_origin: ByOrigin
    by_mcp_server: dict[str, int]
    by_outcome: ByOutcome
    tools: dict[str, ToolRowFigures]
    by_stream: dict[str, StreamRow]
    turns: int
    first_edit_turn_lines: int | None
    by_mcp_server_truncated: bool | UnsetType = UNSET
    by_stream_truncated: bool | UnsetType = UNSET
    by_tool_truncated: bool | UnsetType = UNSET
    kind_sequence_truncated: bool | UnsetType = UNSET
    tool_sequence_truncated: bool | UnsetType = UNSET
    tools_truncated: bool | UnsetType = UNSET
    watched_commands_truncated: bool | UnsetType = UNSET

    def __repr__(self) -> str:
        first = self.first_edit_turn
        return f"<ToolUseSummary: {self.total_tool_calls} calls, {self.turns} turns, first edit in turn {first}>"


_LISTS = ("tool_sequence", "bobbin_commands", "watched_commands", "kind_sequence", "by_stream")


def typed(summary: dict[str, Any]) -> ToolUseSummary:
    """The Struct of a summary made by `Stats.summary`. Lists that were left out are UNSET: they have no key."""
    members: dict[str, Any] = dict.fromkeys(_LISTS, UNSET)
    for name, value in summary.items():
        members[name] = convert(value, _TYPES[name]) if name in _TYPES else value
    return ToolUseSummary(**members)


_TYPES: dict[str, Any] = {
    "bobbin_commands": list[BobbinRun],
    "watched_commands": dict[str, list[WatchedRun]],
    "by_kind": ByKind,
    "by_origin": ByOrigin,
    "by_outcome": ByOutcome,
    "tools": dict[str, ToolRowFigures],
    "by_stream": dict[str, StreamRow],
}
