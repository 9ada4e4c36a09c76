"""A session of a store as JSON lines.

In: the path of the database or of the folder, and a session id. Out: first the session's own line, then its messages in
order; a child session (a sub-agent) follows the message whose call started it, its lines with that call's id as
`parent_call`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stream.stores.database import StoreError
from agentv_stream.stores.opening import open_store
from agentv_stream.stores.store import Store, StoredSession

_DEEPEST = 16
_encode = msgspec.json.Encoder().encode


class StoredRow(Struct, frozen=True):
    """A line of a session. `id` is the message's, or the session's with its title, which may be set later (then the
    line comes again, with another id); `final` says that nothing in it will change."""

    id: str
    data: bytes
    final: bool


class ReadPart(Struct, frozen=True):
    """The part of a session that needs no further reading: the rows up to number `rowid`, which holds the message
    `message_id`, are all final. `started` has the child sessions that they started, with the ids of the calls."""

    rowid: int
    message_id: str
    started: tuple[tuple[str, str], ...] = ()


def read_session(path: str | Path, session_id: str, children: bool = True) -> Iterator[bytes]:
    """Yields the lines of a session and, with `children`, of its child sessions, without line ends. Holds one message
    at a time.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    for row in read_rows(path, session_id, children):
        yield row.data


def read_rows(
    path: str | Path, session_id: str, children: bool = True, read: dict[str, ReadPart] | None = None
) -> Iterator[StoredRow]:
    """As `read_session`, with ids, and whether the store may still change a row.

    `read` has the parts of sessions that a follower has taken; they are left out. After the last row it includes all
    rows that were final, as far as no other one comes before them.

    An answer is final when it, or a later one of its session, has ended; a prompt when something follows it; a deleted
    message always; a child session's rows when it is known which call started it.

    Raises: StoreError when the store cannot be read or has no such session.
    """
    with open_store(Path(path), patient=read is None) as store:
        sessions = {session.id: session for session in store.sessions(session_id)}
        if session_id not in sessions:
            more = f"; tables of a later version are not read: {', '.join(store.unread)}" if store.unread else ""
            raise StoreError(f"no session {session_id!r} in {path}{more}")
        started: dict[str, list[str]] = {}
        if children:
            for session in sorted(sessions.values(), key=lambda s: (s.created_ms or 0, s.id)):
                if session.parent_id:
                    started.setdefault(session.parent_id, []).append(session.id)
        reading = _Reading(store, sessions, started, read or {})
        for row in reading.rows(session_id, None, 0):
            if store.connection is not None:
                store.connection.check()
            yield row
        if read is not None:
            read |= reading.new


@dataclass
class _Reading:
    store: Store
    sessions: dict[str, StoredSession]
    children: dict[str, list[str]]
    read: dict[str, ReadPart]
    new: dict[str, ReadPart] = field(default_factory=dict[str, ReadPart])
    seen: set[str] = field(default_factory=set[str])

    def rows(self, session_id: str, parent_call: str | None, depth: int, known: bool = True) -> Iterator[StoredRow]:
        """`known`: it is certain which call started the session, or that none did."""
        if session_id in self.seen or depth > _DEEPEST:
            return
        self.seen.add(session_id)
        tail = b"}" if parent_call is None else b',"parent_call":' + _encode(parent_call) + b"}"
        session = self.sessions[session_id]
        name = session_id if depth else f"{session_id} {session.title or ''}"
        yield StoredRow(name, self.store.opening(session)[:-1] + tail, known)
        part = self.read.get(session_id)
        if part is None or not self.store.holds(part.rowid, part.message_id):
            part = ReadPart(0, "")
        final = self._final(session_id, part.rowid)
        all_final = known
        own = set(self.children.get(session_id, ()))
        for child, call in part.started:
            own.discard(child)
            yield from self.rows(child, call, depth + 1, known)
        finished: list[tuple[int, str, tuple[tuple[str, str], ...]]] = []
        first_open: int | None = None
        for message in self.store.messages(session_id, own, part.rowid):
            settled = message.settled or message.id in final
            all_final = all_final and settled
            yield StoredRow(message.id, message.line[:-1] + tail, known and settled)
            if message.rowid and known and settled:
                finished.append((message.rowid, message.id, message.started))
            elif message.rowid:
                first_open = min(message.rowid, first_open or message.rowid)
            for child, call in message.started:
                own.discard(child)
                yield from self.rows(child, call, depth + 1, known)
        for child in self.children.get(session_id, ()):
            yield from self.rows(child, None, depth + 1, all_final)
        done = [row for row in finished if first_open is None or row[0] < first_open]
        if done:
            rowid, name, _ = max(done)
            started = (*part.started, *(child for row in done for child in row[2]))
            self.new[session_id] = ReadPart(rowid, name, started)

    def _final(self, session_id: str, after: int) -> set[str]:
        """The messages of a session that will not change any more."""
        stages = list(self.store.stages(session_id, after))
        ended = max((n for n, (_, stage) in enumerate(stages) if stage == "ended"), default=-1)
        last = len(stages) - 1
        return {m for n, (m, stage) in enumerate(stages) if n <= ended or (stage == "follows" and n < last)}
