"""Cursors: the facts that a follower needs to continue after a crash (docs/cursors.md).

A row of `session` holds the state of the stages and the lengths of the outputs; a row of `input` how far a file was
read and how to recognise it; rows of `seen` a hash of every record, of `delivered` one of each
event and message of a document. Related rows are committed together.
"""

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from msgspec import Struct

from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import DecodeContext
from agentv_stream.discovery.places import Signature
from agentv_stream.following.cursor_database import CursorDatabase, CursorError, read_text, written_text
from agentv_stream.following.growing import InputRow, Mark
from agentv_stream.following.growing_output import OutputState
from agentv_stream.following.merged import MergedState
from agentv_stream.following.taken_records import HASH_BYTES

_RANGE = 1_000_000_000  # number of ids of one consumer
_SESSION = "id,main,provider,dialect,native,settled,committed_ms,active_ms,outputs"


class SessionRow(Struct):
    """A session as committed.

    `state` is the chain's snapshot, None for a log that is read from its beginning at each change.
    """

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
    inputs: list[InputRow] = []


_compress = zstandard.ZstdCompressor(level=1)
_decompress = zstandard.ZstdDecompressor()


class CursorStore:
    """The cursors of one consumer (an output folder, or a name); only one process at a time may write for it.

    Every method but `close` raises CursorError.
    """

    def __init__(self, folder: Path, consumer: str, *, read_only: bool = False) -> None:
        self.consumer = consumer
        self.database = CursorDatabase(folder, None if read_only else consumer)
        self.claims = Claims(self.database, consumer)
        try:
            self._next = 0 if read_only else self._first_id()
        except CursorError:
            self.database.close()
            raise

    def close(self) -> None:
        """May be called more than once."""
        self.database.close()

    def _first_id(self) -> int:
        """Each consumer has its own range of ids: several followers create sessions at the same time."""
        self.database.ask("INSERT OR IGNORE INTO consumer(name) VALUES(?)", self.consumer)
        begin = self.database.ask("SELECT number FROM consumer WHERE name=?", self.consumer)[0][0] * _RANGE
        highest = self.database.ask("SELECT max(id) FROM session WHERE id>=? AND id<?", begin, begin + _RANGE)[0][0]
        return int(highest or begin) + 1

    def new_id(self) -> int:
        """An id for a session that is not committed yet; unique among all consumers."""
        self._next += 1
        return self._next - 1

    def put(self, row: SessionRow) -> None:
        """Writes a session and its inputs; within a transaction."""
        ask = self.database.ask
        state = None if row.state is None else _compress.compress(row.state)
        outputs = None if row.outputs is None else _outputs_json(row.outputs)
        merged = None if row.merged is None else msgspec.json.encode(row.merged)
        ask(
            "INSERT OR REPLACE INTO session VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            row.id, self.consumer, row.main, row.provider, row.dialect, row.native, state, outputs, merged,
            int(row.settled), int(time.time() * 1000), row.active_ms,
        )  # fmt: skip
        ask("DELETE FROM input WHERE session=?", row.id)
        self.database.each(f"INSERT INTO input VALUES({','.join('?' * 21)})", _input_values(row))

    def note_seen(self, session: int, hashes: Sequence[bytes], anew: bool = False) -> None:
        """Adds the hashes of new records, within a transaction; with `anew` they replace all earlier ones: the session
        was read again."""
        self._note("seen", session, hashes, anew)

    def note_delivered(self, session: int, hashes: Sequence[bytes], anew: bool = False) -> None:
        """As `note_seen`, with the hashes of the delivered parts of documents."""
        self._note("delivered", session, hashes, anew)

    def _note(self, table: str, session: int, hashes: Sequence[bytes], anew: bool) -> None:
        if anew:
            self.database.ask(f"DELETE FROM {table} WHERE session=?", session)
        if hashes:
            self.database.ask(f"INSERT INTO {table} VALUES(?,?)", session, b"".join(hashes))

    def forget(self, ids: Iterable[int]) -> None:
        """Removes sessions; they are read from their beginning next time."""
        with self.database.transaction():
            self.remove(ids)
        self.database.shrink()

    def remove(self, ids: Iterable[int]) -> None:
        """As `forget`, within a transaction."""
        for log in ids:
            self.database.ask("DELETE FROM session WHERE id=?", log)
            for table in ("input", "seen", "delivered", "gone"):
                self.database.ask(f"DELETE FROM {table} WHERE session=?", log)

    def sessions(self, every_consumer: bool = False) -> list[SessionRow]:
        """All sessions with their inputs, without the stages' states."""
        where, values = ("", ()) if every_consumer else ("WHERE consumer=?", (self.consumer,))
        found = self.database.ask(f"SELECT {_SESSION} FROM session {where} ORDER BY id", *values)
        query = f"SELECT * FROM input WHERE session IN (SELECT id FROM session {where}) ORDER BY session, position"
        inputs = self.database.ask(query, *values)
        try:
            rows = {r[0]: _session_row(r) for r in found}
            for r in inputs:
                if r[0] in rows:  # else another process added it between the two queries
                    rows[r[0]].inputs.append(_input_row(r))
        except msgspec.MsgspecError as error:
            raise self._unreadable(error) from error
        return list(rows.values())

    def load(self, session: int) -> SessionRow | None:
        """One session with the stages' states."""
        found = self.database.ask(f"SELECT {_SESSION},state,merged FROM session WHERE id=?", session)
        if not found:
            return None
        *facts, state, merged = found[0]
        inputs = self.database.ask("SELECT * FROM input WHERE session=? ORDER BY position", session)
        try:
            row = _session_row(facts)
            row.state = None if state is None else _decompress.decompress(state)
            row.merged = None if merged is None else msgspec.json.decode(merged, type=MergedState)
            row.inputs = [_input_row(log) for log in inputs]
        except (msgspec.MsgspecError, zstandard.ZstdError) as error:
            raise self._unreadable(error) from error
        return row

    def seen(self, session: int) -> dict[bytes, int]:
        """How often each record was taken, by its hash."""
        return Counter(self._hashes("seen", session))

    def delivered(self, session: int) -> Iterable[bytes]:
        """The hashes of the delivered parts of documents."""
        return self._hashes("delivered", session)

    def _hashes(self, table: str, session: int) -> Iterable[bytes]:
        for (data,) in self.database.ask(f"SELECT hashes FROM {table} WHERE session=?", session):
            for at in range(0, len(data), HASH_BYTES):
                yield data[at : at + HASH_BYTES]

    def passed(self) -> dict[str, int]:
        """Logs skipped by `--from end`, with their sizes at that time; places that were searched, with -1."""
        return dict(self.database.ask("SELECT path,size FROM passed WHERE consumer=?", self.consumer))

    def pass_over(self, sizes: dict[str, int]) -> None:
        """Records the skipped files, replacing the earlier record."""
        with self.database.transaction():
            self.database.ask("DELETE FROM passed WHERE consumer=?", self.consumer)
            rows = [(self.consumer, path, size) for path, size in sizes.items()]
            self.database.each("INSERT INTO passed VALUES(?,?,?)", rows)

    def consumers(self) -> dict[int, str]:
        """The consumer of each session, for all consumers."""
        return dict(self.database.ask("SELECT id,consumer FROM session"))

    def check(self) -> None:
        """Reads, and begins a write, to test the database."""
        with self.database.transaction():
            self.database.ask("SELECT count(*) FROM session")

    def _unreadable(self, error: Exception) -> CursorError:
        return CursorError(f"cannot read the cursors in {self.database.path}: {error}")


