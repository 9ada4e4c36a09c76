"""A store with a row for each session and a row for each message, as an agent's `StoreTable` describes it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Raw

from agentv_stages.model.payload import one_line
from agentv_stages.model.store import Stage, StoreTable
from agentv_stages.model.times import parse_iso
from agentv_stages.providers import store_providers
from agentv_stream.stores.database import Database, Tables, in_family, newer_tables, text, time_ms, whole
from agentv_stream.stores.store import RowTable, Store, StoredMessage, StoredSession
from agentv_stream.stores.stored_json import readable

_SECONDS = 10**11  # a time below is in seconds
_encode = msgspec.json.Encoder().encode


def open_table(path: Path, connection: Database, tables: Tables) -> Store | None:
    """The store of the agent whose tables these are; None for a database that is none."""
    for provider in store_providers():
        table = provider.store
        if isinstance(table, StoreTable) and _fits(table, tables):
            return TableStore(str(path.absolute()), connection, tables, table, newer_tables(connection, tables, ()))
    return None


def _fits(table: StoreTable, tables: Tables) -> bool:
    needed = {table.facts["id"], table.facts.get("parent_id", table.facts["id"])}
    messages = tables.get(table.messages, frozenset())
    return needed <= tables.get(table.sessions, frozenset()) and {table.session_of, *table.payloads} <= messages


@dataclass
class TableStore:
    """See the module. Columns that a version of the agent lacks are left out of the lines."""

    path: str
    connection: Database
    tables: Tables
    table: StoreTable
    unread: tuple[str, ...]

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        facts = self.table.facts
        project = self.table.project(self.path)
        found: list[StoredSession] = []
        where, values = "", tuple[str, ...]()
        if family is not None and "parent_id" in facts:
            where, values = in_family([self.table.sessions], facts["id"], facts["parent_id"], family)
        for row in self._select(self.table.sessions, tuple(facts.values()), where, values):
            name = row.get(facts["id"])
            if isinstance(name, str) and name and not self.table.hidden(name):
                found.append(
                    StoredSession(
                        name,
                        self.table.provider,
                        _text(row, facts.get("parent_id")),
                        _text(row, facts.get("title")),
                        _text(row, facts.get("directory")) or project,
                        _text(row, facts.get("version")),
                        _ms(row, facts.get("created")),
                        _ms(row, facts.get("updated")),
                    )
                )
        return found

    @property
    def row_tables(self) -> tuple[RowTable, ...]:
        """An answer grows within one second, in which its time stays the same: the length of its columns shows that."""
        table = self.table
        columns = [name for name in table.message_columns if name in self.tables[table.messages]]
        size = " + ".join(f"coalesce(length({name}), 0)" for name in columns)
        return (RowTable(table.messages, table.session_of, table.changed, size),)

    def opening(self, session: StoredSession) -> bytes:
        facts = self.table.facts
        rows = self._select(self.table.sessions, self.table.session_columns, f"{facts['id']} = ?", (session.id,))
        row = next(rows, dict[str, object]())
        return b'{"session":' + _encode({"directory": session.directory, **row}) + b"}"  # not as our results begin

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        for _, row in self._messages(session_id, after):
            yield str(row["id"]), self.table.stage_of(row)

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        table = self.table
        for rowid, row in self._messages(session_id, after):
            name = str(row["id"])
            line = {key: _payload(value) if key in table.payloads else value for key, value in row.items()}
            started = table.started(name, children)
            yield StoredMessage(name, b'{"message":' + _encode(line) + b"}", started, rowid=rowid)
        for row in self._select(table.sessions, table.totals, f"{table.facts['id']} = ?", (session_id,)):
            totals = {"session_id": session_id, **row}
            yield StoredMessage(f"{session_id}-totals", b'{"totals":' + _encode(totals) + b"}")

    def holds(self, rowid: int, message_id: str) -> bool:
        query = f"SELECT id FROM {self.table.messages} WHERE rowid = ?"
        found = self.connection.execute(query, (rowid,)).fetchone()
        return found is not None and (text(found[0]) or str(found[0])) == message_id

    def _messages(self, session_id: str, after: int) -> Iterator[tuple[int, Mapping[str, object]]]:
        table = self.table
        where = f"{table.session_of} = ? AND rowid > ?"
        columns = ("rowid", *table.message_columns)
        for row in self._select(table.messages, columns, where, (session_id, after), table.order):
            rowid = row.pop("rowid")
            if row.get("id") and isinstance(rowid, int):
                yield rowid, row

    def _select(
        self, table: str, columns: tuple[str, ...], where: str, values: tuple[str | int, ...], order: str = ""
    ) -> Iterator[dict[str, object]]:
        known = [name for name in dict.fromkeys(columns) if name == "rowid" or name in self.tables[table]]
        query = f"SELECT {', '.join(known)} FROM {table}"
        query += f" WHERE {where}" if where else ""
        query += f" ORDER BY {order}" if order else ""
        for row in self.connection.execute(query, values):
            cells = (value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row)
            yield dict(zip(known, cells, strict=True))


def _payload(value: object) -> object:
    """The JSON in a cell; the cell itself where it is none."""
    if not isinstance(value, str):
        return value
    data = readable(value.encode())
    try:
        return Raw(one_line(bytes(msgspec.json.decode(data, type=Raw))))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return value


def _text(row: Mapping[str, object], name: str | None) -> str | None:
    value = row.get(name or "")
    return value if isinstance(value, str) else None


def _ms(row: Mapping[str, object], name: str | None) -> int | None:
    cell = row.get(name or "")
    if isinstance(cell, str):
        return parse_iso(cell)
    value = whole(cell)
    return time_ms(value * 1000 if value is not None and value < _SECONDS else value)
