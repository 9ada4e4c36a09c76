"""Follows many sessions: finds their files, reads what they grow by, writes outputs, commits cursors.

Synchronous, one `round` after the other; whoever calls it decides when (tail.py). Only sessions at work are in memory
(`hot`); of the others there is a path with its last signature, and a row in the cursors. Trouble with one session never
stops the others: it is dropped from memory and read again from its last commit when the cause may have gone.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec

from agentv_stages.batch import Batch
from agentv_stages.result import Observer
from agentv_stages.sinks.transcript import Identity
from agentv_stream.discovery.discover import RememberingFolder
from agentv_stream.discovery.places import Found
from agentv_stream.errors import AgentvStreamError, SinkError
from agentv_stream.files import is_there
from agentv_stream.following.cursors import CursorError, CursorStore, SessionRow
from agentv_stream.following.follow_outputs import SUFFIXES, TRANSCRIPT, FollowOutputs, ShortOutput
from agentv_stream.following.follow_plan import (
    Counts,
    Entry,
    Plan,
    left_by_crash,
    oldest_first,
    parents_first,
    place_of,
)
from agentv_stream.following.followed import Followed, Makes
from agentv_stream.following.growing import OpenFiles
from agentv_stream.following.merged import MergedEvents
from agentv_stream.following.rotation import Rotation
from agentv_stream.following.scan import Scan
from agentv_stream.following.stored import MUTE_ALL, Stores, is_stored

Say = Callable[..., None]
BUDGET = 8 * 1024 * 1024  # bytes of one session per round, so that a huge one does not hold up the others
SHARE = 50  # a commit or a settle that took a second is not repeated for so many
MOST_HOT = 128


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
        self._began = False
        self._missing: list[str] = []  # roots that are not there: their files are not deleted one by one
        self._grown_at: dict[int, float] = {}
        self._commit_at: dict[int, float] = {}
        self._settle_at: dict[int, float] = {}
        self._companions_at: dict[int, float] = {}
        self._folder = RememberingFolder()
        self._scanning = Scan(plan, self.stores)
        self._next = 1
        self._backlog: set[int] = set()
        self._rotation = Rotation(self)
        self.observers: list[Callable[[Followed, Batch], None]] = [self._count]
        self.makes = Makes(
            self.files, self.stores, self._make_outputs, self._make_merged, self._seen, plan.settings.watch,
            plan.settings.max_record, plan.only, plan.cases, plan.specs, self.observers,
        )  # fmt: skip

    # --- rounds

    def begin(self) -> None:
        """Reads the cursors; sessions that a crash left in the middle are put in order. Raises: CursorError."""
        if self.store is None:
            return
        for row in self.store.sessions():
            whole = row.settled
            self._rotation.native(row.main, row.dialect, row.native, row.id)
            if row.outputs is not None:
                path = row.outputs.path(TRANSCRIPT)
                self.taken[str(path)] = row.id
                try:
                    whole = whole and path.stat().st_size == row.outputs.settled
                except OSError:
                    whole = whole and not path.exists()  # removed by somebody: made again when the session goes on
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
            if session.outputs is not None:
                session.outputs.settled = True  # what a crash left there is cut

    def round(self, scan: bool = True) -> bool:
        """Looks at the files (all, or only those that grew lately), works off what is new, commits what is due.

        True when something was read. Raises: nothing but bugs, and BrokenPipeError of `emit`.
        """
        self.counts.rounds += 1
        self._folder = RememberingFolder()
        before = self.counts.bytes
        if scan:
            self._scan()
        todo = dict.fromkeys(self._backlog)
        self._backlog.clear()
        paths: Iterable[str] = list(self.entries) if scan else list(self.warm)
        for path in paths:
            number = self._changed(path, self.found.get(path) if scan else None)
            if number:
                todo[number] = None
        now = self.clock()
        for number, (_, retry_at, _) in list(self.troubles.items()):
            if now >= retry_at:
                todo[number] = None
            else:
                todo.pop(number, None)
        for number in todo:
            self._advance(number)
        self._rest()
        for path, when in list(self.warm.items()):
            if now - when > 600:
                del self.warm[path]
        return self.counts.bytes > before

    def look_around(self, seconds: float) -> bool:
        """Lists files for about so long, for the next round that scans; whether all are listed."""
        return self._scanning.go_on(seconds)

    @property
    def backlog(self) -> bool:
        """Whether there is more to read right now."""
        return bool(self._backlog)

    def _scan(self) -> None:
        found = self._scanning.take()
        self.found = found
        self._rotation.scanned(found)
        folder = self._folder
        self._missing = [root.path for root in self.plan.roots if not is_there(root.path)]
        new = [one for one in found.values() if one.path not in self.entries and one.main and one.signature.size]
        new = self._scanning.fresh(new)
        if new:
            self._rotation.index()
        # Names tell the time for most agents: so parents come before the sub-agents that they start.
        new.sort(key=oldest_first if self._began or self.taken else parents_first)
        for one in new:  # what was renamed, before what took its place
            self._rotation.renamed(one)
        for n, one in enumerate(new):
            if one.path in self.entries:
                continue
            number = self._new(one, folder)
            self._rotation.learn(one)
            if number:
                self._advance(number)
            if n % 32 == 31:
                self._rest()
        if any(one.path not in self.entries and not one.main for one in found.values()):
            for session in list(self.hot.values()):
                if session.number in self.hot:  # the one before may have taken it over
                    self._companions(session, folder)
        self._began = True

    def _new(self, one: Found, folder: RememberingFolder) -> int:
        """A file that nobody has seen yet; gives its session, 0 for none."""
        if self._rotation.known_elsewhere(one):
            return 0
        if self._began or self.taken:
            for session in self._near(one.path):
                if self._companions(session, folder) and one.path in self.entries:
                    return self.entries[one.path].number
        if self._rotation.further_part(one):
            return self.entries[one.path].number
        if not self.plan.wanted(one.path):
            self.entries[one.path] = Entry(one.signature, 0, "ignored")
            return 0
        if not self._began and self.plan.begin == "end" and is_stored(one.path):
            return self.open(one.path, MUTE_ALL).number  # which of its rows are old, only reading them tells
        if not self._began and self.plan.begin == "end":
            self.entries[one.path] = Entry(one.signature, 0, "end")
            return 0
        return self.open(one.path).number

    def _near(self, path: str) -> list[Followed]:
        """Sessions that a new file may be a sub-agent's of: those at work beside it, and those its folders name."""
        folder = path.rpartition("/")[0]
        near = [s for s in self.hot.values() if s.main.rpartition("/")[0] == folder]
        while folder.count("/") > 1:
            entry = self.entries.get(folder + ".jsonl")
            session = self.wake(entry.number) if entry is not None and entry.number else None
            if session is not None:
                near.append(session)
            folder = folder.rpartition("/")[0]
        return near

    def open(self, path: str, mute_until: int = 0) -> Followed:
        """Begins to follow a session by its main file."""
        session = Followed(self._number(), path, self.makes)
        session.add(path).mute_until = mute_until
        self.entries[path] = Entry(None, session.number)
        self.hot[session.number] = session
        return session

    def soon(self, number: int) -> None:
        """The session is looked at in the next round, whatever its files say."""
        self._backlog.add(number)

    @staticmethod
    def entry_of(session: Followed) -> Entry:
        """A file of the session, not looked at yet."""
        return Entry(None, session.number)

    def _companions(self, session: Followed, folder: RememberingFolder) -> bool:
        added = False
        try:
            for one in session.companions(folder):
                entry = self.entries.get(one.path)
                if entry is not None and entry.kind == "end" and entry.signature is not None:
                    one.mute_until = entry.signature.size
                elif entry is not None and entry.number:
                    self._hand_over(entry.number, one.path)
                self.entries[one.path] = Entry(None, session.number)
                self._backlog.add(session.number)
                added = True
        except (OSError, AgentvStreamError) as error:
            self._trouble(session.number, error)
        return added

    def _hand_over(self, number: int, path: str) -> None:
        """A file that was taken for a session of its own is a sub-agent's: what was written of it alone goes.

        Raises: CursorError, SinkError.
        """
        other = self.wake(number)
        if other is None:
            return
        if other.main != path:  # it was another session's copy or part
            other.inputs = [one for one in other.inputs if one.path != path]
            other.dirty = True
            return
        self.say("belongs to another session from now on", path=path)
        if other.outputs is not None and other.outputs.state is not None:
            self.taken.pop(str(other.outputs.state.path(TRANSCRIPT)), None)
            other.outputs.remove()
        self._drop(other)
        self._rotation.forget(number)
        self._backlog.discard(number)
        self.troubles.pop(number, None)
        for one in other.inputs:
            self.entries.pop(one.path, None)
        if self.store is not None and other.saved:
            self.store.forget([number])

    def _changed(self, path: str, listed: Found | None = None) -> int:
        """The session of a file that is not as it was; 0 for none. What was just listed is not looked at again."""
        entry = self.entries.get(path)
        if entry is None or entry.kind == "copy" or (listed is not None and listed.signature == entry.signature):
            return 0
        try:
            signature = self._scanning.signature(path)
        except OSError:
            if entry.gone or entry.kind != "input" or any(path.startswith(root + "/") for root in self._missing):
                return 0
            return entry.number
        if signature == entry.signature:
            return 0
        if entry.kind == "end":
            start = entry.signature.size if entry.signature is not None else 0
            return self.open(path, start if signature.size >= start else 0).number
        if entry.kind == "refused":
            if entry.signature is not None and signature.size >= entry.signature.size:
                entry.signature = signature
                return 0
            entry.kind = "input"  # it is another file by now, or was emptied
            return entry.number
        if entry.kind == "ignored":
            if not entry.number and self.plan.wanted(path):
                del self.entries[path]  # its records tell more by now; the next scan finds it anew
                return 0
            entry.signature = signature
            if entry.number and signature.size < 4 * 1024 * 1024:
                return entry.number
            return 0
        return entry.number

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
                self._backlog.add(number)
        except (CursorError, SinkError) as error:
            self._trouble(number, error)
            return None
        except (msgspec.MsgspecError, KeyError, StopIteration) as error:
            self.say("the cursor does not fit; the session is read again", session=number, error=str(error))
            self._forget(session)
            self._backlog.add(self.open(session.main).number)
            return None
        self.hot[number] = session
        return session

    def _replaced(self, row: SessionRow) -> bool:
        """Whether other files stand where a session's stood that has to be read from its beginning."""
        live = [one for one in row.inputs if one.state == "live" and one.mark.head_length]
        return any(not self._rotation.continues(one.path, one.mark) for one in live)

    def _forget(self, session: Followed) -> None:
        """Its files are looked for anew, in the order of their times: what lies at its path is another part of it.

        Raises: CursorError.
        """
        if self.store is not None:
            self.store.forget([session.number])
        self.taken = {path: owner for path, owner in self.taken.items() if owner != session.number}
        self._rotation.forget(session.number)
        for path in [p for p, e in self.entries.items() if e.number == session.number]:
            del self.entries[path]
        self._backlog.add(session.number)  # so that there is another look

    def _advance(self, number: int) -> None:
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
                self._backlog.add(number)
            except (SinkError, OSError) as again:
                self._trouble(number, again)
            return
        except (OSError, AgentvStreamError) as error:
            self._trouble(number, error)
            return
        if grown:
            dialect = session.dialect
            self._rotation.native(session.main, dialect.name if dialect else None, session.native_id, number)
            now = self.clock()
            self.last_growth = self._grown_at[number] = now
            for one in session.inputs:
                self.warm[one.path] = now
            if now >= self._companions_at.get(number, 0.0):
                self._companions(session, self._folder)
                took = self.clock() - now
                self._companions_at[number] = now + max(2.0, took * SHARE)

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
                self._rotation.handle(session, one, change)
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
                self._backlog.add(session.number)
        return left < BUDGET

    def _trouble(self, number: int, error: Exception) -> None:
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
            self._rotation.forget(number)
            again = self.open(session.main)
            self.troubles[again.number] = (text, self.clock() + wait, wait)

    # --- rest

    def _rest(self) -> None:
        """Settles and commits what is due, and lets go of what is at rest."""
        now = self.clock()
        for number, session in list(self.hot.items()):
            quiet = now - self._grown_at.get(number, 0.0) >= self.plan.settle_seconds
            due = now >= self._settle_at.get(number, 0.0) and number not in self._backlog
            here = number in self.hot  # settling another one may have taken it over
            if here and session.unsettled and number not in self.troubles and quiet and due:
                self.settle(session)
        self.commit(list(self.hot.values()))
        while len(self.hot) > MOST_HOT:
            number, session = next(iter(self.hot.items()))
            if session.unsettled:
                self.settle(session)
            self.commit([session], force=True)
            if session.dirty and self.store is not None and not session.strange and session.committable:
                break  # the cursors cannot be written: it must not be lost from memory
            self.hot.move_to_end(number)
            if self.store is None:
                break
            if not session.saved:  # nothing is known of it: it is looked at as a new one when it changes
                for one in session.inputs:
                    self.entries[one.path] = Entry(one.file.signature, 0, "ignored")
            self._drop(session)

    def _drop(self, session: Followed) -> None:
        session.close()
        for table in (self._grown_at, self._commit_at, self._settle_at, self._companions_at):
            table.pop(session.number, None)
        self.hot.pop(session.number, None)

    def settle(self, session: Followed) -> None:
        """Outputs as of a finished session."""
        begun = self.clock()
        undecided = session.chain is None
        try:
            session.settle()
            if undecided and session.chain is not None and self._companions(session, self._folder):
                self._advance(session.number)  # a document's sub-agents are known only now
                if self.hot.get(session.number) is not session:
                    return
                session.settle()
            if session.merged is not None and session.chain is not None:
                session.merged.release(at_end=True)
        except BrokenPipeError:
            raise
        except (OSError, AgentvStreamError) as error:
            self._trouble(session.number, error)
            return
        if session.strange:
            for one in session.inputs:
                self.entries[one.path] = Entry(one.file.signature, session.number, "ignored")
        took = self.clock() - begun
        self._settle_at[session.number] = begun + took * SHARE

    def settle_all(self) -> None:
        """At the end: everything as if finished."""
        for session in list(self.hot.values()):
            if session.number in self.hot and session.unsettled and session.number not in self.troubles:
                self.settle(session)
        self.commit(list(self.hot.values()), force=True)

    def commit(self, sessions: list[Followed], force: bool = False) -> None:
        """Writes the cursors of sessions whose outputs are written; how often, depends on what it costs."""
        if self.store is None:
            return
        begun = self.clock()
        due = [
            s for s in sessions if s.dirty and s.committable and (force or begun >= self._commit_at.get(s.number, 0))
        ]
        if not due:
            return
        done: list[Followed] = []
        try:
            with self.store.transaction():
                for session in due:
                    at = self.clock()
                    row, hashes = session.row()
                    self.store.put(row, hashes, session.hashes_anew)
                    done.append(session)
                    self._commit_at[session.number] = at + max(0.25, (self.clock() - at) * SHARE)
        except CursorError as error:
            if self.store_trouble != str(error):
                self.say("cursors cannot be written", error=str(error))
            self.store_trouble = str(error)
            for session in due:
                self._commit_at[session.number] = begun + 2.0
            return
        if self.store_trouble is not None:
            self.say("cursors can be written again")
            self.store_trouble = None
        for session in done:
            session.committed()
            if session.outputs is not None and session.outputs.state is not None:
                self.taken[str(session.outputs.state.path(TRANSCRIPT))] = session.number
        self.counts.commits += len(done)
        self.counts.commit_seconds += self.clock() - begun

    def close(self) -> None:
        """Lets go of everything."""
        for session in list(self.hot.values()):
            self._drop(session)
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

    def _make_outputs(self, session: Followed) -> FollowOutputs | None:
        if not self.plan.files:
            return None

        def ours(path: Path) -> bool:
            return claim(path, False) and not taken(path)

        def place(observer: Observer, named_ms: int | None) -> tuple[Path, str, Identity]:
            folder, name, identity = place_of(observer, session.main, self.plan.settings, named_ms, ours)
            for left in left_by_crash(folder, name, identity):
                if ours(left) and self.store is not None and self.store.is_made(left):
                    self.store.unmade(left)
                    self.say("what a crash left under another start is made again", path=str(left))
                    for suffix in SUFFIXES:
                        left.with_name(left.name.removesuffix(TRANSCRIPT) + suffix).unlink(missing_ok=True)
            return folder, name, identity

        def taken(path: Path) -> bool:
            if self.taken.get(str(path), session.number) != session.number:
                return True
            others = (s.outputs.state for s in self.hot.values() if s is not session and s.outputs is not None)
            return any(state is not None and state.path(TRANSCRIPT) == path for state in others)

        def claim(path: Path, take: bool) -> bool:
            return self.store is not None and self.store.claim(str(path), take)

        def made(path: Path, there: bool) -> None:
            if self.store is not None:
                self.store.made(path) if there else self.store.unmade(path)

        return FollowOutputs(place, self.plan.settings.stream_log, taken, claim, made)

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
