"""The figures of one session that can be grouped in any way: by its facts, and by the times and models of its calls.

In: an observer. Out: `SessionFigures`, which contains no texts of the session.
"""

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from agentv_stages.figures.counters import ToolSums
from agentv_stages.figures.dated import SLOT_MS, Span, ToolSpan
from agentv_stages.figures.latest import Latest
from agentv_stages.figures.merge import ESTIMATE, Figures, figures_of
from agentv_stages.figures.result import Observer
from agentv_stages.model.event import FAILED_OUTCOMES

_decode = msgspec.json.Decoder(list[Span]).decode
_encode = msgspec.json.Encoder().encode


class SessionFigures(Struct, array_like=True):
    """Facts and figures of a session; its spans as JSON, because most questions do not need them."""

    provider: str
    dialect: str
    id: str | None
    model: str | None
    cwd: str | None
    branch: str | None
    started_ms: int | None
    figures: Figures
    spans_json: Raw
    latest: Latest = field(default_factory=Latest)

    @property
    def slot(self) -> int | None:
        """The quarter of an hour in which the session began."""
        return None if self.started_ms is None else self.started_ms // SLOT_MS

    def spans(self) -> list[Span]:
        """The session's work, by time and model."""
        return _decode(self.spans_json)


def session_figures(observer: Observer, open_calls: int) -> SessionFigures:
    """The figures of a session, once all its batches were observed; without spans where the observer does not date."""
    facts, dated = observer.facts, observer.dated
    figures = figures_of(observer, open_calls)
    figures.silent.pop(ESTIMATE, None)
    return SessionFigures(
        provider=observer.provider.name,
        dialect=observer.dialect.name,
        id=facts.session_id,
        model=facts.model,
        cwd=facts.cwd,
        branch=facts.git_branch,
        started_ms=facts.started_ms,
        figures=figures,
        spans_json=Raw(b"[]" if dated is None else _encode(dated.spans(facts))),
        latest=replace(
            Latest() if dated is None else dated.state.latest,
            ended=observer.over,
            open_calls=open_calls,
            context_window=observer.totals.state.context_window,
            context_tokens=observer.totals.state.last_input,
            first_edit_turn=observer.stats.figures.first_edit_turn,
        ),
    )


def add_span(figures: Figures, span: Span) -> None:
    """Adds the work of a span."""
    figures.turns += span.turns
    figures.tokens.add(span.tokens)
    figures.cost_pico += span.tokens.cost_pico or 0
    for cell in span.tools:
        _add_calls(figures, cell)


def _add_calls(figures: Figures, cell: ToolSpan) -> None:
    figures.tool_calls += cell.calls
    figures.edits += cell.edits
    if cell.calls:
        figures.by_kind[cell.kind] = figures.by_kind.get(cell.kind, 0) + cell.calls
    answered = 0
    for outcome, count in cell.outcomes.items():
        if outcome != "unpaired":
            figures.by_outcome[outcome] = figures.by_outcome.get(outcome, 0) + count
            answered += count
    if cell.calls != answered:
        figures.by_outcome["unpaired"] = figures.by_outcome.get("unpaired", 0) + cell.calls - answered
    sums = figures.tools.get(cell.tool)
    if sums is None:
        sums = figures.tools[cell.tool] = ToolSums()
    errors = sum(cell.outcomes.get(outcome, 0) for outcome in FAILED_OUTCOMES)
    sums.merge(ToolSums(cell.calls, errors, cell.bytes_in, cell.bytes_out, cell.durations))


def add_whole(figures: Figures, session: Figures) -> None:
    """Adds what belongs to the session as a whole, and counts where it began."""
    figures.records += session.records
    figures.events += session.events
    figures.duration_ms += session.duration_ms
    figures.timed += session.timed
    figures.drifted += session.drifted
    for name, count in session.by_status.items():
        figures.by_status[name] = figures.by_status.get(name, 0) + count
    for name, count in session.faults.items():
        figures.faults[name] = figures.faults.get(name, 0) + count


def count_session(part: Figures, session: Figures) -> None:
    """Completes the part of one session in a group: the counts of sessions, which do not add up over its parts."""
    part.sessions = 1
    part.edited = 1 if part.edits else 0
    part.costed = session.costed
    for name in session.tokens.sums:
        part.tokens.sums.setdefault(name, 0)
    if part.turns:
        part.silent = dict(session.silent)
