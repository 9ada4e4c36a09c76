"""Web searches that a server makes itself: counted once per model call, by day and model, and priced per search."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.figures.merge import Figures
from agentv_stream import summarize_groups
from agentv_stream.costs.rates import installed_version
from support.made_sessions import claude_session, session_id

SEARCHES = {"web_search_requests": 2, "web_fetch_requests": 0}


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in claude_session(1, 4).splitlines()]


def log_of(folder: Path, *searches: Any) -> Path:
    """A session on disk whose answers, in order, made these searches."""
    log = folder / f"{session_id(1)}.jsonl"
    lines, left = rows(), list(searches)
    for row in lines:
        if row["type"] == "assistant" and left:
            row["message"]["usage"]["server_tool_use"] = left.pop(0)
    folder.mkdir(exist_ok=True)
    log.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in lines))
    return log


def figures(log: Path, **options: Any) -> Figures:
    return summarize_groups([log], engine="serial", **options).summary.total()


def test_searches_of_all_calls_add_up(tmp_path: Path) -> None:
    log = log_of(tmp_path, SEARCHES, {"web_search_requests": 0}, {"web_search_requests": 1})
    assert figures(log).as_json()["web_searches"] == 3
    for by in ("day,model", "hour", "model"):
        groups = summarize_groups([log], engine="serial", by=by).summary.groups.values()
        assert sum(group.tokens.sums["web_searches"] for group in groups) == 3


def test_a_call_of_several_records_counts_once(tmp_path: Path) -> None:
    log = log_of(tmp_path, SEARCHES)
    lines = log.read_bytes().splitlines(keepends=True)
    answer = next(n for n, line in enumerate(lines) if b"web_search_requests" in line)
    later = json.loads(lines[answer]) | {"uuid": "later"}
    later["message"]["content"] = [{"type": "text", "text": "more"}]
    lines.insert(answer + 1, json.dumps(later).encode() + b"\n")
    log.write_bytes(b"".join(lines))
    assert figures(log).as_json()["web_searches"] == 2


@pytest.mark.parametrize("value", [None, {}, {"web_search_requests": None}, {"web_search_requests": -5}])
def test_a_log_that_has_no_count_says_nothing(tmp_path: Path, value: Any) -> None:
    assert figures(log_of(tmp_path, value)).as_json()["web_searches"] is None


@pytest.mark.skipif(installed_version() is None, reason="the prices extra is not installed")
def test_each_search_has_its_price(tmp_path: Path) -> None:
    plain, searched = (
        figures(log, prices=True).estimated_pico
        for log in (log_of(tmp_path / "a", {"web_search_requests": 0}), log_of(tmp_path / "b", SEARCHES))
    )
    assert searched - plain == 2 * 10**10  # a cent each
