"""Logs that are one JSON document, rewritten as a whole: what is new in them is delivered once, as of growing logs."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentv_stages.model.event import AssistantText, ToolResult
from agentv_stream import follow, summarize
from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.lines import line_of
from agentv_stream.watch.model import Look
from support.consumed_and_followed import consumed_beside, difference
from support.consuming import run
from support.decoding import FIXTURES
from support.following import Desk, catch_up
from support.schemas import fits

RUN = json.loads((FIXTURES / "mini-swe-agent" / "run.traj.json").read_bytes())
STEPS = (3, 4, 9, len(RUN["messages"]))


def write(path: Path, messages: int, indent: int | None, end: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({**RUN, "messages": RUN["messages"][:messages]}, indent=indent) + end
    path.with_suffix(".tmp").write_text(text)
    path.with_suffix(".tmp").rename(path)


def test_a_document_counts_among_the_sessions_that_are_caught_up_with(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "run.traj.json", STEPS[-1], None)
    done = run(tmp_path, "tail", "logs", "--once", "--no-cursors", "--out", "out")
    assert done.err == "agentv-stream: caught up sessions=1 outputs=out\n"


def told(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What events say, but for what is said of the whole document, and for ids, which depend on its path."""
    parts = [event["content"] for event in events if event["type"] not in ("session_info", "session_end")]
    return [{name: value for name, value in part.items() if name != "tool_call_id"} for part in parts]


FORMS = pytest.mark.parametrize(("indent", "end"), [(2, ""), (2, "\n"), (None, ""), (None, "\n")])


@FORMS
def test_what_is_new_is_emitted_once(tmp_path: Path, indent: int | None, end: str) -> None:
    whole, desk = Desk(tmp_path / "whole"), Desk(tmp_path / "grown")
    write(whole.logs / "run.traj.json", STEPS[-1], indent, end)
    whole.catch_up()
    follower = desk.follower()
    for messages in STEPS:
        before = len(desk.events())
        write(desk.logs / "run.traj.json", messages, indent, end)
        catch_up(follower)
        follower.finish(True)
        assert len(desk.events()) > before
    follower.close()
    desk.close()
    got = desk.events()
    assert told(got) == told(whole.events())
    ends = {event["id"] for event in got if event["type"] == "session_end"}  # what it says has changed
    assert {own for own, times in desk.event_ids().items() if times > 1} <= ends
    assert len({event["session_id"] for event in got}) == 1  # its log has no id: that of its path
    calls = {event["id"] for event in got if event["type"] == "tool_call"}
    assert calls == {event["content"]["tool_call_id"] for event in got if event["type"] == "tool_result"}
    known: set[str | None] = {None}
    for event in got:
        assert event["parent_id"] in known
        known.add(event["id"])


