"""Items of OpenAI's Agents SDK: rows of its sessions, and response objects, by hand-made logs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import Reasoning, SessionEnd, SessionInfo, UserText
from agentv_stages.providers.openai_agents import PROVIDER
from agentv_stream import summarize
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_session
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    records,
    results,
    texts,
    total,
)

ITEMS = dialect(PROVIDER, "openai-agents-items")
STORED = records((FIXTURES / "openai-agents" / "rows.jsonl").read_bytes())
RESPONSES = records((FIXTURES / "openai-agents" / "responses.jsonl").read_bytes())


@pytest.mark.parametrize("log", [STORED, RESPONSES])
def test_rows_and_responses_have_the_same_answers_calls_and_texts(log: Any) -> None:
    assert best(PROVIDER, log) == ("openai-agents-items", 1.0)
    check_laws(ITEMS, log)
    check_odd_shapes(PROVIDER, log)
    events = events_of(ITEMS, log)
    assert [(call.name, call.call_id, call.input) for call in calls(events)] == [
        ("shell", "c1", {"command": "pytest -q"}),
        ("web_search", "w1", {}),
    ]
    assert len({call.message_id for call in calls(events)}) == 1
    assert [(result.call_id, result.outcome) for result in results(events)] == [("w1", "error"), ("c1", None)]
    assert texts(events) == ["I look.", "Fixed."]
    assert [event.text for event in events if isinstance(event, Reasoning)] == ["Reading first."]
    assert [event.status for event in events if isinstance(event, SessionEnd)][-1] == "complete"


def test_a_response_has_its_tokens_and_its_model_and_a_row_has_none() -> None:
    events = events_of(ITEMS, RESPONSES)
    assert total(events) == {"input": 1850, "cached": 1500, "output": 60, "reasoning": 20}
    assert {event.model for event in events if isinstance(event, SessionInfo)} == {"pear-2"}
    stored = events_of(ITEMS, STORED)
    assert total(stored)["input"] == 0
    assert [event.text for event in stored if isinstance(event, UserText)] == ["Fix the failing test."]


def test_a_database_of_the_sdk_is_listed_and_read(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);"
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT,"
            " created_at TIMESTAMP);"
            "INSERT INTO agent_sessions VALUES ('s-1', '2026-03-02 09:30:00', '2026-03-02 09:30:07');"
        )
        for record in STORED[1:-1]:
            row = msgspec.json.decode(record.data)["message"]
            item = msgspec.json.encode(row["message_data"]).decode()
            connection.execute(
                "INSERT INTO agent_messages VALUES (?, 's-1', ?, ?)", (row["id"], item, row["created_at"])
            )
        connection.commit()
    (listed,) = list_sessions(path)
    assert (listed.id, listed.created_ms, listed.provider) == ("s-1", 1772443800000, "openai-agents")
    found = summarize(b"".join(line + b"\n" for line in read_session(path, "s-1")))
    assert found.tool_use_summary["by_tool"] == {"shell": 1, "WebSearch": 1}
    assert (found.tool_use_summary["turns"], found.status, found.tokens["input"]) == (2, "complete", None)
