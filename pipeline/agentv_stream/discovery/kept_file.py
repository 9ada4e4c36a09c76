"""The file of what commands keep between runs: figures and headers of sessions, and list prices. Private (0600).

It contains no texts of sessions. A file that cannot be used is no error: its contents are read again, and
`trouble` says why. A damaged one is set aside; one of a newer release is left alone.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agentv_stream.errors import SinkError
from agentv_stream.outputs.naming import prepare_folder

VERSION = 2
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
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:  # no database, or a damaged one
                aside = self._file.with_name(f"{self._file.name}.damaged")
                self._file.replace(aside)
                self.notice = f"the cache was damaged; it is kept as {aside}, and all is read again"
                database = _open(self._file)
            if database is None:
                self.trouble = f"the cache {self._file} is of a newer release; it is left as it is, and nothing is kept"
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
        try:
            yield database
        except sqlite3.Error as error:
            self._fail(error)
        finally:
            if database is not None:
                database.close()

    def _fail(self, error: Exception) -> None:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.trouble = f"cannot use the cache {self._file}: {why}"


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
