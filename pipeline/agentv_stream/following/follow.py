"""Follows many sessions round by round: what is new is found (finding.py), read, written, put to rest (resting.py).

Synchronous, one `round` after the other; whoever calls it decides when (tail.py). Only sessions at work are in memory
(`hot`); of the others there is a path with its last signature, and a row in the cursors. Trouble with one session never
stops the others: it is dropped from memory and read again from its last commit when the cause may have gone.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from agentv_stages.batch import Batch
from agentv_stream.discovery.discover import RememberingFolder
from agentv_stream.discovery.places import Found
from agentv_stream.errors import AgentvStreamError, SinkError
from agentv_stream.following.cursors import CursorError, CursorStore, SessionRow
from agentv_stream.following.finding import Finding
from agentv_stream.following.follow_outputs import TRANSCRIPT
from agentv_stream.following.follow_plan import (
    Counts,
    Entry,
    Plan,
)
from agentv_stream.following.followed import Followed, Makes
from agentv_stream.following.growing import OpenFiles
from agentv_stream.following.growing_output import ShortOutput
from agentv_stream.following.merged import MergedEvents
from agentv_stream.following.placing import make_outputs
from agentv_stream.following.resting import SHARE, Resting
from agentv_stream.following.rotation import Rotation
from agentv_stream.following.stored import Stores, is_stored

Say = Callable[..., None]
BUDGET = 8 * 1024 * 1024  # bytes of one session per round, so that a huge one does not hold up the others


class Follower:
    """See the module. `store` None: nothing is remembered between runs. `emit` takes lines of merged events.

    `clock` gives monotonic seconds: by it sessions rest, are committed and tried again.
    """

    def __init__(
        self,
        plan: Plan,
        store: CursorStore | None,
        say: Say,
        emit: Callable[[bytes], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.plan = plan
        self.store = store
        self.say = say
        self.emit = emit
        self.entries: dict[str, Entry] = {}
        self.hot: OrderedDict[int, Followed] = OrderedDict()
        self.counts = Counts()
        self.troubles: dict[int, tuple[str, float, float]] = {}  # session: what, retry at, wait (monotonic seconds)
        self.store_trouble: str | None = None
        self.files = OpenFiles()
        self.stores = Stores(say)
        self.taken: dict[str, int] = {}  # transcript path: session
        self.last_growth = self.clock()
        self.warm: dict[str, float] = {}  # files that grew lately, with the time
        self.found: dict[str, Found] = {}
        self.grown_at: dict[int, float] = {}
        self.companions_at: dict[int, float] = {}
        self.folder = RememberingFolder()
        self._next = 1
        self.due: set[int] = set()
        self.rotation = Rotation(self)
        self.finding = Finding(self)
        self.resting = Resting(self)
        self.commit, self.settle_all = self.resting.commit, self.resting.settle_all
        self.observers: list[Callable[[Followed, Batch], None]] = [self._count]
        self.makes = Makes(
            self.files, self.stores, lambda session: make_outputs(self, session), self._make_merged, self._seen,
            plan.settings.watch, plan.settings.max_record, plan.only, plan.cases, plan.specs, self.observers,
        )  # fmt: skip

    # --- rounds

    def begin(self) -> None:
        """Reads the cursors; sessions that a crash left in the middle are put in order. Raises: CursorError."""
        if self.store is None:
            return
        for row in self.store.sessions():
            whole = row.settled
            self.rotation.native(row.main, row.dialect, row.native, row.id)
            if row.outputs is not None:
                path = row.outputs.path(TRANSCRIPT)
                self.taken[str(path)] = row.id
                try:
                    whole = whole and path.stat().st_size == row.outputs.settled
                except FileNotFoundError:
                    pass  # removed by somebody: made again when the session goes on
                except OSError:
                    whole = False  # nobody knows what stands there
            for one in row.inputs:
                if one.state == "done":
                    continue
                kind: Literal["input", "copy", "ignored"] = "input"
                if one.state in ("copy", "other"):
                    kind = "copy" if one.state == "copy" else "ignored"
                self.entries[one.path] = Entry(one.signature, row.id, kind)
            if not whole and self.plan.files:
                self._unsettled(row.id)

    def _unsettled(self, number: int) -> None:
        session = self.wake(number)
        if session is not None:
            session.unsettled = True
            self.due.add(number)  # its last line may be unfinished: no cursor goes past a line end
            if session.outputs is not None:
                session.outputs.settled = True  # what a crash left there is cut

    def round(self, scan: bool = True) -> bool:
        """Looks at the files (all, or only those that grew lately), works off what is new, commits what is due.

        True when something was read. Raises: nothing but bugs, and BrokenPipeError of `emit`.
        """
        self.counts.rounds += 1
        self.folder = RememberingFolder()
        before = self.counts.bytes
        if scan:
            self.finding.scan()
        todo = dict.fromkeys(self.due)
        self.due.clear()
        paths: Iterable[str] = list(self.entries) if scan else list(self.warm)
        for path in paths:
            number = self.finding.changed(path, self.found.get(path) if scan else None)
            if number:
                todo[number] = None
        now = self.clock()
        for number, (_, retry_at, _) in list(self.troubles.items()):
            if now >= retry_at:
                todo[number] = None
            else:
                todo.pop(number, None)
        for number in todo:
            self.advance(number)
        self.resting.rest()
        for path, when in list(self.warm.items()):
            if now - when > 600:
                del self.warm[path]
        return self.counts.bytes > before

    def look_around(self, seconds: float) -> bool:
        """Lists files for about so long, for the next round that scans; whether all are listed."""
        return self.finding.listing.go_on(seconds)

    @property
    def backlog(self) -> bool:
        """Whether there is more to read right now."""
        return bool(self.due)

    def open(self, path: str, mute_until: int = 0) -> Followed:
        """Begins to follow a session by its main file."""
        session = Followed(self._number(), path, self.makes)
        session.add(path).mute_until = mute_until
        self.entries[path] = Entry(None, session.number)
        self.hot[session.number] = session
        return session

    def soon(self, number: int) -> None:
        """The session is looked at in the next round, whatever its files say."""
        self.due.add(number)

    @staticmethod
    def entry_of(session: Followed) -> Entry:
        """A file of the session, not looked at yet."""
        return Entry(None, session.number)

    # --- one session

    def wake(self, number: int) -> Followed | None:
        """The session in memory, from its cursor where it was not; None where that cannot be."""
        session = self.hot.get(number)
        if session is not None:
            self.hot.move_to_end(number)
            return session
        if self.store is None:
            return None
        session = Followed(number, "", self.makes)
        try:
            row = self.store.load(number)
            if row is None:
                return None
            session.restore(row)
            if row.state is None:
                if self._replaced(row):
                    self._forget(session)
                    return None
                session.begin_again()
                for one, kept in zip(session.inputs, row.inputs, strict=True):
                    entry = self.entries.get(kept.path)
                    if kept.signature is not None and not is_stored(kept.path):
                        signature = one.file.read_before(kept.signature, kept.mark)
                        if entry is not None and entry.signature is not None:
                            entry.signature = signature
                self.due.add(number)
        except (CursorError, SinkError) as error:
            self.trouble(number, error)
            return None
        except (msgspec.MsgspecError, KeyError, StopIteration) as error:
            self.say("the cursor does not fit; the session is read again", session=number, error=str(error))
            self._forget(session)
            self.due.add(self.open(session.main).number)
            return None
        self.hot[number] = session
        return session

    def _replaced(self, row: SessionRow) -> bool:
        """Whether other files stand where a session's stood that has to be read from its beginning."""
        live = [one for one in row.inputs if one.state == "live" and one.mark.head_length]
        return any(not self.rotation.continues(one.path, one.mark) for one in live)

    def _forget(self, session: Followed) -> None:
        """Its files are looked for anew, in the order of their times: what lies at its path is another part of it.

        Raises: CursorError.
        """
        if self.store is not None:
            self.store.forget([session.number])
        self.taken = {path: owner for path, owner in self.taken.items() if owner != session.number}
        self.rotation.forget(session.number)
        for path in [p for p, e in self.entries.items() if e.number == session.number]:
            del self.entries[path]
        self.due.add(session.number)  # so that there is another look

    def advance(self, number: int) -> None:
        session = self.wake(number)
        if session is None:
            return
        try:
            grown = self._read(session)
            if number in self.troubles:
                del self.troubles[number]
                self.say("recovered", path=session.main)
        except BrokenPipeError:
            raise
        except ShortOutput as error:
            self.say("an output lost what was committed; the session is read again", path=error.path)
            try:
                session.begin_again()
                self.due.add(number)
            except (SinkError, OSError) as again:
                self.trouble(number, again)
            return
        except (OSError, AgentvStreamError) as error:
            self.trouble(number, error)
            return
        if grown:
            dialect = session.dialect
            self.rotation.native(session.main, dialect.name if dialect else None, session.native_id, number)
            now = self.clock()
            self.last_growth = self.grown_at[number] = now
            for one in session.inputs:
                self.warm[one.path] = now
            if now >= self.companions_at.get(number, 0.0):
                self.finding.companions(session, self.folder)
                took = self.clock() - now
                self.companions_at[number] = now + max(2.0, took * SHARE)

    def _read(self, session: Followed) -> bool:
        """Every file of the session, as far as the budget goes."""
        left = BUDGET
        now_ms = time.time_ns() // 1_000_000
        for one in list(session.inputs):
            if one.state in ("copy", "done"):
                continue
            change = one.file.look()
            if change not in ("same", "grown"):
                self.counts.changes[change] = self.counts.changes.get(change, 0) + 1
                self.rotation.handle(session, one, change)
            entry = self.entries.get(one.path)
            if one.state == "done" or entry is None or (change == "gone" and entry.gone):
                continue
            if left > 0:
                got = session.read(one, now_ms, left)
                left -= got
                self.counts.bytes += got
            entry.signature, entry.gone = one.file.signature, False
            if session.given_up:
                entry.kind = "refused"
                session.unsettled = False
                session.dirty = True
                self.files.close(one.file)
                break
            if one.file.backlog:
                self.due.add(session.number)
        return left < BUDGET

    def trouble(self, number: int, error: Exception) -> None:
        """A session that cannot go on: out of memory with it, from its last commit again after a while."""
        wait = min(30.0, 2 * self.troubles[number][2]) if number in self.troubles else 0.5
        text = str(error)
        if number not in self.troubles or self.troubles[number][0] != text:
            session = self.hot.get(number)
            self.say("blocked, nothing is committed", path=session.main if session else number, error=text)
        self.troubles[number] = (text, self.clock() + wait, wait)
        session = self.hot.pop(number, None)
        if session is None:
            return
        session.close()
        for one in session.inputs:
            entry = self.entries.get(one.path)
            if entry is None:
                continue
            if session.saved:
                entry.signature = None
            else:
                del self.entries[one.path]
        if not session.saved:
            self.troubles.pop(number)
            self.rotation.forget(number)
            again = self.open(session.main)
            self.troubles[again.number] = (text, self.clock() + wait, wait)

    def close(self) -> None:
        """Lets go of everything."""
        for session in list(self.hot.values()):
            self.resting.drop(session)
        self.files.close_all()

    @property
    def sessions_known(self) -> int:
        """Sessions that are followed, in memory or not."""
        return len({entry.number for entry in list(self.entries.values()) if entry.number and entry.kind == "input"})

    def lag(self) -> tuple[int, float]:
        """Bytes that stand in files and were not read, and the age of the oldest of them in seconds."""
        total, oldest = 0, 0.0
        for session in list(self.hot.values()):
            for one in list(session.inputs):
                backlog, signature = one.file.backlog, one.file.signature
                if backlog and signature is not None:
                    total += backlog
                    oldest = max(oldest, time.time() - signature.mtime_ns / 1e9)
        return total, max(0.0, oldest)

    # --- what sessions need

    def _number(self) -> int:
        if self.store is not None:
            return self.store.new_id()
        self._next += 1
        return self._next

    def _seen(self, number: int) -> dict[bytes, int]:
        return self.store.seen(number) if self.store is not None else {}

    def _make_merged(self) -> MergedEvents | None:
        return MergedEvents(self.emit) if self.emit is not None else None

    def _count(self, session: Followed, batch: Batch) -> None:
        counts = self.counts
        counts.records += len(batch.records)
        counts.events += len(batch.events)
        for fault in batch.faults:
            if fault.part in ("whole", "begin"):
                counts.faults[fault.reason] = counts.faults.get(fault.reason, 0) + 1
        for message in batch.messages:
            for paired in message.calls:
                key = (paired.call.tool or paired.call.name, (paired.result and paired.result.outcome) or "unpaired")
                if key in counts.calls or len(counts.calls) < 1000:
                    counts.calls[key] = counts.calls.get(key, 0) + 1