def _outputs_json(outputs: OutputState) -> bytes:
    folder = written_text(outputs.folder)
    return msgspec.json.encode(outputs if folder == outputs.folder else msgspec.structs.replace(outputs, folder=folder))


def _session_row(r: Sequence[Any]) -> SessionRow:
    outputs = None if r[8] is None else msgspec.json.decode(r[8], type=OutputState)
    if outputs is not None:
        outputs.folder = read_text(outputs.folder)
    return SessionRow(r[0], r[1], r[2], r[3], r[4], bool(r[5]), r[6], r[7] or 0, None, outputs)


def _input_values(row: SessionRow) -> Iterator[tuple[object, ...]]:
    for position, log in enumerate(row.inputs):
        sign, mark, context = log.signature, log.mark, log.context
        # Device and inode as text: they are unsigned 64 bit, SQLite's integers are signed.
        known = (
            (str(sign.device), str(sign.inode), sign.size, sign.mtime_ns, sign.ctime_ns)
            if sign is not None
            else (None, None, None, None, None)
        )
        yield (
            row.id, position, log.path, log.state, log.generation, *known, mark.offset, mark.row, log.skipped,
            mark.head, mark.head_length, mark.tail, mark.tail_length,
            context.stream, context.parent_call, context.session_id, int(log.repeating),
        )  # fmt: skip


