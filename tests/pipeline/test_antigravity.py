"""Antigravity's logs in their folders, and every real log against a count of a few lines."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES, corpus

CHILD = "7b1e4d20-96c3-4f58-a1d7-2c8e5b904f16"
PARENT = "0a6f1c52-3d7e-4b19-8c40-5e9d2b7a1f63"


def place(home: Path, session: str, name: str = "transcript.jsonl") -> Path:
    path = home / "brain" / session / ".system_generated" / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copy(FIXTURES / "antigravity" / "transcript.jsonl", place(tmp_path, PARENT))
    line = {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE", "content": "Look."}
    call = {"name": "list_dir", "args": {"DirectoryPath": '"/w"'}}
    answer = {"step_index": 1, "source": "MODEL", "type": "PLANNER_RESPONSE", "status": "DONE", "tool_calls": [call]}
    place(tmp_path, CHILD).write_text(f"{json.dumps(line)}\n{json.dumps(answer)}\n")
    return tmp_path


def test_a_sub_agents_folder_belongs_to_the_session_that_started_it(home: Path) -> None:
    (session,) = find_sessions(find_roots([f"antigravity={home}"]))
    assert (session.id, list(session.agents)) == (PARENT, [f"sidechain:{CHILD}"])
    found = summarize(place(home, PARENT))
    assert {name: figures["tool_calls"] for name, figures in found.tool_use_summary["by_stream"].items()} == {
        "main": 5,
        f"sidechain:{CHILD}": 1,
    }
    assert found.session.id == PARENT


def test_the_full_transcript_is_read_once_and_the_shorter_one_is_its_copy(home: Path) -> None:
    full = place(home, PARENT, "transcript_full.jsonl")
    entries = [json.loads(line) for line in place(home, PARENT).read_text().splitlines()]
    for call in (call for entry in entries for call in entry.get("tool_calls", ())):
        call["args"] = {k: json.loads(v) if v[0] in '"[{123456789' else v for k, v in call["args"].items()}
    full.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    (session,) = find_sessions(find_roots([f"antigravity={home}"]))
    assert session.path == str(full)
    found = summarize(full)
    assert found.tool_use_summary["total_tool_calls"] == 6
    assert found.ignored["copied from a log beside it"] == 16


def counted_stream(path: Path) -> dict[str, Any]:
    """Turns, calls, failures and tokens of a stream, counted without any of our code."""
    steps = [json.loads(line).get("step_update", {}) for line in path.read_text().splitlines()]
    tools = {step["step_index"] for step in steps if step.get("step_type") == "tool"}
    used = [step["usage"] for step in steps if "usage" in step]
    return {
        "calls": len(tools),
        "input": sum(figures["input_tokens"] + figures["cache_read_tokens"] for figures in used),
        "output": sum(figures["output_tokens"] for figures in used),
        "reasoning": sum(figures["thinking_tokens"] for figures in used),
    }


def test_real_streams_give_what_a_count_of_their_steps_gives() -> None:
    ends: dict[str, str] = {}
    for path in sorted((corpus("new-agents") / "antigravity-stream").iterdir()):
        found, counted = summarize(path), counted_stream(path)
        assert (found.session.provider, found.unknown, dict(found.faults)) == ("antigravity", {}, {})
        ends[path.name.split(".")[0]] = found.status
        assert found.tool_use_summary["total_tool_calls"] == counted.pop("calls"), path.name
        if any(counted.values()):
            assert {name: found.tokens[name] for name in counted} == counted, path.name
            result = json.loads(path.read_text().splitlines()[-1])["result"]["usage"]
            assert found.tokens["output"] == result["output_tokens"]
        elif found.status == "incomplete":
            assert found.tokens["input"] is None
    assert ends == {
        "denied-command": "complete",
        "print-timeout": "incomplete",
        "quota-exhausted-tail": "error",
        "success-tools": "complete",
        "web-tool": "complete",
    }
    denied = summarize(corpus("new-agents") / "antigravity-stream" / "denied-command.1.2.17.jsonl")
    assert denied.tool_use_summary["by_outcome"]["denied"] == 1


def test_real_transcripts_give_what_a_count_of_their_lines_gives() -> None:
    paths = sorted((corpus("new-agents") / "antigravity-cli").glob("*.jsonl"))
    assert len(paths) == 29
    for path in paths:
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        answers = [entry for entry in entries if entry["type"] == "PLANNER_RESPONSE"]
        requests = Counter(call["name"] for entry in answers for call in entry.get("tool_calls", ()))
        failed = sum(bool(re.search(r"failed with exit code: [^0]", entry.get("content", ""))) for entry in entries)
        found = summarize(path)
        names = {"run_command": "Bash", "invoke_subagent": "Task"}
        assert found.tool_use_summary["by_tool"] == {names[name]: count for name, count in requests.items()}, path.name
        assert found.tool_use_summary["turns"] == len(answers)
        assert found.tool_use_summary["by_outcome"]["error"] == failed
        assert found.tool_use_summary["by_outcome"]["unpaired"] == 0
        last = [entry for entry in entries if entry["type"] in ("PLANNER_RESPONSE", "USER_INPUT")][-1]
        ended = last["type"] == "PLANNER_RESPONSE" and bool(last.get("content")) and not last.get("tool_calls")
        assert (found.status == "complete") is ended, path.name
        assert (found.session.dialect, found.unknown, dict(found.faults)) == ("antigravity-transcript", {}, {})
        assert found.tokens["input"] is None
