"""Goose's stream, exports and rows, by hand-made logs."""

from typing import Any

import pytest

from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, TokenUsage, UserText
from agentv_stages.providers.goose import PROVIDER
from support.decoding import (
    FIXTURES,
    best,
    calls,
    check_laws,
    check_odd_shapes,
    dialect,
    events_of,
    lines,
    records,
    results,
    texts,
)

STREAM, SESSION, ROWS = (dialect(PROVIDER, name) for name in ("goose-stream", "goose-session", "goose-rows"))
STREAMED, EXPORTED, STORED = (
    records((FIXTURES / "goose" / name).read_bytes()) for name in ("stream.jsonl", "export.json", "rows.jsonl")
)
LOGS = [(STREAM, STREAMED), (SESSION, EXPORTED), (ROWS, STORED)]


@pytest.mark.parametrize(("of", "log"), LOGS)
def test_logs_are_recognised_and_keep_the_laws(of: Any, log: Any) -> None:
    assert best(PROVIDER, log) == (of.name, 1.0)
    check_laws(of, log)
    check_odd_shapes(PROVIDER, log)


@pytest.mark.parametrize(("of", "log"), LOGS)
def test_every_form_has_the_same_calls_and_outcomes(of: Any, log: Any) -> None:
    events = events_of(of, log)
    assert [call.name for call in calls(events)] == [
        "developer__text_editor",
        "developer__shell",
        "edit",
        "docs__lookup",
        "unknown",
    ]
    assert [(result.call_id, result.outcome, result.exit_code) for result in results(events)] == [
        ("t2", "error", 1),
        ("t1", "ok", None),
        ("t5", "error", None),
        ("t3", "denied", None),
        ("t4", "ok", None),
    ]
    assert "".join(texts(events)) == "I look.Fixed."
    assert [event.name for event in events if isinstance(event, Notification)] == ["inlineMessage"]
    assert {event.status for event in events if isinstance(event, SessionEnd)} == {"complete"}
    (used,) = [event for event in events if isinstance(event, TokenUsage)]
    assert (used.scope, used.input, used.output, used.cost_usd) == ("session", 1300, 200, 0.02)
    assert {info.model for info in events if isinstance(info, SessionInfo) and info.model} == {"pear-2"}


def test_lines_with_one_id_are_one_answer_and_so_are_lines_without_ids_until_an_input() -> None:
    answers = [call.message_id for call in calls(events_of(STREAM, STREAMED))]
    assert answers[0] == answers[1] == "m1"
    assert answers[2] == answers[3] == answers[4] != "m1"


def test_what_the_user_does_not_see_is_injected() -> None:
    for of, log in LOGS[1:]:
        prompts = [(event.text, event.injected) for event in events_of(of, log) if isinstance(event, UserText)]
        assert prompts == [("Fix the failing test.", False), ("Reminder.", True)]


def end(*more: dict[str, Any]) -> list[tuple[str, str | None]]:
    events = events_of(STREAM, [*STREAMED[:-1], *lines(*more)])
    return [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)]


COMPLETE = {"type": "complete", "total_tokens": 9, "input_tokens": 5, "output_tokens": 4}
TEXT = {
    "role": "assistant",
    "created": 1,
    "content": [{"type": "text", "text": "I've reached the maximum number of actions"}],
}
CREDITS = {
    "role": "assistant",
    "created": 1,
    "content": [{"type": "systemNotification", "notificationType": "creditsExhausted"}],
}


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ([COMPLETE], [("complete", None)]),
        ([{"type": "complete", "total_tokens": None}], [("complete", None)]),
        ([{"type": "complete", "total_tokens": 0, "input_tokens": 0}], [("error", "no tokens were used")]),
        ([{"type": "error", "error": "HTTP 401"}], [("error", "HTTP 401")]),
        ([{"type": "error", "error": "HTTP 401"}, COMPLETE], [("error", "HTTP 401")]),
        ([{"type": "message", "message": TEXT}, COMPLETE], [("incomplete", "limit of actions")]),
        ([{"type": "message", "message": CREDITS}], [("error", "creditsExhausted")]),
        ([], []),
    ],
)
def test_a_stream_ends_as_its_last_line_says(more: list[dict[str, Any]], ends: list[tuple[str, str | None]]) -> None:
    assert end(*more) == ends


def test_a_total_that_may_be_that_of_the_last_call_is_unknown() -> None:
    events = events_of(STREAM, lines({"type": "complete", "total_tokens": 900}))
    assert not any(isinstance(event, TokenUsage) for event in events)


def test_a_session_of_an_older_version_has_its_facts_in_its_first_line() -> None:
    head = {"working_dir": "/w", "description": "Fix", "message_count": 2}
    message = {
        "role": "assistant",
        "created": 1,
        "content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Done."}],
    }
    log = lines(head, message)
    assert best(PROVIDER, log) == ("goose-session", 1.0)
    (info, *_) = events_of(SESSION, log)
    assert isinstance(info, SessionInfo) and (info.cwd, info.title) == ("/w", "Fix")
    assert texts(events_of(SESSION, log)) == ["Done."]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("The user has declined to run this tool. DO NOT", "denied"), ("# When the user declined a tool", "ok")],
)
def test_only_a_result_that_begins_with_a_refusal_is_denied(text: str, outcome: str) -> None:
    answer = {"status": "success", "value": {"content": [{"type": "text", "text": text}]}}
    message = {"role": "user", "created": 1, "content": [{"type": "toolResponse", "id": "t", "toolResult": answer}]}
    (result,) = results(events_of(STREAM, lines({"type": "message", "message": message})))
    assert result.outcome == outcome


def test_a_call_that_the_person_interrupted_is_cancelled() -> None:
    error = {"status": "error", "error": "Interrupted by the user to make a correction"}
    message = {"role": "user", "created": 1, "content": [{"type": "toolResponse", "id": "t", "toolResult": error}]}
    (result,) = results(events_of(STREAM, lines({"type": "message", "message": message})))
    assert result.outcome == "cancelled"


def test_an_answer_that_the_user_does_not_see_is_none_in_every_form() -> None:
    both: list[dict[str, Any]] = [
        {
            "id": name,
            "role": "assistant",
            "created": 1,
            "content": [{"type": "text", "text": name}],
            "metadata": {"userVisible": name == "shown"},
        }
        for name in ("shown", "hidden")
    ]
    assert texts(events_of(STREAM, lines(*({"type": "message", "message": m} for m in both)))) == ["shown"]
    events = events_of(SESSION, lines({"messages": both, "metadata": {}}))
    assert texts(events) == ["shown"]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]
