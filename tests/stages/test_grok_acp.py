"""Grok Build as an agent of ACP."""

import json
from typing import Any

import pytest

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    SessionEnd,
    SessionInfo,
    ToolCall,
    UserText,
)
from agentv_stages.providers import all_providers
from agentv_stages.providers.grok import PROVIDER
from support.decoding import (
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    head,
    lines,
    records,
    results,
    texts,
    total,
    usages,
)
from support.grok_sessions import FOLDER

ACP = dialect(PROVIDER, "grok-acp")
WRAPPED = records((FOLDER / "acp.jsonl").read_bytes())
BARE = lines(*(json.loads(r.data)["msg"] for r in WRAPPED if b'"dir":"a2c"' in r.data))
CHILD = "subagent:0199a0b3-0000-7000-8000-000000000001"
GIVEN = pytest.mark.parametrize("given", [WRAPPED, BARE], ids=["both directions", "the agent's alone"])


def ends(events: list[AnyEvent]) -> list[tuple[str, str | None]]:
    return [(e.status, e.reason) for e in events if isinstance(e, SessionEnd)]


def updated(kind: str, session: str = "s", own: bool = False, **members: Any) -> dict[str, Any]:
    method = "_x.ai/session_notification" if own else "session/update"
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **members}}
    return {"jsonrpc": "2.0", "method": method, "params": params}


def said(text: str, session: str = "s") -> dict[str, Any]:
    return updated("agent_message_chunk", session, content={"type": "text", "text": text})


def prompt_done(reason: str, said: str | None = None, session: str = "s") -> dict[str, Any]:
    params = {"sessionId": session, "stopReason": reason, "agentResult": said}
    return {"jsonrpc": "2.0", "method": "_x.ai/session/prompt_complete", "params": params}


def result(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 3, "result": members}


@GIVEN
def test_it_is_told_from_what_others_say(given: Any) -> None:
    assert best(PROVIDER, given) == ("grok-acp", 1.0)
    first = next(p.name for p in all_providers() for d in p.dialects if d.detect(head(given)) == 1.0)
    assert first == "grok"
    others = lines({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {}}})
    assert ACP.detect(head(others)) == 0.0


@GIVEN
def test_the_laws_hold(given: Any) -> None:
    check_laws(ACP, given)


def test_odd_shapes_are_refused_whole_or_taken_whole() -> None:
    check_odd_shapes(PROVIDER, WRAPPED, 40)


@GIVEN
def test_calls_outcomes_and_tokens_are_those_of_the_script(given: Any) -> None:
    batch = Batch("log", records=list(given), events=events_of(ACP, given))
    ended = {e.call_id: e.outcome for e in results(batch.events)}
    assert [(c.source.stream, c.name, ended[c.call_id]) for c in calls(batch.events)] == [
        (MAIN, "read_file", "ok"),
        (MAIN, "list_dir", "ok"),
        (MAIN, "spawn_subagent", "ok"),
        (CHILD, "read_file", "ok"),
        (MAIN, "run_terminal_command", "denied"),
    ]
    assert total(batch.events) == {"input": 65181, "cached": 41088, "output": 72, "reasoning": 3}
    assert {u.scope for u in usages(batch.events)} == {"call"}
    assert texts(batch.events) == ["Reading.", "Sub one reads.", "README is short.", "Removing."]
    assert ends(batch.events)[-1] == ("interrupted", "PermissionRejected")
    observer = Observer(PROVIDER, ACP)
    observer.observe(batch)
    counted = observer.result([])
    assert (counted.tokens["input"], counted.tool_use_summary["turns"]) == (65181, 3)
    assert (counted.status, counted.session.model) == ("interrupted", "grok-4.6")


def test_a_sub_agents_session_has_a_stream_and_the_call_that_began_it() -> None:
    events = events_of(ACP, BARE)
    spawn = next(c for c in calls(events) if c.name == "spawn_subagent")
    assert {c.parent_call for c in calls(events) if c.source.stream == CHILD} == {spawn.call_id}
    assert [e.status for e in events if isinstance(e, SessionEnd) and e.source.stream == CHILD] == ["complete"]


