"""A store in which a row holds a whole session as a JSON document, as an agent's `DocumentTable` describes it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from agentv_stages.model.payload import decode_json, one_line, to_raw
from agentv_stages.model.provider import REFUSED
from agentv_stages.model.store import DocumentTable, Stage
from agentv_stages.providers import store_providers
from agentv_stream.stores.database import Database, Tables, newer_tables, text, time_ms, whole
from agentv_stream.stores.store import RowTable, Store, StoredMessage, StoredSession
from agentv_stream.stores.stored_json import readable

_encode = msgspec.json.Encoder().encode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_elements = msgspec.json.Decoder(list[Raw]).decode


def open_document(connection: Database, tables: Tables) -> Store | None:
    """The store of the agent whose tables these are; None for any other database."""
    for provider in store_providers():
        table = provider.store
        if isinstance(table, DocumentTable):
            needed = {table.document, table.directory}
            known = [name for name in table.tables if needed <= tables.get(name, frozenset())]
            if known:
                return DocumentStore(connection, tables, table, tuple(known), newer_tables(connection, tables, known))
    return None


@dataclass
class DocumentStore:
    """See the module."""

    connection: Database
    tables: Tables
    table: DocumentTable
    known: tuple[str, ...]
    unread: tuple[str, ...]

    def sessions(self) -> list[StoredSession]:
        found: dict[str, StoredSession] = {}
        for name in self.known:
            table = self.table
            columns = (
                table.directory,
                self._id(name),
                self._column(name, table.created),
                self._column(name, table.updated),
            )
            for row in self.connection.execute(f"SELECT {', '.join(columns)} FROM {name}"):
                folder, session, created, updated = row
                session_id = text(session) or text(folder)
                if session_id:
                    times = (time_ms(whole(created)), time_ms(whole(updated)))
                    stored = StoredSession(session_id, table.provider, None, None, text(folder), None, *times)
                    found.setdefault(session_id, stored)
        return list(found.values())

    @property
    def row_tables(self) -> tuple[RowTable, ...]:
        """Where no column has the time of writing, the length of a document shows changes; SQLite reads it for that."""
        return tuple(RowTable(name, self._name(name), *self._changed(name)) for name in self.known)

    def _changed(self, name: str) -> tuple[str, str]:
        updated = self._column(name, self.table.updated)
        return ("0", f"length({self.table.document})") if updated == "NULL" else (updated, "0")

    def _name(self, name: str) -> str:
        """The id of a row's session, as SQL."""
        return f"coalesce({self._id(name)}, {self.table.directory})"

    def opening(self, session: StoredSession) -> bytes:
        return b'{"session":' + _encode({"directory": session.directory, "id": session.id}) + b"}"

    def stages(self, session_id: str, after: int = 0) -> Iterator[tuple[str, Stage]]:
        for message in self.messages(session_id, ()):
            yield message.id, "follows"

    def messages(self, session_id: str, children: Collection[str], after: int = 0) -> Iterator[StoredMessage]:
        for number, element in enumerate(self._document(session_id)):
            yield StoredMessage(f"{session_id}-{number}", b'{"message":' + one_line(bytes(element)) + b"}")

    def holds(self, rowid: int, message_id: str) -> bool:
        return False  # a document is one row

    def _document(self, session_id: str) -> list[Raw]:
        """The elements of a session's list; none of a document that is damaged."""
        table = self.table
        for name in self.known:
            query = f"SELECT {table.document} FROM {name} WHERE {self._name(name)} = ?"
            for (cell,) in self.connection.execute(query, (session_id,)):
                try:
                    return _elements(_members(readable(cell)).get(table.elements, Raw(b"[]")))
                except REFUSED:
                    return _repaired(cell, table.elements)
        return []

    def _id(self, name: str) -> str:
        table = self.table
        if table.id in self.tables[name]:
            return table.id
        document = table.document
        return f"CASE WHEN json_valid({document}) THEN json_extract({document}, '$.{table.id}') END"

    def _column(self, name: str, column: str) -> str:
        """A column's name in a query; NULL where the table does not have it."""
        return column if column in self.tables[name] else "NULL"


def _repaired(cell: bytes, elements: str) -> list[Raw]:
    try:
        value = decode_json(cell)
    except (ValueError, RecursionError):
        return []
    found = value.get(elements) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return [to_raw(element) for element in found] if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType] - decoded JSON
