"""Runs commands in interleaved rounds and takes wall time, processor time and peak memory of each from the kernel.

Rounds go A B C, A B C, …: a noisy neighbour or a warm cache then touches all alike, and ratios stay true where absolute
times do not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# ru_maxrss counts kilobytes on Linux, bytes on macOS.
_LAUNCH = Path(__file__).with_name("launch.py")
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Program:
    """One thing to measure. `before` runs untimed before each round, to clear what the last one left."""

    name: str
    command: Sequence[str]
    before: Callable[[], None] | None = None
    environment: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    accepted: tuple[int, ...] = (0,)
    """Exit codes that count as done."""


@dataclass(frozen=True)
class Run:
    """One measured run. Seconds, bytes."""

    wall: float
    processor: float
    """User and system time of the process and its waited-for children."""
    peak: int
    """Largest resident set of one process among them."""
    code: int


@dataclass
class Series:
    """All runs of one program. A series with a failure has no figures."""

    program: Program
    runs: list[Run] = field(default_factory=lambda: list[Run]())
    failure: str | None = None

    @property
    def wall(self) -> float:
        """Median seconds."""
        return statistics.median(run.wall for run in self.runs)

    @property
    def processor(self) -> float:
        """Median seconds."""
        return statistics.median(run.processor for run in self.runs)

    @property
    def peak(self) -> int:
        """Median bytes."""
        return int(statistics.median(run.peak for run in self.runs))

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.program.name,
            "command": [Path(word).name if word.startswith("/") else word for word in self.program.command],
            "failure": self.failure,
            "runs": [vars(run) for run in self.runs],
        }


def run_once(program: Program, log: Path) -> Run:
    """Runs the command to its end; its output goes to `log`."""
    if program.before is not None:
        program.before()
    usage = log.with_suffix(".usage")
    usage.unlink(missing_ok=True)
    command = [sys.executable, "-I", "-S", str(_LAUNCH), str(usage), str(log), *program.command]
    started = subprocess.run(command, env={**os.environ, **program.environment}, capture_output=True, text=True)
    if not usage.exists():
        raise OSError(started.stderr.strip().splitlines()[-1:] or "could not be started")
    wall, processor, peak, code = usage.read_text().split()
    return Run(float(wall), float(processor), int(peak) * _RSS_UNIT, int(code))


def interleave(programs: Sequence[Program], rounds: int, folder: Path, *, warm_up: bool = True) -> list[Series]:
    """Measures all programs, round by round. A program that fails is left out of later rounds and keeps the reason."""
    folder.mkdir(parents=True, exist_ok=True)
    all_series = [Series(program) for program in programs]
    for number in range(-1 if warm_up else 0, rounds):
        for series in all_series:
            if series.failure is not None:
                continue
            log = folder / (series.program.name.replace(" ", "_").replace("/", "_") + ".log")
            try:
                run = run_once(series.program, log)
            except OSError as error:
                series.failure = str(error)
                continue
            if run.code not in series.program.accepted:
                last = log.read_text(errors="replace").strip().splitlines()[-1:]
                series.failure = f"exit {run.code}: {' '.join(last)[:200]}"
            elif number >= 0:
                series.runs.append(run)
            print(f"  round {number + 1:>2}  {series.program.name:<44} {run.wall:8.3f} s", file=sys.stderr, flush=True)
    return all_series
