"""Puts sessions into groups, as a whole or split by the times and models of their calls.

In: `SessionFigures`. Out: a `Summary`. A group counts the sessions that have a part in it, so over days and models
these numbers do not add up; figures that belong to a session as a whole count where it began.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Literal, TypeAlias, get_args

from agentv_stages.figures.dated import SLOT_MS, Span
from agentv_stages.figures.merge import ESTIMATE, UNKNOWN, Figures, Summary
from agentv_stages.figures.session_figures import SessionFigures, add_span, add_whole, count_session
from agentv_stages.model.times import nearest_date_ms
from agentv_stream.discovery.period import ALWAYS, Period, Zone
from agentv_stream.discovery.project import project_root
from agentv_stream.errors import UsageError
from agentv_stream.names import suggestion

Dimension: TypeAlias = Literal[
    "all", "machine", "provider", "project", "branch", "session", "model", "tool", "hour", "day", "week", "month"
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
TIMES = ("hour", "day", "week", "month")
Key: TypeAlias = tuple[str, ...]
Estimate: TypeAlias = Callable[[SessionFigures, list[Span]], list[int] | None]
"""The estimated cost of each span in 1e-12 dollars; None where the session's cost cannot be estimated."""

_OF_SESSION: dict[str, Callable[[SessionFigures], str | None]] = {
    "all": lambda session: "all",
    "provider": lambda session: session.provider,
    "branch": lambda session: session.branch,
    "session": lambda session: session.id,
}


def dimensions_of(by: str | Sequence[str]) -> tuple[Dimension, ...]:
    """`day,model` as one or two dimensions. Raises: UsageError for an unknown or repeated one, or more than two."""
    names = by.split(",") if isinstance(by, str) else list(by)
    out: list[Dimension] = []
    for name in names:
        known: Dimension | None = next((dimension for dimension in DIMENSIONS if dimension == name.strip()), None)
        if known is None:
            raise UsageError(f"--by: unknown grouping {name.strip()!r}{suggestion(name, DIMENSIONS)}")
        out.append(known)
    if len(out) > 2 or len(set(out)) < len(out):
        raise UsageError(f"--by: expected one grouping, or two different ones such as day,model, not {','.join(names)}")
    return tuple(out)


