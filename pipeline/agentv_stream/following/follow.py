"""Follows many sessions in rounds: finds new files (finding.py), reads, writes, puts to rest (resting.py).

Synchronous, one `round` after the other; the caller decides when (tail.py). Only active sessions are in memory (`hot`);
of the others only a path with its last signature, and a row in the cursors. A failing session never stops the others:
it is dropped from memory and read again from its last commit when the cause may be gone. A session that shows a bug is
read again after a restart.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import ToolResult
from agentv_stream.following.companions import Companions
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.finding import Finding
from agentv_stream.following.follow_plan import Counts, Plan
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.forgetting import Forgetting
from agentv_stream.following.growing import OpenFiles
from agentv_stream.following.growing_output import ShortOutput
from agentv_stream.following.known_files import KnownFile
from agentv_stream.following.register import SHARE, Register, Trouble
from agentv_stream.following.repair import Repair
from agentv_stream.following.resting import Resting
from agentv_stream.following.rotation import Rotation
from agentv_stream.following.service_log import Say
from agentv_stream.following.settling import end_partials
from agentv_stream.following.stored import Stores
from agentv_stream.outputs.naming import DEFAULT_ROOT, TRANSCRIPT

if TYPE_CHECKING:
    from agentv_stream.following.actions import Actions
    from agentv_stream.following.standings import Standings

BUDGET = 8 * 1024 * 1024  # bytes of one session per round, so that a huge one does not delay the others


class Counting(Listener):
    """Counts records, events, calls and faults."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def observe(self, session: Followed, batch: Batch) -> None:
        counts = self._counts
        counts.records += len(batch.records)
        counts.events += len(batch.events)
        for fault in batch.faults:
            if fault.part in ("whole", "begin"):
                counts.faults[fault.reason] = counts.faults.get(fault.reason, 0) + 1
        for event in batch.events:
            if isinstance(event, ToolResult) and not event.partial and event.call is not None:
                counts.calls.add((event.call.tool or event.call.name, event.outcome or "ok"))