def test_the_clients_messages_tell_the_prompt_and_the_folder() -> None:
    events = events_of(ACP, WRAPPED)
    assert [e.text for e in events if isinstance(e, UserText) and e.source.stream == MAIN] == ["Tidy up."]
    assert [e.cwd for e in events if isinstance(e, SessionInfo) and e.cwd] == ["/home/ada/orchard"]
    asked = [e for e in events if isinstance(e, Notification) and e.name == "permission_request"]
    assert len(asked) == 2


NO_METHOD = {"jsonrpc": "2.0", "id": "skills-reload", "error": {"code": -32601, "message": "Method not found"}}
NOT_DONE = {"jsonrpc": "2.0", "id": 3, "error": {"code": -32603, "message": "Internal error"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([said("Hi"), result(stopReason="end_turn")], [("complete", None)]),
        ([said("Hi"), result(stopReason="cancelled")], [("interrupted", "cancelled")]),
        (
            [said("Hi"), updated("turn_completed", own=True, stop_reason="end_turn"), result(stopReason="end_turn")],
            [("complete", None)],
        ),
        (
            [
                said("Hi"),
                {"jsonrpc": "2.0", "id": 3, "error": {"code": -1, "message": 'Internal error: {"message": "no"}'}},
            ],
            [("error", "no")],
        ),
        (
            [{"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "not logged in"}}],
            [("error", "not logged in")],
        ),
        ([said("Hi")], []),
        ([said("Hi"), prompt_done("end_turn"), result(stopReason="end_turn")], [("complete", None)]),
        ([prompt_done("error", "API error"), NOT_DONE], [("error", "API error")]),
        (
            [said("Hi"), updated("turn_completed", own=True, stop_reason="end_turn"), prompt_done("end_turn")],
            [("complete", None)],
        ),
        (
            [said("Hi"), prompt_done("end_turn"), said("More"), prompt_done("cancelled")],
            [("complete", None), ("interrupted", "cancelled")],
        ),
        ([said("Hi"), NO_METHOD, result(stopReason="cancelled")], [("interrupted", "cancelled")]),
    ],
)
def test_how_a_prompt_ends(given: list[dict[str, Any]], expected: list[tuple[str, str | None]]) -> None:
    assert ends(events_of(ACP, lines(*given))) == expected


def test_what_was_open_when_a_prompt_was_cancelled_is_cancelled() -> None:
    asked = updated("tool_call", toolCallId="a", title="run_terminal_command", rawInput={"command": "sleep 9"})
    for over in (prompt_done("cancelled"), result(stopReason="cancelled")):
        assert [(r.call_id, r.outcome) for r in results(events_of(ACP, lines(asked, over)))] == [("a", "cancelled")]
    assert not results(events_of(ACP, lines(asked, prompt_done("end_turn"))))


def test_a_session_that_is_loaded_is_told_again_and_counts_once() -> None:
    replayed = [said("Before"), updated("turn_completed", own=True, stop_reason="end_turn")]
    for line in replayed:
        line["params"]["_meta"] = {"eventId": "s-1", "agentTimestampMs": 1, "isReplay": True}
    events = events_of(ACP, lines(*replayed, said("After"), result(stopReason="end_turn")))
    assert texts(events) == ["After"]
    assert ends(events) == [("complete", None)]


def test_sub_agents_begun_at_once_get_a_call_each() -> None:
    asked = [updated("tool_call", toolCallId=c, title="spawn_subagent", rawInput={}) for c in ("a", "b")]
    begun = [updated("subagent_spawned", own=True, child_session_id=k) for k in ("k", "l")]
    inner = [updated("tool_call", k, toolCallId=f"{k}1", title="read_file", rawInput={}) for k in ("k", "l")]
    events = events_of(ACP, lines(*asked, *begun, *inner, said("Two", "l"), said("Main")))
    found = [(e.source.stream, e.parent_call) for e in events if isinstance(e, ToolCall)]
    assert found == [(MAIN, None), (MAIN, None), ("subagent:k", "a"), ("subagent:l", "b")]
    assert [e.source.stream for e in events if isinstance(e, AssistantText)] == ["subagent:l", MAIN]