class Grouping:
    """Collects sessions into `summary`. Tools are no groups: the figures of each group have them.

    `undated` counts the sessions that are left out because nothing says when they were, if there is a period. Without
    `needs_spans`, sessions need not be dated.
    `machine` is the name of the machine whose sessions these are.
    """

    def __init__(
        self,
        by: Sequence[Dimension],
        zone: Zone,
        period: Period = ALWAYS,
        estimate: Estimate | None = None,
        machine: str | None = None,
    ) -> None:
        self.undated = 0
        self._summary = Summary(whole=Figures())
        self._alike: dict[tuple[Key, ...], Figures] = {}  # sums of sessions that are whole in the same groups
        self._by: list[Dimension] = [dimension for dimension in by if dimension != "tool"] or ["all"]
        self._zone, self._estimate, self._machine = zone, estimate, machine
        self._since, self._until = (None if ms is None else ms // SLOT_MS for ms in (period.since_ms, period.until_ms))
        self._bounded = period != ALWAYS
        self._divided = self._bounded or any(part == "model" or part in TIMES for part in self._by)
        self.needs_spans = self._divided or estimate is not None
        self._names: dict[tuple[str, int | None], str] = {}
        self._projects: dict[str, str] = {}

    @property
    def summary(self) -> Summary:
        """The figures of all sessions so far."""
        alike, self._alike = self._alike, {}
        for keys, figures in alike.items():
            for group in (self._whole, *(self._group(key) for key in keys)):
                group.merge(figures)
        return self._summary

    @property
    def _whole(self) -> Figures:
        assert self._summary.whole is not None
        return self._summary.whole

    def add(self, session: SessionFigures) -> None:
        """Adds a session, or what of it lies in the period."""
        spans = session.spans() if self.needs_spans else []
        costs = self._estimate(session, spans) if self._estimate is not None else None
        if not self._divided:
            figures, estimated = session.figures, Figures()
            self._estimated(estimated, figures, figures.turns, costs, sum(costs or ()))
            alike = self._alike.setdefault(self._keys(session, None, None), Figures())
            alike.merge(figures)
            if self._estimate is not None:
                alike.merge(estimated)
            return
        held = [
            (span, self._keys(session, span.slot, span.model), 0 if costs is None else costs[i])
            for i, span in enumerate(spans)
            if self._holds(span.slot)
        ]
        own = self._keys(session, session.slot, session.model) if self._holds(session.slot) else ()
        used = {keys for keys in (own, *(keys for _, keys, _ in held)) if keys}
        if not used:
            self.undated += self._bounded and session.slot is None and all(span.slot is None for span in spans)
        together = len(used) == 1  # nearly every session: its part of each group is its part of the whole
        parts: dict[Key, tuple[Figures, list[int]]] = {}
        for span, keys, price in held:
            for key in ((), *(() if together else keys)):
                part, cost = parts.setdefault(key, (Figures(), []))
                add_span(part, span)
                cost.append(price)
        for key in ((), *(() if together else own)) if own else ():
            add_whole(parts.setdefault(key, (Figures(), []))[0], session.figures)
        for key, (part, cost) in parts.items():
            self._complete(part, session, costs, sum(cost))
            if not together:
                (self._group(key) if key else self._whole).merge(part)
            elif (alike := self._alike.setdefault(next(iter(used)), part)) is not part:
                alike.merge(part)

    def _complete(self, part: Figures, session: SessionFigures, costs: list[int] | None, cost: int) -> None:
        count_session(part, session.figures)
        self._estimated(part, session.figures, part.turns, costs, cost)

    def _estimated(self, part: Figures, session: Figures, turns: int, costs: list[int] | None, cost: int) -> None:
        """Adds the estimated cost of a part of a session."""
        if costs is not None:
            part.estimated, part.estimated_pico = 1, cost
            if not session.costed:
                part.filled, part.filled_pico = int(turns > 0), cost
        elif self._estimate is not None and turns:
            part.silent = {**part.silent, ESTIMATE: 1}

    def _holds(self, slot: int | None) -> bool:
        if not self._bounded or slot is None:
            return not self._bounded
        return (self._since is None or slot >= self._since) and (self._until is None or slot < self._until)

    def _group(self, key: Key) -> Figures:
        groups = self._summary.groups if len(key) == 1 else self._summary.below.setdefault(key[0], {})
        figures = groups.get(key[-1])
        if figures is None:
            figures = groups[key[-1]] = Figures()
        return figures

    def _keys(self, session: SessionFigures, slot: int | None, model: str | None) -> tuple[Key, ...]:
        """The group to which something belongs, and the group within it."""
        names = tuple(self._key(dimension, session, slot, model) for dimension in self._by)
        return (names,) if len(names) == 1 else (names[:1], names)

    def _key(self, dimension: Dimension, session: SessionFigures, slot: int | None, model: str | None) -> str:
        of_session = _OF_SESSION.get(dimension)
        if of_session is not None:
            return of_session(session) or UNKNOWN
        if dimension == "model":
            return model or UNKNOWN
        if dimension == "machine":
            return self._machine or UNKNOWN
        if dimension == "project":
            cwd = session.cwd
            if cwd is not None and cwd not in self._projects:
                self._projects[cwd] = project_root(cwd)
            return UNKNOWN if not cwd else self._projects[cwd]
        name = self._names.get((dimension, slot))
        if name is None:
            name = self._names[dimension, slot] = time_name(dimension, slot, self._zone)
        return name


def time_name(dimension: str, slot: int | None, zone: Zone) -> str:
    """The name of the hour, day, week or month; an hour is the time of its beginning in UTC: local ones may repeat."""
    if slot is None:
        return UNKNOWN
    time_ms = nearest_date_ms(slot * SLOT_MS)
    local = zone.at(time_ms)
    if dimension == "hour":
        return hour_name(time_ms - (local.minute * 60 + local.second) * 1000)
    return dated_name(dimension, local)


def dated_name(dimension: str, day: date) -> str:
    """The name of a day, or of its week or month; `strftime` writes years before 1000 in fewer digits."""
    if dimension == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    month = f"{day.year:04}-{day.month:02}"
    return f"{month}-{day.day:02}" if dimension == "day" else month


def hour_name(time_ms: int) -> str:
    """`2026-11-28T14:00Z`."""
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=nearest_date_ms(time_ms))
    return f"{moment.isoformat(timespec='minutes')}Z"
