"""Items of OpenAI's Agents SDK: rows of its sessions, and response objects, by hand-made logs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.model.event import Reasoning, SessionEnd
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
    lines,
    records,
    results,
    texts,
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


def item(number: int, kind: str, **members: Any) -> dict[str, Any]:
    about = {"id": number, "session_id": "s-1", "created_at": "2026-03-02 09:30:01"}
    return {"message": {**about, "message_data": {"type": kind, **members}}}


def test_calls_of_hosted_and_custom_tools_have_their_names_inputs_and_results() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"
    rows = [
        item(1, "mcp_call", id="m1", name="add", server_label="notes", arguments='{"x":1}', output="did", error=None),
        item(2, "mcp_call", id="m2", name="add", server_label="notes", arguments="{}", error={"type": "http_error"}),
        item(3, "web_search_call", id="w1", status="completed", action={"type": "search", "query": "q"}),
        item(4, "custom_tool_call", call_id="c1", name="apply_patch", input=patch),
        item(5, "local_shell_call", call_id="c2", action={"type": "exec", "command": ["bash", "-lc", "ls"]}),
        item(6, "shell_call", call_id="c3", action={"commands": ["make", "ls"]}),
        item(7, "mcp_list_tools", id="t1", server_label="notes", tools=[]),
        item(8, "custom_tool_call_output", call_id="c1", output="ok"),
        item(9, "local_shell_call_output", call_id="c2", output="a.txt"),
        item(10, "shell_call_output", call_id="c3", output=[{"stdout": "", "outcome": {"type": "timeout"}}]),
        item(11, "compaction", encrypted_content="x"),
    ]
    found = summarize(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    summary = found.tool_use_summary
    assert summary["by_tool"] == {"mcp__notes__add": 2, "WebSearch": 1, "Write": 1, "Bash": 2}
    assert {name: row["errors"] for name, row in summary["tools"].items() if row["errors"]} == {
        "mcp__notes__add": 1,
        "Bash": 1,
    }
    assert summary["by_mcp_server"] == {"notes": 2}
    assert (summary["turns"], found.unknown, dict(found.faults)) == (1, {}, {})


def test_items_of_chat_models_name_their_model_call_and_so_part_answers() -> None:
    def spoken(number: int, response: str) -> dict[str, Any]:
        by = {"model": "pear-2", "response_id": response}
        return item(number, "message", role="assistant", id="__fake_id__", content=[], provider_data=by)

    rows = [spoken(1, "chatcmpl-0"), spoken(2, "chatcmpl-0"), spoken(3, "chatcmpl-1")]
    found = summarize(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    assert (found.tool_use_summary["turns"], found.session.model) == (2, "pear-2")


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
    assert found.tool_use_summary["by_tool"] == {"Bash": 1, "WebSearch": 1}
    assert (found.tool_use_summary["turns"], found.status, found.tokens["input"]) == (2, "complete", None)


def response(*output: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"object": "response", "id": "r", "model": "pear-2", "created_at": 1, "output": list(output), **members}


def test_tools_that_openai_runs_are_their_own_results_and_others_have_an_output() -> None:
    called = response(
        {"type": "mcp_call", "id": "m1", "server_label": "docs", "name": "find", "arguments": "{}", "error": "no"},
        {"type": "file_search_call", "id": "f1", "status": "searching", "queries": ["a"]},
        {"type": "custom_tool_call", "call_id": "c1", "name": "grammar", "input": "x + 1"},
        {"type": "local_shell_call", "id": "l1", "call_id": "c2", "action": {"command": ["ls"]}, "status": "completed"},
    )
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "2"}
    events = events_of(ITEMS, lines(called, output))
    assert [(call.name, call.input) for call in calls(events)] == [
        ("mcp__docs__find", {}),
        ("file_search", {"queries": ["a"]}),
        ("grammar", {"input": "x + 1"}),
        ("local_shell", {"command": ["ls"]}),
    ]
    assert [(r.call_id, r.outcome, r.output) for r in results(events)] == [("m1", "error", "no"), ("c1", None, "2")]


@pytest.mark.parametrize(
    ("members", "end"),
    [
        ({"status": "completed"}, ("complete", None)),
        ({"status": "failed", "error": {"message": "overloaded"}}, ("error", "overloaded")),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            ("incomplete", "max_output_tokens"),
        ),
        ({"status": "cancelled"}, ("interrupted", None)),
    ],
)
def test_a_response_ends_as_its_status_says(members: dict[str, Any], end: tuple[str, str | None]) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So"}]}
    events = events_of(ITEMS, lines(response(said, **members)))
    assert [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)] == [end]
