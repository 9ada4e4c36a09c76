"""Forgets sessions whose logs have been gone for long, so that the memory of them does not grow forever.

In: the cursors, the last listing of all files. A session is gone when none of its files exists any more, but the root
above them does. The time runs from the scan that first finds it gone (wall clock), until a file is back. Forgotten
sessions are removed from cursors and memory; their outputs stay, and remain known as ours to `--keep`. Without cursors
the time is kept in memory.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from agentv_stream.following.cursor_database import CursorError
from agentv_stream.following.cursors import CursorStore, SessionRow
from agentv_stream.following.placing import KEPT
from agentv_stream.following.register import Register
from agentv_stream.following.stored import is_stored
from agentv_stream.outputs.naming import TRANSCRIPT
from agentv_stream.sources.files import is_folder, is_gone
from agentv_stream.stores.store import STORE_SIGN

LOOK_SECONDS = 3600.0  # between two checks, by the follower's clock


class Forgetting:
    """`look` is called after each listing but works only once an hour. `wall_ms` returns UTC milliseconds."""

    def __init__(self, register: Register, wall_ms: Callable[[], int]) -> None:
        self._register = register
        self._wall_ms = wall_ms
        self._look_at = register.clock()
        self._gone: dict[str, int] = {}  # main file -> since when it is known to be gone; without cursors

    def begin(self) -> None:
        """Registers the transcripts of sessions forgotten earlier. Raises: CursorError."""
        store, places = self._register.store, self._register.places.taken
        if store is None:
            return
        for path in store.claims.released():
            places.setdefault(path, KEPT)

    def look(self, missing: Iterable[str]) -> None:
        """Forgets the due sessions. Below `missing` roots nothing counts as gone. Raises: nothing."""
        register = self._register
        if register.clock() < self._look_at:
            return
        self._look_at = register.clock() + LOOK_SECONDS
        roots = tuple(root + "/" for root in missing)
        self._strangers(roots)
        if register.store is None:
            self._from_memory(roots)
            return
        forgotten: list[SessionRow] = []
        try:
            with register.store.database.transaction():
                for number in self._due(register.store, roots):
                    row = register.store.load(number)
                    if row is not None and self._may_go(row):
                        if row.outputs is not None:
                            register.store.claims.release(str(row.outputs.path(TRANSCRIPT)))
                        forgotten.append(row)
                register.store.remove(row.id for row in forgotten)
                self._drop_claims(register.store)
            register.store.database.shrink()
        except CursorError:
            return  # commits will report it; the next check is in an hour
        for row in forgotten:
            self._out_of_memory(row.id)
            register.say("forgotten: its logs have been gone for long", path=row.main)

    def _strangers(self, missing: tuple[str, ...]) -> None:
        """Forgets files without a session, or not to be followed, that no longer exist."""
        entries, found = self._register.known.entries, self._register.known.found
        old = [path for path, entry in entries.items() if not entry.number and path not in found]
        for path in old:
            if not path.startswith(missing) and not self._is_there(path):
                del entries[path]

    def _from_memory(self, missing: tuple[str, ...]) -> None:
        """The same without cursors: a session that is not in memory is not known at all."""
        register, now, limit = self._register, self._wall_ms(), self._register.plan.forget_ms
        since, self._gone = self._gone, {}
        for number, session in list(register.hot.items()):
            paths = [log.path for log in session.files.inputs]
            if any(path.startswith(missing) or self._is_there(path) for path in paths):
                continue
            begun = since.get(session.main, now)
            self._gone[session.main] = min(begun, now)  # if the clock was set back, the time starts again
            busy = number in register.troubles or number in register.due or session.unsettled
            if limit is not None and not busy and now - begun >= limit:
                if session.outputs is not None and session.outputs.state is not None:
                    register.places.taken[str(session.outputs.state.path(TRANSCRIPT))] = number
                self._out_of_memory(number)
                register.say("forgotten: its logs have been gone for long", path=session.main)

    def _due(self, store: CursorStore, missing: tuple[str, ...]) -> list[int]:
        """Records sessions that are newly gone or back; returns those that have been gone for long enough."""
        now, limit = self._wall_ms(), self._register.plan.forget_ms
        here: set[int] = set()
        known: set[int] = set()
        ask = store.database.ask
        rows = ask(
            "SELECT session.id,input.path FROM session JOIN input ON input.session=session.id WHERE consumer=?",
            store.consumer,
        )
        for number, path in rows:
            known.add(number)
            if path in self._register.known.apart:
                here.add(number)  # it may be below another root, not mounted now
            elif number not in here and (path.startswith(missing) or self._is_there(path)):
                here.add(number)
        query = "SELECT session,since_ms FROM gone WHERE session IN (SELECT id FROM session WHERE consumer=?)"
        since = dict(ask(query, store.consumer))
        for number in since.keys() & here:
            ask("DELETE FROM gone WHERE session=?", number)
        absent = sorted(known - here)
        for number in absent:
            if since.get(number, now + 1) > now:  # not recorded yet, or the clock was set back since
                ask("INSERT OR REPLACE INTO gone VALUES(?,?)", number, now)
        return [number for number in absent if limit is not None and now - since.get(number, now) >= limit]

    def _is_there(self, path: str) -> bool:
        """Whether a log exists, or may exist."""
        if path in self._register.known.found:
            return True
        if not is_stored(path):
            return not is_gone(path)
        if path.partition(STORE_SIGN)[0] in self._register.stores.troubles:
            return True
        try:
            self._register.stores.signature(path)
        except FileNotFoundError:
            return False
        return True

    def _may_go(self, row: SessionRow) -> bool:
        """Whether nothing is left to do for it: its outputs are those of a finished session, and committed."""
        register = self._register
        session = register.hot.get(row.id)
        if row.id in register.troubles or row.id in register.due:
            return False
        if session is not None and (session.dirty or session.unsettled):
            return False
        if row.outputs is None:
            return True  # it has no outputs
        try:
            return row.settled and row.outputs.path(TRANSCRIPT).stat().st_size == row.outputs.settled
        except (FileNotFoundError, NotADirectoryError):
            return row.settled  # removed, by another program or by --keep
        except OSError:
            return False

    def _drop_claims(self, store: CursorStore) -> None:
        """Drops claims to outputs that do not exist and belong to no session."""
        register = self._register
        states = (s.outputs.state for s in register.hot.values() if s.outputs is not None)
        busy = {str(state.path(TRANSCRIPT)) for state in states if state is not None}
        for path in store.claims.claimed():
            free = not register.places.taken.get(path) and path not in busy
            if free and is_folder(str(Path(path).parent)) and is_gone(path):
                store.claims.drop(path)

    def _out_of_memory(self, number: int) -> None:
        register = self._register
        session = register.hot.get(number)
        if session is not None:
            register.drop(session)
        register.ids.forget(number)
        for path in [path for path, entry in register.known.entries.items() if entry.number == number]:
            del register.known.entries[path]
        for path in [path for path, owner in register.places.taken.items() if owner == number]:
            register.places.taken[path] = KEPT
