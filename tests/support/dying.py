"""Work that dies in its middle: a task that kills its worker, an import that kills itself."""

import os
import signal
from pathlib import Path
from typing import Any

from agentv_stream.bulk import Outcome, import_sessions
from agentv_stream.bulk.unit import Report, Task


def die_on_three(task: Task) -> int:
    """How many units a task has; one with the unit at position 3 ends its process."""
    if any(unit.position == 3 for unit in task.units):
        os.kill(os.getpid(), signal.SIGKILL)
    return len(task.units)


def import_all(source: Path, out: Path, **options: Any) -> Outcome:
    """Every output of a folder of sessions, gone on with where an earlier import stopped."""
    options.setdefault("engine", "serial")
    return import_sessions(
        [source], transcripts=out / "t", jsonl=out / "s.jsonl", parquet=out / "d", workers=2, resume=True, **options
    )


def import_and_die(source: Path, out: Path, reports: int) -> None:
    """An import that kills its process after so many reports, or at its end."""
    seen = 0

    def count(report: Report, task: Task) -> None:
        nonlocal seen
        seen += 1
        if seen >= reports:
            os.kill(os.getpid(), signal.SIGKILL)

    import_all(source, out, on_report=count)
    os.kill(os.getpid(), signal.SIGKILL)
