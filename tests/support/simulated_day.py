"""Hours of following, on a clock that is set: logs that grow and rotate, a full disk, restarts and crashes; a data set
beside the usual outputs, and metrics that are scraped once a minute.

    day = SimulatedDay(folder, logs=200, hours=24, restarts=20)
    day.run()
    day.wrong()    # what is not as it must be; empty if all is

In the end every record is in the results once, the data set is that of an import of the same files, no file is open
that was not at the beginning, and memory has not grown since the first quarter, in which the disk is full for the first
time: as long as cursors cannot be written, sessions stay in memory.
"""

import gc
import gzip
import json
import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

from agentv_stream.bulk.feeding import Order
from agentv_stream.following.dataset_feed import BatchProcess, DatasetFeed, StartedBatch
from agentv_stream.following.follow_plan import Counts
from agentv_stream.following.metrics_page import metrics_text
from agentv_stream.following.running import Running
from agentv_stream.following.session_metrics import SessionMetrics
from agentv_stream.outputs.naming import RESULT
from support.datasets import imported, rows_of
from support.following import Desk, catch_up
from support.growing_logs import claude_records

STEP_SECONDS = 60.0
HOUR_STEPS = 60
FULL_STEPS = 10  # that a full disk lasts at most
WARM_SHARE = 4  # of the hours, one in so many warms up
SETTLE_SECONDS = 5.0
EPOCH = 1_700_000_000


class GrowingLog:
    """One log, and the files that it was rotated into. Every change sets a modification time of its own."""

    def __init__(self, path: Path, session: str) -> None:
        self.path, self.session = path, session
        self.turns = self.records = self.calls = 0
        self.rotated: list[Path] = []

    def grow(self, seconds: float) -> None:
        """A prompt, an answer and its call."""
        lines = claude_records(self.session, 1, start=4 * self.turns, seed=self.turns)
        with self.path.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))
        self._stamp(seconds)
        self.turns, self.records, self.calls = self.turns + 1, self.records + len(lines), self.calls + 1

    def rotate(self, kind: str, seconds: float) -> None:
        """The file is renamed, or renamed and packed, or copied and emptied; the log goes on in a new one."""
        place = self.path.with_name(f"{self.path.name}.{len(self.rotated) + 1}")
        if kind == "copied":
            shutil.copy2(self.path, place)
            self.path.write_bytes(b"")
        else:
            self.path.rename(place)
        if kind == "packed":
            packed = place.with_name(f"{place.name}.gz")
            packed.write_bytes(gzip.compress(place.read_bytes()))
            place.unlink()
            place = packed
        self.rotated.append(place)
        self.grow(seconds)

    def _stamp(self, seconds: float) -> None:
        os.utime(self.path, (EPOCH + seconds, EPOCH + seconds))


