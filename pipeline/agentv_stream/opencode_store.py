"""Reads OpenCode's stores: a session of `opencode.db` or of the older `storage/` folders, as rows of `opencode-rows`.

In: the path of the database or of the folder, and a session id. Out: JSON lines, first the session, then its messages
with their parts in order; a child session (a sub-agent) stands behind the message whose `task` call started it, its
rows with that call's id as `parent_call`. Nothing is ever written to the store.
Source: opencode 1.2 to 1.18 (SQLite), 0.3 to 1.1 (files).
"""

import re
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from agentv_stream.errors import SourceError
from agentv_stream.files import is_file, is_folder

STORE_SIGN = "::"  # stands between the path of a store and the session in it
_ID = re.compile(r"[A-Za-z0-9_-]+\Z")
_COLUMNS = ("parent_id", "title", "directory", "version", "time_created", "time_updated", "model", "agent")
_DEEPEST = 16


class StoreError(SourceError):
    """A store that cannot be read, or a session that is not in it."""


class StoredSession(Struct, frozen=True):
    """What the store says of a session; times in UTC ms."""

    id: str
    parent_id: str | None = None
    title: str | None = None
    directory: str | None = None
    version: str | None = None
    created_ms: int | None = None
    updated_ms: int | None = None
    model: str | None = None


class StoredRow(Struct, frozen=True):
    """A line of a session. `id` is the session's or the message's; `final` says that nothing of it will change."""

    id: str
    data: bytes
    final: bool


class Revision(Struct, frozen=True):
    """What tells whether a session with its child sessions has changed: how many rows it has, and their newest time."""

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


class _Metadata(Struct):
    sessionId: str | None = None


class _State(Struct):
    metadata: _Metadata | None = None


class _Task(Struct):
    callID: str | None = None
    state: _State | None = None


class _Ended(Struct):
    completed: float | None = None


class _Head(Struct):
    """What tells whether an answer has ended."""

    role: str = ""
    time: _Ended | None = None
    error: Raw = Raw(b"null")

    @property
    def ended(self) -> bool:
        completed = self.time is not None and self.time.completed is not None
        return self.role == "assistant" and (completed or bytes(self.error) != b"null")


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_task = msgspec.json.Decoder(_Task).decode
_decode_session_file = msgspec.json.Decoder(_SessionFile).decode
_encode = msgspec.json.Encoder().encode


class _Store(Protocol):
    """A store that is open."""

    def counts(self) -> dict[str, tuple[int, int]]:
        """Rows of each session, and the newest time of one."""
        ...

    def sessions(self) -> list[StoredSession]: ...

    def messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of each message, in order."""
        ...

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        """Id and JSON of each part of a message, in order."""
        ...


def list_sessions(path: str | Path) -> list[StoredSession]:
    """The sessions of a store, oldest first, children included.

    Raises: StoreError when it cannot be read.
    """
    with _opened(Path(path)) as store:
        return sorted(store.sessions(), key=lambda s: (s.created_ms or 0, s.id))


def read_session(path: str | Path, session_id: str) -> Iterator[bytes]:
    """The lines of a session and of its child sessions, without line ends. Holds one message at a time.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    for row in read_rows(path, session_id):
        yield row.data


def revisions(path: str | Path) -> list[Revision]:
    """The sessions of a database that are nobody's child, each with what tells that it has changed.

    Raises: StoreError when it cannot be read.
    """
    with _opened(Path(path)) as store:
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
    tops = [s for s in sessions.values() if s.parent_id not in sessions]
    return [Revision(s, sums[s.id][0], max(sums[s.id][1], s.updated_ms or 0)) for s in tops]


