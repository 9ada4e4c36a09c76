"""A log whose dialect is not certain when it rests: it is decided then, and again when it continues."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.session.detect import MOST_NOISE
from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.summary import summarize
from agentv_stream.watch.feed import Feed
from support.consumed_and_followed import consumed_beside
from support.decoding import FIXTURES
from support.following import Desk, begin, catch_up
from support.growing_logs import claude_records

# Files that are no logs cost a follower neither memory nor time, however they grow.

LINE = b"2026-01-01 INFO nothing of interest happened here, and it will happen again\n"
FOREIGN = b'{"kind": "ping", "of": "another program", "number": 1}\n'


def test_endless_noise_is_given_up_and_not_held(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "noise.jsonl"
    follower = desk.follower()
    for _ in range(4):
        with log.open("ab") as file:
            file.write(LINE * (MOST_NOISE // 3))
        catch_up(follower)
    read = follower.counts.bytes
    (session,) = follower.hot.values()
    assert session.recognition.given_up
    assert session.recognition.detector is not None
    assert not session.recognition.detector.held
    assert not session.files.taken.new
    for _ in range(3):
        with log.open("ab") as file:
            file.write(LINE * MOST_NOISE)
        catch_up(follower)
    assert follower.counts.bytes == read
    assert not follower.backlog
    follower.close()
    desk.close()
    assert desk.transcripts() == {}


def test_records_of_another_program_are_given_up_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "other.jsonl"
    log.write_bytes(FOREIGN * 300_000)  # more than one round reads
    follower = desk.follower()
    catch_up(follower)
    assert follower.counts.bytes < log.stat().st_size / 10
    follower.close()
    desk.close()


def test_a_log_that_takes_the_place_of_noise_is_followed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "noise.jsonl"
    log.write_bytes(LINE * (MOST_NOISE + 1))
    follower = desk.follower()
    catch_up(follower)
    log.write_bytes(b"\n".join(claude_records("aaaa-1", 2)) + b"\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert list(desk.transcripts()) == ["aaaa-1"]


def test_files_that_are_no_logs_are_not_counted_as_sessions(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / "aaaa-1.jsonl").write_bytes(b"\n".join(claude_records("aaaa-1", 2)) + b"\n")
    for n in range(3):
        (desk.logs / f"settings-{n}.json").write_bytes(b'{"theme": "dark"}\n')
    for _ in range(2):  # begun, and from the cursors
        follower = desk.follower()
        catch_up(follower)
        assert follower.sessions_known == 1
        follower.settle_all()
        follower.close()
    desk.close()


@pytest.mark.parametrize("restart", [False, True])
def test_a_log_that_was_none_yet_when_it_rested_is_followed_to_its_end(tmp_path: Path, restart: bool) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "aaaa-1.jsonl"
    log.write_bytes(FOREIGN)
    follower = begin(desk, restart)
    records = claude_records("aaaa-1", 50)
    for number, record in enumerate(records):
        with log.open("ab") as file:  # 4 MiB is the most of a document that is no log
            file.write(record + b" " * 200_000 + b"\n" * (number < len(records) - 1))
        if number % 20 == 0:
            catch_up(follower)
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    (rows,) = desk.transcripts().values()
    assert log.stat().st_size > 20_000_000
    assert len(rows) == 51
    assert rows[-1]["tool_calls"][0]["status"] == "ok"  # the last line has no end


def test_a_large_document_that_is_no_log_is_not_read_at_each_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "other.json"
    log.write_bytes(b"{}")
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    log.write_bytes(b'{"a": "' + b"x" * 5_000_000 + b'"}')
    catch_up(follower)
    assert follower.counts.bytes == 2
    follower.close()
    desk.close()


TIME = "2026-03-02T10:00:00.000Z"
HEADER: dict[str, Any] = {"type": "session", "version": 3, "id": "5a", "timestamp": TIME, "cwd": "/w"}
PROMPT = {"role": "user", "content": "hello", "attribution": "user"}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "model": "pear-2", "stopReason": "stop"}
REST: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("agent_start", "turn_start")),
    *({"type": "message_end", "message": message} for message in (PROMPT, ANSWER)),
    {"type": "agent_end", "messages": []},
]


def add(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("rests", [1, 2, 3])
def test_what_it_is_when_it_continues_counts(tmp_path: Path, rests: int, restart: bool) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "run.jsonl"
    follower = desk.follower()
    records = [HEADER, *REST]
    for number in range(rests):
        add(log, records[number])
        catch_up(follower)
        follower.finish(True)
        assert {path.name.split("_")[1] for path in desk.out.iterdir()} == {"pi"}
        if restart:
            follower.close()
            follower = desk.follower()
    add(log, *records[rests:])
    catch_up(follower)
    follower.finish(True)
    follower.close()
    desk.close()
    dialect, wanted, got = consumed_beside(log, desk.out, tmp_path / "consumed")
    assert dialect == "oh-my-pi-stream"
    assert (got.name, got.read_bytes()) == (wanted.name, wanted.read_bytes())
    assert {path.name.split("_")[1] for path in desk.out.iterdir()} == {"oh-my-pi"}
    texts = [event["content"].get("text") for event in desk.events()]
    assert (texts.count("hi"), len([text for text in texts if text and "hello" in str(text)])) == (1, 1)


def test_the_live_view_shows_what_it_turned_out_to_be(tmp_path: Path) -> None:
    """Kilo's stream differs from OpenCode's from its third line on; until then the decoder holds its parts."""
    lines = (FIXTURES / "kilo" / "stream.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / "run.jsonl"
    feed = Feed(Plan(find_roots([str(tmp_path)]), settle_seconds=0.0))
    for count, agents in ((2, list[str]()), (len(lines), ["kilo"])):
        log.write_bytes(b"".join(lines[:count]))
        while feed.round():
            pass
        assert [look.agent for look in feed.looks(0)] == agents
    feed.close()


@pytest.mark.parametrize(("count", "agent"), [(2, "opencode"), (None, "kilo")])
def test_one_look_shows_what_consume_says(tmp_path: Path, count: int | None, agent: str) -> None:
    lines = (FIXTURES / "kilo" / "stream.jsonl").read_bytes().splitlines(keepends=True)
    log = tmp_path / "run.jsonl"
    log.write_bytes(b"".join(lines[:count]))
    feed = Feed(Plan(find_roots([str(tmp_path)]), settle_seconds=0.0))
    while feed.round():
        pass
    feed.finish()
    assert [look.agent for look in feed.looks(0)] == [agent] == [summarize(log).session.provider]
    feed.close()


def test_a_header_alone_is_no_session_yet(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    add(log, *REST[:1], HEADER)
    feed = Feed(Plan(find_roots([str(tmp_path)]), settle_seconds=0.0))
    feed.round()
    feed.finish()
    assert feed.looks(0) == []
    add(log, *REST[1:])
    while feed.round():
        pass
    (look,) = feed.looks(0)
    assert (look.agent, look.turn) == ("oh-my-pi", 1)
    feed.close()
