"""Opens the stores in which agents keep sessions: recognised by their tables, their sessions listed.

Agents: OpenCode and Kilo (`opencode`, `opencode_folder`); agents whose provider has a `StoreTable` (`tables`) or a
`DocumentTable` (`documents`).
"""

import sqlite3
from collections.abc import Collection, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from agentv_stream.sources.files import is_folder
from agentv_stream.stores.database import ForeignStore, StoreError, Tables, connect, tables_of
from agentv_stream.stores.store import Store, StoredSession

MOST_TABLES = 8  # that a message names


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
