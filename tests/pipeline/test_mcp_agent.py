"""A real agent, Claude Code, asks our MCP server; what it wants to know is said by a scripted model."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.growing_logs import claude_records
from support.scripted_model import Script, ScriptedModel, text, use

pytest.importorskip("mcp", reason="the extra mcp is not installed")
CLAUDE = shutil.which("claude")
pytestmark = pytest.mark.skipif(
    CLAUDE is None, reason="Claude Code is not installed (npm i -g @anthropic-ai/claude-code)"
)

ID = "11111111-2222-3333-4444-555555555555"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
TOOL = "mcp__sessions__"


def test_claude_code_finds_reads_and_cites_a_session(tmp_path: Path) -> None:
    logs, home, work = tmp_path / "logs", tmp_path / "home", tmp_path / "work"
    for folder in (logs, home, work):
        folder.mkdir()
    data = b"\n".join(claude_records(ID, 3)) + b"\n"
    (logs / f"{ID}.jsonl").write_bytes(data.replace(b"please work on", f"please use {SECRET} for".encode()))
    server = {"command": sys.executable, "args": ["-m", "agentv_stream", "mcp", str(logs)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"sessions": server}}), encoding="utf-8")

    def read(listed: Any) -> dict[str, Any]:
        return use(f"{TOOL}read_session", session_id=json.loads(listed)["sessions"][0]["session_id"])

    script: Script = [
        lambda _: use(f"{TOOL}list_sessions"),
        read,
        lambda _: use(f"{TOOL}search", text="please use"),
        lambda _: use(f"{TOOL}get_statistics", session_id=ID[:8]),
        lambda _: use(f"{TOOL}read_session", session_id="../../etc/passwd"),
        lambda _: text(f"Session {ID} made three calls."),
    ]
    with ScriptedModel(script, f"{TOOL}list_sessions", "WaitForMcpServers") as model:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))
        }
        environment |= {
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": model.address,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_TIMEOUT": "60000",
        }
        command = [str(CLAUDE), "-p", "What did the last session do?", "--output-format", "stream-json", "--verbose"]
        command += [
            "--mcp-config",
            str(tmp_path / "mcp.json"),
            "--strict-mcp-config",
            "--allowedTools",
            "mcp__sessions",
        ]
        done = subprocess.run(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False
        )
    told = (done.stdout[-3000:], done.stderr[-3000:])
    assert done.returncode == 0, told
    assert len(model.results) == 5, told
    listed, messages, places, figures, refused = model.results
    assert json.loads(listed)["total"] == 1
    assert [row["row"] for row in json.loads(messages)["messages"]] == [0, 1, 2, 3]
    assert json.loads(places)["places"][0]["session_id"] == ID
    assert json.loads(figures)["tool_use_summary"]["total_tool_calls"] == 3
    assert "root:" not in refused
    assert "passwd" in refused
    assert SECRET not in "".join(model.results)
    end = json.loads(done.stdout.splitlines()[-1])
    assert (end["type"], end["is_error"], end["result"]) == ("result", False, f"Session {ID} made three calls.")
