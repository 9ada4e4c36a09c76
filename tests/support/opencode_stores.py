"""Stores as OpenCode writes them, made of an export."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from support.decoding import FIXTURES

EXPORT = FIXTURES / "opencode" / "export-ses_1.json"
IDS = ("id", "sessionID", "messageID")


def export() -> dict[str, Any]:
    return msgspec.json.decode(EXPORT.read_bytes(), type=dict[str, Any])


def child() -> dict[str, Any]:
    """A session that the `task` call of the export started."""
    info = {"id": "ses_2", "parentID": "ses_1", "directory": "/w", "title": "look", "version": "1.18.0"}
    info["time"] = {"created": 1772359200010, "updated": 1772359200030}  # type: ignore[assignment]  # a plain value
    ended: dict[str, Any] = {"time": {"created": 1772359200012}, "finish": "stop"}
    message = {"id": "msg_9", "sessionID": "ses_2", "role": "assistant", **ended}
    part = {"type": "text", "text": "seen", "id": "prt_1", "sessionID": "ses_2", "messageID": "msg_9"}
    return {"info": info, "messages": [{"info": message, "parts": [part]}]}


def without_ids(value: dict[str, Any]) -> str:
    return msgspec.json.encode({k: v for k, v in value.items() if k not in IDS}).decode()


def make_database(path: Path, *exports: dict[str, Any], wal: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(
        """CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
               time_created integer, time_updated integer);
           CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
           CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
               data text);"""
    )
    for one in exports:
        info = one["info"]
        facts = (info["id"], info.get("parentID"), info["directory"], info["title"], info["version"])
        times = (info["time"]["created"], info["time"]["updated"])
        connection.execute("INSERT INTO session VALUES (?,?,?,?,?,?,?)", (*facts, *times))
        for message in one["messages"]:
            own = message["info"]
            connection.execute("INSERT INTO message VALUES (?,?,?,?)", (own["id"], info["id"], 0, without_ids(own)))
            for part in message["parts"]:
                name = part["id"] if info["id"] == "ses_1" else f"{part['id']}-{info['id']}"
                connection.execute(
                    "INSERT INTO part VALUES (?,?,?,?,?)", (name, own["id"], info["id"], 0, without_ids(part))
                )
    connection.commit()
    return connection


def undo(connection: sqlite3.Connection, *message_ids: str) -> None:
    """Deletes messages as the prompt after an `/undo` does: the events of 1.18 keep what they were."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS event (id text PRIMARY KEY, aggregate_id text, seq integer, type text, data text)"
    )
    for message_id in message_ids:
        [(session, data)] = connection.execute("SELECT session_id, data FROM message WHERE id = ?", (message_id,))
        parts = connection.execute("SELECT id, data FROM part WHERE message_id = ?", (message_id,)).fetchall()
        own = {"id": message_id, "sessionID": session}
        info = {**own, **msgspec.json.decode(data)}
        _event(connection, session, "message.updated.1", {"info": {**own, "role": info["role"]}})
        for part_id, value in parts:
            ids = {"id": part_id, "sessionID": session, "messageID": message_id}
            _event(connection, session, "message.part.updated.1", {"part": {**ids, "type": "text", "text": ""}})
            _event(connection, session, "message.part.updated.1", {"part": {**ids, **msgspec.json.decode(value)}})
        _event(connection, session, "message.updated.1", {"info": info})
        _event(connection, session, "message.removed.1", {"messageID": message_id})
        connection.execute("DELETE FROM part WHERE message_id = ?", (message_id,))
        connection.execute("DELETE FROM message WHERE id = ?", (message_id,))
    connection.commit()


def _event(connection: sqlite3.Connection, session: str, kind: str, value: dict[str, Any]) -> None:
    [(number,)] = connection.execute("SELECT count(*) FROM event")
    data = msgspec.json.encode({"sessionID": session, **value}).decode()
    connection.execute("INSERT INTO event VALUES (?,?,?,?,?)", (f"evt_{number}", session, number, kind, data))


def make_folder(root: Path, *exports: dict[str, Any]) -> Path:
    storage = root / "storage"
    for one in exports:
        info = one["info"]
        write(storage / "session" / "project" / f"{info['id']}.json", info)
        for message in one["messages"]:
            write(storage / "message" / info["id"] / f"{message['info']['id']}.json", message["info"])
            for part in message["parts"]:
                write(storage / "part" / message["info"]["id"] / f"{part['id']}.json", part)
    return root


def write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value)))
