"""An SQLite database that another program may be writing: opened for reading, with its tables and plain cells.

Nothing is written or created beside it, and its writer never waits. So it is opened in one of three ways:

- with a write-ahead log and the index of that (`-wal`, `-shm`): as SQLite shares it. Readers block nobody there.
- with a write-ahead log alone, as a copy of both files: SQLite would create the index. An agent that was killed leaves
  both files, so this is a backup, or an agent that locks its database for itself.
- without one, without locks, which would stop the writer: each row that was read counts only if the file has not
  changed until then (`Database.check`). While its rollback journal is in use the file is half written.
"""

import re
import shutil
import sqlite3
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from agentv_stages.model.times import epoch_ms
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import is_file

Memory = dict[tuple[str, int, int | None], tuple[int | None, int | None]]
"""The times of documents by table, row and length."""

Tables = Mapping[str, frozenset[str]]
"""The columns of each table of a database, by the table's name."""

BUSY_SECONDS = 0.5  # at most, until a writer has ended its transaction
_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_OF_SESSIONS = re.compile(r"(session|sessions|session_message|message|messages|conversation|conversations)_v\d+\Z")


class StoreError(SourceError):
    """A store that cannot be read, or a session that is not in it."""


class StoreChanged(StoreError):
    """A database that was written while it was read."""


class ForeignStore(StoreError):
    """A database of another program."""


class Database(sqlite3.Connection):
    """An open database. `before` is the state of a file that is read without locks. `memory` is the caller's: it keeps
    what is expensive to read between two readings.
    """

    path = Path()
    before: "_State | None" = None
    memory: "Memory"

    def check(self) -> None:
        """Raises: StoreError when the file was written after it was opened: what was read may be half of a change."""
        if self.before is not None and _state(self.path) != self.before:
            raise StoreChanged(f"cannot read {self.path}: it was written at the same moment")


@contextmanager
def connect(path: Path, patient: bool = True) -> Generator[Database]:
    """A database, opened for reading. With `patient` a writer gets a moment to end its transaction.

    Raises: StoreError when there is none, or it is half written; sqlite3.Error.
    """
    if not is_file(path):
        raise StoreError(f"no database at {path}")
    wal, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if _size(wal) is not None and _size(index) is not None:
        with closing(_open(path, "mode=ro")) as database:
            yield database
    elif _size(wal):
        with TemporaryDirectory(prefix="agentv-stream-") as folder, closing(_copied(path, wal, folder)) as database:
            yield database
    else:
        before = _settled(path, BUSY_SECONDS if patient else 0.0)
        with closing(_open(path, "mode=ro&immutable=1")) as database:
            database.path, database.before = path, before
            try:
                yield database
            except sqlite3.Error:
                database.check()  # the better reason
                raise
            database.check()


def _open(path: Path, options: str) -> Database:
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    database = sqlite3.connect(uri, BUSY_SECONDS, uri=True, check_same_thread=False, factory=Database)
    database.text_factory, database.memory = bytes, {}
    return database


def _copied(path: Path, wal: Path, folder: str) -> Database:
    before = _state(path), _state(wal)
    try:
        for file in (path, wal):
            shutil.copyfile(file, Path(folder, file.name))
    except OSError as error:
        raise StoreError(f"cannot copy {path}: {error.strerror or error}") from error
    if (_state(path), _state(wal)) != before:
        raise StoreChanged(f"cannot read {path}: it was written at the same moment")
    return _open(Path(folder, path.name), "mode=ro")


_State = tuple[tuple[int, ...], bytes]


def _state(path: Path) -> _State:
    """What changes when a file is written: its inode, size and times, and SQLite's counter of transactions."""
    try:
        stat = path.stat()
        with path.open("rb") as file:
            return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns), file.read(28)[24:]
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error


def _settled(path: Path, seconds: float) -> _State:
    """The state of a file that is not half written; waits at most `seconds` for that."""
    journal, until = path.with_name(path.name + "-journal"), time.monotonic() + seconds
    while True:
        before = _state(path)
        if not _is_journal(journal):
            return before
        if time.monotonic() >= until:
            raise StoreError(f"cannot read {path}: another program is writing it, or was killed meanwhile")
        time.sleep(0.01)


def _is_journal(path: Path) -> bool:
    """Whether a rollback journal is in use: one that is not is missing, empty or begins with zeros."""
    try:
        with path.open("rb") as file:
            return file.read(len(_JOURNAL)) == _JOURNAL
    except OSError:
        return False


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def tables_of(connection: sqlite3.Connection) -> Tables:
    """The tables of a database. Raises: sqlite3.Error."""
    query = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(query):
        found.setdefault(text(table) or "", set()).add(text(column) or "")
    return {table: frozenset(columns) for table, columns in found.items()}


def in_family(tables: Collection[str], child: str, parent: str, name: str) -> tuple[str, tuple[str, ...]]:
    """A condition that is true for a session and all below it, with its value; `child` and `parent` are the columns
    with the ids of a session and of its parent."""
    links = " UNION ALL ".join(f"SELECT {child} AS child, {parent} AS parent FROM {table}" for table in tables)
    below = f"SELECT child FROM ({links}) JOIN family ON parent = family.name"
    return f"{child} IN (WITH RECURSIVE family(name) AS (SELECT ? UNION {below}) SELECT name FROM family)", (name,)


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
