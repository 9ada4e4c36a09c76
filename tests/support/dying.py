"""Work that is killed midway: a task that kills its worker, an import that kills its process."""

import os
import signal
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agentv_stream.bulk import Outcome, gathered, import_sessions, session_outputs
from agentv_stream.bulk.unit import Report, Task


def die_on_three(task: Task) -> int:
    """The number of units of a task; a task with the unit at position 3 kills its process."""
    if any(unit.position == 3 for unit in task.units):
        os.kill(os.getpid(), signal.SIGKILL)
    return len(task.units)


def import_all(source: Path, out: Path, **options: Any) -> Outcome:
    """Writes every output of a folder of sessions, continuing where an earlier import stopped."""
    options.setdefault("engine", "serial")
    return import_sessions(
        [source],
        transcripts=out / "t",
        trajectories=out / "a",
        jsonl=out / "s.jsonl",
        parquet=out / "d",
        workers=2,
        resume=True,
        **options,
    )


def import_and_die(source: Path, out: Path, reports: int) -> None:
    """An import that kills its process after a number of reports, or at its end."""
    seen = 0

    def count(report: Report, task: Task) -> None:
        nonlocal seen
        seen += 1
        if seen >= reports:
            os.kill(os.getpid(), signal.SIGKILL)

    import_all(source, out, on_report=count)
    os.kill(os.getpid(), signal.SIGKILL)


def import_and_die_at_close(source: Path, out: Path) -> None:
    """An import that kills its process when it closes the first transcript, a part of which is on disk."""
    gathered.WRITE_BYTES = 1
    session_outputs.SessionOutputs.close = lambda self, observer: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    import_all(source, out)


def halve_messages(over: int, then: Callable[[], object]) -> None:
    """From now on this process sends only the beginning of a longer message, and then calls a function."""
    whole = Connection._send_bytes  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]

    def send(self: Any, data: memoryview) -> None:
        if len(data) <= over:
            whole(self, data)
            return
        os.write(self.fileno(), struct.pack("!i", len(data)) + bytes(data[:1000]))
        then()

    Connection._send_bytes = send  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def die() -> None:
    """Kills the process, as the system does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_answer(number: int) -> bytes:
    """Returns a long answer; the worker is killed while it sends that of number 3."""
    if number == 3:
        halve_messages(100_000, die)
    return bytes(200_000)


def stop_in_answer(noted: Path) -> bytes:
    """Sends only the first half of an answer, then creates a file and stops."""

    def stop() -> None:
        noted.touch()
        signal.pause()

    halve_messages(100_000, stop)
    return bytes(200_000)
