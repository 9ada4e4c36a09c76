"""Kiro's sessions and Amazon Q's conversations, by hand-made logs."""

import json
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, TokenUsage, ToolCall, UserText
from agentv_stages.providers.kiro import PROVIDER
from agentv_stages.providers.kiro.results import ending
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    decoded,
    dialect,
    events_of,
    lines,
    records,
    results,
    texts,
)

SESSION = dialect(PROVIDER, "kiro-session")
CONVERSATION = dialect(PROVIDER, "kiro-conversation")
WRITTEN = records((FIXTURES / "kiro" / "session.jsonl").read_bytes())
SAVED = records((FIXTURES / "kiro" / "conversation.json").read_bytes())
ROWS = lines(
    {"session": {"id": "conv-1", "directory": "/home/ada/orchard"}},
    *({"message": element} for element in json.loads(SAVED[0].data)["history"]),
)


@pytest.mark.parametrize(("of", "log"), [(SESSION, WRITTEN), (CONVERSATION, SAVED), (CONVERSATION, ROWS)])
def test_logs_are_recognised_and_keep_the_laws(of: Any, log: Any) -> None:
    assert best(PROVIDER, log) == (of.name, 1.0)
    check_laws(of, log)
    check_odd_shapes(PROVIDER, log)


def tools(batch: Batch) -> list[str]:
    for event in Normalize(PROVIDER.tools).push(batch):
        return [call.tool for call in event.events if isinstance(call, ToolCall)]
    return []


def test_a_session_has_its_calls_outcomes_and_exit_codes() -> None:
    batch = decoded(SESSION, WRITTEN)
    assert [(call.name, call.message_id) for call in calls(batch.events)] == [
        ("read", "a1"),
        ("shell", "a1"),
        ("write", "a2"),
        ("read", "a2"),
        ("@docs/lookup", "a2"),
        ("shell", "a2"),
    ]
    assert calls(batch.events)[1].input == {"command": "pytest -q"}
    assert [(r.call_id, r.outcome, r.exit_code) for r in results(batch.events)] == [
        ("t2", "error", 1),  # status success
        ("t1", "ok", None),
        ("t3", "error", None),
        ("t4", "ok", None),
        ("t5", "ok", None),
        ("t6", "cancelled", None),
    ]
    assert tools(batch) == ["Read", "Bash", "Edit", "LS", "mcp__docs__lookup", "Bash"]


def test_what_the_person_did_to_the_history_is_a_notice() -> None:
    given = [
        {"version": "v1", "kind": kind, "data": {"message_id": "x"}} for kind in ("Clear", "ResetTo", "Compaction")
    ]
    batch = decoded(SESSION, [*WRITTEN, *lines(*given)])
    names = [event.name for event in batch.events if isinstance(event, Notification)]
    assert names[-3:] == ["clear", "rewind", "compact_boundary"]
    assert (batch.unknown, batch.faults) == ({}, [])


def test_a_session_has_its_prompt_with_a_time_and_its_end_and_no_tokens() -> None:
    events = events_of(SESSION, WRITTEN)
    assert [(e.text, e.source.time_ms) for e in events if isinstance(e, UserText)] == [
        ("Fix the failing test.", 1772443800500)
    ]
    assert texts(events) == ["I change it.", "Fixed."]
    assert [event.name for event in events if isinstance(event, Notification)] == ["compact_boundary"]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]
    assert not any(isinstance(event, TokenUsage) for event in events)


def document(*turns: dict[str, Any], model: str = "pear-2") -> dict[str, Any]:
    state = {"conversation_metadata": {"user_turn_metadatas": list(turns)}}
    info = {"model_info": {"model_id": model}}
    head = {"session_id": "s", "cwd": "/w", "title": "Fix", "session_created_reason": "subagent"}
    return {**head, "session_state": {**state, "rts_model_state": info}}


def turn(result: Any, reason: str | None = "UserTurnEnd", last: str = "a3", **more: Any) -> dict[str, Any]:
    duration = {"secs": 3, "nanos": 500_000_000}
    return {"result": result, "message_ids": ["p1", last], "end_reason": reason, "turn_duration": duration, **more}


