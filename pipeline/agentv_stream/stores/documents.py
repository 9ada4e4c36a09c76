"""A store in which a row holds a whole session as a JSON document, as an agent's `DocumentTable` describes it.

A document may have megabytes, and SQLite reads through it to reach a column behind it, or to measure it. So the length
and the id at the beginning of a document come from a blob handle, which reads a page or two.
"""

import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import suppress
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

HEAD = 4096
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

    def __post_init__(self) -> None:
        self.connection.create_function("document_id", 2, self._document_id)
        self.connection.create_function("document_length", 2, self._document_length)

    def sessions(self, family: str | None = None) -> list[StoredSession]:
        table, found = self.table, dict[str, StoredSession]()
        for name in self.known:
            query = f"SELECT rowid, {table.directory}, {self._name(name)} FROM {name}"
            for rowid, folder, session in self.connection.execute(query):
                session_id = text(session)
                if session_id and family in (None, session_id) and session_id not in found:
                    times = self._times(name, rowid)
                    found[session_id] = StoredSession(
                        session_id, table.provider, None, None, text(folder), None, *times
                    )
        return list(found.values())

    def _times(self, name: str, rowid: int) -> tuple[int | None, int | None]:
        columns = [self._column(name, column) for column in (self.table.created, self.table.updated)]
        if columns == ["NULL", "NULL"]:
            return None, None
        key = (name, rowid, self._document_length(name, rowid))
        memory = self.connection.memory
        with suppress(sqlite3.DatabaseError):  # a damaged page of the document, which other sessions do not need
            if key not in memory:
                query = f"SELECT {', '.join(columns)} FROM {name} WHERE rowid = ?"
                created, updated = self.connection.execute(query, (rowid,)).fetchone()
                memory[key] = (time_ms(whole(created)), time_ms(whole(updated)))
        return memory.get(key, (None, None))

    @property
    def row_tables(self) -> tuple[RowTable, ...]:
        """The length of a document shows changes: the time of writing stands behind it."""
        return tuple(
            RowTable(name, self._name(name), size=f"coalesce(document_length('{name}', {name}.rowid), 0)")
            for name in self.known
        )

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
        return self.table.id if self.table.id in self.tables[name] else f"document_id('{name}', {name}.rowid)"

    def _document_length(self, name: str, rowid: int) -> int | None:
        """The length of a document in bytes; None for a cell that is neither text nor blob, or is damaged."""
        with suppress(sqlite3.Error), self.connection.blobopen(name, self.table.document, rowid, readonly=True) as blob:
            return len(blob)
        return None

    def _document_id(self, name: str, rowid: int) -> str | None:
        """The id in a document, which mostly begins with it."""
        begin = rb'\s*\{\s*"%s"\s*:\s*("[^"\\]*")' % self.table.id.encode()
        with suppress(sqlite3.Error, *REFUSED):
            with self.connection.blobopen(name, self.table.document, rowid, readonly=True) as blob:
                begun = re.match(begin, blob.read(HEAD))
                blob.seek(0)
                value = begun[1] if begun is not None else _members(readable(blob.read())).get(self.table.id, b"null")
            return msgspec.json.decode(value, type=str)
        return None

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
