"""Collects the reports of tasks. In: reports, of workers and of kept figures. Out: an outcome, counted and merged.

The workers and their engine are imported when a session has to be read: they take longer than an answer from the store.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.unit import Report, Separate, Task, Unit, Work

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from agentv_stream.bulk.grouping import Grouping
    from agentv_stream.bulk.kept_figures import KeptFigures

Watch = Callable[[Report, Task], None]


@contextmanager
def reports_of(
    work: Work, units: Sequence[Unit], engine: "str | Executor" = "process", workers: int | None = None
) -> Generator[Iterator[tuple[Report, Task]]]:
    """The report of each task over all units, in any order. Raises: UsageError for an unknown engine."""
    if not units and engine == "process" and workers is None:
        yield iter(())
        return
    from agentv_stream.bulk.dispatch import enough, reports
    from agentv_stream.bulk.engine import open_engine

    with open_engine(enough(engine, units, work), workers) as crew:
        yield reports(crew, work, units)


def collect(
    reports: Iterable[tuple[Report, Task]],
    units: Sequence[Unit],
    outcome: Outcome,
    on_report: Watch | None,
    claimed: Iterable[str] = (),
    kept: "KeptFigures | None" = None,
    grouping: "Grouping | None" = None,
) -> None:
    """Counts and merges the outcomes of all units; figures that were read go to `kept`, those to be grouped to
    `grouping`.

    Units that are `claimed`, or turn out to belong to another one's session, are `parts` and do not count.
    """
    covered = set(claimed)
    separate: dict[str, Separate] = {}

    def merge(figures: Separate) -> None:
        outcome.summary.merge(figures.summary)
        if figures.session is not None and grouping is not None:
            grouping.add(figures.session)

    for report, task in reports:
        for done in report.done:
            outcome.take(done)
            covered |= done.parts
        if report.summary is not None:
            outcome.summary.merge(report.summary)
        for separated in report.separate:
            if separated.certain:
                merge(separated)
            else:
                separate[separated.name] = separated
        if kept is not None:
            kept.note(report)
        if on_report is not None:
            on_report(report, task)
    for unit in units:  # a copy of this unit belongs to another session
        if not covered.isdisjoint(unit.copies):
            covered.add(unit.name)
    for name, separated in separate.items():
        if name not in covered:
            merge(separated)
    if grouping is not None:
        outcome.summary.merge(grouping.summary)
    outcome.parts = sorted(covered.intersection(unit.name for unit in units))
    outcome.bytes -= sum(unit.size for unit in units if unit.name in covered and unit.name in separate)
    total = outcome.summary.total()
    outcome.done, outcome.records, outcome.faults = total.sessions, total.records, dict(sorted(total.faults.items()))
    outcome.others.sort()
    outcome.failures.sort(key=lambda failure: failure.source)
