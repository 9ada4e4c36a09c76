"""The running figures of tool use: the counters of `Stats`, and its snapshot."""

from typing import Any

from msgspec import Struct, field

from agentv_stages.figures.call_sequence import SequenceState
from agentv_stages.figures.histogram import Histogram
from agentv_stages.model.event import FAILED_OUTCOMES, MAIN
from agentv_stages.model.turns import TurnState

OUTCOMES = ("ok", "error", "denied", "cancelled", "unpaired")


class Cell(Struct):
    """The calls of one tool, kind, origin and MCP server. Bytes are those of the raw arguments and outputs."""

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


class ToolSums(Struct):
    """The calls of one tool; `errors` counts those that failed; bytes are those of the raw arguments and outputs."""

    calls: int = 0
    errors: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    durations: Histogram = field(default_factory=Histogram)

    def add(self, cell: Cell) -> None:
        """Adds a part of the tool's calls."""
        self.calls += cell.calls
        self.errors += sum(cell.outcomes.get(outcome, 0) for outcome in FAILED_OUTCOMES)
        self.bytes_in += cell.bytes_in
        self.bytes_out += cell.bytes_out
        self.durations.merge(cell.durations)

    def merge(self, other: "ToolSums") -> None:
        """Adds the other's sums."""
        self.calls += other.calls
        self.errors += other.errors
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.durations.merge(other.durations)

    def as_json(self) -> dict[str, Any]:
        """As an entry of a result's `tools`: durations in milliseconds, None where no call has one."""
        durations = self.durations
        return {
            "calls": self.calls,
            "errors": self.errors,
            "p50_ms": durations.quantile(0.5),
            "p95_ms": durations.quantile(0.95),
            "total_ms": durations.total if durations.count else None,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
        }


class StreamSums(Struct, gc=False):
    """Sums of one stream. The turns of the main stream are counted by `Turns`."""

    turns: int = 0
    tool_calls: int = 0
    edits: int = 0


class Run(Struct, gc=False):
    """One run of a watched program."""

    command: str
    turn: int | None
    stream: str


class Statistics(Struct):
    """The running figures: the state of `Stats`, and its snapshot."""

    cells: list[Cell] = []
    sequence: SequenceState = field(default_factory=SequenceState)
    main_calls: int = 0
    turns: TurnState = field(default_factory=TurnState)
    streams: dict[str, StreamSums] = field(default_factory=lambda: {MAIN: StreamSums()})
    stream_messages: dict[str, str] = {}
    first_time_ms: int | None = None
    first_edit_turn: int | None = None
    first_edit_tool_index: int | None = None
    first_edit_ms: int | None = None
    first_successful_edit_turn: int | None = None
    first_edit_turn_lines: int | None = None
    assistant_lines: int = -1
    last_row: tuple[str, int] = ("", -1)
    edit_turns: dict[str, int] = {}
    watched: dict[str, list[Run]] = {}
    truncated: set[str] = set()

    @property
    def calls(self) -> int:
        """All calls, of all streams."""
        return sum(cell.calls for cell in self.cells)

    @property
    def failed(self) -> int:
        """Calls that failed, were denied or were cancelled."""
        return sum(cell.outcomes.get(outcome, 0) for cell in self.cells for outcome in FAILED_OUTCOMES)

    def by_tool(self) -> dict[str, int]:
        """Calls per tool, in the order of first use."""
        counts: dict[str, int] = {}
        for cell in self.cells:
            counts[cell.tool] = counts.get(cell.tool, 0) + cell.calls
        return counts

    def tools(self) -> dict[str, ToolSums]:
        """Sums per tool, in the order of first use."""
        sums: dict[str, ToolSums] = {}
        for cell in self.cells:
            sums.setdefault(cell.tool, ToolSums()).add(cell)
        return sums
