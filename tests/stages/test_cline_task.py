"""Tasks of Cline's editor extension, by hand-made files."""

import json
from typing import Any

import pytest

from agentv_stages.model.batch import Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, TokenUsage, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.cline import PROVIDER
from agentv_stages.providers.cline.api_history import read_history
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
    results,
    texts,
    total,
)

TASK = dialect(PROVIDER, "cline-task")
ENTRIES: list[dict[str, Any]] = json.loads((FIXTURES / "cline/tasks/1772443800000/ui_messages.json").read_bytes())
LOG = lines(*ENTRIES)
PLACE = "/h/globalStorage/saoudrizwan.claude-dev/tasks/17/ui_messages.json"


def test_a_task_is_recognised_and_keeps_the_laws() -> None:
    assert best(PROVIDER, LOG) == ("cline-task", 1.0)
    check_laws(TASK, LOG)
    check_odd_shapes(PROVIDER, LOG)


def ends(log: list[Record]) -> list[tuple[str, str | None]]:
    return [(event.status, event.reason) for event in events_of(TASK, log) if isinstance(event, SessionEnd)]


def test_a_task_has_its_calls_and_the_outcomes_that_the_entries_behind_them_show() -> None:
    events = events_of(TASK, LOG)
    outcomes = {result.call_id: (result.outcome, result.output) for result in results(events)}
    assert [(call.name, *outcomes[call.call_id]) for call in calls(events)] == [
        ("readFile", None, None),
        ("searchFiles", None, None),
        ("execute_command", None, "1 failed"),
        ("editedExistingFile", "error", None),
        ("newFileCreated", "denied", None),
        ("docs__lookup", None, "a short name"),
        ("ask_followup_question", None, None),
    ]
    assert calls(events)[5].input == {"word": "slug"}
    assert len({call.message_id for call in calls(events)}) == 6
    assert texts(events) == ["I look.", "Fixed."]
    assert [event.text for event in events if isinstance(event, UserText)] == ["Fix the failing test.", "yes"]
    assert ends(LOG) == [("complete", None)]


def test_tokens_are_those_of_the_requests_with_cached_ones() -> None:
    used = total(events_of(TASK, LOG))
    assert (used["input"], used["cached"], used["output"]) == (230 + 600 + 5100, 5100, 400)
    costs = [event.cost_usd or 0 for event in events_of(TASK, LOG) if isinstance(event, TokenUsage)]
    assert round(sum(costs), 3) == 0.04


def test_requests_that_were_deleted_count_and_a_condensed_context_is_a_compaction() -> None:
    deleted = json.dumps({"tokensIn": 7, "tokensOut": 3, "cacheReads": 0, "cacheWrites": 0, "cost": 0.01})
    more = lines(
        {"ts": 2, "type": "say", "say": "deleted_api_reqs", "text": deleted},
        {"ts": 3, "type": "say", "say": "condense_context", "text": "What was done."},
    )
    before, events = total(events_of(TASK, LOG)), events_of(TASK, [*LOG, *more])
    after = total(events)
    assert (after["input"] - before["input"], after["output"] - before["output"]) == (7, 3)
    assert [event.name for event in events if isinstance(event, Notification)][-1:] == ["compact_boundary"]
    assert len(calls(events)) == len(calls(events_of(TASK, LOG)))


def test_a_compaction_has_its_cost_and_no_known_tokens() -> None:
    entry = {"ts": 3, "type": "say", "say": "condense_context", "contextCondense": {"cost": 0.25, "summary": "x"}}
    (used,) = [event for event in events_of(TASK, lines(entry)) if isinstance(event, TokenUsage)]
    assert (used.cost_usd, used.input, used.output) == (0.25, None, None)


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ("[read_file for 'a'] Result:\n\nThe user denied this operation.", "denied"),
        ("[read_file for 'a'] Result:\n# What to do when The user denied this operation", None),
    ],
)
def test_a_file_that_speaks_of_a_denial_is_none(result: str, outcome: str | None) -> None:
    tool = {"ts": 1, "type": "say", "say": "tool", "text": '{"tool":"readFile","path":"a"}'}
    asked = {"ts": 2, "type": "say", "say": "api_req_started", "text": json.dumps({"request": result})}
    (found,) = results(events_of(TASK, lines(tool, asked)))
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("result", "outcome"),
    [("The user denied this operation and provided the following feedback:", "denied"), ("def slug", None)],
)
def test_what_the_user_says_in_place_of_an_approval_refuses_the_call(result: str, outcome: str | None) -> None:
    tool = {"ts": 1, "type": "ask", "ask": "tool", "text": '{"tool":"readFile","path":"a"}'}
    said = {"ts": 2, "type": "say", "say": "user_feedback", "text": "not this one"}
    text = json.dumps({"request": f"[read_file for 'a'] Result:\n{result}"})
    asked = {"ts": 3, "type": "say", "say": "api_req_started", "text": text}
    (found,) = results(events_of(TASK, lines(tool, said, asked)))
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ([{"type": "text", "text": "The user denied this operation and provided this feedback"}], "denied"),
        ('{"status":"denied","message":"The user denied this operation."}', "denied"),
        ("def slug(): ...  # The user denied this operation", "ok"),
    ],
)
def test_a_denial_is_the_beginning_of_a_result_of_the_history(content: Any, outcome: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    (found,) = read_history(json.dumps([HISTORY[0], {"role": "user", "content": [result]}]).encode())
    assert found.outcome == outcome


def request(**members: Any) -> list[Record]:
    return lines({"ts": 1, "type": "say", "say": "api_req_started", "text": json.dumps(members)})


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (r'{"request":"cut \ud83d","tokensIn":5,"tokensOut":2}', []),
        ('{"request":"a\x01b","tokensIn":5,"tokensOut":2}', []),
        ('{"tokensIn":5,"tokensOut":2,"cost":"free"}', ["schema"]),
    ],
)
def test_what_a_strict_parser_refuses_in_a_request_costs_no_tokens(text: str, faults: list[str]) -> None:
    batch = decoded(TASK, lines({"ts": 1, "type": "say", "say": "api_req_started", "text": text}))
    (used,) = [event for event in batch.events if isinstance(event, TokenUsage)]
    assert (used.input, used.output, [fault.reason for fault in batch.faults]) == (5, 2, faults)


