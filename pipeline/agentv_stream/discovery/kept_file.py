"""The file of what commands keep between runs: figures and headers of sessions, and list prices. Private (0600).

It contains no texts of sessions. A file that cannot be used is no error: its contents are read again, and
`trouble` says why. A damaged one is set aside; one of a newer release is left alone. Each entry has a checksum: SQLite
does not notice a changed byte within a value.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import prepare_folder

VERSION = 3
"""Of the tables. A file with another number is of another release: an older one begins anew."""
_TABLES = """
CREATE TABLE sessions (
    mark TEXT NOT NULL, name TEXT NOT NULL, day INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (mark, name)
) WITHOUT ROWID;
CREATE TABLE headers (
    mark TEXT NOT NULL, name TEXT NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (mark, name)
) WITHOUT ROWID;
CREATE TABLE rates (
    version TEXT NOT NULL, model TEXT NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (version, model)
) WITHOUT ROWID;
"""


_DAMAGES = {
    getattr(sqlite3, f"SQLITE_{name}") for name in ("ERROR", "CORRUPT", "CONSTRAINT", "MISMATCH", "FORMAT", "NOTADB")
}


def sealed(name: str, data: bytes) -> bytes:
    """The entry `name` for the file: its data behind their checksum."""
    return b"%08x" % crc32(data, crc32(name.encode())) + data


def unsealed(name: str, entry: object) -> bytes | None:
    """The data of an entry; None if it is damaged."""
    data = entry[8:] if isinstance(entry, bytes) else b""
    return data if data and entry == sealed(name, data) else None


class KeptFile:
    """The file in the user's cache, opened for each use."""

    def __init__(self, file: Path | None) -> None:
        self.trouble: str | None = None
        self.notice: str | None = None  # the action on a damaged file
        self._file = file

    @contextmanager
    def opened(self) -> Generator[sqlite3.Connection | None]:
        """The open file; None where it cannot be used. Failures within end its use."""
        if self._file is None:
            self.trouble = "no home folder is known for the cache"
        if self._file is None or self.trouble is not None:
            yield None
            return
        database: sqlite3.Connection | None = None
        try:
            try:
                database = _open(self._file)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    raise
                self._set_aside(self._file)
                database = _open(self._file)
            if database is None:
                self.trouble = f"the cache {self._file} is of a newer release; it is left as it is, and nothing is kept"
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._fail(error)
        try:
            yield database
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not _is_damage(error):
                self._fail(error)
                return
            if database is not None:
                database.close()
            try:
                self._set_aside(self._file)
            except OSError as second:
                self._fail(second)
        finally:
            if database is not None:
                database.close()

    def _set_aside(self, file: Path) -> None:
        """Raises: OSError."""
        aside = file.with_name(f"{file.name}.damaged")
        file.replace(aside)
        file.with_name(f"{file.name}-journal").unlink(missing_ok=True)  # it would be applied to the new file
        self.notice = f"the cache was damaged; it is kept as {aside}, and all is read again"

    def _fail(self, error: Exception) -> None:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.trouble = f"cannot use the cache {self._file}: {why}"


def _is_damage(error: Exception) -> bool:
    """Whether the contents are at fault, and not their use: a lock, a full or a read-only disk."""
    if isinstance(error, UnicodeDecodeError):  # a text of the file, or an error's message that quotes one
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGES


def clear(file: Path | None) -> int | None:
    """Removes the file; returns its size, None if there is none. Raises: SinkError."""
    if file is None:
        return None
    try:
        size = file.stat().st_size
        for name in (file.name, f"{file.name}-journal", f"{file.name}.damaged"):
            file.with_name(name).unlink(missing_ok=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SinkError(str(file), error) from error
    return size


def _open(file: Path) -> sqlite3.Connection | None:
    """The database with its tables; None if a newer release wrote it. Raises: sqlite3.Error, OSError."""
    prepare_folder(file.parent)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))  # sqlite3 would let everybody read it
    database = sqlite3.connect(file, timeout=10, isolation_level=None)
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            database.close()
            return None
        if version < VERSION:
            _make_tables(database)
            file.with_name("headers.json").unlink(missing_ok=True)  # of earlier releases: it contains first prompts
    except BaseException:
        database.close()
        raise
    return database


def _make_tables(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")  # another run may be making them
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version < VERSION:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            database.execute(f'DROP TABLE "{name}"')
        for statement in _TABLES.split(";")[:-1]:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
