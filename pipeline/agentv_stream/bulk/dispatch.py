"""Sends units to the workers. In: units. Out: the report of each task as it ends, or outcomes in the order of units."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from multiprocessing import current_process

from agentv_stream.bulk.engine import Crew
from agentv_stream.bulk.plan import make_tasks, one_by_one
from agentv_stream.bulk.relay import fits, relay
from agentv_stream.bulk.unit import Done, Report, Task, Unit, Work
from agentv_stream.bulk.worker import do_task, read_report

SMALL_BYTES = 16 * 1024 * 1024
DIED = "the worker that read it died (out of memory?)"


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
        if crew.context is not None and not work.include_trace and work.checks is None:  # these are in one process
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
