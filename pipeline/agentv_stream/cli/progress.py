"""Progress of bulk work in a terminal: a bar with rate, time left, faults; nothing elsewhere."""

import sys
from types import TracebackType
from typing import Any

from agentv_stream.bulk.unit import Report, Task


class Progress:
    """A context manager; `found` and `report` are the callbacks for bulk functions."""

    def __init__(self, quiet: bool) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._faults = 0
        self._failed = 0
        self.sessions, self.of = 0, 0  # read, and to be read
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def found(self, sessions: int, size: int) -> None:
        """The run begins: this many sessions and bytes are to be read."""
        self.of = sessions
        if not self._wanted or not size:
            return
        from rich import progress
        from rich.console import Console

        self._bar = progress.Progress(
            progress.TextColumn("{task.fields[sessions]} sessions"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[trouble]}"),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )
        self._task = self._bar.add_task("", total=size, sessions=f"0/{sessions}", trouble="")
        self._bar.start()

    def report(self, report: Report, task: Task) -> None:
        """One more task is done."""
        self.sessions += len(report.done)
        if self._bar is None:
            return
        for done in report.done:
            self._faults += sum(done.faults.values())
            self._failed += done.damage is not None or (done.error is not None and not done.unit.in_folder)
        trouble = [f"{count:,} {noun}" for count, noun in ((self._faults, "faults"), (self._failed, "failed")) if count]
        self._bar.update(
            self._task, advance=task.size, sessions=f"{self.sessions:,}/{self.of:,}", trouble=", ".join(trouble)
        )
