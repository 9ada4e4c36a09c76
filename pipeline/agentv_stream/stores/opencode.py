"""OpenCode's database, and Kilo's, which has the same tables.

Versions 1.x keep a session in `session`, its messages in `message` and their content in `part`; 2.x in `session_v2`
and `session_message`, a row with all of its content for each message. On its first start 2.x copies the sessions of 1.x
under their ids and leaves the old tables as they are, which 1.x may go on to write. So a session is read from the
tables of 2.x where they have it; messages that 1.x added to it later follow.
Source: opencode 1.2 to 1.18 and Kilo 7.0 and 7.7, recorded; opencode 2.0, its published source (`session/sql.ts`,
`database/v1-migration`) and reports of users. Betas of 2.x had the messages of 2.x beside a table `session`.
"""

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from agentv_stages.model.store import Stage
from agentv_stream.stores.database import Database, StoreError, Tables, in_family, newer_tables, text, time_ms, whole
from agentv_stream.stores.opencode_lines import (
    PROVIDER,
    facts_line,
    message_line,
    parts_line,
    stage_of,
    stage_of_new,
    undone_line,
)
from agentv_stream.stores.opencode_removed import RemovedMessage, content_of, read_removed
from agentv_stream.stores.store import RowTable, Store, StoredMessage, StoredSession
from agentv_stream.stores.stored_json import readable

NEW, OLD = "session_v2", "session"
_MESSAGE = frozenset(("id", "session_id", "data"))
_PART = frozenset(("id", "message_id", "data"))
_NEW_MESSAGE = frozenset(("id", "session_id", "type", "data"))
_COLUMNS = ("parent_id", "title", "directory", "version", "time_created", "time_updated", "model", "time_idle")
_MIGRATED = "SELECT time_updated FROM kv WHERE key = 'migration.v1-v2'"
_COMMON = "SELECT max(m.time_created) FROM message m JOIN session_message s ON s.id = m.id WHERE m.session_id = ?"


class _Model(Struct):
    id: str | None = None


_decode_model = msgspec.json.Decoder(_Model).decode


def open_opencode(connection: Database, tables: Tables) -> Store | None:
    """The store; None for a database without its tables. Raises: StoreError for tables of 2.x in an unknown form."""
    old = tables.get("message", frozenset()) >= _MESSAGE and tables.get("part", frozenset()) >= _PART
    new = tables.get("session_message", frozenset()) >= _NEW_MESSAGE
    places = tuple(name for name in (NEW, OLD) if "id" in tables.get(name, ()))
    unread = newer_tables(connection, tables, (NEW,))
    if NEW in places and not new:
        if not old or OLD not in places:
            raise StoreError(f"the tables of OpenCode 2 have an unknown form: {', '.join(sorted(tables))}")
        places, unread = (OLD,), (NEW, *unread)
    if not places or not (old or new):
        return None
    return OpenCodeDatabase(connection, tables, places, old, new, unread)


