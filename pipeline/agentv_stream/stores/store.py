"""OpenCode's stores, opened for reading: `opencode.db`, or the older `storage/` folders; nothing is ever written there.

Kilo's `kilo.db` has the same tables. Source: opencode 1.2 to 1.18, Kilo 7.0 and 7.7 (SQLite), 0.3 to 1.1 (files).
"""

import errno
import heapq
import re
import sqlite3
import stat
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import msgspec
from msgspec import Struct

from agentv_stages.model.times import epoch_ms
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import is_file, is_folder
from agentv_stream.stores.opencode_removed import RemovedMessage, content_of, read_removed
from agentv_stream.stores.stored_json import readable

STORE_SIGN = "::"  # between the path of a store and the session in it
_ID = re.compile(r"[A-Za-z0-9_-]+\Z")
_COLUMNS = ("parent_id", "title", "directory", "version", "time_created", "time_updated", "model", "agent")


class StoreError(SourceError):
    """A store that cannot be read, or a session that is not in it."""


class StoredSession(Struct, frozen=True):
    """A session as the store describes it; times in UTC ms."""

    id: str
    parent_id: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    model: str | None = None


class Revision(Struct, frozen=True):
    """Shows whether a session with its child sessions has changed: its number of rows, and their newest time."""

    session: StoredSession
    rows: int
    newest: int


class _Time(Struct):
    created: float | None = None
    updated: float | None = None


class _SessionFile(Struct):
    id: str = ""
    parentID: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    time: _Time | None = None


class _Model(Struct):
    id: str | None = None


_decode_model = msgspec.json.Decoder(_Model).decode
_decode_session_file = msgspec.json.Decoder(_SessionFile).decode


class Store(Protocol):
    """An open store."""

    def counts(self) -> dict[str, tuple[int, int]]:
        """The number of rows of each session, and their newest time."""
        ...

    def sessions(self) -> list[StoredSession]: ...

    def messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of each message, in order; including removed ones."""
        ...

    def removed(self, session_id: str) -> Collection[str]:
        """Ids of the messages that the agent has deleted but the store still contains."""
        ...

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of each part of a message, in order."""
        ...


def list_sessions(path: str | Path) -> list[StoredSession]:
    """The sessions of a store, oldest first, children included.

    Raises: StoreError when it cannot be read.
    """
    with open_store(Path(path)) as store:
        return sorted(store.sessions(), key=lambda s: (s.created_ms or 0, s.id))


def without_children(sessions: Collection[StoredSession]) -> list[StoredSession]:
    """The sessions that are read on their own: all but those whose parent, with which they are read, is there, too."""
    there = {session.id for session in sessions}
    return [session for session in sessions if session.parent_id not in there]


def revisions(path: str | Path) -> list[Revision]:
    """The sessions of a database that are not children, each with its revision.

    Raises: StoreError when it cannot be read.
    """
    with open_store(Path(path)) as store:
        sessions = {session.id: session for session in store.sessions()}
        counts = store.counts()
    sums = {name: counts.get(name, (0, 0)) for name in sessions}
    for session in sessions.values():
        top, seen = session, {session.id}
        while top.parent_id in sessions and top.parent_id not in seen:
            top = sessions[top.parent_id]
            seen.add(top.id)
        if top is not session:
            rows, newest = counts.get(session.id, (0, 0))
            sums[top.id] = (sums[top.id][0] + rows + 1, max(sums[top.id][1], newest))
    tops = without_children(sessions.values())
    return [Revision(s, sums[s.id][0], max(sums[s.id][1], s.updated_ms or 0)) for s in tops]


