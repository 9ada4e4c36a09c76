"""A session of an OpenCode store, as rows of the dialect `opencode-rows`.

In: the path of the database or of the folder, and a session id. Out: JSON lines, first the session, then its messages
with their parts in order; a child session (a sub-agent) follows the message whose `task` call started it, its rows with
that call's id as `parent_call`. After a message that `/undo` deleted comes a row that says so (`undone`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from agentv_stream.stores.store import Store, StoredSession, StoreError, open_store

_DEEPEST = 16


class StoredRow(Struct, frozen=True):
    """A line of a session. `id` is the message's, or the session's with its title, which may be set later (then the
    line comes again, with another id); `final` says that nothing in it will change."""

    id: str
    data: bytes
    final: bool


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
    """The part of a message that shows whether an answer has ended."""

    role: str = ""
    time: _Ended | None = None
    error: Raw = Raw(b"null")

    @property
    def ended(self) -> bool:
        completed = self.time is not None and self.time.completed is not None
        return self.role == "assistant" and (completed or bytes(self.error) != b"null")


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_task = msgspec.json.Decoder(_Task).decode
_encode = msgspec.json.Encoder().encode


def read_session(path: str | Path, session_id: str, children: bool = True) -> Iterator[bytes]:
    """Yields the lines of a session and, with `children`, of its child sessions, without line ends. Holds one message
    at a time.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    for row in read_rows(path, session_id, children):
        yield row.data


def read_rows(path: str | Path, session_id: str, children: bool = True) -> Iterator[StoredRow]:
    """As `read_session`, with ids, and whether the store may still change a row.

    An answer is final when it, or a later one of its session, has ended; a prompt when something follows it; a deleted
    message always; a child session's rows when it is known which call started it.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    with open_store(Path(path)) as store:
        sessions = {session.id: session for session in store.sessions()}
        if session_id not in sessions:
            raise StoreError(f"no session {session_id!r} in {path}")
        started: dict[str, list[str]] = {}
        if children:
            for session in sorted(sessions.values(), key=lambda s: (s.created_ms or 0, s.id)):
                if session.parent_id:
                    started.setdefault(session.parent_id, []).append(session.id)
        yield from _Reading(store, sessions, started).rows(session_id, None, 0)


@dataclass
class _Reading:
    store: Store
    sessions: dict[str, StoredSession]
    children: dict[str, list[str]]
    seen: set[str] = field(default_factory=set[str])

    def rows(self, session_id: str, parent_call: str | None, depth: int, known: bool = True) -> Iterator[StoredRow]:
        """`known`: it is certain which call started the session, or that none did."""
        if session_id in self.seen or depth > _DEEPEST:
            return
        self.seen.add(session_id)
        tail = b"" if parent_call is None else b',"parent_call":' + _encode(parent_call)
        session = self.sessions[session_id]
        facts = b'{"info":' + _encode(_facts(session)) + tail + b"}"
        name = session_id if depth else f"{session_id} {session.title or ''}"
        yield StoredRow(name, facts, known)
        final = self._final(session_id)
        all_final = known
        removed = self.store.removed(session_id)
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
            if message_id in removed:
                undone = b'{"undone":' + _encode(message_id) + b',"sessionID":' + _encode(session_id) + tail + b"}"
                yield StoredRow(f"{message_id}-undone", undone, known)
        for child in self.children.get(session_id, ()):
            yield from self.rows(child, None, depth + 1, all_final)

    def _final(self, session_id: str) -> set[str]:
        """The messages of a session that will not change any more."""
        heads = [(message_id, _head(data)) for message_id, data in self.store.messages(session_id)]
        last_ended = max((n for n, (_, head) in enumerate(heads) if head.ended), default=-1)
        last = len(heads) - 1
        final = {m for n, (m, head) in enumerate(heads) if n <= last_ended or (head.role == "user" and n < last)}
        return final.union(self.store.removed(session_id))


def _head(data: bytes) -> _Head:
    try:
        return _decode_head(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Head()


def _facts(session: StoredSession) -> dict[str, object]:
    """A session as OpenCode's export writes it."""
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
    """The JSON object with its ids, which are in the columns, on one line; only the ids if it is not an object."""
    body = data.strip().replace(b"\n", b" ").replace(b"\r", b" ")
    head = _encode(ids)[:-1]
    try:
        msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return head + b"}"
    rest = body[1:].lstrip()
    return head + (b"" if rest.startswith(b"}") else b",") + rest
