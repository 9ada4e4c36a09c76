"""Codex forks and spawned threads without ids on disk: what they copied counts in their parent's file only."""

from pathlib import Path

import msgspec

from agentv_stream import summarize
from support.codex_threads import FORK, PARENT, forked, history, timed


def write(day: Path, thread: str, rows: list[dict[str, object]]) -> Path:
    day.mkdir(parents=True, exist_ok=True)
    path = day / f"rollout-2026-03-01T10-00-00-{thread}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def test_the_parent_may_be_in_another_days_folder(tmp_path: Path) -> None:
    write(tmp_path / "2026/03/01", PARENT, timed(history(3, ids=False), [500]))
    fork = write(tmp_path / "2026/03/02", FORK, forked(history(3, ids=False), [700], ids=False, spawned=False))
    result = summarize(fork)
    assert (result.tool_use_summary["total_tool_calls"], result.tokens["input"]) == (1, 200)


def test_a_spawned_thread_adds_only_its_own_calls_to_its_parents(tmp_path: Path) -> None:
    parent = write(tmp_path, PARENT, timed(history(3, ids=False), [500]))
    rows = forked(history(3, ids=False), [700], ids=False, spawned=True)
    rows[0]["payload"]["parent_thread_id"] = PARENT
    write(tmp_path, FORK, rows)
    streams = summarize(parent).tool_use_summary["by_stream"]
    assert {name: figures["tool_calls"] for name, figures in streams.items()} == {"main": 3, f"subagent:{FORK}": 1}
