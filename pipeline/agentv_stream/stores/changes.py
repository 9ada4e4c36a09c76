"""Which sessions of a store have changed: a store in, again and again, the revision of each session out.

A count reads the index of every row (50 ms for half a million). So between two counts only the newest rows are read:
new rows have the largest numbers, and agents change a row soon after they added it. Deleted rows, and old ones that
were changed, show at the next count.
"""

import sqlite3
from pathlib import Path

from msgspec import Struct

from agentv_stream.stores.database import Database, Memory, text, whole
from agentv_stream.stores.opening import open_store, unread_part
from agentv_stream.stores.store import RowTable, StoredSession, without_children

MOST_KEPT = 4  # times of documents for each session
NEWEST = 128  # rows of a table that are read again at every look
_SIZES = 1 << 20
_STATES = 1 << 62


class Revision(Struct, frozen=True):
    """The state of a session with its child sessions: its number of rows, and a number that changes when one of the
    newest is written."""

    session: StoredSession
    rows: int
    state: int


class _Rows(Struct):
    """The rows of a session in one table."""

    rows: int
    state: int


class _Counted(Struct):
    last: int  # the largest number of a row
    sessions: dict[str, _Rows]


class Changes:
    """The revisions of the sessions in one store. `unread` says what of it is not read, as `unread_part`."""

    def __init__(self, path: str | Path) -> None:
        self.unread: str | None = None
        self._path = Path(path)
        self._counted: dict[str, _Counted] = {}
        self._memory: Memory = {}

    def revisions(self, count: bool = True) -> list[Revision]:
        """The sessions that are not children, each with its revision. Without `count` only the newest rows are read.

        Raises: StoreError when the store cannot be read.
        """
        with open_store(self._path, patient=False) as store:
            self.unread = unread_part(self._path, store)
            connection = store.connection
            if connection is not None:
                connection.memory = self._memory
            sessions = {session.id: session for session in store.sessions()}
            if len(self._memory) > MOST_KEPT * len(sessions):
                self._memory.clear()  # most of it is about rows that were replaced
            tables = self._tables(connection, store.row_tables, count) if connection is not None else []
        sums: dict[str, tuple[int, int]] = {}
        for name, session in sessions.items():
            found = [counted.sessions[name] for counted in tables if name in counted.sessions]
            top = _top(session, sessions)
            rows, state = sums.get(top.id, (0, 0))
            sums[top.id] = (
                rows + sum(part.rows for part in found) + (top is not session),
                (state + sum(part.state for part in found)) % _STATES,
            )
        return [Revision(session, *sums[session.id]) for session in without_children(sessions.values())]

    def _tables(self, connection: Database, tables: tuple[RowTable, ...], count: bool) -> list[_Counted]:
        counted: list[_Counted] = []
        for table in tables:
            try:
                counted.append(self._table(connection, table, count))
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:  # a damaged page, which only some of the sessions need
                connection.check()
                self.unread = f"cannot read all rows in {self._path}: {error}"
        return counted

    def _table(self, connection: sqlite3.Connection, table: RowTable, count: bool) -> _Counted:
        ((last,),) = connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {table.name}")
        counted = self._counted.get(table.name)
        if count or counted is None or last < counted.last:
            counted = self._counted[table.name] = _Counted(last, _count(connection, table))
        _look(connection, table, counted, last)
        return counted


def revisions(path: str | Path) -> list[Revision]:
    """The sessions of a store that are not children, each with its revision, counted once.

    Raises: StoreError when the store cannot be read.
    """
    return Changes(path).revisions()


def _top(session: StoredSession, sessions: dict[str, StoredSession]) -> StoredSession:
    """The session that is read with this one in it; itself where it has no parent."""
    top, seen = session, {session.id}
    while top.parent_id in sessions and top.parent_id not in seen:
        top = sessions[top.parent_id]
        seen.add(top.id)
    return top


def counting(table: RowTable) -> str:
    """A query for the rows of each session, counted by the index on their session, and the state of the last one:
    reading the texts of all rows takes 18 s in a database of 1 GB."""
    counted = f"SELECT {table.session} AS counted_session, count(*) AS counted_rows, max(rowid) AS counted_last"
    return (
        f"WITH counted AS ({counted} FROM {table.name} GROUP BY 1)"
        f" SELECT counted_session, counted_rows, {table.changed}, {table.size}"
        f" FROM counted JOIN {table.name} ON {table.name}.rowid = counted_last"
    )


def _count(connection: sqlite3.Connection, table: RowTable) -> dict[str, _Rows]:
    return {
        text(session) or "": _Rows(rows, _state(whole(changed) or 0, whole(size) or 0))
        for session, rows, changed, size in connection.execute(counting(table))
    }


def _look(connection: sqlite3.Connection, table: RowTable, counted: _Counted, last: int) -> None:
    """Reads the newest rows: adds those that are new, and takes the states of their sessions from all of them."""
    query = f"SELECT rowid, {table.session}, {table.changed}, {table.size} FROM {table.name} WHERE rowid > ?"
    newest: dict[str, tuple[int, int]] = {}
    for rowid, session, changed, size in connection.execute(query, (min(counted.last, last - NEWEST),)):
        name = text(session) or ""
        if rowid > counted.last:
            counted.sessions.setdefault(name, _Rows(0, 0)).rows += 1
        before = newest.get(name, (0, 0))
        newest[name] = (max(before[0], whole(changed) or 0), before[1] + (whole(size) or 0))
    counted.last = max(counted.last, last)
    for name, (changed, size) in newest.items():
        if name in counted.sessions:
            counted.sessions[name].state = _state(changed, size)


def _state(changed: int, size: int) -> int:
    return (changed * _SIZES + size % _SIZES) % _STATES