def test_the_protocol_of_openai_counts_cached_tokens_in_the_input_and_an_open_request_has_none() -> None:
    members: dict[str, Any] = {"tokensIn": 100, "tokensOut": 5, "cacheReads": 60, "cacheWrites": 0}
    for protocol, count in (("openai", 100), ("anthropic", 160), (None, 160)):
        (used,) = [e for e in events_of(TASK, request(**members, apiProtocol=protocol)) if isinstance(e, TokenUsage)]
        assert used.input == count
    assert not any(isinstance(event, TokenUsage) for event in events_of(TASK, request(request="x")))


@pytest.mark.parametrize(
    ("more", "end"),
    [
        (request(cancelReason="user_cancelled"), ("interrupted", "user_cancelled")),
        (request(cancelReason="streaming_failed"), ("error", "streaming_failed")),
        (lines({"ts": 2, "type": "ask", "ask": "resume_task"}), ("interrupted", "resume_task")),
    ],
)
def test_a_task_that_was_stopped_ends_so(more: list[Record], end: tuple[str, str | None]) -> None:
    assert ends([*LOG[:6], *more])[-1] == end


def test_an_entry_that_grows_counts_once_and_a_partial_one_at_the_end_stays() -> None:
    def entry(text: str, partial: bool) -> dict[str, Any]:
        return {"ts": 5, "type": "say", "say": "text", "text": text, "partial": partial}

    assert texts(events_of(TASK, lines(entry("He", True), entry("Hell", True), entry("Hello", False)))) == ["Hello"]
    assert texts(events_of(TASK, lines(entry("He", True)))) == ["He"]


HISTORY: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "slug.py"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "def slug"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "todo", "input": {}}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t3", "name": "search_files", "input": {"path": "src"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t3", "content": "no", "is_error": True}]},
    {"role": "assistant", "content": "Plain."},
]


def test_the_history_beside_the_file_has_ids_outcomes_and_outputs() -> None:
    files = {"api_conversation_history.json": json.dumps(HISTORY).encode()}
    context = DecodeContext("log", place=PLACE, kept=lambda name: files.get(name, b""))
    events = decoded(TASK, LOG, context).events
    assert [(result.call_id, result.outcome, result.output) for result in results(events)][:2] == [
        ("t1", "ok", "def slug"),
        ("t3", "error", "no"),
    ]
    assert next(event.session_id for event in events if isinstance(event, SessionInfo)) == "17"
    assert len(results(events)) == 7


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b'[{"role":"user","content":[{"type":"tool_use","id":7}]}]'])
def test_a_history_of_any_shape_is_used_or_left_out(data: bytes) -> None:
    assert read_history(data) == []


def test_roos_history_item_names_folder_and_parent() -> None:
    item = {"id": "2", "rootTaskId": "1", "parentTaskId": "1", "task": "Fix it", "workspace": "/w", "status": "active"}
    (info,) = events_of(TASK, lines(item))
    assert isinstance(info, SessionInfo)
    assert (info.cwd, info.title, info.parent_session_id) == ("/w", "Fix it", "1")


def test_the_command_line_of_2_x_prints_the_same_entries() -> None:
    began, failed = {"type": "task_started", "taskId": "7"}, {"type": "error", "message": "too many mistakes"}
    events = events_of(TASK, lines(began, *ENTRIES[:4], failed))
    assert next(event.session_id for event in events if isinstance(event, SessionInfo)) == "7"
    assert [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)] == [
        ("error", "too many mistakes")
    ]


def test_trouble_with_the_model_is_a_notice() -> None:
    assert [e.name for e in events_of(TASK, LOG) if isinstance(e, Notification)] == ["diff_error", "api_req_failed"]
