"""The sessions in memory: opened, restored from their cursors, committed, dropped, and retried when they are blocked.

Only active sessions are in memory (`hot`); of the others only a path with its last signature, and a row in the cursors.
"""

import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Literal

import msgspec

from agentv_stream.errors import AgentvStreamError, SinkError
from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.cursors import CursorStore, SessionRow
from agentv_stream.following.folder_lock import FolderInUse
from agentv_stream.following.follow_plan import Counts, Plan
from agentv_stream.following.followed import Followed, Shared
from agentv_stream.following.growing import OpenFiles, holds
from agentv_stream.following.known_files import KnownFile, KnownFiles, KnownSessions
from agentv_stream.following.placing import Placing
from agentv_stream.following.service_log import Say
from agentv_stream.following.stored import Stores, is_stored
from agentv_stream.outputs.durable import sync_paths
from agentv_stream.outputs.naming import TRANSCRIPT

SHARE = 50  # a commit or a settle that took 1 s is not repeated for this many seconds


@dataclass(slots=True)
class Trouble:
    """Why a session cannot continue, when it is retried (seconds of the follower's clock), after what wait.

    A session that agentv-stream failed on by a bug is set aside: it is retried only after a restart (`math.inf`).
    `read` says how far its files are read in its last commit, in bytes.
    `at_rest`: it could be read, but not put to rest. Reading it again then solves nothing yet (`on_trial`).
    """

    text: str
    retry_at: float
    wait: float
    at_rest: bool = False
    on_trial: bool = False
    read: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True)
class Times:
    """Times of a session in memory, by the follower's clock in seconds: when it grew, and when each task is due."""

    grown_at: float = 0.0
    companions_at: float = 0.0
    unlooked: bool = False  # it has grown since its companions were looked for
    commit_at: float = 0.0
    settle_at: float = 0.0


