"""Many attempts: each case with each target, several times, some at once. Out: how each of them ended.

Each attempt is a process of its own (`agentv-stream run`), so that it has its own memory, signals and limits.
"""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Literal, TypeAlias

import anyio
import anyio.abc
import msgspec
from msgspec import Struct

from agentv_stream.errors import EXIT_FINE, EXIT_RUN, EXIT_VERDICT
from agentv_stream.live.signals import heeded
from agentv_stream.running.attempts import free_attempt, stem_of

Ended: TypeAlias = Literal["pass", "fail", "error", "waiting", "running", "not started"]
_FAILED = frozenset(("error", "incomplete", "interrupted", "stalled", "killed"))


class _Verdict(Struct):
    verdict: str = ""


class _Run(Struct, frozen=True):
    stopped: str | None = None


class _Stored(Struct):
    """The members of a stored result that decide how an attempt ended."""

    status: str
    run: _Run = _Run()
    verdicts: list[_Verdict] = []
    cost_usd: float | None = None


_decode = msgspec.json.Decoder(_Stored).decode


@dataclass
class Attempt:
    """One attempt. `arguments` are those of its process, `prompt` None if the command holds it. `errors` are the last
    lines of its standard error."""

    case: str
    target: str
    number: int
    arguments: tuple[str, ...]
    prompt: str | None = None
    ended: Ended = "waiting"
    exit_code: int = EXIT_FINE
    cost_usd: float | None = None
    line: bytes = b""
    errors: str = ""
    earlier: bool = False

    @property
    def done(self) -> bool:
        return self.ended in ("pass", "fail", "error")


def numbered(folder: Path, case: str, target: str, repeat: int, resume: bool) -> list[tuple[int, Ended, float | None]]:
    """The numbers of a cell's attempts, and how the already stored attempts ended.

    With `resume` they are 1 to `repeat`, otherwise the next free ones. An attempt that a signal ended is repeated.
    """
    if not resume:
        first = free_attempt(folder, case, target)
        return [(first + i, "waiting", None) for i in range(repeat)]
    found: list[tuple[int, Ended, float | None]] = []
    for number in range(1, repeat + 1):
        stored = _stored(folder / f"{stem_of(case, target, number)}.json")
        if stored is None or stored.run.stopped == "signal":
            found.append((number, "waiting", None))
        else:
            found.append((number, _ending(stored), stored.cost_usd))
    return found


def _stored(path: Path) -> _Stored | None:
    try:
        return _decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _ending(stored: _Stored) -> Ended:
    if stored.status in _FAILED and stored.run.stopped != "fail-fast":
        return "error"
    return "fail" if any(verdict.verdict == "fail" for verdict in stored.verdicts) else "pass"


def exit_code_of(ended: Ended) -> int:
    """The exit code of an attempt of an earlier run."""
    return {"fail": EXIT_VERDICT, "error": EXIT_RUN}.get(ended, EXIT_FINE)


class Matrix:
    """Runs attempts, at most `workers` at once. `changed` is called whenever one begins or ends.

    A first signal is passed to the running agents, and no further attempt begins. `most_usd` bounds the sum of costs:
    once it is reached, no further attempt begins.
    """

    def __init__(
        self,
        attempts: Sequence[Attempt],
        folder: Path,
        workers: int,
        changed: Callable[[Attempt], None],
        most_usd: float | None = None,
    ) -> None:
        self.attempts = attempts
        self.signalled: int | None = None
        self._folder = folder
        self._workers = workers
        self._changed = changed
        self._most_usd = most_usd
        self._processes: list[anyio.abc.Process] = []

    @property
    def spent_usd(self) -> float:
        """The sum of the costs that attempts reported, earlier ones included."""
        return sum(attempt.cost_usd or 0.0 for attempt in self.attempts)

    async def run(self) -> None:
        """Runs every attempt that waits."""
        waiting = iter([attempt for attempt in self.attempts if attempt.ended == "waiting"])
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        async with heeded(self._interrupt, signals), anyio.create_task_group() as tasks:
            for _ in range(self._workers):
                tasks.start_soon(self._work, waiting)
        for attempt in self.attempts:
            if attempt.ended == "waiting":
                attempt.ended = "not started"

    async def _work(self, waiting: Iterator[Attempt]) -> None:
        for attempt in waiting:
            if self.signalled is not None or (self._most_usd is not None and self.spent_usd >= self._most_usd):
                return
            await self._attempt(attempt)

    async def _attempt(self, attempt: Attempt) -> None:
        attempt.ended = "running"
        self._changed(attempt)
        words = [sys.executable, "-m", "agentv_stream", "run", *attempt.arguments]
        done = b"", b""
        async with await anyio.open_process(words, stdin=DEVNULL, start_new_session=True) as process:
            self._processes.append(process)
            try:
                done = await _outputs(process)
                attempt.exit_code = await process.wait()
            finally:
                self._processes.remove(process)
        attempt.line, attempt.errors = done[0], done[1].decode("utf-8", "replace").strip()
        stored = _stored(self._folder / f"{stem_of(attempt.case, attempt.target, attempt.number)}.json")
        attempt.ended = "error" if stored is None else _ending(stored)
        attempt.cost_usd = None if stored is None else stored.cost_usd
        self._changed(attempt)

    def _interrupt(self, number: int) -> None:
        self.signalled = number
        for process in self._processes:
            process.send_signal(signal.Signals(number))


async def _outputs(process: anyio.abc.Process) -> tuple[bytes, bytes]:
    """Everything that the process prints, on both channels."""
    parts: dict[str, bytes] = {}

    async def read(name: str, stream: anyio.abc.ByteReceiveStream | None) -> None:
        parts[name] = b"".join([data async for data in stream]) if stream is not None else b""

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, "out", process.stdout)
        tasks.start_soon(read, "errors", process.stderr)
    return parts["out"], parts["errors"]