def test_after_a_restart_only_what_is_new_comes(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "run.traj.json"
    write(log, 9, 2)
    desk.catch_up()
    first = desk.event_ids()
    desk.catch_up()
    assert desk.event_ids() == first
    for messages in (12, STEPS[-1]):
        write(log, messages, 2)
        desk.catch_up()
    again = desk.event_ids()
    assert set(first) < set(again)
    ends = {event["id"] for event in desk.events() if event["type"] == "session_end"}  # what it says has changed
    assert {own for own, times in again.items() if times > 1} <= ends
    (rows,) = desk.transcripts().values()
    whole = Desk(tmp_path / "whole")
    write(whole.logs / "run.traj.json", STEPS[-1], 2)
    whole.catch_up()
    (wanted,) = whole.transcripts().values()
    assert [row["content"] for row in rows] == [row["content"] for row in wanted]  # its transcript had vanished


@FORMS
def test_messages_and_statistics_from_python(tmp_path: Path, indent: int | None, end: str) -> None:
    log = tmp_path / "logs" / "run.traj.json"
    write(log, 3, indent, end)
    texts, results = list[str](), list[str]()

    async def main() -> None:
        steps = iter(STEPS[1:])
        async with follow(log.parent) as stream:
            async for session, batch in stream.batches():
                texts.extend(e.text for e in batch.events if isinstance(e, AssistantText))
                results.extend(e.call_id for e in batch.events if isinstance(e, ToolResult))
                more = next(steps, None)
                if more is None:
                    assert session.result().tool_use_summary == summarize(log).tool_use_summary
                    return
                write(log, more, indent, end)

    anyio.run(main)
    assert len(results) == len(set(results)) == summarize(log).tool_use_summary["total_tool_calls"]
    assert len(texts) == len(set(texts)) > 3


def look_when(feed: Feed, calls: int) -> Look:
    """The row once it counts so many calls: how soon a document is read again depends on what that costs."""
    while True:
        feed.round()
        looks = feed.looks(0)
        if looks and looks[0].calls >= calls:
            return looks[0]
        time.sleep(0.01)


@FORMS
def test_the_live_view_shows_them(tmp_path: Path, indent: int | None, end: str) -> None:
    log = tmp_path / "run.traj.json"
    feed = Feed(Plan(find_roots([str(tmp_path)]), settle_seconds=0.0))
    for messages in STEPS:
        write(log, messages, indent, end)
        summary = summarize(log).tool_use_summary
        look = look_when(feed, summary["total_tool_calls"])
        fits("watch", {"time": "2026-01-01T00:00:00.000Z", **line_of(look)})
        assert (look.turn, look.calls) == (summary["turns"], summary["total_tool_calls"])
        shown = feed.events(look.key, 0)
        assert shown is not None
        assert len([line for line in shown[2] if "helpful assistant" in line]) == 1  # nothing is shown twice
    feed.close()


class Conversation:
    """One of OpenHands', which has a file for each event."""

    def __init__(self, logs: Path) -> None:
        self.events = logs / "c0ffee" / "events"
        self.events.mkdir(parents=True)
        self.records = (FIXTURES / "openhands" / "session.jsonl").read_bytes().splitlines()

    def write(self, number: int) -> None:
        record = self.records[number]
        self.path(number).write_bytes(record)

    def path(self, number: int) -> Path:
        return self.events / f"event-{number:05}-{json.loads(self.records[number])['id']}.json"

    def check(self, desk: Desk, tmp_path: Path) -> None:
        """There is one transcript, as of `consume`."""
        dialect, wanted, got = consumed_beside(self.path(0), desk.out, tmp_path / "consumed")
        assert (dialect, difference(wanted, got)) == ("openhands-session", "")


def test_a_session_of_one_document_for_each_event(tmp_path: Path) -> None:
    """Rows go on over the files, and so no two events have one id."""
    desk = Desk(tmp_path)
    follower = desk.follower()
    talk = Conversation(desk.logs)
    for number in range(len(talk.records)):
        talk.write(number)
        catch_up(follower)
        follower.finish(True)
    follower.close()
    desk.close()
    got = desk.events()
    assert {event["source"]["row"] for event in got} >= set(range(1, len(talk.records)))
    again = {own for own, times in desk.event_ids().items() if times > 1}
    assert again <= {event["id"] for event in got if event["type"] in ("session", "session_end")}
    talk.check(desk, tmp_path)


@pytest.mark.parametrize("begin", ["start", "end"])
def test_a_new_file_of_a_session_at_rest_belongs_to_it(tmp_path: Path, begin: str) -> None:
    """After a restart, and where what was there is passed over, nothing of the session is in memory."""
    desk = Desk(tmp_path)
    talk = Conversation(desk.logs)
    for number in range(5):
        talk.write(number)
    if begin == "start":
        desk.catch_up()
    known = len(desk.events())
    follower = desk.follower(begin=begin)
    catch_up(follower)
    assert len(desk.events()) == known
    for number in range(5, len(talk.records)):
        talk.write(number)
        catch_up(follower)
        follower.finish(True)
    follower.close()
    desk.close()
    talk.check(desk, tmp_path)
    assert len({event["session_id"] for event in desk.events()}) == 1
    if begin == "end":
        calls = [e["content"]["provider_call_id"] for e in desk.events() if e["type"] == "tool_call"]
        whole = [e for e in talk.records if b'"ActionEvent"' in e]
        old = [e for e in talk.records[:5] if b'"ActionEvent"' in e]
        assert (len(calls), len(set(calls))) == (len(whole) - len(old),) * 2


def test_what_a_document_beside_the_log_says_is_told_again_with_the_log(tmp_path: Path) -> None:
    """No state is kept of a session that has no model."""
    desk = Desk(tmp_path)
    session = desk.logs / "session_20260101_120000_ab"
    session.mkdir()
    *records, last = (FIXTURES / "vibe" / "session-old.jsonl").read_bytes().splitlines(keepends=True)
    (session / "messages.jsonl").write_bytes(b"".join(records))
    (session / "meta.json").write_bytes((FIXTURES / "vibe" / "session-old.meta.json").read_bytes())
    desk.catch_up()
    before = desk.event_ids()
    with (session / "messages.jsonl").open("ab") as file:
        file.write(last)
    desk.catch_up()
    files = {event["id"]: Path(event["source"]["file"]).name for event in desk.events()}
    assert set(files.values()) == {"messages.jsonl", "meta.json"}
    assert {desk.event_ids()[own] for own in before} == {2}


def test_a_session_of_continue_grows_as_its_terminal_writes_it(tmp_path: Path) -> None:
    """The total comes before its answer, a call is written again with what it has printed, then with its end."""
    whole = json.loads((FIXTURES / "continue" / "session.json").read_bytes())
    prompt, answer = whole["history"][:2]
    waits = json.loads(json.dumps(answer))
    for number, state in enumerate(waits["toolCallStates"]):
        del state["output"]
        state["status"] = "calling" if number == 0 else "generated"
    runs = json.loads(json.dumps(waits))
    runs["toolCallStates"][0]["output"] = [{"content": "Content", "name": "Tool Result", "description": ""}]
    nothing = {**whole["usage"], "promptTokens": 0, "completionTokens": 0}
    first = {**nothing, "promptTokens": 3400, "completionTokens": 40}
    versions = [
        {**whole, "title": "Untitled Session", "history": [prompt], "usage": nothing},
        {**whole, "history": [prompt], "usage": first},
        *({**whole, "history": [prompt, one], "usage": first} for one in (waits, runs, answer)),
        whole,
    ]
    desk = Desk(tmp_path)
    log = desk.logs / f"{whole['sessionId']}.json"
    (desk.logs / "sessions.json").write_text(json.dumps([{"sessionId": whole["sessionId"], "title": "t"}]))
    for version in versions:
        log.write_text(json.dumps(version, indent=2, ensure_ascii=False))
        desk.catch_up()
    events = desk.events()
    assert [event["type"] for event in events].count("tool_call") == 10
    results = [event["content"] for event in events if event["type"] == "tool_result"]
    assert len(results) == 11  # one of them partial
    assert [event["type"] for event in events].count("session_end") == 1
    (rows,) = desk.transcripts().values()
    assert len(rows) == len(whole["history"])
    assert len([call for row in rows for call in row.get("tool_calls", ())]) == 10
