"""The figures of listed sessions: kept ones, and new ones where logs changed. In: sessions. Out: figures by path."""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from agentv_stages.figures.merge import Figures, Summary
from agentv_stages.figures.session_figures import SessionFigures
from agentv_stream.bulk.collecting import reports_of
from agentv_stream.bulk.grouping import Grouping
from agentv_stream.bulk.kept_figures import KeptFigures
from agentv_stream.bulk.unit import Unit, Work, printable
from agentv_stream.discovery.period import IN_UTC
from agentv_stream.discovery.places import cache_file
from agentv_stream.stores.store import split_stored

if TYPE_CHECKING:
    from agentv_stream.costs.rates import Rates
    from agentv_stream.discovery.discover import Session


def figures_of(
    sessions: "Iterable[Session]", rates: "Rates | None" = None, cache: bool = True
) -> tuple[dict[str, Figures], list[str]]:
    """The figures of sessions by path, costs estimated by `rates`, and notes for people.

    A session that cannot be read has none; with `cache` figures that are read are kept.
    """
    names = {unit.name: (session.path, unit) for session in sessions for unit in [unit_of(session)]}
    units = [unit for _, unit in names.values()]
    work = Work(results=False, apart=True)
    kept = KeptFigures(cache_file() if cache else None, work, rates) if cache else None
    known, waiting = kept.take(units) if kept is not None else ([], units)
    found: dict[str, Figures] = {}
    with reports_of(work, waiting) as read:
        for report, _ in chain(known, read):
            if kept is not None:
                kept.note(report)
            for separate in report.separate:
                if separate.session is not None and separate.name in names:
                    found[names[separate.name][0]] = whole_figures(separate.session, rates)
    if kept is None:
        return found, []
    kept.save()
    return found, kept.notes


def whole_figures(session: SessionFigures, rates: "Rates | None") -> Figures:
    """The figures of a session, its cost estimated by `rates`."""
    grouping = Grouping(["all"], IN_UTC, estimate=None if rates is None else rates.estimate)
    grouping.add(session)
    summary: Summary = grouping.summary
    return summary.total()


def unit_of(session: "Session") -> Unit:
    """The unit that reads a listed session."""
    path, inner = split_stored(session.path)
    shown, raw = printable(path)
    if inner:
        return Unit(shown, 0, 0, session.updated_ms * 1_000_000, inner, raw=raw)
    return Unit(shown, 0, session.log_size, session.log_mtime_ns, None, True, raw)
