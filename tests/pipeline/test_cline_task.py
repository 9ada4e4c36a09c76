"""Tasks of Cline's editor extension in their folders, and a real one against a count of a few lines."""

import json
import shutil
from collections import Counter
from pathlib import Path

from agentv_stream import summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES, corpus

TASK = FIXTURES / "cline" / "tasks" / "1772443800000"


def test_a_task_is_found_with_the_tasks_that_it_started_and_its_history(tmp_path: Path) -> None:
    tasks = tmp_path / "rooveterinaryinc.roo-cline" / "tasks"
    for name, children in (("1", ["2"]), ("2", [])):
        shutil.copytree(TASK, tasks / name)
        item = {"id": name, "childIds": children, "task": "Fix it", "workspace": "/home/ada/orchard"}
        (tasks / name / "history_item.json").write_text(json.dumps(item))
    use = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "slug.py"}}
    (tasks / "1" / "api_conversation_history.json").write_text(json.dumps([{"role": "assistant", "content": [use]}]))
    (session,) = [s for s in find_sessions(find_roots([f"cline={tmp_path}"])) if s.path.endswith("ui_messages.json")]
    assert (session.id, list(session.agents), session.header.title) == ("1", ["sidechain:2"], "Fix it")
    found = summarize(tasks / "1" / "ui_messages.json")
    assert {name: figures["tool_calls"] for name, figures in found.tool_use_summary["by_stream"].items()} == {
        "main": 7,
        "sidechain:2": 7,
    }
    assert (found.session.cwd, found.status) == ("/home/ada/orchard", "complete")


def test_a_real_task_gives_what_a_count_of_its_entries_gives() -> None:
    (path,) = (corpus("new-agents") / "cline-task").iterdir()
    entries = json.loads(path.read_bytes())
    kinds = [entry.get("say") or entry.get("ask") for entry in entries]
    tools = Counter(json.loads(entry["text"])["tool"] for entry in entries if entry.get("say") == "tool")
    requests = [json.loads(entry["text"]) for entry in entries if entry.get("say") == "api_req_started"]
    spoken = ("text", "reasoning", "tool", "command", "completion_result")
    answers: set[tuple[int, int]] = set()  # an answer has two places in the history; a prompt may cut one off
    for number, entry in enumerate(entries):
        if kinds[number] in spoken and entry["type"] == "say":
            answers.add((kinds[:number].count("user_feedback"), entry["conversationHistoryIndex"] // 2))
    found = summarize(path)
    assert found.tool_use_summary["by_tool"] == {
        "Read": tools["readFile"],
        "Edit": tools["editedExistingFile"],
        "Write": tools["newFileCreated"],
        "Bash": kinds.count("command"),
    }
    assert found.tool_use_summary["turns"] == len(answers)
    cached = sum(request["cacheReads"] for request in requests)
    written = sum(request["cacheWrites"] for request in requests)
    assert found.tokens["input"] == sum(request["tokensIn"] for request in requests) + cached + written
    assert (found.tokens["cached"], found.tokens["cache_write"]) == (cached, written)
    assert found.tokens["output"] == sum(request["tokensOut"] for request in requests)
    assert found.cost_usd is not None
    assert abs(found.cost_usd - sum(request["cost"] for request in requests)) < 1e-9
    assert (found.session.dialect, found.session.model) == ("cline-task", "claude-opus-4-6")
    assert (found.unknown, dict(found.faults)) == ({}, {})
