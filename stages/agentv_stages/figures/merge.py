"""Summaries of many sessions that can be merged in any order and grouping, with the same outcome.

In: the observations of one session, and its source. Out: a `Summary`: figures by group, and the sessions' sequences of
tools, sorted by (source, position). All sums are of integers (money in 1e-12 dollars), because the sum of floats
depends on their order.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from agentv_stages.figures.counters import OUTCOMES, ToolSums
from agentv_stages.figures.result import Observer, has_drifted
from agentv_stages.model.event import FAILED_OUTCOMES
from agentv_stages.model.times import iso
from agentv_stages.model.tokens import FIELDS, PICO, Tokens, pico

By: TypeAlias = Literal["all", "provider"]
MOST_SEQUENCE = 100_000
UNKNOWN = "unknown"
WEB_SEARCHES = "web_searches"
MOST_USD = 1e12  # no session costs that much; a larger figure is not a cost


class TokenSums(Struct):
    """Sums of tokens; `sums` lacks a field that no session reports."""

    sums: dict[str, int] = {}
    unsure: int = 0

    def add(self, tokens: Tokens) -> None:
        """Adds the tokens of one session."""
        for name in (*FIELDS, WEB_SEARCHES):
            value = getattr(tokens, name)
            if value is not None:
                self.sums[name] = self.sums.get(name, 0) + value
        self.unsure += tokens.unsure

    def merge(self, other: "TokenSums") -> None:
        """Adds the other's sums."""
        _add(self.sums, other.sums)
        self.unsure += other.unsure

    def as_json(self) -> dict[str, int | None]:
        """In the form of a result's `tokens`."""
        out: dict[str, int | None] = {name: self.sums.get(name) for name in FIELDS}
        if self.unsure and out["output"] is not None:
            out["output_at_least"] = out["output"]
            out["output"] = None
        return out


class Figures(Struct):
    """The totals of a group of sessions. `duration_ms` is of the `timed` ones. Costs are in 1e-12 dollars: reported by
    the agents of the `costed` ones, estimated for the `estimated` ones. `as_json` has dollars."""

    sessions: int = 0
    records: int = 0
    events: int = 0
    turns: int = 0
    tool_calls: int = 0
    edits: int = 0
    edited: int = 0  # sessions with an edit
    duration_ms: int = 0
    timed: int = 0  # sessions whose duration is known
    drifted: int = 0  # sessions with more than 1 % of records of unknown types
    cost_pico: int = 0
    costed: int = 0  # sessions whose agent reported its cost
    estimated_pico: int = 0
    estimated: int = 0
    filled_pico: int = 0  # the part of the estimates of sessions whose agent reported no cost
    filled: int = 0
    tokens: TokenSums = field(default_factory=TokenSums)
    by_status: dict[str, int] = {}
    by_kind: dict[str, int] = {}
    by_outcome: dict[str, int] = {}
    faults: dict[str, int] = {}
    silent: dict[str, int] = {}  # by figure: sessions that have answers but do not report it
    tools: dict[str, ToolSums] = {}

    def merge(self, other: "Figures") -> None:
        """Adds the other's figures."""
        for name in _NUMBERS:
            count = getattr(other, name)
            if count:  # most are 0
                setattr(self, name, getattr(self, name) + count)
        self.tokens.merge(other.tokens)
        for name in _COUNTS:
            counts = getattr(other, name)
            if counts:
                _add(getattr(self, name), counts)
        for tool, sums in other.tools.items():
            mine = self.tools.get(tool)
            if mine is None:
                mine = self.tools[tool] = ToolSums()
            mine.merge(sums)

    def as_json(self) -> dict[str, Any]:
        """The public form; what no session reports is null."""
        return {
            "sessions": self.sessions,
            "turns": self.turns,
            "tool_calls": self.tool_calls,
            "edits": self.edits,
            "sessions_with_edits": self.edited,
            "records": self.records,
            "events": self.events,
            "duration_ms": self.duration_ms if self.timed else None,
            "tokens": self.tokens.as_json(),
            "web_searches": self.tokens.sums.get(WEB_SEARCHES),
            "cost_usd": self.cost_pico / PICO if self.costed else None,
            "sessions_with_cost": self.costed,
            **self._estimate(),
            "by_status": _sorted(self.by_status),
            "by_kind": _sorted(self.by_kind),
            "by_outcome": _sorted(self.by_outcome),
            "faults": _sorted(self.faults),
            "sessions_not_telling": self._silent(),
            "tools": {name: self.tools[name].as_json() for name in sorted(self.tools)},
        }

    @property
    def failed_calls(self) -> int:
        """Calls that failed, were denied or were cancelled."""
        return sum(self.by_outcome.get(outcome, 0) for outcome in FAILED_OUTCOMES)

    def whole(self, name: str) -> bool:
        """Whether every session with an answer reports the figure, so that the sum is exact and not a lower bound."""
        return not self.silent.get(name)

    def tokens_told(self, name: str) -> tuple[int | None, bool]:
        """A sum of tokens (None where no session reports it), and whether it is exact."""
        unsure = name == "output" and self.tokens.unsure
        return self.tokens.sums.get(name), self.whole(name) and not unsure

    def _silent(self) -> dict[str, int]:
        silent = _sorted(self.silent)
        if not self.estimated:
            silent.pop(ESTIMATE, None)
        return silent

    def _estimate(self) -> dict[str, Any]:
        if not self.estimated:
            return {}
        return {
            "estimated_cost_usd": self.estimated_pico / PICO,
            "sessions_with_estimate": self.estimated,
            "unreported_cost_usd": self.filled_pico / PICO,
        }


