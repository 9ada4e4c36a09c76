"""The MCP server, asked by the official SDK's own client."""

import json
import subprocess
import sys
import threading
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
        assert "'someday' is not a time" in await refused(connected, "list_sessions", since="someday")


async def test_the_command_serves_on_standard_input_and_output(logs: Path) -> None:
    command = mcp.StdioServerParameters(command=sys.executable, args=["-m", "agentv_stream", "mcp", str(logs)])
    async with mcp.Client(command) as connected:
        listed = await ask(connected, "list_sessions", limit=1)
    assert listed["total"] == 2
    assert len(listed["sessions"]) == 1


async def test_links_lead_to_nothing_outside_the_roots(logs: Path, tmp_path: Path) -> None:
    """Neither a link to a log, nor one to a folder; a root that is a link is one that the user named."""
    outside = "00000000-0000-0000-0000-000000000000"
    (logs / f"{outside}.jsonl").symlink_to(tmp_path / "outside.jsonl")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "x.jsonl").write_bytes(b"\n".join(claude_records("77777777-0000-0000-0000-000000000000", 1)))
    (logs / "folder").symlink_to(hidden)
    (tmp_path / "alias").symlink_to(logs)
    async with client(logs) as connected:
        listed = await ask(connected, "list_sessions")
        assert {row["session_id"] for row in listed["sessions"]} == {FIRST, SECOND}
        for name in (outside, "77777777", str(logs / f"{outside}.jsonl")):
            for tool in ("read_session", "get_statistics"):
                await refused(connected, tool, session_id=name)
        places = await ask(connected, "search", text=outside[:8])
        assert {row["session_id"] for row in places["places"]} <= {FIRST, SECOND}
    async with client(tmp_path / "alias") as connected:
        assert (await ask(connected, "list_sessions"))["total"] == 2


def request(number: int, method: str, **words: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": words}).encode() + b"\n"


def test_a_giant_request_is_dropped_in_one_line_and_five_hundred_are_answered(logs: Path) -> None:
    command = [sys.executable, "-m", "agentv_stream", "mcp", str(logs)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    process.stdin.write(request(1, "initialize", **hello))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    before = peak_bytes(process.pid)
    for _ in range(64):
        process.stdin.write(b"a" * 1_000_000)
    process.stdin.write(b"\n")
    process.stdin.write(request(2, "tools/call", name="list_sessions", arguments={"limit": 1}))
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert (answer["id"], answer["result"]["structuredContent"]["total"]) == (2, 2)
    assert peak_bytes(process.pid) - before < 32e6
    questions = b"".join(request(n, "tools/call", name="list_sessions", arguments={}) for n in range(3, 503))
    writer = threading.Thread(target=lambda: (process.stdin.write(questions), process.stdin.flush()))  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess] - it is a pipe
    writer.start()  # beside the reading, else both pipes fill
    ids = {json.loads(process.stdout.readline())["id"] for _ in range(500)}
    writer.join()
    assert ids == set(range(3, 503))
    process.stdin.close()
    assert process.stderr is not None
    errors = process.stderr.read().decode().splitlines()
    assert errors == ["agentv-stream: a request of more than 4,194,304 bytes was dropped"]
    process.stdout.close()
    process.stderr.close()
    assert process.wait(30) == 0


def test_a_client_that_reads_no_answer_waits_in_one_line_and_memory_stays(logs: Path) -> None:
    command = [sys.executable, "-m", "agentv_stream", "mcp", str(logs)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    process.stdin.write(request(1, "initialize", **hello))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    outside = request(2, "tools/call", name="read_session", arguments={"session_id": "/etc/passwd"})
    process.stdin.write(outside + outside.replace(b'"id": 2', b'"id": 3'))
    process.stdin.flush()
    assert {json.loads(process.stdout.readline())["id"] for _ in range(2)} == {2, 3}
    before, sent = peak_bytes(process.pid), [0]

    def send() -> None:
        assert process.stdin is not None
        for number in range(4, 1004):
            process.stdin.write(request(number, "tools/list", _meta={"more than pipes hold": "x" * 1000}))
            sent[0] += 1
        process.stdin.flush()

    writer = threading.Thread(target=send)
    writer.start()
    lines = [process.stderr.readline().decode().strip() for _ in range(2)]
    assert lines == [
        "agentv-stream: read_session: 1 request refused",
        "agentv-stream: the client does not read its answers; its requests wait",
    ]
    assert sent[0] < 900
    assert peak_bytes(process.pid) - before < 24e6
    ids = [json.loads(process.stdout.readline())["id"] for _ in range(1000)]  # now it reads: nothing was lost
    assert sorted(ids) == list(range(4, 1004))
    writer.join()
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()
    assert process.wait(30) == 0


def peak_bytes(pid: int) -> int:
    """The largest memory of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