class Follower:
    """See the module. `store` None: nothing is remembered between runs. `emit` takes lines of merged events.

    `clock` returns monotonic seconds, which decide when sessions rest, are committed and retried. `wall_ms` returns UTC
    milliseconds, which decide when sessions whose logs are gone are forgotten.
    """

    def __init__(
        self,
        plan: Plan,
        store: CursorStore | None,
        say: Say,
        emit: Callable[[bytes], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        actions: "Actions | None" = None,
        standings: "Standings | None" = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.plan, self.store, self.say, self.clock = plan, store, say, clock
        register = self._register = Register(plan, store, say, emit, clock)
        self.counts, self.standings = register.counts, standings
        self.listeners = register.shared.listeners  # further ones may be appended
        own = (Counting(self.counts), standings, actions, *listeners)
        self.listeners += [listener for listener in own if listener is not None]
        self.last_growth = self.clock()
        self.stopping = False  # set from another thread: the round ends after the session that is being read
        self.warm: dict[str, float] = {}  # files that grew recently, with the time
        self._rotation, self._companions = Rotation(register), Companions(register)
        self._finding = Finding(register, self._rotation, self._companions)
        self.repair = Repair(register)
        self._resting = Resting(register, self._companions, self.repair, actions, standings, lambda: self.stopping)
        self._forgetting = Forgetting(register, wall_ms)

    @property
    def entries(self) -> dict[str, KnownFile]:
        """The known files, by path."""
        return self._register.known.entries

    @property
    def hot(self) -> OrderedDict[int, Followed]:
        """The sessions in memory."""
        return self._register.hot

    @property
    def taken(self) -> dict[str, int]:
        """The transcripts that have a session."""
        return self._register.places.taken

    @property
    def troubles(self) -> dict[int, Trouble]:
        """The sessions that wait to be retried."""
        return self._register.troubles

    @property
    def files(self) -> OpenFiles:
        return self._register.files

    @property
    def stores(self) -> Stores:
        return self._register.stores

    def commit(self, sessions: list[Followed], force: bool = False) -> None:
        """Writes cursors, as `Register.commit`."""
        self._register.commit(sessions, force)

    @property
    def new_sessions(self) -> bool:
        """Whether a scan will find sessions that a round without one has seen; False again after it."""
        return self.stores.appeared

    def delay(self) -> float:
        """Seconds until the next round has something to do that this one had to leave; infinite for nothing."""
        return self.stores.delay()

    # --- rounds

    def begin(self) -> None:
        """Reads the cursors and repairs sessions that a crash interrupted. Raises: CursorError."""
        if self.store is None:
            return
        for row in self.store.sessions():
            whole = row.settled
            if not self.plan.means(row.main, row.provider):
                self._register.known.apart.update((log.path, row.id) for log in row.inputs)
                if row.outputs is not None:
                    self.taken[str(row.outputs.path(TRANSCRIPT))] = row.id
                continue
            self._register.ids.name(row.main, row.dialect, row.native, row.id)
            if row.outputs is not None:
                self.taken[str(row.outputs.path(TRANSCRIPT))] = row.id
            self._register.remember(row)
            if self.standings is not None:
                self.standings.begin(row)
            if not self.plan.files:
                continue
            if not whole:
                self._unsettled(row.id)
            elif row.outputs is not None:
                self.repair.begin(row.id, row.outputs)
        self._forgetting.begin()

    def _unsettled(self, number: int) -> None:
        session = self._register.wake(number)
        if session is not None:
            session.unsettled = True
            self._register.due.add(number)  # its last line may be unfinished: cursors stop at a line end
            if session.outputs is not None:
                session.outputs.settled = True  # the remains of a crash are cut off

    def round(self, scan: bool = True) -> bool:
        """Examines the files (all, or only those that grew recently), processes new data, commits due sessions.

        Returns whether anything was read. Raises: nothing but bugs, and BrokenPipeError of `emit`.
        """
        self.counts.rounds += 1
        self._finding.begin_round()
        before = self.counts.bytes
        if scan:
            self.stores.appeared = False
            for n, number in enumerate(self._finding.scan()):
                if self.stopping:
                    return True
                self._advance(number)
                if n % 32 == 31:  # thousands may be found at once
                    self._read_all(self._resting.rest())
        todo = dict.fromkeys(self._register.due)
        self._register.due.clear()
        self._register.due |= self._rotation.moved
        self._rotation.moved.clear()
        paths: Iterable[str] = list(self.entries) if scan else dict.fromkeys((*self.warm, *self.stores.changed()))
        for path in paths:
            number = self._finding.changed(path, self._register.known.found.get(path) if scan else None)
            if number:
                todo[number] = None
        now = self.clock()
        for number, trouble in list(self.troubles.items()):
            if trouble.on_trial:
                continue
            if now >= trouble.retry_at:
                todo[number] = None
            else:
                todo.pop(number, None)
        for number in todo:
            if self.stopping:
                return True
            self._advance(number)
        self._look_beside_all()
        self._read_all(self._resting.rest())
        if scan:
            self._forgetting.look(self._finding.missing)
            self.repair.look()
        for path, when in list(self.warm.items()):
            if now - when > 600:
                del self.warm[path]
        return self.counts.bytes > before

    def finish(self, all_read: bool) -> None:
        """Puts everything to rest, at the end; with `all_read` also looks for companions, and reads the files found.

        Raises: as `round`.
        """
        if all_read:
            self._look_beside_all(at_once=True)
        self.settle_all()
        while all_read and self.backlog:  # also companions of a document, which is known only now
            self.round(False)
            self.settle_all()

    def end_partials(self) -> None:
        """After `finish`: nothing will be read any more, so unfinished parts are taken as is. Raises: as `round`."""
        for session in list(self.hot.values()):
            try:
                end_partials(session)
            except BrokenPipeError:
                raise
            except Exception as error:
                self._register.trouble(session.number, error)

    def settle_all(self) -> None:
        """At the end: settles everything as if finished, and commits it. Raises: as `round`."""
        self._read_all(self._resting.settle_all())

    def look_around(self, seconds: float) -> bool:
        """Lists files for about `seconds`, for the next round that scans; returns whether all are listed."""
        return self._finding.listing.go_on(seconds)

    @property
    def backlog(self) -> bool:
        """Whether there is more to read right now."""
        return bool(self._register.due or self._rotation.moved)

    @property
    def store_trouble(self) -> str | None:
        """Why the cursors cannot be written; None if they can."""
        return self._register.store_trouble

    # --- one session

    def _read_all(self, steps: Iterator[int]) -> None:
        """Reads on in each session that another part asks for, before that part continues."""
        for number in steps:
            self._advance(number)

    def _is_handed_over(self, session: Followed) -> bool:
        """Whether a session that has grown turned out to be a part of another one."""
        steps = self._finding.decided(session)
        while True:
            try:
                number = next(steps)
            except StopIteration as end:
                return bool(end.value)
            self._advance(number)

    def _advance(self, number: int) -> None:
        session = self._register.wake(number)
        if session is None:
            return
        try:
            if not self.repair.may_write(session):
                return
            grown = self._read(session)
            self._register.read_again(session)
            if grown and self._is_handed_over(session):
                return
        except BrokenPipeError:
            raise
        except ShortOutput:
            self.repair.lost(number, quietly=False)
            return
        except Exception as error:
            self._register.trouble(number, error)
            return
        if grown:
            self._register.native(session)
            times = self._register.times[number]
            now = self.clock()
            self.last_growth = times.grown_at = now
            times.unlooked = True
            for log in session.files.inputs:
                self.warm[log.path] = now
            self._look_beside(session)

    def _look_beside(self, session: Followed, at_once: bool = False) -> None:
        """Looks for new companions of a session that has grown, if it is time to, or `at_once`."""
        times, now = self._register.times[session.number], self.clock()
        if not times.unlooked or (now < times.companions_at and not at_once):
            return
        times.unlooked = False
        added = self._companions.add(session)
        times.companions_at = now + max(2.0, (self.clock() - now) * SHARE)
        if added:
            self._advance(session.number)  # other files there may be copies of these

    def _look_beside_all(self, at_once: bool = False) -> None:
        for session in list(self.hot.values()):
            if session.number in self.hot and not self._register.blocked(session.number):  # it may be part of another
                self._look_beside(session, at_once)

    def _read(self, session: Followed) -> bool:
        """Reads every file of the session, as far as the budget allows."""
        left = BUDGET
        now_ms = time.time_ns() // 1_000_000
        for log in list(session.files.inputs):
            if log.state in ("copy", "done"):
                continue
            change, readable = log.file.look(), True
            if change not in ("same", "grown"):
                self.counts.changes[change] = self.counts.changes.get(change, 0) + 1
                readable = self._rotation.handle(session, log, change)
            entry = self.entries.get(log.path)
            if log.state == "done" or entry is None or (change == "gone" and entry.gone):
                continue
            if left > 0 and readable:
                got = session.read(log, now_ms, left)
                left -= got
                self.counts.bytes += got
            entry.signature = log.file.signature
            if change != "gone":
                entry.gone = log.gone = False
            if session.recognition.given_up:
                entry.kind = "refused"
                session.unsettled = False
                session.dirty = True
                self.files.close(log.file)
                break
            if log.file.backlog:
                self._register.due.add(session.number)
        return left < BUDGET

    def pass_over(self, paths: Iterable[str]) -> None:
        """These files are not followed, until `take_up`."""
        self._register.known.apart.update(dict.fromkeys(paths, 0))

    def take_up(self, paths: Iterable[str]) -> None:
        """These files are followed from now on: the next scan finds them as new."""
        for path in paths:
            self._register.known.apart.pop(path, None)
            entry = self.entries.get(path)
            if entry is not None and entry.kind == "ignored" and not entry.number:
                del self.entries[path]

    def caught_up(self) -> None:
        """Reports that all existing logs are read; from now on the beginning of each session is reported."""
        self._register.ids.caught_up()
        where = {"outputs": str(self.plan.settings.out or DEFAULT_ROOT / "logs")} if self.plan.files else {}
        self.say("caught up", sessions=self.sessions_known, **where)

    def close(self) -> None:
        """Releases everything."""
        for session in list(self.hot.values()):
            self._register.drop(session)
        self.files.close_all()

    @property
    def sessions_known(self) -> int:
        """Number of followed sessions, in memory or not; files that may not be logs do not count."""
        numbers = {entry.number for entry in list(self.entries.values()) if entry.kind == "input"}
        return len(numbers & self._register.ids.recognised)

    def no_logs(self) -> list[str]:
        """Files given by name whose contents match no known dialect, or another agent's."""
        recognised = self._register.ids.recognised
        found = [(path, self.entries.get(path)) for path in self.plan.paths]
        return [
            path
            for path, entry in found
            if entry is not None and entry.kind in ("input", "ignored", "refused") and entry.number not in recognised
            if entry.signature is not None and entry.signature.size
        ]

    def lag(self) -> tuple[int, float]:
        """Bytes in files that have not been read and committed, and the age of the oldest of them in seconds.

        For a blocked session, they are the bytes after its last commit.
        """
        total, oldest = 0, 0.0
        unread = [
            (log.file.backlog, log.file.signature.mtime_ns)
            for number, session in list(self.hot.items())
            if number not in self.troubles
            for log in list(session.files.inputs)
            if log.file.signature is not None
        ]
        for trouble in list(self.troubles.values()):  # not in memory, or only to be read again
            for path, read in list(trouble.read.items()):
                with suppress(OSError):
                    stat = os.stat(path)  # noqa: PTH116 - at each look at the metrics
                    unread.append((stat.st_size - read, stat.st_mtime_ns))
        for size, mtime_ns in unread:
            if size > 0:
                total += size
                oldest = max(oldest, time.time() - mtime_ns / 1e9)
        return total, max(0.0, oldest)
