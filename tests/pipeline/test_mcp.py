"""The MCP server, asked by the official SDK's own client."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.discovery.places import find_roots
from agentv_stream.mcp_server.answers import MOST_BYTES, Answers
from agentv_stream.mcp_server.serve import make_server
from agentv_stream.redaction.redaction import Redaction
from support.growing_logs import claude_records

mcp: Any = pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDK's own imports

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
FIRST, SECOND = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
SPEC = "tests:\n  - id: short\n    assertions:\n      - {type: max-turns, max: 1}\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, records in ((FIRST, claude_records(FIRST, 40)), (SECOND, claude_records(SECOND, 2))):
        data = b"\n".join(records) + b"\n"
        if name == SECOND:
            data = data.replace(b"please work on", f"please use {SECRET} for".encode())
        (folder / f"{name}.jsonl").write_bytes(data)
    (tmp_path / "outside.jsonl").write_bytes(b"\n".join(claude_records("00000000-0000-0000-0000-000000000000", 1)))
    (tmp_path / "ci.yaml").write_text(SPEC)
    return folder


@asynccontextmanager
async def client(logs: Path, redact: bool = True) -> AsyncGenerator[Any]:
    redaction = Redaction(b"k" * 32) if redact else None
    answers = Answers(find_roots([str(logs)]), [logs.parent / "ci.yaml"], redaction)
    async with mcp.Client(make_server(answers)) as connected:
        yield connected


async def ask(connected: Any, tool: str, **words: Any) -> dict[str, Any]:
    answer = await connected.call_tool(tool, words)
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert len(json.dumps(answer.structured_content)) < 2 * MOST_BYTES
    told: dict[str, Any] = answer.structured_content
    return told


async def refused(connected: Any, tool: str, **words: Any) -> str:
    answer = await connected.call_tool(tool, words)
    assert answer.is_error
    return str(answer.content[0].text)


async def test_each_tool_says_that_it_changes_nothing(logs: Path) -> None:
    async with client(logs) as connected:
        tools = (await connected.list_tools()).tools
    assert {tool.name for tool in tools} == {
        "list_sessions", "search", "read_session", "get_statistics", "check_session"
    }  # fmt: skip
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)


async def test_a_session_is_found_and_read_page_by_page(logs: Path) -> None:
    async with client(logs) as connected:
        listed = await ask(connected, "list_sessions", project=None)
        assert {row["session_id"] for row in listed["sessions"]} == {FIRST, SECOND}
        rows: list[dict[str, Any]] = []
        row: int | None = 0
        while row is not None:
            page = await ask(connected, "read_session", session_id=FIRST[:8], first_row=row, limit=7)
            rows += page["messages"]
            row = page["next_row"]
        figures = await ask(connected, "get_statistics", session_id=FIRST)
    assert [row["row"] for row in rows] == list(range(len(rows)))
    calls = [call["tool"] for row in rows for call in row.get("calls", ())]
    assert calls == figures["tool_use_summary"]["tool_sequence"]
    assert max(row["turn"] or 0 for row in rows) == figures["tool_use_summary"]["turns"]


async def test_secrets_are_replaced_in_every_answer(logs: Path) -> None:
    async with client(logs, redact=False) as connected:
        assert SECRET in json.dumps(await ask(connected, "read_session", session_id=SECOND))
    async with client(logs) as connected:
        told = [
            await ask(connected, "read_session", session_id=SECOND),
            await ask(connected, "list_sessions"),
            await ask(connected, "get_statistics", session_id=SECOND),
            await ask(connected, "search", text="please use"),
        ]
        searched = await ask(connected, "search", text=SECRET)
    assert SECRET not in json.dumps(told)
    assert searched["places"] == []
    assert "[redacted:" in json.dumps(told)


async def test_verdicts_come_only_from_specs_that_the_user_named(logs: Path) -> None:
    async with client(logs) as connected:
        judged = await ask(connected, "check_session", session_id=FIRST, spec="ci.yaml")
        assert [case["verdict"] for case in judged["cases"]] == ["fail"]
        assert "no spec is called" in await refused(connected, "check_session", session_id=FIRST, spec="../ci.yaml")


@pytest.mark.parametrize("name", ["../outside.jsonl", "00000000", "/etc/passwd", "", "\0", "x" * 1_000_000])
async def test_nothing_outside_the_roots_can_be_named(name: str, logs: Path) -> None:
    async with client(logs) as connected:
        for tool in ("read_session", "get_statistics"):
            assert "root:" not in await refused(connected, tool, session_id=name)
        await ask(connected, "list_sessions", limit=10**9)  # it still answers


async def test_a_wrong_period_is_one_line(logs: Path) -> None:
    async with client(logs) as connected:
        assert "'someday' is no time" in await refused(connected, "list_sessions", since="someday")


async def test_the_command_serves_on_standard_input_and_output(logs: Path) -> None:
    command = mcp.StdioServerParameters(command=sys.executable, args=["-m", "agentv_stream", "mcp", str(logs)])
    async with mcp.Client(command) as connected:
        listed = await ask(connected, "list_sessions", limit=1)
    assert listed["total"] == 2
    assert len(listed["sessions"]) == 1