@dataclass
class OpenCodeDatabase:
    """`places` are its tables of sessions, those of 2.x first; `old` and `new` say which tables of messages it has."""

    connection: Database
    tables: Tables
    places: tuple[str, ...]
    old: bool
    new: bool
    unread: tuple[str, ...]
    removed: dict[str, dict[str, RemovedMessage]] = field(default_factory=dict[str, dict[str, RemovedMessage]])

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        found: dict[str, StoredSession] = {}
        related = [place for place in self.places if "parent_id" in self.tables[place]]
        one = family is not None and len(related) == len(self.places)
        where, values = in_family(related, "id", "parent_id", family or "") if one else ("1", ())
        for place in self.places:
            for session in self._sessions_in(place, where, values):
                found.setdefault(session.id, session)
        return list(found.values())

    def _sessions_in(self, place: str, where: str, values: tuple[str, ...]) -> Iterator[StoredSession]:
        known = self.tables[place]
        columns = [name if name in known else "NULL" for name in _COLUMNS]
        for row in self.connection.execute(f"SELECT id, {', '.join(columns)} FROM {place} WHERE {where}", values):
            name = text(row[0])
            if name:
                created, updated, idle = time_ms(row[5]), time_ms(row[6]), time_ms(row[8])
                last = max(updated, idle) if updated is not None and idle is not None else updated
                yield StoredSession(
                    name,
                    PROVIDER,
                    text(row[1]),
                    text(row[2]),
                    text(row[3]),
                    text(row[4]),
                    created,
                    last,
                    _model(row[7]),
                )

    @property
    def row_tables(self) -> tuple[RowTable, ...]:
        there = (("message", self.old), ("part", self.old), ("session_message", self.new))
        return tuple(RowTable(name, "session_id", *self._changed(name)) for name, is_there in there if is_there)

    def _changed(self, table: str) -> tuple[str, str]:
        return ("time_updated", "0") if "time_updated" in self.tables[table] else ("0", "length(data)")

    def opening(self, session: StoredSession) -> bytes:
        return facts_line(session)

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        if not self._is_new(session_id):
            for _, name, data in self._old_messages(session_id, after):
                yield name, stage_of(data)
            return
        for name, kind, data, _ in self._new_rows(session_id):
            yield name, stage_of_new(kind, data)
        for _, name, data in self._later(session_id):
            yield name, stage_of(data)

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        if not self._is_new(session_id):
            removed = self._removed(session_id)
            for rowid, name, data in self._old_messages(session_id, after):
                line, started = parts_line(session_id, name, data, self._parts(session_id, name), children)
                yield StoredMessage(name, line, started, name in removed, rowid)
                if name in removed:
                    yield StoredMessage(f"{name}-undone", undone_line(session_id, name), (), True)
            return
        for name, kind, data, created in self._new_rows(session_id):
            line, started = message_line(session_id, name, kind, data, created, children)
            yield StoredMessage(name, line, started)
        for _, name, data in self._later(session_id):
            line, started = parts_line(session_id, name, data, self._parts(session_id, name), children)
            yield StoredMessage(name, line, started)

    def holds(self, rowid: int, message_id: str) -> bool:
        if not self.old:
            return False
        found = self.connection.execute("SELECT id FROM message WHERE rowid = ?", (rowid,)).fetchone()
        return found is not None and text(found[0]) == message_id

    def _is_new(self, session_id: str) -> bool:
        """Whether 2.x has the messages of a session. Where only a table `session` names it, messages of 1.x decide:
        its last versions had an empty `session_message`."""
        if not self.new or not self._has("session_message", "session_id", session_id):
            return False
        return (NEW in self.places and self._has(NEW, "id", session_id)) or not (
            self.old and self._has("message", "session_id", session_id)
        )

    def _has(self, table: str, column: str, value: str) -> bool:
        query = f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1"
        return self.connection.execute(query, (value,)).fetchone() is not None

    def _new_rows(self, session_id: str) -> Iterator[tuple[str, str, bytes, int | None]]:
        """Id, type, JSON and time of each message of 2.x."""
        known = self.tables["session_message"]
        order = "seq, id" if "seq" in known else "id"
        created = "time_created" if "time_created" in known else "NULL"
        query = f"SELECT id, type, data, {created} FROM session_message WHERE session_id = ? ORDER BY {order}"
        for name, kind, data, time in self.connection.execute(query, (session_id,)):
            if name := text(name):
                yield name, text(kind) or "", readable(data) if isinstance(data, bytes) else b"{}", time_ms(time)

    def _later(self, session_id: str) -> Iterator[tuple[int, str, bytes]]:
        """Messages that 1.x added to a session after 2.x had copied it."""
        if not self.old or "time_created" not in self.tables["message"]:
            return iter(())
        copied = self._first_value(_MIGRATED) if "time_updated" in self.tables.get("kv", ()) else None
        if copied is None:
            copied = self._first_value(_COMMON, session_id)
        if copied is None:
            return iter(())
        query = (
            "SELECT rowid, id, data FROM message WHERE session_id = ? AND time_created > ?"
            " AND id NOT IN (SELECT id FROM session_message WHERE session_id = ?) ORDER BY id"
        )
        return self._rows(query, (session_id, copied, session_id))

    def _first_value(self, query: str, *values: str) -> int | None:
        row = self.connection.execute(query, values).fetchone()
        return whole(row[0]) if row else None

    def _old_messages(self, session_id: str, after: int) -> Iterator[tuple[int, str, bytes]]:
        if not self.old:
            return iter(())
        query = "SELECT rowid, id, data FROM message WHERE session_id = ? AND rowid > ? ORDER BY id"
        rows = self._rows(query, (session_id, after))
        removed = self._removed(session_id)
        if not removed:
            return rows
        numbers = {name: message.number for name, message in removed.items()}
        contents = ((0, name, data) for name, data in self._contents(session_id, numbers))
        return heapq.merge(rows, contents, key=lambda row: row[1])

    def _removed(self, session_id: str) -> dict[str, RemovedMessage]:
        found = self.removed.get(session_id)
        if found is None:
            found = self.removed[session_id] = read_removed(self.connection, session_id)
        return found

    def _parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        removed = self._removed(session_id).get(message_id)
        if removed is not None:
            return self._contents(session_id, removed.parts)
        rows = self._rows("SELECT rowid, id, data FROM part WHERE message_id = ? ORDER BY id", (message_id,))
        return ((name, data) for _, name, data in rows)

    def _contents(self, session_id: str, numbers: dict[str, int]) -> Iterator[tuple[str, bytes]]:
        for name in sorted(numbers):
            yield name, content_of(self.connection, session_id, numbers[name])

    def _rows(self, query: str, values: tuple[str | int, ...]) -> Iterator[tuple[int, str, bytes]]:
        for rowid, name, data in self.connection.execute(query, values):
            if name := text(name):
                yield rowid, name, readable(data) if isinstance(data, bytes) else b"{}"


def _model(value: object) -> str | None:
    """The id of a model: newer versions wrap it in an object."""
    name = text(value)
    if name is None or not name.startswith("{"):
        return name
    try:
        return _decode_model(name).id
    except msgspec.MsgspecError:
        return None
