"""Sends units to the workers and collects the outcomes: counted and merged, or in the order of the units."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import chain
from multiprocessing import current_process
from typing import TYPE_CHECKING

from agentv_stream.bulk.engine import Crew
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.plan import make_tasks, one_by_one
from agentv_stream.bulk.relay import fits, relay
from agentv_stream.bulk.unit import Done, Report, Separate, Task, Unit, Work
from agentv_stream.bulk.worker import do_task, read_report

if TYPE_CHECKING:
    from agentv_stream.bulk.grouping import Grouping
    from agentv_stream.bulk.kept_figures import KeptFigures  # SQLite: 5 ms that only a cache needs

SMALL_BYTES = 16 * 1024 * 1024
DIED = "the worker that read it died (out of memory?)"
Watch = Callable[[Report, Task], None]


def enough(engine: str | Executor, units: Sequence[Unit], work: Work) -> str | Executor:
    """The engine to use. One session needs no pool, unless it is large: starting a pool takes longer than reading most
    sessions. A daemonic process (a worker of a caller's pool) cannot start one."""
    if engine != "process":
        return engine
    few = len(units) <= 1 or (work.apart and _are_small(units))
    alone = few and not any(fits(work, unit) for unit in units)
    return "serial" if alone or current_process().daemon else engine


def _are_small(units: Sequence[Unit]) -> bool:
    """Whether one core has added up all before a pool has started; the sizes of sessions in stores are not known."""
    return sum(unit.size for unit in units) < SMALL_BYTES and all(unit.session is None for unit in units)


def do_all(
    crew: Crew,
    work: Work,
    units: Sequence[Unit],
    outcome: Outcome,
    on_report: Watch | None,
    claimed: Iterable[str] = (),
    kept: "KeptFigures | None" = None,
    grouping: "Grouping | None" = None,
) -> None:
    """Runs all units through the workers, except the `kept` ones; counts and merges the outcomes. Sessions whose
    figures are to be grouped go to `grouping`.

    Units that are `claimed`, or turn out to belong to another one's session, are `parts` and do not count.
    """
    covered = set(claimed)
    separate: dict[str, Separate] = {}

    def merge(figures: Separate) -> None:
        outcome.summary.merge(figures.summary)
        if figures.session is not None and grouping is not None:
            grouping.add(figures.session)

    known, waiting = ([], units) if kept is None else kept.take(units)
    for report, task in chain(known, reports(crew, work, waiting)):
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


def in_order(crew: Crew, work: Work, units: Sequence[Unit]) -> Iterator[Done]:
    """Outcomes in the order of the units, each as soon as all before it are done."""
    held: dict[int, Done] = {}
    following = 0
    for report, _ in reports(crew, work, units):
        for done in report.done:
            held[done.unit.position] = done
        while following in held:
            yield held.pop(following)
            following += 1


def reports(crew: Crew, work: Work, units: Sequence[Unit]) -> Iterator[tuple[Report, Task]]:
    """Runs all units; yields the report of each task, in any order."""
    together, separate_tasks = _large(crew, work, units)
    for number, unit in enumerate(together):
        task = Task(number, (unit,))
        report = None
        if crew.context is not None and not work.include_trace:  # a list of events is in one process
            report = relay(work, task, crew.context, crew.workers)
        if report is None:
            separate_tasks.append(unit)
        else:
            yield report, task
    tasks = make_tasks(sorted(separate_tasks, key=lambda unit: unit.position), crew.workers, len(together))
    for task, data in crew.run(partial(do_task, work), tasks, one_by_one):
        if data is None:
            done = [Done(unit=unit, error=f"{unit.name}: {DIED}", kind="SourceError") for unit in task.units]
            yield Report(task=task.number, done=done), task
        else:
            yield read_report(data), task


def _large(crew: Crew, work: Work, units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    """Units that one core would still be reading when the others have done all the rest, and the other units."""
    share = sum(unit.size for unit in units) / crew.workers
    together = [unit for unit in units if crew.workers > 1 and unit.size > share and fits(work, unit)]
    return together, [unit for unit in units if unit not in together] if together else list(units)
