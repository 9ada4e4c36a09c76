"""Cursors: what a follower has to know to go on after a crash, in one SQLite database (docs/cursors.md).

A row of `session` holds the state of the stages and the lengths of the outputs, a row of `input` how far a file was
read and how to recognise it, rows of `seen` a hash of every record. What belongs together is committed together.
"""

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from msgspec import Struct, field

from agentv_stages.provider import DecodeContext
from agentv_stream.discovery.places import Signature
from agentv_stream.errors import AgentvStreamError
from agentv_stream.following.follow_outputs import OutputState
from agentv_stream.following.growing import Mark
from agentv_stream.following.merged import MergedState
from agentv_stream.naming import prepare_folder

VERSION = 2
FILE = "cursors.db"
HASH_BYTES = 8
_SCHEMA = """
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
CREATE TABLE IF NOT EXISTS place(path TEXT PRIMARY KEY, consumer TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made(path TEXT PRIMARY KEY, device TEXT NOT NULL, inode TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gone(session INTEGER PRIMARY KEY, since_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS kept(
  path TEXT PRIMARY KEY, consumer TEXT NOT NULL, device TEXT NOT NULL, inode TEXT NOT NULL) WITHOUT ROWID;
"""
_FROM_1 = "ALTER TABLE input ADD COLUMN repeating INTEGER NOT NULL DEFAULT 0"


class CursorError(AgentvStreamError):
    """The database cannot be read or written."""


class InputRow(Struct):
    """One file of a session. `skipped` records repeated what was taken before; `repeating`: the last one did.

    `state`: `live`; `gone` (deleted; its transcript stays); `done` (nothing more comes from it); `copy` (another file
    is read instead); `document` (a whole file that is rewritten); `other` (no log).
    """

    path: str
    state: str
    generation: int
    signature: Signature | None
    mark: Mark
    skipped: int
    context: DecodeContext
    repeating: bool = False


class SessionRow(Struct):
    """A session as it was committed. `state` is the chain's snapshot, None for what is read anew at each change."""

    id: int
    main: str
    provider: str | None
    dialect: str | None
    native: str | None
    settled: bool
    committed_ms: int
    active_ms: int
    state: bytes | None = None
    outputs: OutputState | None = None
    merged: MergedState | None = None
    inputs: list[InputRow] = field(default_factory=list[InputRow])


def state_folder() -> Path:
    """Where cursors lie if nobody says otherwise."""
    own = os.environ.get("AGENTV_STREAM_STATE")
    if own:
        return Path(own)
    home = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(home) / "agentv-stream"


_compress = zstandard.ZstdCompressor(level=1)
_decompress = zstandard.ZstdDecompressor()