def _input_row(r: tuple[object, ...]) -> InputRow:
    sign = None if r[5] is None else Signature(int(str(r[5])), int(str(r[6])), _int(r[7]), _int(r[8]), _int(r[9]))
    mark = Mark(_int(r[10]), _int(r[11]), _bytes(r[13]), _int(r[14]), _bytes(r[15]), _int(r[16]))
    path = str(r[2])
    context = DecodeContext(printable_path(path), str(r[17]), _text(r[18]), _text(r[19]))
    return InputRow(path, str(r[3]), _int(r[4]), sign, mark, _int(r[12]), context, bool(r[20]))


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class Claims:
    """Which outputs are a consumer's own, by the transcript's path: no follower removes or overwrites other files.

    A claim is recorded before an output's first byte is written; the file itself is identified by device and inode,
    because a claim outlives its file. Every method raises CursorError.
    """

    def __init__(self, database: CursorDatabase, consumer: str) -> None:
        self._database = database
        self._consumer = consumer

    def claim(self, path: str, take: bool) -> bool:
        """Whether the output was already ours; with `take` it is claimed, before it exists, so that a half-written file
        left by a crash is known to be ours."""
        ask = self._database.ask
        ours = bool(ask("SELECT 1 FROM place WHERE path=? AND consumer=?", path, self._consumer))
        if take and not ours:
            ask("INSERT OR REPLACE INTO place VALUES(?,?)", path, self._consumer)
            ask("DELETE FROM kept WHERE path=?", path)
        return ours

    def claimed(self) -> list[str]:
        """All claimed paths."""
        return [path for (path,) in self._database.ask("SELECT path FROM place WHERE consumer=?", self._consumer)]

    def record_made(self, path: Path) -> None:
        """Records that the file at a claimed path is ours: created by us, or taken over. Raises also: OSError."""
        stat = path.stat()
        self._database.ask("INSERT OR REPLACE INTO made VALUES(?,?,?)", str(path), str(stat.st_dev), str(stat.st_ino))

    def is_made(self, path: Path) -> bool:
        """Whether the file now at a path is the one recorded as ours."""
        return any(_stands(str(path), *known) for known in self._identity(str(path)))

    def is_ours(self, path: Path) -> bool:
        """Whether a file that we made is recorded at a path, whatever is there now."""
        return bool(self._identity(str(path)))

    def unmade(self, path: Path) -> None:
        """Forgets our file, which was removed: another one may get its inode."""
        for table in ("made", "kept"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", str(path))

    def drop(self, path: str) -> None:
        """Gives up the claim to an output."""
        for table in ("place", "made"):
            self._database.ask(f"DELETE FROM {table} WHERE path=?", path)

    def release(self, path: str) -> None:
        """Marks an output as finished: it is not written or recreated from now on; only `--keep` may remove it."""
        for device, inode in self._identity(path):
            if _stands(path, device, inode):
                values = (path, self._consumer, device, inode)
                self._database.ask("INSERT OR REPLACE INTO kept VALUES(?,?,?,?)", *values)
        self.drop(path)

    def released(self) -> list[str]:
        """Released outputs that still exist."""
        query = "SELECT path,device,inode FROM kept WHERE consumer=?"
        there: list[str] = []
        for path, device, inode in self._database.ask(query, self._consumer):
            if _stands(path, device, inode):
                there.append(path)
            else:
                self._database.ask("DELETE FROM kept WHERE path=?", path)
        return there

    def _identity(self, path: str) -> list[tuple[str, str]]:
        return [
            (device, inode) for device, inode in self._database.ask("SELECT device,inode FROM made WHERE path=?", path)
        ]


def _stands(path: str, device: str, inode: str) -> bool:
    try:
        stat = os.stat(path)  # noqa: PTH116 - for thousands at a start
    except OSError:
        return False
    return (device, inode) == (str(stat.st_dev), str(stat.st_ino))
