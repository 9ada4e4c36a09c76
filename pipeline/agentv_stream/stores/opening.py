"""Opens the stores in which agents keep sessions: recognised by their tables, their sessions listed.

Agents: OpenCode and Kilo (`opencode`, `opencode_folder`); agents whose provider has a `StoreTable` (`tables`) or a
`DocumentTable` (`documents`).
"""

import sqlite3
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentv_stream.sources.files import is_folder
from agentv_stream.stores.database import Database, ForeignStore, StoreChanged, StoreError, Tables, connect, tables_of
from agentv_stream.stores.store import Store, StoredSession

MOST_TABLES = 8  # that a message names
AGAIN = 2  # times that a list is read again when its database was written meanwhile
CHECKPOINTS = {"checkpoints": {"thread_id", "checkpoint"}, "writes": {"thread_id", "channel"}}
"""Tables of LangGraph's checkpoints (Deep Agents' `sessions.db`), which are msgpack of Python objects.

A checkpoint may have only what was added since its parent: then the graph's own code alone says whether a message
joins, replaces or removes others. Source: langgraph-checkpoint-sqlite 3.1.
"""


def list_store(path: str | Path) -> tuple[list[StoredSession], str | None]:
    """The sessions of a store, oldest first, children included; and its `unread_part`.

    Raises: StoreError when it cannot be read.
    """
    for _ in range(AGAIN):
        with suppress(StoreChanged):
            return _listed(Path(path))
    return _listed(Path(path))


def _listed(path: Path) -> tuple[list[StoredSession], str | None]:
    with open_store(path) as store:
        return sorted(store.sessions(), key=lambda s: (s.created_ms or 0, s.id)), unread_part(path, store)


def list_sessions(path: str | Path) -> list[StoredSession]:
    """The sessions alone. Raises: as `list_store`."""
    return list_store(path)[0]


def unread_part(path: str | Path, store: Store) -> str | None:
    """The unread part of a store, as a message: tables of a later version; None where all is read."""
    if not store.unread:
        return None
    return f"{path} holds sessions of a later version that are not read: {_named(store.unread)}"


@contextmanager
def open_store(path: Path, patient: bool = True) -> Generator[Store]:
    """A store, opened for reading; `patient` as for `connect`.

    Raises: StoreError; ForeignStore for a database without any agent's tables.
    """
    if is_folder(path):
        from agentv_stream.stores.opencode_folder import OpenCodeFolder

        folder = path / "storage" if is_folder(path / "storage") else path
        try:
            yield OpenCodeFolder(folder)
        except OSError as error:
            raise StoreError(f"cannot read {error.filename or path}: {error.strerror or error}") from error
        return
    try:
        with connect(path, patient) as connection:
            yield _recognised(path, connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def _recognised(path: Path, connection: Database) -> Store:
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
    if all(columns <= tables.get(table, frozenset()) for table, columns in CHECKPOINTS.items()):
        return ForeignStore(
            f"cannot read {path}: checkpoints of LangGraph (Deep Agents) are not supported; save the messages with"
            " messages_to_dict of langchain_core.messages"
        )
    return ForeignStore(f"cannot read {path}: no database of an agent: it has no table of sessions")


def _named(tables: Collection[str]) -> str:
    names = list(tables)
    return ", ".join(names[:MOST_TABLES]) + (", …" if len(names) > MOST_TABLES else "")