def read_rows(path: str | Path, session_id: str) -> Iterator[StoredRow]:
    """As `read_session`, with ids, and whether the store will still change a row.

    An answer is final when it has ended, or when a later one of its session has; a prompt when something follows it;
    what a child session says when it is known which call started it.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    with _opened(Path(path)) as store:
        sessions = {session.id: session for session in store.sessions()}
        if session_id not in sessions:
            raise StoreError(f"no session {session_id!r} in {path}")
        children: dict[str, list[str]] = {}
        for session in sorted(sessions.values(), key=lambda s: (s.created_ms or 0, s.id)):
            if session.parent_id:
                children.setdefault(session.parent_id, []).append(session.id)
        yield from _Reading(store, sessions, children).rows(session_id, None, 0)


@dataclass
class _Reading:
    store: _Store
    sessions: dict[str, StoredSession]
    children: dict[str, list[str]]
    seen: set[str] = field(default_factory=set[str])

    def rows(self, session_id: str, parent_call: str | None, depth: int, known: bool = True) -> Iterator[StoredRow]:
        """`known` says that it is known for good which call started the session, or that none did."""
        if session_id in self.seen or depth > _DEEPEST:
            return
        self.seen.add(session_id)
        tail = b"" if parent_call is None else b',"parent_call":' + _encode(parent_call)
        facts = b'{"info":' + _encode(_facts(self.sessions[session_id])) + tail + b"}"
        yield StoredRow(session_id, facts, known)
        final = self._final(session_id)
        all_final = known
        own = set(self.children.get(session_id, ()))
        for message_id, data in self.store.messages(session_id):
            started: list[tuple[str, str]] = []
            parts: list[bytes] = []
            for part_id, part in self.store.parts(session_id, message_id):
                if b'"sessionId"' in part:
                    started.extend(_started(part, own))
                parts.append(_with_ids(part, {"id": part_id, "sessionID": session_id, "messageID": message_id}))
            info = _with_ids(data, {"id": message_id, "sessionID": session_id})
            line = b'{"info":' + info + b',"parts":[' + b",".join(parts) + b"]" + tail + b"}"
            all_final = all_final and message_id in final
            yield StoredRow(message_id, line, known and message_id in final)
            for child, call in started:
                own.discard(child)
                yield from self.rows(child, call, depth + 1, known)
        for child in self.children.get(session_id, ()):
            yield from self.rows(child, None, depth + 1, all_final)

    def _final(self, session_id: str) -> set[str]:
        """The messages of a session that will not change any more."""
        heads = [(message_id, _head(data)) for message_id, data in self.store.messages(session_id)]
        last_ended = max((n for n, (_, head) in enumerate(heads) if head.ended), default=-1)
        last = len(heads) - 1
        return {m for n, (m, head) in enumerate(heads) if n <= last_ended or (head.role == "user" and n < last)}


def _head(data: bytes) -> _Head:
    try:
        return _decode_head(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Head()


def _facts(session: StoredSession) -> dict[str, object]:
    """A session as the export writes it."""
    facts: dict[str, object] = {
        "id": session.id,
        "parentID": session.parent_id,
        "title": session.title,
        "directory": session.directory or "",
        "version": session.version,
        "time": {"created": session.created_ms, "updated": session.updated_ms},
    }
    return {key: value for key, value in facts.items() if value is not None}


def _started(part: bytes, children: set[str]) -> list[tuple[str, str]]:
    """The child session that a `task` call started, with the id of the call."""
    try:
        task = _decode_task(part)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []
    child = task.state.metadata.sessionId if task.state and task.state.metadata else None
    return [(child, task.callID)] if child in children and task.callID else []


def _with_ids(data: bytes, ids: dict[str, str]) -> bytes:
    """The JSON object with its ids, which the columns hold; on one line. What is no object gives one without facts."""
    body = data.strip().replace(b"\n", b" ").replace(b"\r", b" ")
    head = _encode(ids)[:-1]
    try:
        msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return head + b"}"
    rest = body[1:].lstrip()
    return head + (b"" if rest.startswith(b"}") else b",") + rest


@contextmanager
def _opened(path: Path) -> Generator[_Store, None, None]:
    if is_folder(path):
        folder = path / "storage" if is_folder(path / "storage") else path
        yield _Folder(folder)
        return
    try:
        with closing(_connect(path)) as connection:
            yield _Database(connection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def _connect(path: Path) -> sqlite3.Connection:
    """Opens for reading. Without a write-ahead log nobody writes: then `immutable`, which leaves no files beside it."""
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


def _number(value: object) -> int | None:
    return round(value) if isinstance(value, int | float) else None


@dataclass
class _Database:
    connection: sqlite3.Connection

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
                        _number(row[5]),
                        _number(row[6]),
                        _text(row[7]),
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
        return self._rows(query, (session_id,))

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        return self._rows("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message_id,))

    def _rows(self, query: str, values: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
        for name, data in self.connection.execute(query, values):
            text = _text(name)
            if text:
                yield text, data if isinstance(data, bytes) else b"{}"


@dataclass
class _Folder:
    """`session/<project>/<id>.json`, `message/<session>/`, `part/<message>/`; before that all below `session/`."""

    root: Path

    def counts(self) -> dict[str, tuple[int, int]]:
        return {}  # such a store is not followed

    def sessions(self) -> list[StoredSession]:
        found: list[StoredSession] = []
        for file in sorted((self.root / "session").glob("*/*.json")):
            try:
                session = _decode_session_file(file.read_bytes())
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if session.id == file.stem and _ID.match(session.id):
                time = session.time or _Time()
                found.append(
                    StoredSession(
                        session.id,
                        session.parentID,
                        session.title,
                        session.directory,
                        session.version,
                        _number(time.created),
                        _number(time.updated),
                    )
                )
        return found

    def messages(self, session_id: str) -> Iterator[tuple[str, bytes]]:
        return self._files(f"message/{session_id}", f"session/message/{session_id}")

    def parts(self, session_id: str, message_id: str) -> Iterator[tuple[str, bytes]]:
        if not _ID.match(message_id):
            return iter(())
        return self._files(f"part/{message_id}", f"session/part/{session_id}/{message_id}")

    def _files(self, *places: str) -> Iterator[tuple[str, bytes]]:
        for place in places:
            for file in sorted((self.root / place).glob("*.json")):
                yield file.stem, file.read_bytes()
