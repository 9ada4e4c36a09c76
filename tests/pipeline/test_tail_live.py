"""A real agent, followed live: what was followed is what its finished log says.

Needs `claude` or `codex` on the path, and a scripted model server (`--script FILE --port N`) in
AGENTV_STREAM_MODEL_SERVER.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = os.environ.get("AGENTV_STREAM_MODEL_SERVER")
PROMPT = "[[script:main]] go"
CODEX = """
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
pytestmark = pytest.mark.skipif(SERVER is None, reason="needs a scripted model server in AGENTV_STREAM_MODEL_SERVER")


@pytest.fixture
def model(tmp_path: Path) -> Iterator[str]:
    """The address of a model server that plays a short script."""
    turns = [
        {"text": "Looking.", "tools": [{"op": "bash", "command": "ls; sleep 1"}]},
        {"text": "Failing.", "tools": [{"op": "bash", "command": "sleep 1; exit 3"}]},
        {"thinking": "so", "text": "Done. 😀"},
    ]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"cwd": str(tmp_path), "threads": {"main": turns}}))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert SERVER is not None
    process = subprocess.Popen([sys.executable, SERVER, "--script", str(script), "--port", str(port)])
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


def rows(folder: Path) -> list[dict[str, Any]]:
    (transcript,) = folder.glob("*.transcript.jsonl")
    return [json.loads(line) for line in transcript.read_bytes().split(b"\n") if line]


def claude(home: Path, model: str) -> tuple[Path, list[str], dict[str, str]]:
    """Where it keeps its logs, its command, its environment."""
    logs = home / ".claude" / "projects"
    command = ["claude", "-p", PROMPT, "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5-20250929"]
    environment = {
        "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "sk-dummy", "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
    }  # fmt: skip
    return logs, command, environment


def codex(home: Path, model: str, name: str) -> tuple[Path, list[str], dict[str, str]]:
    """As `claude`; the model's name decides whether it calls its tools by a script (code mode) or one by one."""
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX.format(model=name, url=model))
    command = ["codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", PROMPT]
    return folder / "sessions", command, {"CODEX_HOME": str(folder), "SCRIPTED_KEY": "sk-dummy"}


@pytest.mark.parametrize("agent", ["claude", "codex gpt-5.6-sol", "codex gpt-5.1-codex"])
def test_the_followed_transcript_is_the_one_made_afterwards(agent: str, model: str, tmp_path: Path) -> None:
    name, _, version = agent.partition(" ")
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    home = tmp_path / "home"
    home.mkdir()
    root, command, environment = codex(home, model, version) if version else claude(home, model)
    root.mkdir(parents=True)
    program = [sys.executable, "-m", "agentv_stream"]
    live, after = tmp_path / "live", tmp_path / "after"
    follow = [*program, "tail", "--all", "--root", f"{name}={root}", "--out", str(live), "--until-idle", "8s", "-q"]
    follower = subprocess.Popen([*follow, "--state", str(tmp_path / "state")])
    everything = os.environ | {"HOME": str(home)} | environment
    subprocess.run(command, cwd=tmp_path, env=everything, stdin=subprocess.DEVNULL, timeout=60, check=True)
    assert follower.wait(60) == 0
    (log,) = root.rglob("*.jsonl")
    subprocess.run([*program, "consume", str(log), "--out", str(after), "-q"], check=False)
    assert rows(live) == rows(after)
    calls = [call for row in rows(live) for call in row.get("tool_calls", ())]
    assert [call["status"] for call in calls] == ["ok", "error"]
