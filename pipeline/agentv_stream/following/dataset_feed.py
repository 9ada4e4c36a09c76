"""`tail --parquet`: has the sessions at rest written into a data set, in batches, each by a process of its own.

The data set's own state says what it holds, so nothing about it is in the cursors: a start after a crash compares all
followed logs with it (`bulk/feeding.py`).
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import msgspec
from msgspec.structs import replace

from agentv_stages.model.batch import Batch
from agentv_stream.bulk.feeding import Delivery, Order
from agentv_stream.following.follow import Follower
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.service_log import Say

EVERY_SECONDS = 60.0  # at least, between two batches
SHARE = 20  # and so many times as long as the last batch took
LONGEST_WAIT = 60.0  # before a failed batch is tried again
PATIENCE_SECONDS = 30.0  # at the end, for a data set that another import holds
END_SECONDS = 1.0  # for a batch that is to stop
_MOST_NAMED = 10_000  # logs that cannot be read, each named once


class StartedBatch(Protocol):
    """A batch at work."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most so long."""
        ...

    def delivery(self) -> Delivery:
        """The outcome of a batch that has ended."""
        ...

    def end(self) -> None:
        """Ends it, wherever it is in its work."""
        ...


class BatchProcess:
    """A batch in a process of its own. Raises: OSError if that cannot be started."""

    def __init__(self, order: Order) -> None:
        data = msgspec.msgpack.encode(order)
        self.process = subprocess.Popen(  # -P: a folder that an agent works in holds no modules of ours
            [sys.executable, "-P", "-m", "agentv_stream.bulk.feeding", str(len(data))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError:
            self.end()
            raise

    def wait(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def delivery(self) -> Delivery:
        assert self.process.stdout is not None
        try:
            return msgspec.msgpack.decode(self.process.stdout.read(), type=Delivery)
        except (msgspec.MsgspecError, OSError):
            return Delivery(error=f"the process that wrote it ended with {self.process.returncode}")
        finally:
            self._close()

    def end(self) -> None:
        self.process.terminate()
        if not self.wait(END_SECONDS):
            self.process.kill()
            self.process.wait()
        self._close()

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class DatasetFeed(Listener):
    """Call `look` between rounds, `finish` at the end, and `close`. All are called by one thread at a time.

    `order` has the data set and the options; the logs are the follower's. `clock` returns monotonic seconds,
    `start` begins a batch.
    """

    def __init__(
        self,
        follower: Follower,
        order: Order,
        say: Say,
        clock: Callable[[], float] = time.monotonic,
        every: float = EVERY_SECONDS,
        start: Callable[[Order], StartedBatch] = BatchProcess,
    ) -> None:
        self._follower, self._order, self._say, self._clock = follower, order, say, clock
        self._every, self._start = every, start
        self.batch: StartedBatch | None = None  # at work
        self._changed: set[int] = set()  # sessions with new records since the last batch began
        self._all = True  # whether all are to be compared with the data set
        self._changes = 0
        self._began = self._next = clock()
        self._wait = 0.0  # before the next try, after a failure
        self._named: set[str] = set()
        self.trouble: str | None = None  # why the last batch failed
        self.batches = self.sessions = 0  # written so far
        follower.listeners.append(self)

    def observe(self, session: Followed, batch: Batch) -> None:
        self._changed.add(session.number)

    def look(self) -> None:
        """Takes the outcome of a batch that has ended, and begins the next one if it is due."""
        if self.batch is not None and not self._taken(0.0):
            return
        if self._clock() >= self._next and self._is_due():
            self._begin()

    def _is_due(self) -> bool:
        """Whether a session that rests has changed since the last batch."""
        changes = sum(self._follower.counts.changes.values())
        self._all, self._changes = self._all or changes != self._changes, changes
        if self._all:
            return True
        hot = self._follower.hot
        return any(number not in hot or not hot[number].unsettled for number in self._changed)

    def finish(self) -> None:
        """Everything was read and settled: writes what is missing, and waits for it, unless the follower stops."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._follower.stopping:
            if self.batch is None:
                if not self._is_due():
                    return
                if self.trouble is not None:
                    if time.monotonic() > deadline:
                        return
                    time.sleep(min(self._wait, 1.0))
                self._begin()
            else:
                self._taken(0.2)

    def close(self) -> None:
        """Ends a batch that runs; the next start does it again."""
        batch, self.batch = self.batch, None
        if batch is not None:
            batch.end()

    def _begin(self) -> None:
        follower = self._follower
        busy = [session for session in list(follower.hot.values()) if session.unsettled]
        followed = [path for path, entry in follower.entries.items() if entry.kind in ("input", "copy")]
        order = replace(
            self._order,
            places=_encoded([*(root.path for root in follower.plan.roots), *follower.plan.paths]),
            followed=_encoded(followed),
            busy=_encoded([log.path for session in busy for log in session.files.inputs]),
        )
        self._began = self._clock()
        self._changed, self._all = {session.number for session in busy}, False
        try:
            self.batch = self._start(order)
        except OSError as error:
            self._failed(str(error))

    def _taken(self, seconds: float) -> bool:
        """Takes the outcome of the batch if it has ended, after at most so long; returns whether it has."""
        batch = self.batch
        if batch is None or not batch.wait(seconds):
            return False
        delivery, self.batch = batch.delivery(), None
        if delivery.error is not None:
            self._failed(delivery.error)
            return True
        if self.trouble is not None:
            self._say("the data set is written again", path=self._order.dataset)
        self.trouble, self._wait = None, 0.0
        self.batches += 1
        self.sessions += delivery.sessions
        now = self._clock()
        self._next = now + max(self._every, (now - self._began) * SHARE)
        for source, error in delivery.failures:
            if source not in self._named and len(self._named) < _MOST_NAMED:
                self._named.add(source)
                self._say("not in the data set", path=source, error=error)
        return True

    def _failed(self, error: str) -> None:
        if error != self.trouble:
            self._say("the data set cannot be written", path=self._order.dataset, error=error)
        self.trouble, self._all = error, True
        self._wait = min(LONGEST_WAIT, max(1.0, 2 * self._wait))
        self._next = self._clock() + self._wait


def _encoded(paths: list[str]) -> list[bytes]:
    return [os.fsencode(path) for path in paths]
