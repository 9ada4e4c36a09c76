"""Droid's sessions in their folder, and every real log against a count of a few lines."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import read, summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES, corpus

SESSION = "c2f60e14-9b3d-4a57-8e21-7d4f0a6b5c98"
SPENT = {"inputTokens": 100, "outputTokens": 50, "cacheCreationTokens": 0, "cacheReadTokens": 20, "thinkingTokens": 5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session with its settings, a sub-agent with its own, and a fork."""
    folder = tmp_path / "-home-ada-orchard"
    folder.mkdir()
    shutil.copy(FIXTURES / "droid" / "session.jsonl", folder / f"{SESSION}.jsonl")
    (folder / f"{SESSION}.settings.json").write_text(json.dumps({"model": "pear-2", "tokenUsage": SPENT}))
    start = {"type": "session_start", "id": "sub-1", "title": "Look at each file. " * 400, "cwd": "/w"}
    start |= {"callingSessionId": SESSION, "callingToolUseId": "c3"}
    use = {"type": "tool_use", "id": "s1", "name": "LS", "input": {"directory_path": "."}}
    message = {"type": "message", "id": "sm", "message": {"role": "assistant", "content": [use]}}
    (folder / "sub-1.jsonl").write_text(f"{json.dumps(start)}\n{json.dumps(message)}\n")
    (folder / "sub-1.settings.json").write_text(json.dumps({"model": "fig-1", "tokenUsage": SPENT}))
    fork = {"type": "session_start", "id": "fork-1", "cwd": "/w", "parent": SESSION}
    own = {"type": "message", "id": "f1", "message": {"role": "assistant", "content": "Forked."}}
    copied = (folder / f"{SESSION}.jsonl").read_text().splitlines()[1:]
    (folder / "fork-1.jsonl").write_text("\n".join([json.dumps(fork), *copied, json.dumps(own)]) + "\n")
    return folder


def test_settings_sub_agents_and_forks_belong_together(folder: Path) -> None:
    sessions = {session.id: session for session in find_sessions(find_roots([f"droid={folder.parent}"]))}
    assert set(sessions) == {SESSION, "fork-1"}
    assert list(sessions[SESSION].agents) == ["sidechain:sub-1"]
    found = summarize(folder / f"{SESSION}.jsonl")
    assert {name: figures["tool_calls"] for name, figures in found.tool_use_summary["by_stream"].items()} == {
        "main": 3,
        "sidechain:sub-1": 1,
    }
    assert (found.session.model, found.tokens["input"], found.tokens["output"]) == ("pear-2", 240, 100)
    fork = summarize(folder / "fork-1.jsonl")
    assert (fork.tool_use_summary["turns"], fork.tool_use_summary["total_tool_calls"], fork.status) == (
        1,
        0,
        "complete",
    )


@pytest.mark.parametrize("beside", ["stream", "session"])
def test_other_settings_beside_a_log_are_not_its_settings(beside: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "droid" / f"{beside}.jsonl", tmp_path))
    alone = summarize(path)
    content = {"model": "x", "tokenUsage": SPENT} if beside == "stream" else {"editor.tabSize": 4, "model": "x"}
    path.with_suffix(".settings.json").write_text(json.dumps(content))
    found = summarize(path)
    assert (found.tokens, found.session, found.unknown) == (alone.tokens, alone.session, alone.unknown)


SCRIPT = [("Read", "ok"), ("Execute", "error"), ("Read", "error"), ("Execute", "ok")]
"""What the scripted model asked for, and what came of it."""
RECORDED = {
    "model": "custom:mock", "reasoningEffort": "none", "autonomyLevel": "low", "tags": [{"name": "exec"}],
    "tokenUsage": {"inputTokens": 9865, "outputTokens": 68, "cacheCreationTokens": 0, "cacheReadTokens": 28416,
                   "thinkingTokens": 0, "factoryCredits": 0},
    "lastCallTokenUsage": {"inputTokens": 142, "outputTokens": 5, "cacheReadTokens": 9600},
}  # fmt: skip


@pytest.mark.parametrize("name", ["session-0.215.jsonl", "stream-0.215.jsonl"])
def test_a_recorded_run_of_a_scripted_model_is_read_as_it_was_played(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "droid" / name, tmp_path))
    if name.startswith("session"):
        path.with_suffix(".settings.json").write_text(json.dumps(RECORDED))
    result = summarize(path)
    called = [(call.name, call.outcome) for call in read(path).calls]
    assert sorted(called) == sorted(SCRIPT)
    assert (result.status, result.tool_use_summary["turns"], result.session.model) == ("complete", 4, "custom:mock")
    assert (result.tokens["input"], result.tokens["cached"], result.tokens["output"]) == (9865 + 28416, 28416, 68)
    assert not result.faults and not result.unknown


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def test_real_streams_give_what_a_count_of_their_lines_gives() -> None:
    ends: list[str] = []
    for path in sorted((corpus("wild") / "droid-stream").iterdir()):
        lines, found = entries(path), summarize(path)
        named = Counter(
            {"Execute": "Bash", "ApplyPatch": "Edit"}.get(e["toolName"], e["toolName"])
            for e in lines
            if e["type"] == "tool_call"
        )
        failed = sum(line["type"] == "tool_result" and line["isError"] for line in lines)
        outcomes = found.tool_use_summary["by_outcome"]
        assert (found.session.dialect, found.unknown, dict(found.faults)) == ("droid-stream", {}, {})
        assert found.tool_use_summary["by_tool"] == named, path.name
        assert (outcomes["error"] + outcomes["denied"], outcomes["unpaired"]) == (failed, 0)
        used = next((line["usage"] for line in lines if "usage" in line), None)
        assert (found.tokens["input"], found.tokens["output"]) == ((10, 5) if used else (None, None))
        ends.append(found.status)
    assert ends == ["unknown", "complete", "error", "complete"]


def test_real_sessions_give_what_a_count_of_their_blocks_gives() -> None:
    for path in sorted((corpus("wild") / "droid-session").iterdir()):
        messages = [line["message"] for line in entries(path) if line["type"] == "message"]
        blocks = [block for message in messages for block in message["content"]]
        uses = [block for block in blocks if block["type"] == "tool_use"]
        answered = sum(block["type"] == "tool_result" for block in blocks)
        found = summarize(path)
        assert (found.session.dialect, found.unknown, dict(found.faults)) == ("droid-session", {}, {})
        assert found.tool_use_summary["total_tool_calls"] == len(uses)
        assert found.tool_use_summary["by_outcome"]["ok"] == answered
        assert found.tool_use_summary["turns"] == sum(message["role"] == "assistant" for message in messages)
        assert found.status == ("complete" if len(uses) == answered else "unknown"), path.name