_NUMBERS = (
    "sessions",
    "records",
    "events",
    "turns",
    "tool_calls",
    "edits",
    "edited",
    "duration_ms",
    "timed",
    "drifted",
    "cost_pico",
    "costed",
    "estimated_pico",
    "estimated",
    "filled_pico",
    "filled",
)
_COUNTS = ("by_status", "by_kind", "by_outcome", "faults", "silent")
ESTIMATE = "estimated_cost_usd"


class Sequence(Struct, frozen=True, order=True):
    """The tools of one session's main stream, in the order requested."""

    source: str
    position: int
    tools: tuple[str, ...]


class Summary(Struct):
    """Figures by group, and the sequences sorted by (source, position), cut after 100,000 calls in all.

    `below` has the groups within each group, if there are two groupings. `whole` has the figures of all sessions where
    they are not the sums of the groups, because a session has parts in several of them.
    """

    groups: dict[str, Figures] = {}
    sequences: list[Sequence] = []
    truncated: bool = False
    below: dict[str, dict[str, Figures]] = {}
    whole: Figures | None = None

    def merge(self, other: "Summary") -> None:
        """Adds another summary; `other` is not changed and shares nothing with this one afterwards."""
        if self.whole is not None or other.whole is not None:
            self.whole = self.total()
            self.whole.merge(other.total())
        for name, groups in other.below.items():
            below = self.below.setdefault(name, {})
            for key, figures in groups.items():
                below.setdefault(key, Figures()).merge(figures)
        for key, figures in other.groups.items():
            mine = self.groups.get(key)
            if mine is None:
                mine = self.groups[key] = Figures()
            mine.merge(figures)
        if other.sequences or other.truncated:
            self.sequences, cut = _first(sorted([*self.sequences, *other.sequences]))
            self.truncated = self.truncated or other.truncated or cut

    def total(self) -> Figures:
        """All sessions together."""
        out = Figures()
        if self.whole is not None:
            out.merge(self.whole)
            return out
        for figures in self.groups.values():
            out.merge(figures)
        return out


def _first(sequences: list[Sequence]) -> tuple[list[Sequence], bool]:
    """The first entries of sorted sequences, and whether any were cut: those would also be cut in any larger union."""
    kept: list[Sequence] = []
    room = MOST_SEQUENCE
    for sequence in sequences:
        if room <= 0:
            return kept, True
        if len(sequence.tools) > room:
            kept.append(Sequence(sequence.source, sequence.position, sequence.tools[:room]))
            return kept, True
        kept.append(sequence)
        room -= len(sequence.tools)
    return kept, False


def figures_of(observer: Observer, open_calls: int, estimated_usd: float | None = None) -> Figures:
    """The figures of one session, once all its batches were observed. The caller owns the returned object."""
    facts, totals, statistics = observer.facts, observer.totals, observer.stats.figures
    out = Figures(1, facts.records, facts.events, observer.stats.turns)
    out.by_status[observer.facts_observer.status(observer.dialect.has_end, open_calls)] = 1
    tokens = totals.tokens()
    out.tokens.add(tokens)
    out.faults = dict(observer.counters.faults)
    out.drifted = int(has_drifted(observer.counters.unknown, facts.records))
    duration, cost = totals.duration_ms, totals.cost_usd
    if duration is not None:
        out.duration_ms, out.timed = duration, 1
    if cost is not None and abs(cost) < MOST_USD:
        out.cost_pico, out.costed = pico(cost), 1
    if estimated_usd is not None:
        out.estimated_pico, out.estimated = pico(estimated_usd), 1
    if out.turns:
        figures = {name: getattr(tokens, name) for name in FIELDS}
        figures |= {"duration_ms": duration, "cost_usd": cost, ESTIMATE: estimated_usd}
        out.silent = {name: 1 for name, value in figures.items() if value is None}
    out.tools = statistics.tools()
    answered = 0
    for cell in statistics.cells:
        out.tool_calls += cell.calls
        out.edits += cell.edits
        out.by_kind[cell.kind] = out.by_kind.get(cell.kind, 0) + cell.calls
        for outcome in OUTCOMES[:-1]:
            count = cell.outcomes.get(outcome, 0)
            if count:
                out.by_outcome[outcome] = out.by_outcome.get(outcome, 0) + count
                answered += count
    if out.tool_calls > answered:
        out.by_outcome["unpaired"] = out.tool_calls - answered
    out.edited = 1 if out.edits else 0
    return out


def day_of(started_ms: int | None) -> str:
    """`2026-01-31`, UTC; `unknown` where there is no time."""
    return UNKNOWN if started_ms is None else str(iso(started_ms))[:10]


def summary_of(
    observer: Observer,
    open_calls: int,
    source: str,
    position: int = 0,
    by: By = "all",
    *,
    sequences: bool = False,
    estimated_usd: float | None = None,
) -> Summary:
    """The summary of one session, in a group for all sessions or for its provider's."""
    group = observer.provider.name if by == "provider" else by
    out = Summary({group: figures_of(observer, open_calls, estimated_usd)})
    tools = observer.stats.sequence
    if sequences and len(tools):
        out.sequences.append(Sequence(source, position, tuple(tools.tools().whole())))
        out.truncated = "tool_sequence" in observer.stats.figures.truncated
    return out


def _add(mine: dict[str, int], other: dict[str, int]) -> None:
    for name, count in other.items():
        mine[name] = mine.get(name, 0) + count


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
