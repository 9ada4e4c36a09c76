"""`watch` and `show` beside what the model of each recording really asked for, and beside `summarize`."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.colour import Palette
from agentv_stream.discovery.period import named_zone
from agentv_stream.discovery.places import find_roots
from agentv_stream.discovery.show import show_session
from agentv_stream.discovery.show_lines import Look
from agentv_stream.following.follow_plan import Plan
from agentv_stream.summary import summarize
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.model import Look as Row
from support.decoding import corpus

CALL = re.compile(r"(?:  │ )?  [✓✗⊘⊗?] ")
TURN = re.compile(r".{8} turn (\d+)\b")
YEARS_LATER = 2 * 10**12
"""UTC ms: nothing of a recording is running any more."""
CLIENTS = ("claude", "codex", "codex_classic", "copilot", "copilot_acp", "copilot_oai", "gemini", "gemini_acp",
           "opencode", "opencode_acp", "pi", "qwen", "qwen_acp")  # fmt: skip
RECORDED = {
    # the log on disk begins with an earlier run, which the truth is not about
    "claude/s10b disk": 3, "claude/s11b disk": 3, "codex/s10b disk": 3, "codex_classic/s10b disk": 3,
    "copilot/s10b disk": 3, "gemini/s10b disk": 3, "opencode/s10b disk": 3, "pi/s10b disk": 3, "qwen/s10b disk": 3,
    # the stream prints no call of a sub-agent, of a plan, or of an unknown tool
    "codex/r1 live": 24, "codex/r2 live": 56, "codex/s14 live": 5, "codex/s2 live": 10, "codex/s4 live": 1,
    "codex_classic/r1 live": 24, "codex_classic/r2 live": 56, "codex_classic/s2 live": 10,
    "codex_classic/s4 live": 3, "gemini/s4 live": 3, "gemini_acp/s4 live": 3, "opencode/s4 live": 3,
    "opencode_acp/s4 live": 3, "claude/x_wf live": 1,
    # the recording ended before the agent did, or before it had written its last call
    "claude/s6_pipe live": 1, "copilot/s6_pipe live": 1, "gemini/s6_pipe live": 1, "gemini/s6_pipe disk": 1,
    "opencode/s6_pipe live": 1, "pi/s6_pipe live": 1, "pi/s6_pipe disk": 1, "qwen/s6_pipe live": 1,
    "gemini/s6_sigint_tool disk": 2, "gemini/s6_sigkill_tool disk": 2, "opencode/s6_sigint_tool live": 2,
    "opencode/s6_sigkill_tool live": 2, "opencode_acp/r2 disk": 52, "qwen_acp/s2 disk": 11,
    # a call of no known tool was refused before anything was written; an answer was cut off and asked again
    "gemini_acp/s2 live": 12, "gemini_acp/s2 disk": 12, "qwen/q_len live": 2, "qwen/q_len disk": 2,
    # the agent gave up at the last answer
    "qwen/s3_cap live": 100, "qwen/s3_cap disk": 100,
}  # fmt: skip
"""Where a recording has other calls than the model asked for: how many it has."""


JOINED = (
    "claude-session/02.jsonl", "claude-stream/01.jsonl", "codex-rollout/26.jsonl", "copilot-cli/02.jsonl",
    "droid-session/02.jsonl", "pi-session/07.jsonl", "claude-2.1.329/compact.jsonl",
)  # fmt: skip
"""Logs that share their session with another one in the same folder: `watch` joins them."""


def rows_of(folder: Path) -> list[Row]:
    feed = Feed(Plan(find_roots([str(folder)])))
    while feed.round() or feed.follower.backlog:
        pass
    feed.finish()
    rows = feed.looks(YEARS_LATER, most=None)
    feed.close()
    return rows


def shown(path: str) -> tuple[int, int]:
    """Calls and turns that `show` prints."""
    lines = list(show_session(path, None, (), Look(100, False, named_zone("UTC"), Palette())))
    return sum(CALL.match(line) is not None for line in lines), len(set(_turns(lines)))


def _turns(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if (found := TURN.match(line)) is not None:
            yield found[1]


def check(row: Row) -> None:
    """The row, the result, and what `show` prints are the same."""
    result = summarize(row.path)
    summary = result.tool_use_summary
    known = (row.status, row.stalled, row.calls, row.turn, row.tokens_in)
    told = (result.status, "", summary["total_tool_calls"], summary["turns"], result.tokens["input"])
    assert known == told, row.path
    assert shown(row.path) == (row.calls, row.turn), row.path


@pytest.mark.parametrize("client", CLIENTS)
def test_every_recording_is_shown_as_what_it_is(client: str) -> None:
    truths = [*corpus("clients").glob(f"{client}/*/truth.json"), *corpus("features").glob(f"{client}/*/truth.json")]
    assert truths
    for place in truths:
        truth: dict[str, Any] = json.loads(place.read_text())
        calls = sum(len(answer["calls"]) for thread in truth["threads"].values() for answer in thread["answers"])
        for row in rows_of(place.parent):
            check(row)
            live = "live" if Path(row.path).name.startswith("stream.") else "disk"
            opened_only = client == "gemini_acp" and row.turn == 0  # a second session that nobody prompted
            if not opened_only:
                assert row.calls == RECORDED.get(f"{client}/{place.parent.name} {live}", calls), row.path


@pytest.mark.parametrize("group", ["samples", "wild"])
def test_watch_and_show_agree_about_other_logs(group: str) -> None:
    rows = [row for folder in corpus(group).iterdir() if folder.is_dir() for row in rows_of(folder)]
    assert len(rows) > 70
    for row in rows:
        if not str(row.path).endswith(JOINED):
            check(row)


@pytest.mark.parametrize(
    ("client", "scenario"), [("claude", "s4"), ("codex", "s4"), ("claude", "s11b"), ("qwen", "s12")]
)
def test_untouched_copies_are_complete(client: str, scenario: str) -> None:
    """A sub-agent's later event undid the end."""
    rows = rows_of(corpus("clients") / client / scenario)
    assert rows
    assert {(row.status, row.stalled) for row in rows} == {("complete", "")}


def test_a_log_without_events_is_as_old_as_its_file(tmp_path: Path) -> None:
    """All of its records are faults, so none has a time; it was "running" for ever."""
    call = {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}
    log = tmp_path / "a.json"
    log.write_text(json.dumps([{"timestamp": "2026-03-01T10:00:01Z", "payload": call}] * 3))
    os.utime(log, (1_767_225_600, 1_767_225_600))
    (row,) = rows_of(tmp_path)
    assert (row.status, row.last_event_ms) == ("incomplete", 1_767_225_600_000)
