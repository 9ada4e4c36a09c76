"""The stores in which agents keep sessions: opened for reading, recognised by their tables, their sessions listed.

Agents: OpenCode and Kilo (`opencode`, `opencode_folder`); agents whose provider has a
`StoreTable` (`tables`) or a `DocumentTable` (`documents`).
"""

import os
import sqlite3
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agentv_stages.model.store import Stage
from agentv_stream.sources.files import is_folder
from agentv_stream.stores.database import ForeignStore, StoreError, Tables, connect, tables_of

STORE_SIGN = "::"  # between the path of a store and the session in it
MOST_TABLES = 8  # that a message names


def split_stored(path: str) -> tuple[str, str]:
    """The store and the session of `STORE::SESSION`; the path and "" for a file, whose name may hold the sign."""
    store, _, session = path.partition(STORE_SIGN)
    return (path, "") if not session or os.path.lexists(path) else (store, session)


class StoredSession(Struct, frozen=True):
    """A session as the store describes it; times in UTC ms."""

    id: str
    parent_id: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    model: str | None = None
    provider: str = "opencode"


class StoredMessage(Struct, frozen=True):
    """A message of a session as a JSON object on one line. `started` has the child sessions that its calls started,
    each with the id of the call; `settled` says that nothing in it will change, whatever `stages` says. `rowid` is the
    number of its row in the database; 0 where there is none."""

    id: str
    line: bytes
    started: tuple[tuple[str, str], ...] = ()
    settled: bool = False
    rowid: int = 0


class RowTable(Struct, frozen=True):
    """A table with the rows of sessions. `session`, `changed` and `size` are SQL expressions: the id of a row's
    session, when the row was last written, and what shows a change in the time that `changed` cannot tell apart.
    An index on `session` makes it fast."""

    name: str
    session: str
    changed: str = "0"
    size: str = "0"


class Store(Protocol):
    """An open store. `unread` names tables with sessions of a later version of the agent, which are not read.
    `row_tables` shows changes; a store without them is not followed."""

    unread: tuple[str, ...]

    @property
    def connection(self) -> sqlite3.Connection | None: ...

    @property
    def row_tables(self) -> tuple[RowTable, ...]: ...

    def sessions(self) -> list[StoredSession]: ...

    def opening(self, session: StoredSession) -> bytes:
        """The first line of a session: a JSON object with its facts."""
        ...

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        """How far each message is, by id, in order; settled ones may be left out, and those of rows up to `after`."""
        ...

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        """The messages of a session, in order; `children` are the ids of its child sessions. Those of rows up to
        `after` may be left out."""
        ...

    def holds(self, rowid: int, message_id: str) -> bool:
        """Whether a row still holds this message: numbers of deleted rows are used again."""
        ...


def list_sessions(path: str | Path) -> list[StoredSession]:
    """The sessions of a store, oldest first, children included.

    Raises: StoreError when it cannot be read.
    """
    with open_store(Path(path)) as store:
        return sorted(store.sessions(), key=lambda s: (s.created_ms or 0, s.id))


def unread_part(path: str | Path) -> str | None:
    """The unread part of a store, as a message: tables of a later version; None where all is read.

    Raises: StoreError when it cannot be read.
    """
    with open_store(Path(path)) as store:
        return unread_part_of(path, store)


def unread_part_of(path: str | Path, store: Store) -> str | None:
    """As `unread_part`, of an open store."""
    if not store.unread:
        return None
    return f"{path} holds sessions of a later version that are not read: {_named(store.unread)}"


def without_children(sessions: Collection[StoredSession]) -> list[StoredSession]:
    """The sessions that are read on their own: all except those whose parent, with which they are read, is also
    there.
    """
    there = {session.id for session in sessions}
    return [session for session in sessions if session.parent_id not in there]


@contextmanager
def open_store(path: Path) -> Generator[Store]:
    """A store, opened for reading. Raises: StoreError; ForeignStore for a database without any agent's tables."""
    if is_folder(path):
        from agentv_stream.stores.opencode_folder import OpenCodeFolder

        folder = path / "storage" if is_folder(path / "storage") else path
        try:
            yield OpenCodeFolder(folder)
        except OSError as error:
            raise StoreError(f"cannot read {error.filename or path}: {error.strerror or error}") from error
        return
    try:
        with closing(connect(path)) as connection:
            yield _recognised(path, connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def _recognised(path: Path, connection: sqlite3.Connection) -> Store:
    from agentv_stream.stores.antigravity import open_antigravity
    from agentv_stream.stores.documents import open_document
    from agentv_stream.stores.opencode import OpenCodeDatabase, open_opencode
    from agentv_stream.stores.tables import open_table

    tables = tables_of(connection)
    if not tables:
        return OpenCodeDatabase(connection, tables, (), False, False, ())  # an agent has only just made it
    store = (
        open_opencode(connection, tables)
        or open_table(path, connection, tables)
        or open_document(connection, tables)
        or open_antigravity(connection, tables)
    )
    if store is None:
        raise _unknown(path, tables)
    return store


def _unknown(path: Path, tables: Tables) -> StoreError:
    if any(table.partition("_")[0].rstrip("s") in ("session", "conversation") for table in tables):
        return StoreError(f"cannot read {path}: its tables are of an unknown version: {_named(sorted(tables))}")
    return ForeignStore(f"cannot read {path}: no database of an agent: it has no table of sessions")


def _named(tables: Collection[str]) -> str:
    names = list(tables)
    return ", ".join(names[:MOST_TABLES]) + (", …" if len(names) > MOST_TABLES else "")
