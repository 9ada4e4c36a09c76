"""`watch` and `show` beside what the model of each recording really asked for, and beside `summarize`."""

import json
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
OTHER_RUNS = ("s10b", "s11b")  # their logs on disk begin with an earlier run, which the truth is not about
CUT = ("s6_pipe",)  # the stream ended before the agent did
UNSAID = {"codex": ("stream.jsonl",)}  # `codex exec` prints no call of a sub-agent, of a plan, or of an unknown tool


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


@pytest.mark.parametrize("client", ["claude", "codex", "qwen", "pi", "gemini", "copilot"])
def test_every_recording_is_shown_as_what_it_is(client: str) -> None:
    truths = sorted((corpus("clients") / client).glob("*/truth.json"))
    assert truths
    for place in truths:
        truth: dict[str, Any] = json.loads(place.read_text())
        calls = sum(len(answer["calls"]) for thread in truth["threads"].values() for answer in thread["answers"])
        for row in rows_of(place.parent):
            result = summarize(row.path)
            summary = result.tool_use_summary
            known = (row.status, row.stalled, row.calls, row.turn, row.tokens_in)
            told = (result.status, "", summary["total_tool_calls"], summary["turns"], result.tokens["input"])
            assert known == told, row.path
            assert shown(row.path) == (row.calls, row.turn), row.path
            other = place.parent.name in (*OTHER_RUNS, *CUT) or Path(row.path).name in UNSAID.get(client, ())
            if client in ("claude", "codex", "qwen", "pi") and not other:
                assert row.calls == calls, row.path


@pytest.mark.parametrize(
    ("client", "scenario"), [("claude", "s4"), ("codex", "s4"), ("claude", "s11b"), ("qwen", "s12")]
)
def test_untouched_copies_are_complete(client: str, scenario: str) -> None:
    """A sub-agent's later event undid the end."""
    rows = rows_of(corpus("clients") / client / scenario)
    assert rows
    assert {(row.status, row.stalled) for row in rows} == {("complete", "")}