@contextmanager
def open_store(path: Path) -> Generator[Store]:
    """A store, opened for reading. Raises: StoreError."""
    if is_folder(path):
        folder = path / "storage" if is_folder(path / "storage") else path
        try:
            yield _Folder(folder)
        except OSError as error:
            raise StoreError(f"cannot read {error.filename or path}: {error.strerror or error}") from error
        return
    try:
        with closing(_connect(path)) as connection:
            yield _Database(connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    """Opens for reading. Without a write-ahead log nobody writes: then `immutable`, which creates no files beside
    it."""
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


def _text(value: object) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else None


def _model(value: object) -> str | None:
    """The id of a model: newer versions wrap it in an object."""
    text = _text(value)
    if text is None or not text.startswith("{"):
        return text
    try:
        return _decode_model(text).id
    except msgspec.MsgspecError:
        return None


def _number(value: object) -> int | None:
    """A whole number; None for anything else, and for an impossible count or time: a column may contain any value."""
    return round(value) if isinstance(value, int | float) and abs(value) < 2**53 else None


def _time(value: object) -> int | None:
    """Epoch ms; None if outside the range of dates."""
    return epoch_ms(_number(value))


@dataclass
class _Database:
    connection: sqlite3.Connection
    gone: dict[str, dict[str, RemovedMessage]] = field(default_factory=dict[str, dict[str, RemovedMessage]])

    def sessions(self) -> list[StoredSession]:
        known = {_text(row[1]) for row in self.connection.execute("PRAGMA table_info(session)")}
        if "id" not in known:
            raise StoreError("no OpenCode database: it has no table of sessions")
        columns = [c if c in known else "NULL" for c in _COLUMNS]
        found: list[StoredSession] = []
        for row in self.connection.execute(f"SELECT id, {', '.join(columns)} FROM session"):
            name = _text(row[0])
            if name:
                found.append(
                    StoredSession(
                        name,
                        _text(row[1]),
                        _text(row[2]),
                        _text(row[3]),
                        _text(row[4]),
                        _time(row[5]),
                        _time(row[6]),
                        _model(row[7]),
                    )
                )
        return found

    def counts(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for table in ("message", "part"):
            columns = {_text(row[1]) for row in self.connection.execute(f"PRAGMA table_info({table})")}
            newest = "max(time_updated)" if "time_updated" in columns else "total(length(data))"
            query = f"SELECT session_id, count(*), {newest} FROM {table} GROUP BY session_id"
            for name, rows, time in self.connection.execute(query):
                before = found.get(_text(name) or "", (0, 0))
                found[_text(name) or ""] = (before[0] + rows, max(before[1], _number(time) or 0))
        return found

    def messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
        rows = self._rows(query, (session_id,))
        removed = self.removed(session_id)
        if not removed:
            return rows
        numbers = {name: message.number for name, message in removed.items()}
        return heapq.merge(rows, self._contents(session_id, numbers), key=lambda row: row[0])

    def removed(self, session_id: str) -> dict[str, RemovedMessage]:
        found = self.gone.get(session_id)
        if found is None:
            found = self.gone[session_id] = read_removed(self.connection, session_id)
        return found

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        removed = self.removed(session_id).get(message_id)
        if removed is not None:
            return self._contents(session_id, removed.parts)
        return self._rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message_id,))

    def _contents(self, session_id: str, numbers: dict[str, int]) -> Iterator[tuple[str, bytes]]:
        for name in sorted(numbers):
            yield name, content_of(self.connection, session_id, numbers[name])

    def _rows(self, query: str, values: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        for name, data in self.connection.execute(query, values):
            text = _text(name)
            if text:
                yield text, readable(data) if isinstance(data, bytes) else b"{}"


def _bytes_of(file: Path) -> bytes:
    """What a file holds. Raises: OSError, also for a pipe or a device: it may have no writer, or no end."""
    mode = file.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is not a file", str(file))
    return file.read_bytes()


@dataclass
class _Folder:
    """`session/<project>/<id>.json`, `message/<session>/`, `part/<message>/`; before that, all below `session/`."""

    root: Path

    def counts(self) -> dict[str, tuple[int, int]]:
        return {}  # such a store is not followed

    def sessions(self) -> list[StoredSession]:
        found: list[StoredSession] = []
        for file in sorted((self.root / "session").glob("*/*.json")):
            try:
                session = _decode_session_file(_bytes_of(file))
            except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
                continue  # it was removed after it was listed, or is no session
            if session.id == file.stem and _ID.match(session.id):
                time = session.time or _Time()
                found.append(
                    StoredSession(
                        session.id,
                        session.parentID,
                        session.title,
                        session.directory,
                        session.version,
                        _time(time.created),
                        _time(time.updated),
                    )
                )
        return found

    def messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        return self._files(f"message/{session_id}", f"session/message/{session_id}")

    def removed(self, session_id: str) -> Collection[str]:
        return ()

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        if not _ID.match(message_id):
            return iter(())
        return self._files(f"part/{message_id}", f"session/part/{session_id}/{message_id}")

    def _files(self, *places: str) -> Iterator[tuple[str, bytes]]:
        for place in places:
            for file in sorted((self.root / place).glob("*.json")):
                try:
                    data = _bytes_of(file)
                except FileNotFoundError:
                    continue  # it was removed after it was listed
                yield file.stem, readable(data)
