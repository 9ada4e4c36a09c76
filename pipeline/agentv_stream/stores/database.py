"""An SQLite database that another program may be writing: opened for reading, with its tables and plain cells.

Nothing is written, and no files are created beside a database without a writer.
"""

import re
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import quote

from agentv_stages.model.times import epoch_ms
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import is_file

Tables = Mapping[str, frozenset[str]]
"""The columns of each table of a database, by the table's name."""

_OF_SESSIONS = re.compile(r"(session|sessions|session_message|message|messages|conversation|conversations)_v\d+\Z")


class StoreError(SourceError):
    """A store that cannot be read, or a session that is not in it."""


class ForeignStore(StoreError):
    """A database of another program."""


def connect(path: Path) -> sqlite3.Connection:
    """Opens a database for reading. Without a write-ahead log there is no writer: then `immutable`, which creates no
    files.

    Raises: StoreError when there is none; sqlite3.Error.
    """
    if not is_file(path):
        raise StoreError(f"no database at {path}")
    wal = path.with_name(path.name + "-wal")
    try:
        quiet = wal.stat().st_size == 0
    except OSError:
        quiet = True
    uri = f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if quiet else "")
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    connection.text_factory = bytes
    return connection


def tables_of(connection: sqlite3.Connection) -> Tables:
    """The tables of a database. Raises: sqlite3.Error."""
    query = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(query):
        found.setdefault(text(table) or "", set()).add(text(column) or "")
    return {table: frozenset(columns) for table, columns in found.items()}


def newer_tables(connection: sqlite3.Connection, tables: Tables, known: Collection[str]) -> tuple[str, ...]:
    """Tables of sessions or messages with a version that is not `known`, and with content: a later version of the
    agent writes them, and their contents are not read."""
    names = [name for name in sorted(tables) if _OF_SESSIONS.match(name) and name not in known]
    return tuple(name for name in names if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone())


def text(value: object) -> str | None:
    """The text of a cell; None if it holds something else."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None


def whole(value: object) -> int | None:
    """A whole number; None for anything else, and for an impossible count or time: a column may contain any value."""
    return round(value) if isinstance(value, int | float) and abs(value) < 2**53 else None


def time_ms(value: object) -> int | None:
    """Epoch ms; None if outside the range of dates."""
    return epoch_ms(whole(value))