class CursorStore:
    """The cursors of one consumer (a place of outputs, or a name); one process at a time may write for it."""

    def __init__(self, folder: Path, consumer: str, *, read_only: bool = False) -> None:
        """Raises: CursorError; then nothing of it stays open."""
        self.path = folder / FILE
        self.consumer = consumer
        with ExitStack() as opened:
            try:
                if not read_only:
                    prepare_folder(folder)
                    opened.callback(os.close, self._take_lock(folder))
                self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10)
                opened.callback(self._db.close)
                os.chmod(self.path, 0o600)  # noqa: PTH101 - states hold what agents wrote
                self._next = self._prepare() + 1
            except (sqlite3.Error, OSError) as error:
                raise CursorError(f"cannot use the cursors in {self.path}: {error}") from error
            self._opened = opened.pop_all()

    def _prepare(self) -> int:
        """Makes the tables where there are none; the highest id of a session. Raises: CursorError, sqlite3.Error."""
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version == 1:
            with self.transaction():
                if self._db.execute("PRAGMA user_version").fetchone()[0] == 1:  # nobody else did it meanwhile
                    self._db.execute(_FROM_1)
                    self._db.execute(f"PRAGMA user_version={VERSION}")
        elif version not in (0, VERSION):
            raise CursorError(f"{self.path} is of version {version}, this program writes {VERSION}; move it away")
        self._db.executescript(_SCHEMA)
        self._db.execute(f"PRAGMA user_version={VERSION}")
        return int(self._db.execute("SELECT max(id) FROM session").fetchone()[0] or 0)

    def _take_lock(self, folder: Path) -> int:
        """Its descriptor. Two followers of one consumer would write into each other's outputs. Raises: CursorError."""
        import fcntl
        from hashlib import sha256

        name = sha256(self.consumer.encode()).hexdigest()[:16]
        lock = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise CursorError(f"another follower is at work for {self.consumer} (lock in {folder})") from error
        return lock

    def close(self) -> None:
        """Once or more often."""
        self._opened.close()

    def new_id(self) -> int:
        """An id for a session that is not yet committed."""
        self._next += 1
        return self._next - 1

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All or nothing. Raises: CursorError."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite itself may have taken it back
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise CursorError(f"cannot write the cursors in {self.path}: {error}") from error

    def put(self, row: SessionRow, hashes: bytes = b"", anew: bool = False) -> None:
        """Writes a session, its inputs, and the hashes of records that are new; within a transaction.

        With `anew` they are all that there are: the session was read again.
        """
        state = None if row.state is None else _compress.compress(row.state)
        outputs = None if row.outputs is None else msgspec.json.encode(row.outputs)
        merged = None if row.merged is None else msgspec.json.encode(row.merged)
        self._db.execute(
            "INSERT OR REPLACE INTO session VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            (row.id, self.consumer, row.main, row.provider, row.dialect, row.native, state, outputs, merged,
             int(row.settled), int(time.time() * 1000), row.active_ms),
        )  # fmt: skip
        self._db.execute("DELETE FROM input WHERE session=?", (row.id,))
        self._db.executemany(f"INSERT INTO input VALUES({','.join('?' * 21)})", _input_values(row))
        if anew:
            self._db.execute("DELETE FROM seen WHERE session=?", (row.id,))
        if hashes:
            self._db.execute("INSERT INTO seen VALUES(?,?)", (row.id, hashes))

    def claim(self, path: str, take: bool) -> bool:
        """Whether an output was ours before; `take` makes it so before it is there, so that what a crash leaves
        half-written is known as ours. Raises: CursorError.
        """
        try:
            ours = self._db.execute("SELECT 1 FROM place WHERE path=? AND consumer=?", (path, self.consumer)).fetchone()
            if ours is None and take:
                self._db.execute("INSERT OR REPLACE INTO place VALUES(?,?)", (path, self.consumer))
                self._db.execute("DELETE FROM kept WHERE path=?", (path,))
            return ours is not None
        except sqlite3.Error as error:
            raise CursorError(f"cannot write the cursors in {self.path}: {error}") from error

    def made(self, path: Path) -> None:
        """The file that stands at a claimed path is ours: made by us, or taken over. Raises: CursorError, OSError."""
        stat = path.stat()
        try:
            values = (str(path), str(stat.st_dev), str(stat.st_ino))
            self._db.execute("INSERT OR REPLACE INTO made VALUES(?,?,?)", values)
        except sqlite3.Error as error:
            raise CursorError(f"cannot write the cursors in {self.path}: {error}") from error

    def is_made(self, path: Path) -> bool:
        """Whether the very file that stands at a path is ours: a claim alone outlives what it was made for.

        Raises: CursorError.
        """
        try:
            stat = path.stat()
            row = self._db.execute("SELECT device,inode FROM made WHERE path=?", (str(path),)).fetchone()
        except OSError:
            return False
        except sqlite3.Error as error:
            raise CursorError(f"cannot read the cursors in {self.path}: {error}") from error
        return row is not None and row == (str(stat.st_dev), str(stat.st_ino))

    def unmade(self, path: Path) -> None:
        """Our file was removed: another one may get its inode. Raises: CursorError."""
        try:
            self._db.execute("DELETE FROM made WHERE path=?", (str(path),))
            self._db.execute("DELETE FROM kept WHERE path=?", (str(path),))
        except sqlite3.Error as error:
            raise CursorError(f"cannot write the cursors in {self.path}: {error}") from error

    def forget(self, ids: Iterable[int]) -> None:
        """Removes sessions; they are read from their beginning next time. Raises: CursorError."""
        with self.transaction():
            self.remove(ids)

    def remove(self, ids: Iterable[int]) -> None:
        """As `forget`, within a transaction."""
        for one in ids:
            for table, column in (("session", "id"), ("input", "session"), ("seen", "session"), ("gone", "session")):
                self._db.execute(f"DELETE FROM {table} WHERE {column}=?", (one,))

    def drop_place(self, path: str) -> None:
        """An output is nobody's any more; within a transaction."""
        for table in ("place", "made"):
            self._db.execute(f"DELETE FROM {table} WHERE path=?", (path,))

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """For what has its tables here and its rules elsewhere (forgetting.py). Raises: CursorError."""
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise CursorError(f"cannot use the cursors in {self.path}: {error}") from error

    def sessions(self, every_consumer: bool = False) -> list[SessionRow]:
        """All sessions with their inputs, without their states. Raises: CursorError."""
        where, values = ("", ()) if every_consumer else ("WHERE consumer=?", (self.consumer,))
        try:
            rows = {
                r[0]: SessionRow(r[0], r[1], r[2], r[3], r[4], bool(r[5]), r[6], r[7] or 0, None, _outputs(r[8]))
                for r in self._db.execute(
                    "SELECT id,main,provider,dialect,native,settled,committed_ms,active_ms,outputs FROM session "
                    f"{where} ORDER BY id", values)
            }  # fmt: skip
            query = f"SELECT * FROM input WHERE session IN (SELECT id FROM session {where}) ORDER BY session, position"
            for r in self._db.execute(query, values):
                rows[r[0]].inputs.append(_input_row(r))
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise CursorError(f"cannot read the cursors in {self.path}: {error}") from error
        return list(rows.values())

    def load(self, session: int) -> SessionRow | None:
        """One session with its states. Raises: CursorError."""
        try:
            r = self._db.execute(
                "SELECT id,main,provider,dialect,native,settled,committed_ms,active_ms,state,outputs,merged "
                "FROM session WHERE id=?", (session,)).fetchone()  # fmt: skip
            if r is None:
                return None
            state = None if r[8] is None else _decompress.decompress(r[8])
            merged = None if r[10] is None else msgspec.json.decode(r[10], type=MergedState)
            row = SessionRow(
                r[0], r[1], r[2], r[3], r[4], bool(r[5]), r[6], r[7] or 0, state, _outputs(r[9]), merged, []
            )
            for one in self._db.execute("SELECT * FROM input WHERE session=? ORDER BY position", (session,)):
                row.inputs.append(_input_row(one))
        except (sqlite3.Error, msgspec.MsgspecError, zstandard.ZstdError) as error:
            raise CursorError(f"cannot read the cursors in {self.path}: {error}") from error
        return row

    def seen(self, session: int) -> dict[bytes, int]:
        """How often each record was taken, by its hash. Raises: CursorError."""
        counts: dict[bytes, int] = {}
        try:
            for (data,) in self._db.execute("SELECT hashes FROM seen WHERE session=?", (session,)):
                for at in range(0, len(data), HASH_BYTES):
                    one = data[at : at + HASH_BYTES]
                    counts[one] = counts.get(one, 0) + 1
        except sqlite3.Error as error:
            raise CursorError(f"cannot read the cursors in {self.path}: {error}") from error
        return counts

    def consumers(self) -> dict[str, int]:
        """Sessions per consumer. Raises: CursorError."""
        try:
            return dict(self._db.execute("SELECT consumer, count(*) FROM session GROUP BY consumer ORDER BY 1"))
        except sqlite3.Error as error:
            raise CursorError(f"cannot read the cursors in {self.path}: {error}") from error

    def consumer_of(self, session: int) -> str:
        row = self._db.execute("SELECT consumer FROM session WHERE id=?", (session,)).fetchone()
        return "" if row is None else str(row[0])

    def check(self) -> None:
        """Reads, and takes the right to write. Raises: CursorError."""
        with self.transaction():
            self._db.execute("SELECT count(*) FROM session").fetchone()


