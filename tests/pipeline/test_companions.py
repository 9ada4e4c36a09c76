"""Sub-agents' files that appear, and whose parents become known, while a follower looks on. Most logs are Gemini's."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.watch.feed import Feed
from support.consumed_and_followed import consumed_beside, difference
from support.following import Desk, catch_up

MAIN = "session-2026-03-01T10-00-12345678.jsonl"
CHILD = "12345678-aa/11-22.jsonl"


def header(session: str, kind: str) -> dict[str, Any]:
    when = "2026-03-01T10:00:00.000Z"
    return {"sessionId": session, "projectHash": "x", "startTime": when, "lastUpdated": when, "kind": kind}


def said(number: int, kind: str, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    more = {"toolCalls": calls, "model": "pear-2"} if kind == "gemini" else {}
    return {"id": f"m{number}", "timestamp": f"2026-03-01T10:00:0{number}.000Z", "type": kind, "content": text, **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"id": f"c-{name}", "name": name, "args": {}, "status": "success", "result": [], **more}


BEGIN = [header("12345678-aa", "main"), said(0, "user", "look at it"), said(1, "gemini", "I ask another one")]
SUB = [header("11-22", "subagent"), said(2, "user", "look"), said(3, "gemini", "looked", call("read_file"))]
END = [said(4, "gemini", "so", call("invoke_agent", agentId="11-22")), said(5, "gemini", "it is fine")]


def add(desk: Desk, name: str, records: list[dict[str, Any]]) -> None:
    path = desk.logs / "chats" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))


def rollout(number: int, **more: str) -> str:
    """A log of Codex, of one turn."""
    thread, text = f"t{number}", f"answer of t{number}"
    content = [{"type": "output_text", "text": text}]
    lines = [
        ("session_meta", {"id": thread, "cwd": "/w", "cli_version": "0.120.0", **more}),
        ("event_msg", {"type": "task_started", "turn_id": f"turn-{number}"}),
        ("turn_context", {"turn_id": f"turn-{number}", "model": "pear-2"}),
        ("response_item", {"type": "message", "role": "assistant", "content": content}),
        ("event_msg", {"type": "task_complete", "turn_id": f"turn-{number}", "last_agent_message": text}),
    ]
    when = f"2026-03-01T10:00:0{number}.000Z"
    return "".join(json.dumps({"timestamp": when, "type": kind, "payload": load}) + "\n" for kind, load in lines)


def check(desk: Desk, tmp_path: Path) -> None:
    """The transcript is the one that `consume` makes, and there is no other."""
    dialect, wanted, got = consumed_beside(desk.logs / "chats" / MAIN, desk.out, tmp_path / "consumed")
    assert dialect == "gemini-chat"
    assert (
        b'"parent_call": "c-invoke_agent"' in got.read_bytes() or b'"parent_call":"c-invoke_agent"' in got.read_bytes()
    )
    assert difference(wanted, got) in ("", "order")


@pytest.mark.parametrize("restart", [False, True])
def test_the_call_that_started_it_is_known_only_at_its_end(tmp_path: Path, restart: bool) -> None:
    desk = Desk(tmp_path)
    follower = desk.follower()
    add(desk, MAIN, BEGIN)
    add(desk, CHILD, SUB)
    catch_up(follower)
    follower.finish(True)
    if restart:
        follower.close()
        follower = desk.follower()
    add(desk, MAIN, END)
    catch_up(follower)
    follower.finish(True)
    check(desk, tmp_path)
    assert max(desk.event_ids().values()) == 1  # only the outputs were made again
    follower.close()
    desk.close()
    assert desk.catch_up().counts.bytes == 0
    check(desk, tmp_path)


def test_its_session_grows_for_the_last_time_right_after_it_was_looked_for(tmp_path: Path) -> None:
    clock = [0.0]
    desk = Desk(tmp_path, lambda: clock[0])
    follower = desk.follower()
    add(desk, MAIN, BEGIN)
    catch_up(follower)
    clock[0] += 1.0  # companions are looked for every two seconds
    add(desk, CHILD, SUB)
    add(desk, MAIN, END)
    follower.round(False)
    clock[0] += 5.0
    follower.round(False)
    follower.round(False)
    follower.finish(False)
    follower.close()
    desk.close()
    check(desk, tmp_path)


@pytest.mark.parametrize("first", [True, False])
def test_its_first_record_is_half_written_when_it_is_found(tmp_path: Path, first: bool) -> None:
    """Only that record names the parent, and the parent does not grow any more."""
    desk = Desk(tmp_path)
    follower = desk.follower()
    main, child = (desk.logs / f"rollout-2026-03-01T10-00-0{n}-t{n}.jsonl" for n in (0, 1))
    head, *rest = rollout(1, parent_thread_id="t0").splitlines(keepends=True)
    if first:
        follower.round()
    main.write_text(rollout(0))
    child.write_text(head[:40])
    follower.round()
    for part in (head[40:60], head[60:], "".join(rest)):
        with child.open("a") as file:
            file.write(part)
        follower.round()
    catch_up(follower)
    follower.finish(True)
    follower.close()
    desk.close()
    _, wanted, got = consumed_beside(main, desk.out, tmp_path / "consumed")
    assert difference(wanted, got) == ""
    assert b"answer of t1" in got.read_bytes()


def test_files_that_are_there_at_the_start_are_no_sessions_of_their_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    add(desk, MAIN, BEGIN + END)
    add(desk, CHILD, SUB)
    desk.catch_up()
    check(desk, tmp_path)
    assert not [what for what in desk.said if "another session" in what]
    sessions = {event["session_id"] for event in desk.events()}
    assert len(sessions) == 1


def test_the_live_view_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    add(desk, MAIN, BEGIN)
    add(desk, CHILD, SUB)
    feed = Feed(Plan(find_roots([str(desk.logs)]), settle_seconds=0.0))
    feed.round()
    add(desk, MAIN, END)
    while feed.round():
        pass
    feed.finish()
    (look,) = feed.looks(0)
    assert (look.turn, look.calls, look.open_calls) == (3, 2, 0)
    shown = feed.events(look.key, 0)
    assert shown is not None
    assert len([line for line in shown[2] if "looked" in line]) == 1
    feed.close()
