"""Groups units into tasks: several small sessions each, big files first, so that no core works alone at the end."""

from collections.abc import Sequence

from agentv_stream.bulk.unit import Task, Unit

TASK_BYTES = 16 * 1024 * 1024
MOST_UNITS = 256
SHARE = 8  # minimum of tasks per worker, if there are that many units


def make_tasks(units: Sequence[Unit], workers: int, first_number: int = 0) -> list[Task]:
    """Tasks in the order in which to do them; each unit in one task, neighbours together.

    Neighbours share a folder and a day, so a worker lists the folder once and writes to few partitions.
    """
    total = sum(unit.size for unit in units)
    most_bytes = min(TASK_BYTES, max(1, total // (workers * SHARE)))
    most_units = min(MOST_UNITS, max(1, len(units) // (workers * SHARE)))
    groups: list[list[Unit]] = []
    group: list[Unit] = []
    held = 0
    for unit in units:
        if group and (held + unit.size > most_bytes or len(group) >= most_units):
            groups.append(group)
            group, held = [], 0
        group.append(unit)
        held += unit.size
    if group:
        groups.append(group)
    tasks = [Task(first_number + i, tuple(group)) for i, group in enumerate(groups)]
    return sorted(tasks, key=lambda task: (-task.size, task.number))


def one_by_one(task: Task) -> list[Task]:
    """The task divided into one task per unit."""
    return [Task(task.number, (unit,)) for unit in task.units]