class Register:
    """See the module. `store` None: nothing is remembered between runs."""

    def __init__(
        self,
        plan: Plan,
        store: CursorStore | None,
        say: Say,
        emit: Callable[[bytes], None] | None,
        clock: Callable[[], float],
    ) -> None:
        self.plan, self.store, self.say, self.clock = plan, store, say, clock
        self.known = KnownFiles()
        self.ids = KnownSessions(say)
        self.hot: OrderedDict[int, Followed] = OrderedDict()
        self.times: defaultdict[int, Times] = defaultdict(Times)
        self.due: set[int] = set()  # sessions to examine in the next round, even if their files seem unchanged
        self.troubles: dict[int, Trouble] = {}
        self.counts = Counts()
        self.places = Placing(plan, store.claims if store is not None else None, say, self.hot)
        self.shared = Shared(OpenFiles(), Stores(say), store, emit, plan)
        self.store_trouble: str | None = None  # why the cursors cannot be written
        self._last = 1

    @property
    def files(self) -> OpenFiles:
        return self.shared.files

    @property
    def stores(self) -> Stores:
        return self.shared.stores

    def _followed(self, number: int, main: str) -> Followed:
        session = Followed(number, main, self.shared)
        session.outputs = self.places.outputs_of(session)
        return session

    def open(self, path: str, mute_until: int = 0) -> Followed:
        """Begins to follow a session, given its main file."""
        session = self._followed(self._number(), path)
        session.add(path).mute_until = mute_until
        self.known.entries[path] = KnownFile(None, session.number)
        self.hot[session.number] = session
        self.ids.opened(session.number)
        return session

    def wake(self, number: int) -> Followed | None:
        """The session in memory, restored from its cursor if necessary; None if that is impossible."""
        session = self.hot.get(number)
        if session is not None:
            self.hot.move_to_end(number)
            return session
        if self.store is None:
            return None
        session = self._followed(number, "")
        try:
            row = self.store.load(number)
            if row is None:
                return None
            session.restore(row)
            if row.state is None:
                if self._replaced(row):
                    self._forget(session)
                    return None
                self._begin_again(session, row)
        except (CursorError, SinkError, FolderInUse) as error:
            self.trouble(number, error)
            return None
        except (msgspec.MsgspecError, KeyError, StopIteration) as error:
            self.say("the cursor does not fit; the session is read again", session=number, error=str(error))
            self._forget(session)
            self.due.add(self.open(session.main).number)
            return None
        except Exception as error:
            self.trouble(number, error)
            return None
        self.hot[number] = session
        return session

    def _begin_again(self, session: Followed, row: SessionRow) -> None:
        """Restarts a log that is read from its beginning at each change: its cursor has only its files, no state.

        Raises: SinkError.
        """
        session.begin_again()
        for log, kept in zip(session.files.inputs, row.inputs, strict=True):
            entry = self.known.entries.get(kept.path)
            if kept.signature is not None and not is_stored(kept.path):
                signature = log.file.read_before(kept.signature, kept.mark)
                if entry is not None and entry.signature is not None:
                    entry.signature = signature
        self.due.add(session.number)

    def _replaced(self, row: SessionRow) -> bool:
        """Whether the files of a session that has to be read from its beginning have been replaced by others."""
        live = [log for log in row.inputs if log.state in ("live", "gone") and log.mark.head_length]
        return any(not holds(self.files, log.path, log.mark) for log in live)

    def _forget(self, session: Followed) -> None:
        """Forgets a session and its files, which are then found as new, in order of time: another part is at its path.

        Raises: CursorError.
        """
        if self.store is not None:
            self.store.forget([session.number])
        self.places.release(session.number)
        self.ids.forget(session.number)
        self.known.forget(session.number)
        self.due.add(session.number)  # so that it is examined again

    def trouble(self, number: int, error: Exception, at_rest: bool = False) -> None:
        """Handles a session that cannot continue: drops it from memory, to retry from its last commit after a while.

        An `error` that is a bug sets it aside, so that the other sessions go on.
        """
        before = self.troubles.get(number)
        wait = min(30.0, 2 * before.wait) if before is not None else 0.5
        text = _error_text(error)
        session = self.hot.get(number)
        path = session.main if session else number
        if not isinstance(error, (OSError, AgentvStreamError)):
            wait = math.inf
            self.failed(path, error)
        elif before is None or before.text != text:
            self.say("blocked, nothing is committed", path=path, error=text)
        read = before.read if before is not None else dict[str, int]()  # as long as it is not in memory again
        self.troubles[number] = Trouble(text, self.clock() + wait, wait, at_rest, read=read)
        session = self.hot.pop(number, None)
        if session is None:
            return
        session.files.close()
        for log in session.files.inputs:
            if (entry := self.known.entries.get(log.path)) is not None and entry.number == number:
                del self.known.entries[log.path]
        self.troubles[number].read = {log.path: 0 for log in session.files.inputs if log.state not in ("copy", "done")}
        if session.saved:
            self._back_to_commit(session)
        else:
            trouble = self.troubles.pop(number)
            again = self._open_again(session)
            self.troubles[again.number] = trouble

    def failed(self, path: str | int, error: Exception) -> None:
        """Reports and counts a bug that a session, or a file that may be one, has shown."""
        self.counts.failures += 1
        calls = [f"{Path(call.filename).name}:{call.lineno}" for call in extract_tb(error.__traceback__)[-3:]]
        text = f"{type(error).__name__}: {error}"
        self.say(
            "failed, set aside until a restart; this is a bug",
            path=path,
            error=text,
            at=" > ".join(calls),
            level="error",
        )

    def read_again(self, session: Followed) -> None:
        """A session in trouble could be read: it has recovered, or still has to be put to rest."""
        trouble = self.troubles.get(session.number)
        if trouble is None:
            return
        if trouble.at_rest and session.unsettled:
            trouble.on_trial = True
        else:
            self.recovered(session)

    def recovered(self, session: Followed) -> None:
        """Ends the session's trouble, if it had any."""
        if self.troubles.pop(session.number, None) is not None:
            self.say("recovered", path=session.main)

    def blocked(self, number: int) -> bool:
        """Whether a session waits to be retried."""
        trouble = self.troubles.get(number)
        return trouble is not None and not trouble.on_trial

    def _open_again(self, session: Followed) -> Followed:
        """Nothing was committed: reads the session from its beginning; its main file may be rotated before that."""
        again = self.open(session.main)
        file = session.files.inputs[0].file
        if file.signature is not None and not is_stored(file.path):
            again.files.inputs[0].file.read_before(file.signature, file.mark())
        self.native(session)
        self.ids.renumber(session.number, again.number)
        return again

    def _back_to_commit(self, session: Followed) -> None:
        """Restores the files of its last commit: those joined or renamed since then are found as new."""
        assert self.store is not None
        try:
            row = self.store.load(session.number)
        except CursorError:
            row = None
        if row is not None:
            self.remember(row, again=True)
            marks = {log.path: log.mark.offset for log in row.inputs if row.state is not None}
            read = self.troubles[session.number].read
            read.update((path, marks[path]) for path in read if path in marks)
            return
        for log in session.files.inputs:
            self.known.entries[log.path] = KnownFile(None, session.number)

    def remember(self, row: SessionRow, again: bool = False) -> None:
        """Registers the files of a committed session; with `again` they are examined even if they seem unchanged."""
        files = {log.signature[:2] for log in row.inputs if log.state != "copy" and log.signature is not None}
        for log in row.inputs:
            if log.state == "done":
                continue
            kind: Literal["input", "copy", "ignored"] = "input"
            if log.state in ("copy", "other"):
                kind = "copy" if log.state == "copy" else "ignored"
            signature = None if again and kind != "copy" else log.signature
            self.known.entries[log.path] = KnownFile(signature, row.id, kind, gone=log.state == "gone")
            if kind == "copy" and log.signature is not None:
                self.known.entries[log.path].link = log.signature[:2] in files

    def _synced(self, sessions: list[Followed]) -> list[Followed]:
        """Those of the sessions whose outputs are on the disk; waits for them, all at the same time."""
        waiting = {s.number: s.outputs.unsynced if s.outputs is not None else set[Path]() for s in sessions}
        failed = sync_paths(path for paths in waiting.values() for path in paths)
        done: list[Followed] = []
        for session in sessions:
            bad = next((path for path in waiting[session.number] if path in failed), None)
            if bad is not None:
                self.trouble(session.number, SinkError(str(bad), failed[bad]))
                continue
            if session.outputs is not None:
                session.outputs.synced()
            done.append(session)
        return done

    def commit(self, sessions: list[Followed], force: bool = False) -> None:
        """Writes the cursors of sessions whose outputs are on the disk; how often depends on the cost."""
        if self.store is None:
            return
        begun = self.clock()
        due = [s for s in sessions if s.dirty and s.committable and (force or begun >= self.times[s.number].commit_at)]
        due = self._synced(due)
        if not due:
            return
        synced = (self.clock() - begun) / len(due)
        done: list[Followed] = []
        broken: list[tuple[Followed, Exception]] = []
        try:
            with self.store.database.transaction():
                for session in due:
                    at = self.clock()
                    try:
                        session.save(self.store)
                    except CursorError:
                        raise
                    except Exception as error:
                        broken.append((session, error))
                        continue
                    done.append(session)
                    self.times[session.number].commit_at = at + max(0.25, (self.clock() - at + synced) * SHARE)
        except CursorError as error:
            if self.store_trouble != str(error):
                self.say("cursors cannot be written", error=str(error))
            self.store_trouble = str(error)
            for session in due:
                self.times[session.number].commit_at = begun + 2.0
            return
        if self.store_trouble is not None:
            self.say("cursors can be written again")
            self.store_trouble = None
        for session, bug in broken:
            self.trouble(session.number, bug)
        for session in done:
            session.note_saved()
            if session.outputs is not None and session.outputs.state is not None:
                self.places.taken[str(session.outputs.state.path(TRANSCRIPT))] = session.number
        self.counts.commits += len(done)
        self.counts.commit_seconds += self.clock() - begun

    def drop(self, session: Followed) -> None:
        """Removes the session from memory."""
        session.files.close()
        self.times.pop(session.number, None)
        self.hot.pop(session.number, None)

    def native(self, session: Followed) -> None:
        """Registers the session's own id, once it is known: further parts are recognised by it."""
        dialect = session.dialect
        if dialect is not None:
            for log in session.files.inputs:
                entry = self.known.entries.get(log.path)
                if entry is not None and entry.kind == "ignored":  # it was no log yet when it rested
                    entry.kind = "input"
            self.ids.begins(session.number, dialect.name, session.main)
        self.ids.name(session.main, dialect.name if dialect is not None else None, session.native_id, session.number)

    def _number(self) -> int:
        if self.store is not None:
            return self.store.new_id()
        self._last += 1
        return self._last


def _error_text(error: Exception) -> str:
    """An error as text for people; errors of the system come from reading a log."""
    if not isinstance(error, (OSError, AgentvStreamError)):
        return f"{type(error).__name__}: {error}"
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"cannot read {error.filename}: {error.strerror}" if error.filename is not None else error.strerror
