"""The contract of a store of sessions: its sessions, the messages of each, and the tables that show changes.

`opening.py` opens one.
"""

import os
from collections.abc import Collection, Iterator
from typing import Protocol

from msgspec import Struct

from agentv_stages.model.store import Stage
from agentv_stream.stores.database import Database

STORE_SIGN = "::"  # between the path of a store and the session in it


def split_stored(path: str) -> tuple[str, str]:
    """The store and the session of `STORE::SESSION`; the path and "" for a file, whose name may hold the sign."""
    store, _, session = path.partition(STORE_SIGN)
    return (path, "") if not session or os.path.lexists(path) else (store, session)


class StoredSession(Struct, frozen=True):
    """A session as the store describes it; times in UTC ms."""

    id: str
    provider: str
    parent_id: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    model: str | None = None


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
    def connection(self) -> Database | None: ...

    @property
    def row_tables(self) -> tuple[RowTable, ...]: ...

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        """All sessions; with `family` at least those that it needs: this session, its child sessions, theirs."""
        ...

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


def without_children(sessions: Collection[StoredSession]) -> list[StoredSession]:
    """The sessions that are read on their own: all except those whose parent, with which they are read, is also
    there.
    """
    there = {session.id for session in sessions}
    return [session for session in sessions if session.parent_id not in there]
