"""A real agent, followed live: what was followed is what its finished log says.

Needs `claude` on the path, and a scripted model server (`--script FILE --port N`) in AGENTV_STREAM_MODEL_SERVER.
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

CLAUDE = shutil.which("claude")
SERVER = os.environ.get("AGENTV_STREAM_MODEL_SERVER")
pytestmark = pytest.mark.skipif(
    CLAUDE is None or SERVER is None, reason="needs claude, and a scripted model server in AGENTV_STREAM_MODEL_SERVER"
)


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


def test_the_followed_transcript_is_the_one_made_afterwards(model: str, tmp_path: Path) -> None:
    assert CLAUDE is not None
    home = tmp_path / "home"
    (home / ".claude" / "projects").mkdir(parents=True)
    environment = os.environ | {
        "HOME": str(home), "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "sk-dummy", "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
    }  # fmt: skip
    root = home / ".claude" / "projects"
    program = [sys.executable, "-m", "agentv_stream"]
    live, after = tmp_path / "live", tmp_path / "after"
    follow = [*program, "tail", "--all", "--root", f"claude={root}", "--out", str(live), "--until-idle", "8s", "-q"]
    follower = subprocess.Popen([*follow, "--state", str(tmp_path / "state")])
    agent = [
        CLAUDE,
        "-p",
        "[[script:main]] go",
        "--dangerously-skip-permissions",
        "--model",
        "claude-sonnet-4-5-20250929",
    ]
    subprocess.run(agent, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, timeout=60, check=True)
    assert follower.wait(60) == 0
    (log,) = root.glob("*/*.jsonl")
    subprocess.run([*program, "consume", str(log), "--out", str(after), "-q"], check=False)
    assert rows(live) == rows(after)
