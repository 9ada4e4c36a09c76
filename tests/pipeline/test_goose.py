"""Goose's database, as its published source lays it out: listed, read with its sub-agents, followed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stream import summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.changes import revisions
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_session
from support.decoding import FIXTURES, records

SCHEMA = """
CREATE TABLE schema_version (version INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, working_dir TEXT,
  created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER,
  accumulated_cost REAL, parent_session_id TEXT, goose_mode TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT,
  content_json TEXT, created_timestamp INTEGER, tokens INTEGER, metadata_json TEXT);
"""
STORED = [
    msgspec.json.decode(r.data, type=dict[str, Any]) for r in records((FIXTURES / "goose/rows.jsonl").read_bytes())
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "goose" / "sessions" / "sessions.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        for name, parent in (("20260302_1", None), ("20260302_2", "20260302_1")):
            times = ("2026-03-02 09:30:00", "2026-03-02 09:30:05")
            row = (name, "Fix the test", "", "user", "/home/ada/orchard", *times, 1300, 200, 0.02, parent, "auto")
            connection.execute(f"INSERT INTO sessions VALUES ({', '.join('?' * len(row))})", row)
            for line in STORED[1:-1]:
                add(connection, name, line["message"])
        connection.commit()
    return path


def add(connection: sqlite3.Connection, session: str, message: dict[str, Any]) -> None:
    content, metadata = (msgspec.json.encode(message[name]).decode() for name in ("content_json", "metadata_json"))
    connection.execute(
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (message["message_id"], session, message["role"], content, message["created_timestamp"], metadata),
    )


def test_a_session_has_its_folder_times_calls_tokens_and_sub_agents(path: Path) -> None:
    listed, child = list_sessions(path)
    assert (listed.directory, listed.created_ms) == ("/home/ada/orchard", 1772443800000)
    assert child.parent_id == listed.id
    result = summarize(b"".join(line + b"\n" for line in read_session(path, listed.id)))
    assert (result.session.dialect, result.session.cwd, result.status) == (
        "goose-rows",
        "/home/ada/orchard",
        "complete",
    )
    assert {name: figures["tool_calls"] for name, figures in result.tool_use_summary["by_stream"].items()} == {
        "main": 5,
        "sidechain:20260302_2": 5,
    }
    assert result.tool_use_summary["by_tool"] == {"Read": 2, "Bash": 2, "Edit": 2, "mcp__docs__lookup": 2, "unknown": 2}
    assert (result.unknown, dict(result.faults)) == ({}, {})
    (session,) = [found for found in find_sessions(find_roots([str(path)])) if found.header.parent is None]
    assert (session.header.provider, session.header.title) == ("goose", "Fix the test")


def test_another_message_changes_the_revision(path: Path) -> None:
    (before,) = revisions(path)
    with closing(sqlite3.connect(path)) as connection:
        add(connection, "20260302_1", STORED[-2]["message"])
        connection.commit()
    (after,) = revisions(path)
    assert after.rows == before.rows + 1


def test_a_banner_before_the_first_line_of_a_stream_changes_nothing() -> None:
    lines = (
        "    __( O)>  ● new session · acme pear-2",
        "   \\____)    20260301_1 · /w",
        "     L L     goose is ready",
        "",
    )
    banner = "\n".join(lines).encode()
    data = (FIXTURES / "goose" / "stream.jsonl").read_bytes()
    plain, found = summarize(data), summarize(banner + data)
    assert (found.session.dialect, found.status, found.tokens) == ("goose-stream", plain.status, plain.tokens)
    assert found.tool_use_summary == plain.tool_use_summary
