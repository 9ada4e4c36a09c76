import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.event import AnyEvent, SessionInfo
from agentv_stages.providers.opencode import PROVIDER
from agentv_stream.opencode_store import StoreError, list_sessions, read_session
from support.decoding import FIXTURES, best, calls, dialect, events_of, records, results, texts, total

EXPORT = FIXTURES / "opencode" / "export-ses_1.json"
IDS = ("id", "sessionID", "messageID")


def export() -> dict[str, Any]:
    return msgspec.json.decode(EXPORT.read_bytes(), type=dict[str, Any])


def child() -> dict[str, Any]:
    """A session that the `task` call of the export started."""
    info = {"id": "ses_2", "parentID": "ses_1", "directory": "/w", "title": "look", "version": "1.18.0"}
    info["time"] = {"created": 1772359200010, "updated": 1772359200030}  # type: ignore[assignment]  # a plain value
    message = {"id": "msg_9", "sessionID": "ses_2", "role": "assistant", "finish": "stop", "time": {"created": 1}}
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


def events_from(path: Path, session_id: str = "ses_1") -> list[AnyEvent]:
    given = records(b"\n".join(read_session(path, session_id)))
    assert best(PROVIDER, given[:8]) == ("opencode-rows", 1.0)
    return events_of(dialect(PROVIDER, "opencode-rows"), given)


def summary(events: list[AnyEvent]) -> tuple[Any, ...]:
    own = [e for e in events if e.source.stream == "main"]
    return (
        texts(own),
        [(c.call_id, c.name, c.input, c.message_id, c.source.time_ms) for c in calls(own)],
        [(r.call_id, r.outcome, r.exit_code, r.output) for r in results(own)],
        total(own),
        next(e.session_id for e in own if isinstance(e, SessionInfo)),
    )


def test_the_database_gives_what_the_export_gives(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export()).close()
    exported = events_of(dialect(PROVIDER, "opencode-export"), records(msgspec.json.encode(export())))
    assert summary(events_from(path)) == summary(exported)


def test_the_folder_of_files_gives_what_the_export_gives(tmp_path: Path) -> None:
    exported = events_of(dialect(PROVIDER, "opencode-export"), records(msgspec.json.encode(export())))
    assert summary(events_from(make_folder(tmp_path, export(), child()))) == summary(exported)


def test_a_child_session_stands_behind_the_call_that_started_it(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    rows = [msgspec.json.decode(row) for row in read_session(path, "ses_1")]
    assert [(r["info"]["id"], r.get("parent_call")) for r in rows] == [
        ("ses_1", None),
        ("msg_1", None),
        ("msg_2", None),
        ("ses_2", "call_6"),
        ("msg_9", "call_6"),
        ("msg_3", None),
    ]
    assert [e.source.stream for e in events_from(path) if getattr(e, "text", "") == "seen"] == ["subagent:ses_2"]


def test_a_child_can_be_read_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), child()).close()
    events = events_from(path, "ses_2")
    assert texts(events) == ["seen"]
    assert {e.source.stream for e in events} == {"main"}


def test_sessions_are_listed_oldest_first(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, child(), export()).close()
    assert [(s.id, s.parent_id, s.title) for s in list_sessions(path)] == [
        ("ses_1", None, "Fix it"),
        ("ses_2", "ses_1", "look"),
    ]
    assert [s.id for s in list_sessions(make_folder(tmp_path, child(), export()))] == ["ses_1", "ses_2"]


def test_reading_leaves_nothing_beside_a_quiet_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export(), wal=True).close()
    assert list(tmp_path.iterdir()) == [path]
    before = path.read_bytes()
    assert list(read_session(path, "ses_1"))
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_what_the_agent_has_only_written_to_its_log_so_far_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export(), wal=True)) as writer:
        data = without_ids({"type": "text", "text": "just now"})
        writer.execute("INSERT INTO part VALUES ('prt_zz', 'msg_3', 'ses_1', 0, ?)", (data,))
        writer.commit()
        assert path.with_name("opencode.db-wal").stat().st_size > 0
        assert texts(events_from(path))[-1] == "just now"


def test_data_that_is_no_object_gives_a_part_without_facts(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(make_database(path, export())) as connection:
        connection.execute("UPDATE part SET data = '{broken' WHERE id = 'prt_4'")
        connection.execute("UPDATE part SET data = NULL WHERE id = 'prt_b'")
        connection.commit()
    assert texts(events_from(path)) == []


def test_what_is_no_store_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with pytest.raises(StoreError):
        list_sessions(path)
    path.write_bytes(b"no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError):
        list_sessions(path)
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (id text)")
    with pytest.raises(StoreError):
        list_sessions(other)


def test_an_unknown_session_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    make_database(path, export()).close()
    with pytest.raises(StoreError):
        list(read_session(path, "ses_404"))
    with pytest.raises(StoreError):
        list(read_session(make_folder(tmp_path, export()), "../../etc/ses_1"))


def test_sessions_that_are_each_others_children_end(tmp_path: Path) -> None:
    first, second = export(), child()
    first["info"]["parentID"] = "ses_2"
    path = tmp_path / "opencode.db"
    make_database(path, first, second).close()
    assert len(list(read_session(path, "ses_1"))) == 6
