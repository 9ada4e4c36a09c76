"""Kiro's sessions in their folder, Amazon Q's database, and every real session against a count of a few lines."""

import json
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.stores.changes import revisions
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_rows, read_session
from support.decoding import FIXTURES, corpus

ID, CHILD = "3f1d0c7a-5b2e-4c98-9a41-6e7d8f0b1c23", "4a1d0c7a-5b2e-4c98-9a41-6e7d8f0b1c23"
DOCUMENT: dict[str, Any] = {
    "session_id": ID,
    "cwd": "/home/ada/orchard",
    "session_created_reason": "subagent",
    "session_state": {},
}
SAVED: dict[str, Any] = json.loads((FIXTURES / "kiro" / "conversation.json").read_bytes())


def test_a_session_is_found_with_its_document_and_its_sub_agents(tmp_path: Path) -> None:
    for name, parent in ((ID, None), (CHILD, ID)):
        shutil.copy(FIXTURES / "kiro" / "session.jsonl", tmp_path / f"{name}.jsonl")
        document = {**DOCUMENT, "session_id": name, "parent_session_id": parent}
        (tmp_path / f"{name}.json").write_text(json.dumps(document, indent=2))
    (session,) = find_sessions(find_roots([f"kiro={tmp_path}"]))
    assert (session.id, session.header.cwd, list(session.agents)) == (ID, "/home/ada/orchard", [f"sidechain:{CHILD}"])
    found = summarize(tmp_path / f"{ID}.jsonl")
    assert {name: figures["tool_calls"] for name, figures in found.tool_use_summary["by_stream"].items()} == {
        "main": 6,
        f"sidechain:{CHILD}": 6,
    }
    assert (found.session.id, found.status, found.tokens["input"]) == (ID, "complete", None)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "kiro-cli" / "data.sqlite3"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER,"
            " updated_at INTEGER, PRIMARY KEY (key, conversation_id));"
            "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE history (id INTEGER PRIMARY KEY, command TEXT);"
        )
        put(connection, "conv-1", SAVED, 1772443800000)
        connection.execute(
            "INSERT INTO conversations VALUES (?, ?)", ("/old", json.dumps({**SAVED, "conversation_id": "conv-0"}))
        )
        connection.execute("INSERT INTO conversations VALUES ('/bad', '{')")
        connection.commit()
    return path


def put(connection: sqlite3.Connection, name: str, value: dict[str, Any], updated: int) -> None:
    row = ("/home/ada/orchard", name, json.dumps(value), 1772443800000, updated)
    connection.execute("INSERT OR REPLACE INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", row)
    connection.commit()


def test_both_versions_of_the_tables_are_read(database: Path) -> None:
    listed = {session.id: session for session in list_sessions(database)}
    assert set(listed) == {"conv-1", "conv-0", "/bad"}
    assert (listed["conv-1"].directory, listed["conv-1"].created_ms) == ("/home/ada/orchard", 1772443800000)
    for name in ("conv-1", "conv-0"):
        found = summarize(b"".join(line + b"\n" for line in read_session(database, name)))
        assert (found.session.dialect, found.session.id, found.status) == ("kiro-conversation", name, "complete")
        assert found.tool_use_summary["by_tool"] == {"Read": 1, "Bash": 1, "Write": 1}
    assert len(list(read_session(database, "/bad"))) == 1
    found_at = {session.id: session.header.dialect for session in find_sessions(find_roots([str(database)]))}
    assert found_at["conv-1"] == "kiro-conversation"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (' {"conversation_id": "conv-7", "history": []}', "conv-7"),
        ('{"history": [], "conversation_id": "conv-8"}', "conv-8"),
        ('{"conversation_id": "con\\u0076-9", "history": []}', "conv-9"),
        ('{"conversation_id": "conv-6", "history": [', "conv-6"),
        ('{"conversation_id": 5}', "/odd"),
        ("{}", "/odd"),
        ("no JSON", "/odd"),
        (b"{", "/odd"),
        (7, "/odd"),
    ],
)
def test_the_id_of_a_document_is_found_without_reading_it_where_it_begins_with_it(
    database: Path, value: object, name: str
) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("INSERT INTO conversations VALUES ('/odd', ?)", (value,))
        connection.commit()
    assert name in {session.id for session in list_sessions(database)}
    assert name in {revision.session.id for revision in revisions(database)}
    assert len(list(read_session(database, name))) == 1


def test_a_conversation_that_grows_has_final_elements_and_another_revision(database: Path) -> None:
    before = {revision.session.id: revision for revision in revisions(database)}
    assert [row.final for row in read_rows(database, "conv-1")] == [True, True, True, False]
    grown = {**SAVED, "history": [*SAVED["history"], SAVED["history"][-1]]}
    with closing(sqlite3.connect(database)) as connection:
        put(connection, "conv-1", grown, 1772443860000)
    after = {revision.session.id: revision for revision in revisions(database)}
    assert after["conv-1"].state != before["conv-1"].state
    assert after["conv-0"] == before["conv-0"]
    rows = list(read_rows(database, "conv-1"))
    assert [row.final for row in rows] == [True, True, True, True, False]
    assert len({row.id for row in rows}) == 5


def test_real_sessions_give_what_a_count_of_their_parts_gives() -> None:
    paths = sorted((corpus("new-agents") / "kiro-cli").glob("*.jsonl"))
    assert len(paths) == 28
    names = {"shell": "Bash", "read": "Read", "write": "Write", "glob": "Glob", "todo_list": "TodoWrite"}
    for path in paths:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        parts = [(line["kind"], part) for line in lines for part in line["data"].get("content", ())]
        uses = Counter(names[part["data"]["name"]] for _, part in parts if part["kind"] == "toolUse")
        failed = len(re.findall(r'"exit_status":"exit status: [1-9]', path.read_text())) // 2  # each is there twice
        answers = {  # one is empty: it says nothing and calls nothing
            line["data"]["message_id"]
            for line in lines
            if line["kind"] == "AssistantMessage" and any(part["data"] for part in line["data"]["content"])
        }
        found = summarize(path)
        assert found.tool_use_summary["by_tool"] == uses, path.name
        assert found.tool_use_summary["turns"] == len(answers)
        assert found.tool_use_summary["by_outcome"]["error"] == failed
        assert found.tool_use_summary["by_outcome"]["unpaired"] == 0
        assert (found.session.dialect, found.unknown, dict(found.faults)) == ("kiro-session", {}, {})
        last = lines[-1]
        spoken = last["kind"] == "AssistantMessage" and all(part["kind"] == "text" for part in last["data"]["content"])
        assert found.status == ("complete" if spoken else "unknown"), path.name
        assert found.tokens["input"] is None and found.cost_usd is None
        document = path.with_suffix(".json")
        if document.exists():
            state = json.loads(document.read_bytes())
            assert (found.session.id, found.session.cwd) == (state["session_id"], state["cwd"])
