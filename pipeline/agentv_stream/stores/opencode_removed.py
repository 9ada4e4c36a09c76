"""Messages that `/undo` removed from an OpenCode database, from the events that it keeps of each session.

In: the open database and a session id. Out: where the last state of each removed message and of its parts is stored.
Source: opencode 1.18, table `event`, types `message.updated`, `message.part.updated`, `message.removed`.
"""

import sqlite3
from collections.abc import Iterator

import msgspec
from msgspec import Raw, Struct

from agentv_stream.stores.stored_json import readable

_COLUMNS = frozenset({b"aggregate_id", b"seq", b"type", b"data"})
_IDS = ("id", "sessionID", "messageID")


class RemovedMessage(Struct):
    """Numbers of the events with the last state of the message and its parts."""

    number: int = -1
    parts: dict[str, int] = {}


class _Named(Struct):
    id: str = ""
    messageID: str = ""


class _Event(Struct):
    messageID: str = ""
    partID: str = ""
    info: _Named | None = None
    part: _Named | None = None


class _Content(Struct):
    info: dict[str, Raw] | None = None
    part: dict[str, Raw] | None = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_content = msgspec.json.Decoder(_Content).decode


def read_removed(connection: sqlite3.Connection, session_id: str) -> dict[str, RemovedMessage]:
    """The removed messages of a session by id, in order; none where the database keeps no events."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(event)")}
    if not columns >= _COLUMNS:
        return {}
    query = "SELECT seq, data FROM event WHERE aggregate_id = ? AND type >= ? AND type < ? ORDER BY seq"
    parameters = (session_id, "message.removed.", "message.removed/")
    names = {event.messageID for _, event in _events(connection, query, parameters)}
    if not names:
        return {}
    names -= {_text(row[0]) for row in connection.execute("SELECT id FROM message WHERE session_id = ?", (session_id,))}
    found = {name: RemovedMessage() for name in sorted(names)}
    for number, event in _events(connection, query, (session_id, "message.", "message/")):
        if event.info is not None and event.info.id in found:
            found[event.info.id].number = number
        elif event.part is not None and event.part.messageID in found:
            found[event.part.messageID].parts[event.part.id] = number
        elif event.partID and event.messageID in found:
            found[event.messageID].parts.pop(event.partID, None)
    return {name: message for name, message in found.items() if message.number >= 0}


def content_of(connection: sqlite3.Connection, session_id: str, number: int) -> bytes:
    """The JSON of a message or a part, without its ids, as in the tables."""
    query = "SELECT data FROM event WHERE aggregate_id = ? AND seq = ?"
    row = connection.execute(query, (session_id, number)).fetchone()
    try:
        content = _decode_content(readable(row[0]))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return b"{}"
    value = content.info or content.part or {}
    return msgspec.json.encode({key: raw for key, raw in value.items() if key not in _IDS})


def _events(connection: sqlite3.Connection, query: str, values: tuple[str, ...]) -> Iterator[tuple[int, _Event]]:
    for number, data in connection.execute(query, values):
        try:
            yield number, _decode_event(readable(data))
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError):
            continue


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