def _outputs(data: bytes | None) -> OutputState | None:
    return None if data is None else msgspec.json.decode(data, type=OutputState)


def _input_values(row: SessionRow) -> Iterator[tuple[object, ...]]:
    for position, one in enumerate(row.inputs):
        sign, mark, context = one.signature, one.mark, one.context
        # Device and inode as text: they are unsigned 64 bit, SQLite's integers are signed.
        known = (
            (str(sign.device), str(sign.inode), sign.size, sign.mtime_ns, sign.ctime_ns)
            if sign is not None
            else (None, None, None, None, None)
        )
        yield (
            row.id, position, one.path, one.state, one.generation, *known, mark.offset, mark.row, one.skipped,
            mark.head, mark.head_length, mark.tail, mark.tail_length,
            context.stream, context.parent_call, context.session_id, int(one.repeating),
        )  # fmt: skip


def _input_row(r: tuple[object, ...]) -> InputRow:
    sign = None if r[5] is None else Signature(int(str(r[5])), int(str(r[6])), _int(r[7]), _int(r[8]), _int(r[9]))
    mark = Mark(_int(r[10]), _int(r[11]), _bytes(r[13]), _int(r[14]), _bytes(r[15]), _int(r[16]))
    path = str(r[2])
    context = DecodeContext(path, str(r[17]), _text(r[18]), _text(r[19]))
    return InputRow(path, str(r[3]), _int(r[4]), sign, mark, _int(r[12]), context, bool(r[20]))


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
