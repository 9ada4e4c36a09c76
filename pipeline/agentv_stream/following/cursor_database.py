"""The database that holds the cursors: tables, schema versions, locks; its errors are raised as ours.

One SQLite file (WAL) for several consumers; only one process at a time may write for a consumer. docs/cursors.md
describes the tables.
"""

import os
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentv_stream.discovery.places import own_folder
from agentv_stream.errors import AgentvStreamError
from agentv_stream.outputs.locks import LockTaken, take_lock
from agentv_stream.outputs.naming import prepare_folder, temporary_name

VERSION = 2
FILE = "cursors.db"
_SPARE_PAGES = 1024  # a file with fewer free pages (of 4 KiB) is not shrunk
_SCHEMA = """
CREATE TABLE IF NOT EXISTS consumer(number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS session(
  id INTEGER PRIMARY KEY, consumer TEXT NOT NULL, main TEXT NOT NULL, provider TEXT, dialect TEXT, native TEXT,
  state BLOB, outputs BLOB, merged BLOB, settled INTEGER NOT NULL, committed_ms INTEGER NOT NULL, active_ms INTEGER);
CREATE INDEX IF NOT EXISTS session_consumer ON session(consumer);
CREATE TABLE IF NOT EXISTS input(
  session INTEGER NOT NULL, position INTEGER NOT NULL, path TEXT NOT NULL, state TEXT NOT NULL,
  generation INTEGER NOT NULL,
  device TEXT, inode TEXT, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,
  offset INTEGER NOT NULL, row INTEGER NOT NULL, skipped INTEGER NOT NULL,
  head BLOB, head_length INTEGER NOT NULL, tail BLOB, tail_length INTEGER NOT NULL,
  stream TEXT, parent_call TEXT, parent_session TEXT,
  repeating INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(session, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen(session INTEGER NOT NULL, hashes BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS seen_session ON seen(session);
CREATE TABLE IF NOT EXISTS delivered(session INTEGER NOT NULL, hashes BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS delivered_session ON delivered(session);
CREATE TABLE IF NOT EXISTS place(path TEXT PRIMARY KEY, consumer TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made(path TEXT PRIMARY KEY, device TEXT NOT NULL, inode TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gone(session INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS passed(
  consumer TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY(consumer, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept(
  path TEXT PRIMARY KEY, consumer TEXT NOT NULL, device TEXT NOT NULL, inode TEXT NOT NULL) WITHOUT ROWID;
"""
_BYTES = "\x01bytes:"
_FROM_1 = "ALTER TABLE input ADD COLUMN repeating INTEGER NOT NULL DEFAULT 0"


