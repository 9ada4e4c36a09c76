"""Rows of the live view that come from kept figures: the same as those of logs that are read, and kept up to date."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentv_stream.costs.rates import rates_if
from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.watch import feed as feeds
from agentv_stream.watch.at_rest import AtRest
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.lines import watch_lines
from agentv_stream.watch.model import Look
from support.decoding import corpus
from support.growing_logs import claude_records

START = 1_767_225_600_000  # 2026-01-01, when the records of growing_logs begin
YEARS_LATER = 2 * 10**12
"""UTC ms: nothing of a recording is running any more."""


COPIED = ("codex-0.27.0",)  # it holds one log twice, and `watch` may read either


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/agentv-stream/figures.db"


def feed_of(folder: Path, kept: bool = True) -> Feed:
    roots = find_roots([str(folder)])
    return Feed(Plan(roots), AtRest(roots, lambda path: True, rates_if(None)) if kept else None, rates_if(None))


def read(feed: Feed) -> Feed:
    while feed.round() or feed.follower.backlog:
        pass
    return feed


def rows_of(folder: Path, kept: bool) -> dict[str, Look]:
    feed = read(feed_of(folder, kept))
    feed.finish()
    found = {look.path: replace(look, key=0, reading=0, prompt="") for look in feed.looks(YEARS_LATER, most=None)}
    feed.close()
    return found


def write(folder: Path, name: str, turns: int) -> Path:
    """A session that was written long ago."""
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\n".join(claude_records(name, turns)) + b"\n")
    return aged(path)


def aged(path: Path) -> Path:
    then = path.stat().st_mtime - 3600
    os.utime(path, (then, then))
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files that were just made count as written long ago: no test can set the time of their last change."""
    monkeypatch.setattr("agentv_stream.bulk.kept_figures.AT_REST_NS", -(10**12))
    yield


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("part", ["clients/*/*", "features/*/*", "samples/*", "agtrace/*", "wild/*", "new-agents/*"])
def test_rows_from_kept_figures_are_those_of_logs_that_are_read(part: str) -> None:
    top, _, below = part.partition("/")
    for folder in sorted(place for place in corpus(top).glob(below) if place.is_dir() and place.name not in COPIED):
        fresh = rows_of(folder, kept=False)
        assert rows_of(folder, kept=True) == fresh
        assert rows_of(folder, kept=True) == fresh  # now the figures are kept


@pytest.mark.usefixtures("at_once")
def test_a_log_that_is_kept_is_not_read_again(tmp_path: Path) -> None:
    write(tmp_path / "logs", "aaaa-1", 3)
    first = rows_of(tmp_path / "logs", kept=True)
    feed = read(feed_of(tmp_path / "logs"))
    assert (len(feed.looks(YEARS_LATER)), feed.follower.counts.bytes, feed.views) == (1, 0, {})
    assert [replace(look, key=0, reading=0, prompt="") for look in feed.looks(YEARS_LATER)] == [*first.values()]


@pytest.mark.usefixtures("at_once")
def test_a_session_that_goes_on_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SCAN_SECONDS", 0.0)
    path = write(tmp_path / "logs", "aaaa-1", 3)
    write(tmp_path / "logs", "bbbb-2", 2)
    feed = read(feed_of(tmp_path / "logs"))
    keys = {look.path: look.key for look in feed.looks(YEARS_LATER)}
    write(tmp_path / "logs", "aaaa-1", 5)
    read(feed)
    looks = {look.path: look for look in feed.looks(YEARS_LATER)}
    assert {place: look.key for place, look in looks.items()} == keys  # rows keep their places
    assert looks[str(path)].turn == 5
    assert len(feed.views) == 1


@pytest.mark.usefixtures("at_once")
def test_a_new_sub_agent_of_a_session_at_rest_is_a_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SCAN_SECONDS", 0.0)
    path = write(tmp_path / "logs", "aaaa-1", 3)
    feed = read(feed_of(tmp_path / "logs"))
    (before,) = feed.looks(YEARS_LATER)
    records = [json.loads(record) for record in claude_records("aaaa-1", 2)]
    agent = path.with_suffix("") / "subagents/agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    for n, record in enumerate(records):
        record |= {"isSidechain": True, "agentId": "a1", "uuid": f"agent-{n}"}
    agent.write_text("".join(json.dumps(record) + "\n" for record in records))
    read(feed)
    (look,) = feed.looks(YEARS_LATER)
    assert look.calls > before.calls


@pytest.mark.usefixtures("at_once")
def test_a_log_that_is_removed_leaves_the_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SCAN_SECONDS", 0.0)
    path = write(tmp_path / "logs", "aaaa-1", 3)
    write(tmp_path / "logs", "bbbb-2", 2)
    feed = read(feed_of(tmp_path / "logs"))
    path.unlink()
    read(feed)
    assert [look.session for look in feed.looks(YEARS_LATER)] == ["bbbb-2"]


@pytest.mark.usefixtures("at_once")
def test_events_of_a_session_at_rest_are_read_when_it_is_opened(tmp_path: Path) -> None:
    write(tmp_path / "logs", "aaaa-1", 3)
    feed = read(feed_of(tmp_path / "logs"))
    (look,) = feed.looks(YEARS_LATER)
    assert feed.read_texts()
    assert feed.looks(YEARS_LATER)[0].prompt
    feed.wake(look.key)
    read(feed)
    found = feed.events(look.key, YEARS_LATER)
    assert found is not None
    assert (found[0].key, bool(found[2])) == (look.key, True)


@pytest.mark.usefixtures("at_once")
def test_a_session_that_may_be_stalled_is_read(tmp_path: Path) -> None:
    """Only its log says which call hangs."""
    write(tmp_path / "logs", "aaaa-1", 3)
    roots = find_roots([str(tmp_path / "logs")])
    at_rest = AtRest(roots, lambda path: True)
    at_rest.begin(START + 3_600_000)
    assert not at_rest.views
    assert not at_rest.pending or at_rest.go_on(START + 3_600_000)
    assert not at_rest.views


def test_a_store_that_cannot_be_used_costs_time_alone(tmp_path: Path, own_store: Path) -> None:
    own_store.parent.mkdir(parents=True)
    own_store.mkdir()
    write(tmp_path / "logs", "aaaa-1", 3)
    lines: list[bytes] = []
    feed = feed_of(tmp_path / "logs")
    watch_lines(feed, lines.append, lambda text: None, once=True)
    assert json.loads(lines[0])["turns"] == 3
    assert len(feed.notes) == 1
    assert str(own_store) in feed.notes[0]
