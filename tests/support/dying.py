"""Work that dies in its middle: a task that kills its worker, an import that kills itself."""

import os
import signal
import struct
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agentv_stream.bulk import Outcome, gathered, import_sessions, transcripts
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
    """An import that kills its process after so many reports, or at its end."""
    seen = 0

    def count(report: Report, task: Task) -> None:
        nonlocal seen
        seen += 1
        if seen >= reports:
            os.kill(os.getpid(), signal.SIGKILL)

    import_all(source, out, on_report=count)
    os.kill(os.getpid(), signal.SIGKILL)


def import_and_die_at_close(source: Path, out: Path) -> None:
    """An import that kills its process when the first transcript is to be closed; a part of it is on disk."""
    gathered.WRITE_BYTES = 1
    transcripts.Transcript.close = lambda self, observer: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    import_all(source, out)


def halve_messages(over: int, then: Callable[[], object]) -> None:
    """From now on this process sends only the beginning of a message that is longer, and then does something else."""
    whole = Connection._send_bytes  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType, reportAttributeAccessIssue]

    def send(self: Any, data: memoryview) -> None:
        if len(data) <= over:
            whole(self, data)
            return
        os.write(self.fileno(), struct.pack("!i", len(data)) + bytes(data[:1000]))
        then()

    Connection._send_bytes = send  # type: ignore[attr-defined]  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def die() -> None:
    """As by the system when it has no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_answer(number: int) -> bytes:
    """A long answer; the worker dies in the middle of number 3's."""
    if number == 3:
        halve_messages(100_000, die)
    return bytes(200_000)


def stop_in_answer(noted: Path) -> bytes:
    """An answer whose second half never comes; makes a file once the first one is sent."""

    def stop() -> None:
        noted.touch()
        signal.pause()

    halve_messages(100_000, stop)
    return bytes(200_000)