@pytest.mark.parametrize(
    ("turns", "end"),
    [
        ((turn({"Ok": {}}), turn({"Ok": {}})), ("complete", None, 7000)),
        ((turn({"Ok": {}}), turn({"Err": "overloaded"})), ("error", "overloaded", 7000)),
        ((turn({"Err": {"code": 1}}),), ("error", "UserTurnEnd", 3500)),
        ((turn({"Ok": {}}, "Cancelled"),), ("unknown", "Cancelled", 3500)),
        ((turn({"Ok": {}}, last="a2"),), ("complete", None, None)),  # of an earlier turn: the end is the answer's
        ((), ("complete", None, None)),
    ],
)
def test_the_document_has_the_end_of_the_last_turn(turns: Any, end: tuple[str, str | None, int | None]) -> None:
    counts = {"input_token_count": 0, "output_token_count": 0}
    events = events_of(SESSION, [*WRITTEN, *lines(document(*({**members, **counts} for members in turns)))])
    last = [event for event in events if isinstance(event, SessionEnd)][-1]
    assert (last.status, last.reason, last.duration_ms) == end
    assert not any(isinstance(event, TokenUsage) for event in events)


def test_the_document_names_the_model_unless_the_program_chooses_it() -> None:
    for model, named in (("pear-2", "pear-2"), ("auto", None)):
        (info,) = [e for e in events_of(SESSION, lines(document(model=model))) if isinstance(e, SessionInfo)]
        assert (info.model, info.cwd, info.title, info.parent_session_id) == (named, "/w", "Fix", None)


def test_a_conversation_has_its_results_in_the_next_element() -> None:
    for log in (SAVED, ROWS):
        batch = decoded(CONVERSATION, log)
        assert [(call.name, call.message_id) for call in calls(batch.events)] == [
            ("fs_read", "m0"),
            ("execute_bash", "m0"),
            ("fs_write", "m1"),
        ]
        assert [(r.call_id, r.outcome, r.exit_code) for r in results(batch.events)] == [
            ("t1", "ok", None),
            ("t2", "error", 2),
            ("t3", "cancelled", None),
        ]
        assert tools(batch) == ["Read", "Bash", "Write"]
        assert [e.text for e in batch.events if isinstance(e, UserText)] == ["Fix the failing test.", "No, stop."]
        infos = [event for event in batch.events if isinstance(event, SessionInfo)]
        assert {info.model for info in infos if info.model} == {"pear-2"}
        assert {info.cwd for info in infos if info.cwd} == {"/home/ada/orchard"}
        assert [event.status for event in batch.events if isinstance(event, SessionEnd)] == ["complete"]


def test_an_output_of_one_part_is_that_part() -> None:
    found = {result.call_id: result.output for result in results(events_of(SESSION, WRITTEN))}
    assert (found["t1"], found["t4"], found["t5"]) == ("def slug", ["slug.py", "b.py"], {"name": "short"})
    assert msgspec.json.encode(found["t2"]) == b'{"exit_status":"exit status: 1","stdout":"1 failed","stderr":""}'


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("exit status: 0", ("ok", 0)),
        ("signal: 9 (SIGKILL)", ("error", None)),
        ("exit status: 99999999999", ("error", None)),
        (3, ("error", 3)),
        ("0", ("ok", 0)),
        (None, ("ok", None)),
    ],
)
def test_a_command_ends_as_its_exit_status_says(status: Any, end: tuple[str, int | None]) -> None:
    assert ending([msgspec.Raw(msgspec.json.encode({"exit_status": status}))], "success")[1:] == end


def test_an_error_of_the_program_is_an_error_whatever_the_result_says() -> None:
    part: dict[str, Any] = {"kind": "toolResult", "data": {"toolUseId": "t", "status": "success"}}
    data: dict[str, Any] = {
        "message_id": "r",
        "content": [part],
        "results": {"t": {"tool": None, "result": {"Error": {"Custom": "x"}}}},
    }
    (result,) = results(events_of(SESSION, lines({"version": "v1", "kind": "ToolResults", "data": data})))
    assert result.outcome == "error"
