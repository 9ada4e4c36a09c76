"""Every real log of SWE-agent and of Amp against a count of a few lines; trajectories in folders."""

import json
import shutil
from pathlib import Path
from typing import Any

from agentv_stream import summarize
from agentv_stream.bulk.find import find_units
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES, corpus

EDITS = ("edit", "insert", "create")
READS = ("open", "goto", "scroll_up", "scroll_down")


def test_a_folder_of_trajectories_is_searched(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "swe-agent" / "run.json", tmp_path / "issue-1.traj")
    (session,) = find_sessions(find_roots([str(tmp_path)]))
    assert (session.header.provider, session.header.prompt) == ("swe-agent", "Fix the failing test.")
    (unit,) = find_units([str(tmp_path)])
    assert unit.source == str(tmp_path / "issue-1.traj")


def test_real_trajectories_give_what_a_count_of_their_steps_gives() -> None:
    paths = sorted((corpus("new-agents") / "swe-agent").iterdir())
    assert len(paths) == 5
    for path in paths:
        document = json.loads(path.read_bytes())
        steps = document.get("trajectory") or [e for e in document["history"] if e["role"] == "assistant"]
        words = [step["action"].split()[0] for step in steps]
        found = summarize(path)
        by_tool = found.tool_use_summary["by_tool"]
        assert (found.tool_use_summary["turns"], found.tool_use_summary["total_tool_calls"]) == (len(steps), len(steps))
        assert by_tool.get("Read", 0) == sum(word in READS for word in words)
        assert by_tool.get("Edit", 0) + by_tool.get("Write", 0) == sum(word in EDITS for word in words)
        info: dict[str, Any] = document.get("info") or {}
        assert found.status == ("complete" if info.get("exit_status") == "submitted" else "incomplete")
        stats: dict[str, Any] = info.get("model_stats") or {}
        assert found.tokens["input"] == (stats.get("tokens_sent") or None)
        assert found.tokens["output"] == (stats.get("tokens_received") or None)
        assert (found.session.dialect, found.unknown, dict(found.faults)) == ("swe-agent", {}, {})


def test_a_real_stream_of_amp_gives_what_a_count_of_its_lines_gives() -> None:
    (path,) = (corpus("new-agents") / "amp-stream").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    used = [line["message"]["usage"] for line in lines if line["type"] == "assistant"]
    inputs = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    found = summarize(path)
    assert (found.session.dialect, found.status, found.tool_use_summary["turns"]) == (
        "amp-stream",
        "complete",
        len(used),
    )
    assert found.tokens["input"] == sum(usage[name] for usage in used for name in inputs)
    assert found.tokens["output"] == sum(usage["output_tokens"] for usage in used)
    assert (found.unknown, dict(found.faults), found.session.model) == ({}, {}, None)


def test_real_threads_of_amp_give_what_a_count_of_their_blocks_gives() -> None:
    for path in sorted((corpus("wild") / "amp-thread").iterdir()):
        messages = json.loads(path.read_bytes())["messages"]
        blocks = [block for message in messages for block in message["content"]]
        failed = {b["toolUseID"] for b in blocks if b["type"] == "tool_result" and b["run"]["status"] == "error"}
        found = summarize(path)
        assert found.tool_use_summary["total_tool_calls"] == sum(block["type"] == "tool_use" for block in blocks)
        assert found.tool_use_summary["by_outcome"]["error"] == len(failed)
        assert found.tool_use_summary["turns"] == sum(message["role"] == "assistant" for message in messages)
        assert (found.session.dialect, found.status, found.unknown) == ("amp-thread", "complete", {})