def _why(error: Exception) -> str:
    """The reason alone: the path of an OSError would repeat the message's, or name the lock beside it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class CursorError(AgentvStreamError):
    """The database cannot be read or written."""


class _Damaged(CursorError):
    """The file is no database, or a damaged one."""


def state_folder() -> Path:
    """The default folder of cursors. Raises: CursorError if there is no home folder."""
    own = os.environ.get("AGENTV_STREAM_STATE")
    if own:
        return Path(own)
    home = own_folder("XDG_STATE_HOME", "~/.local/state")
    if home is None:
        raise CursorError("no home folder is known for the cursors; --state names a folder for them")
    return home / "agentv-stream"


class CursorDatabase:
    """An open database; holds the lock of the consumer `writer`. Every method but `close` raises CursorError.

    A writer starts anew where the file is damaged: `set_aside` is where that is kept.

    Threads take turns on the one connection: a health check may run while a round commits.
    """

    def __init__(self, folder: Path, writer: str | None) -> None:
        """After an error nothing is left open."""
        self.path = folder / FILE
        self._writer = writer
        self._opened = ExitStack()
        self._turn = threading.RLock()
        self.set_aside: Path | None = None
        try:
            self._open()
        except _Damaged:
            self._set_aside()
            self._open()

    def _open(self) -> None:
        with ExitStack() as opened:
            try:
                if self._writer is not None:
                    prepare_folder(self.path.parent)
                    opened.callback(os.close, _take_lock(self.path.parent, self._writer))
                self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
                opened.callback(self._db.close)
                os.chmod(self.path, 0o600)  # noqa: PTH101 - states hold what agents wrote
                stat = self.path.stat()
                self._file = stat.st_dev, stat.st_ino
                self._prepare()
            except (sqlite3.Error, OSError) as error:
                damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
                kind = _Damaged if damaged and self._writer is not None else CursorError
                raise kind(f"cannot use the cursors in {self.path}: {_why(error)}") from error
            self._opened = opened.pop_all()

    def _set_aside(self) -> None:
        """Keeps the damaged file under another name. Other consumers find theirs gone, and start again."""
        try:
            self.set_aside = self.path.with_name(f"{self.path.name}.damaged")
            self.path.replace(self.set_aside)
            for name in ("-wal", "-shm"):
                self.path.with_name(self.path.name + name).unlink(missing_ok=True)
        except OSError as error:
            raise CursorError(f"cannot use the cursors in {self.path}: {_why(error)}") from error

    def close(self) -> None:
        """May be called more than once."""
        self._opened.close()

    def _prepare(self) -> None:
        """Creates missing tables. Raises also: sqlite3.Error."""
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if self._writer is not None:
            found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(found)
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 1:
            with self.transaction():
                if self._db.execute("PRAGMA user_version").fetchone()[0] == 1:  # no other process did it
                    self._db.execute(_FROM_1)
                    self._db.execute(f"PRAGMA user_version={VERSION}")
        elif version not in (0, VERSION):
            raise CursorError(f"{self.path} is of version {version}, this program writes {VERSION}; move it away")
        self._db.executescript(_SCHEMA)
        self._db.execute(f"PRAGMA user_version={VERSION}")

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commits everything or nothing."""
        with self._turn:
            self._look()
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:  # SQLite may already have rolled back
                        self._db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise self._error(error) from error

    def _look(self) -> None:
        """Detects that the database was removed, so that it would never be read, and restores it from the open
        file."""
        try:
            stat = os.stat(self.path)  # noqa: PTH116 - at each commit
        except FileNotFoundError as error:
            if self._writer is None:
                raise CursorError(f"the cursors in {self.path} are gone; start again") from error
            try:
                self._put_back()
            except (sqlite3.Error, OSError) as failure:
                raise CursorError(f"the cursors in {self.path} are gone ({failure}); start again") from error
            return
        except OSError as error:
            raise CursorError(f"cannot use the cursors in {self.path}: {error.strerror}") from error
        if (stat.st_dev, stat.st_ino) != self._file:
            if self._writer is None or not self._goes_on_there():
                raise CursorError(f"another file took the place of the cursors in {self.path}; start again")
            self.close()
            self._open()

    def _put_back(self) -> None:
        """Restores the database at its path. Raises also: sqlite3.Error, OSError; it may be closed then."""
        prepare_folder(self.path.parent)
        temporary = temporary_name(self.path)
        try:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(temporary)) as copy:
                self._db.backup(copy)
            self.close()  # before the new file exists: closing may remove files named like its own log
            for name in ("-wal", "-shm"):
                self.path.with_name(self.path.name + name).unlink(missing_ok=True)
            os.link(temporary, self.path)  # overwrites nothing that was created there meanwhile
        finally:
            temporary.unlink(missing_ok=True)
        self._open()

    def _goes_on_there(self) -> bool:
        """Whether the file at the path contains our last write: another follower, or another program, restored it."""
        query = "SELECT id,committed_ms FROM session WHERE consumer=? ORDER BY id"
        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=10)) as other:
                if other.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                    return False
                writers = [tuple(row) for row in other.execute(query, (self._writer,))]
            return bool(writers) and writers == self.ask(query, self._writer)
        except (sqlite3.Error, OSError):
            return False

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement; none for a statement that writes."""
        try:
            written = [written_text(value) if isinstance(value, str) else value for value in values]
            with self._turn:
                return [tuple(map(_read, row)) for row in self._db.execute(query, written)]
        except sqlite3.Error as error:
            raise self._error(error) from error

    def each(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Executes a statement for each row of values."""
        try:
            written = (tuple(written_text(value) if isinstance(value, str) else value for value in row) for row in rows)
            with self._turn:
                self._db.executemany(statement, written)
        except sqlite3.Error as error:
            raise self._error(error) from error

    def shrink(self) -> None:
        """Returns the space of removed rows to the disk, if it exceeds the remaining size; not within a transaction."""
        free, pages = self.ask("PRAGMA freelist_count")[0][0], self.ask("PRAGMA page_count")[0][0]
        if free > _SPARE_PAGES and free * 2 > pages:
            self.ask("VACUUM")
            self.ask("PRAGMA wal_checkpoint(TRUNCATE)")

    def _error(self, error: sqlite3.Error) -> CursorError:
        return CursorError(f"cannot use the cursors in {self.path}: {error}")


def written_text(text: str) -> str:
    """A text as stored in the database: names that are not UTF-8, which SQLite cannot hold, are stored as bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _BYTES + os.fsencode(text).hex()
    return text


def read_text(text: str) -> str:
    """The inverse of `written_text`."""
    return os.fsdecode(bytes.fromhex(text.removeprefix(_BYTES))) if text.startswith(_BYTES) else text


def _read(value: Any) -> Any:
    return read_text(value) if isinstance(value, str) else value


def _take_lock(folder: Path, consumer: str) -> int:
    """The lock's descriptor. Two followers of a consumer would write into each other's outputs. Raises: CursorError."""
    name = sha256(consumer.encode(errors="surrogateescape")).hexdigest()[:16]
    try:
        lock = take_lock(folder / f"{name}.lock")
    except LockTaken:
        lock = None
    if lock is None:  # SQLite also needs locks: a file system without them is an error as well
        raise CursorError(f"another follower is at work for {consumer} (lock in {folder})")
    return lock