class SimulatedDay:
    """See the module. `start` begins a batch of the data set, `every` are the seconds between two."""

    def __init__(
        self,
        folder: Path,
        logs: int,
        hours: int,
        restarts: int,
        seed: int = 0,
        start: Callable[[Order], StartedBatch] = BatchProcess,
        every: float = 600.0,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.folder, self.hours, self.tell = folder, hours, tell
        self.rng = random.Random(seed)
        self.now = 1000.0
        self.desk = Desk(folder / "live", lambda: self.now)
        self.dataset = folder / "dataset"
        names = [f"{n:08d}-0000-4000-8000-{seed:012d}" for n in range(logs)]
        self.logs = [GrowingLog(self.desk.logs / f"{name}.jsonl", name) for name in names]
        steps = hours * HOUR_STEPS
        self.restarts = {round((n + 1) * steps / (restarts + 1)): n % 3 == 1 for n in range(restarts)}  # True: crashes
        self.full = {first + n for first in (steps // 6, steps * 5 // 8) for n in range(min(FULL_STEPS, steps // 20))}
        self.begin_within = max(1, steps // WARM_SHARE // 2)  # steps until all logs have begun
        self.start, self.every = start, every
        self.memory: list[int] = []  # kilobytes at the end of each hour
        self.handles: list[int] = []  # open when no follower is
        self.batches = self.sessions = self.counted_records = self.counted_calls = 0
        self.exact = self.unequal = 0  # stretches between clean ends, and those in which counters are wrong
        self._before = (0, 0)
        self._clean = True
        self._open()

    # --- the follower

    def _open(self) -> None:
        gc.collect()
        self.handles.append(_handles())
        self.running = Running(sessions=SessionMetrics())
        assert self.running.sessions is not None
        self.follower = self.desk.follower(settle_seconds=SETTLE_SECONDS, listeners=[self.running.sessions])
        self.running.sessions.in_use = lambda: {*self.follower.hot, *self.follower.troubles}
        order = Order(dataset=str(self.dataset), sync=False)
        self.feed = DatasetFeed(self.follower, order, self.desk.say, lambda: self.now, self.every, self.start)

    def _close(self, crash: bool) -> None:
        if not crash:
            while self.follower.troubles:  # it waits before it tries again what a full disk has stopped
                self.now += STEP_SECONDS
                self.follower.round()
            catch_up(self.follower)
            self.follower.finish(False)
            self._count()
        self._clean = not crash
        self.feed.close()
        counts = self.follower.counts
        self.counted_records += counts.records
        self.counted_calls += _calls(counts)
        self.batches, self.sessions = self.batches + self.feed.batches, self.sessions + self.feed.sessions
        self.follower.close()
        self.desk.close()
        self.desk.emitted.clear()
        self.desk.said.clear()
        self._before = self._written()

    def _count(self) -> None:
        """Compares the follower's counters with what was written since the last clean end, if nothing was read twice
        in between: after a crash, or a full disk, reading begins at the last commit."""
        if not self._clean:
            return
        counts = self.follower.counts
        records, calls = (now - then for now, then in zip(self._written(), self._before, strict=True))
        self.exact += 1
        self.unequal += (counts.records, _calls(counts)) != (records, calls)

    def _written(self) -> tuple[int, int]:
        """The records and calls of all logs."""
        return sum(log.records for log in self.logs), sum(log.calls for log in self.logs)

    # --- the day

    def run(self) -> None:
        for step in range(self.hours * HOUR_STEPS):
            self.now += STEP_SECONDS
            self._write(step)
            self._follow(step in self.full)
            if step in self.restarts:
                self._close(crash=self.restarts[step])
                self._open()
            metrics_text(self.follower, self.running)
            if step % HOUR_STEPS == HOUR_STEPS - 1:
                gc.collect()
                self.memory.append(_resident_kb())
                self.tell(
                    f"hour {len(self.memory)}: {self.memory[-1] // 1024} MB, {self._written()[0]} records, "
                    f"{self.batches + self.feed.batches} batches, {_handles()} handles"
                )
        self.now += self.every + 60.0
        self._follow(False)
        catch_up(self.follower)
        self.follower.finish(True)
        self.feed.finish()
        self._close(crash=False)
        gc.collect()
        self.handles.append(_handles())

    def _write(self, step: int) -> None:
        begun = min(len(self.logs), 1 + step * len(self.logs) // self.begin_within)
        for number, log in enumerate(self.rng.sample(self.logs[:begun], min(begun, 4))):
            seconds = self.now + number / 10
            if log.records and self.rng.random() < 0.02:
                log.rotate(self.rng.choice(("renamed", "packed", "copied")), seconds)
            else:
                log.grow(seconds)
        for log in self.logs[:begun]:
            if not log.records:
                log.grow(self.now + 0.5)

    def _follow(self, full: bool) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        if full:  # no file gets longer, of this process or of a batch
            self._clean = False
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            self.follower.round()
            self.now += SETTLE_SECONDS + 1.0
            self.follower.round()
            self.feed.look()
            if self.feed.batch is not None:
                assert self.feed.batch.wait(300.0)
                self.feed.look()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    # --- what must hold

    def wrong(self, most_growth_kb: int = 10 * 1024) -> list[str]:
        """What is not as it must be."""
        found: list[str] = []
        records, calls = self._written()
        results = [json.loads(path.read_bytes()) for path in self.desk.out.glob(f"*{RESULT}")]
        told = sum(result["records"] for result in results)
        used = sum(result["tool_use_summary"]["total_tool_calls"] for result in results)
        if (told, used) != (records, calls):
            found.append(f"the results have {told} records and {used} calls of {records} and {calls}")
        if self.unequal:
            found.append(f"counters are wrong in {self.unequal} of {self.exact} stretches between clean ends")
        if self.counted_records < records:
            found.append(f"{self.counted_records} records were counted of {records}")
        if len(set(self.handles)) > 1:
            found.append(f"handles stay open: {self.handles}")
        if self.growth_kb > most_growth_kb:
            found.append(f"memory grew by {self.growth_kb} KB after it was warm: {self.memory}")
        rotated = [path for log in self.logs for path in log.rotated]
        expected = imported([self.desk.logs, *rotated], self.folder / "once")
        rows = rows_of(self.dataset)
        for table, all_rows in expected.items():
            lacking, more = all_rows - rows[table], rows[table] - all_rows
            if lacking or more:
                found.append(f"{table}: {lacking.total()} rows lack, {more.total()} are too many: {list(more)[:1]}")
        return found

    @property
    def growth_kb(self) -> int:
        """The growth of memory after the first hours."""
        warm = self.memory[max(0, len(self.memory) // WARM_SHARE - 1) :]
        return max(warm) - warm[0]


def _calls(counts: Counts) -> int:
    return round(sum(number for _, number in counts.calls.series()))


def _handles() -> int:
    """The open files of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024
