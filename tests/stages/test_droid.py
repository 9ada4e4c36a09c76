"""Droid's stream and its sessions, by hand-made logs."""

from typing import Any
from zlib import crc32

import pytest

from agentv_stages.model.event import Notification, Reasoning, SessionEnd, SessionInfo, TokenUsage, UserText
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.droid import PROVIDER
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
    pushed,
    records,
    results,
    texts,
)

STREAM = dialect(PROVIDER, "droid-stream")
SESSION = dialect(PROVIDER, "droid-session")
LOGS = {
    name: records((FIXTURES / "droid" / name).read_bytes())
    for name in ("stream.jsonl", "stream-old.jsonl", "session.jsonl")
}
STREAMED, OLD, WRITTEN = LOGS.values()


@pytest.mark.parametrize(("of", "log"), [(STREAM, STREAMED), (STREAM, OLD), (SESSION, WRITTEN)])
def test_logs_are_recognised_and_keep_the_laws(of: Any, log: Any) -> None:
    assert best(PROVIDER, log) == (of.name, 1.0)
    check_laws(of, log)
    check_odd_shapes(PROVIDER, log)


def test_an_error_without_the_mark_of_one_is_an_error() -> None:
    call = {"type": "tool_call", "id": "c", "messageId": "a", "toolId": "", "toolName": "Read", "timestamp": 1}
    result = {"type": "tool_result", "id": "c", "messageId": "r", "toolId": "Read", "error": {"message": "no file"}}
    (found,) = results(events_of(STREAM, lines(call, result)))
    assert (found.outcome, found.output) == ("error", "no file")


def test_a_message_without_content_says_nothing() -> None:
    empty = {"type": "message", "id": "a", "message": {"role": "assistant", "content": None}}
    assert not events_of(SESSION, lines(empty))


def ends(events: Any) -> list[tuple[str, str | None]]:
    return [(event.status, event.reason) for event in events if isinstance(event, SessionEnd)]


def test_a_stream_has_its_answers_calls_outcomes_tokens_and_end() -> None:
    events = events_of(STREAM, STREAMED)
    assert [(call.call_id, call.name, call.message_id) for call in calls(events)] == [
        ("call_1", "Read", "r1"),
        ("call_2", "Execute", "r1"),
        ("call_3", "Edit", "a1-1"),  # the id of the answer before the results, but another answer
        ("call_4", "docs___lookup", "a4"),
    ]
    assert calls(events)[1].input == {"command": "pytest -q"}
    assert [(result.call_id, result.outcome) for result in results(events)] == [
        ("call_2", "error"),
        ("call_1", "ok"),
        ("call_3", "ok"),
        ("call_4", "ok"),
    ]
    assert texts(events) == ["I look.", "Fixed."]
    assert len([event for event in events if isinstance(event, Reasoning)]) == 1
    (used,) = [event for event in events if isinstance(event, TokenUsage)]
    assert (used.input, used.cached, used.cache_write, used.output, used.reasoning) == (1550, 600, 50, 120, 30)
    assert ends(events) == [("complete", None)]
    assert [event.name for event in events if isinstance(event, Notification)] == ["error"]


def test_a_reminder_is_injected_and_the_prompt_behind_it_is_not() -> None:
    for of, log in ((STREAM, STREAMED), (SESSION, WRITTEN)):
        prompts = [event for event in events_of(of, log) if isinstance(event, UserText)]
        assert [event.text for event in prompts if not event.injected][:1] == ["Fix the failing test."]
        assert any("Monday" in event.text for event in prompts if event.injected)


def test_a_result_without_an_id_answers_the_oldest_open_call_and_a_missing_permission_is_a_denial() -> None:
    events = events_of(STREAM, OLD)
    assert [(result.call_id, result.outcome) for result in results(events)] == [("call_1", "ok"), ("call_2", "denied")]
    assert ends(events)[-1][0] == "error"


def test_a_failed_call_is_a_denial_only_where_an_error_repeats_the_answer() -> None:
    assert [result.outcome for result in results(events_of(STREAM, OLD[:-1]))] == ["ok", "error"]
    assert [result.outcome for result in results(pushed(STREAM, OLD[:-1]).events)] == ["ok"]
    other = lines({"type": "error", "source": "cli", "message": "Out of credits.", "timestamp": 1})
    assert [result.outcome for result in results(events_of(STREAM, [*OLD[:-1], *other]))] == ["ok", "error"]


def test_a_build_without_completions_ends_with_its_last_answer() -> None:
    init, prompt, *_ = OLD
    message = {"type": "message", "role": "assistant", "id": "m", "text": "Done.", "timestamp": 1}
    assert ends(events_of(STREAM, [init, prompt, *lines(message)])) == [("complete", None)]
    assert ends(pushed(STREAM, [*STREAMED[:2], *lines(message)]).events) == []
    assert ends(events_of(STREAM, [*STREAMED[:2], *lines(message)])) == [("incomplete", None)]


def test_a_first_line_that_comes_again_begins_no_run_and_one_alone_is_a_cut_run() -> None:
    init, prompt = STREAMED[:2]
    assert ends(events_of(STREAM, [init])) == [("incomplete", None)]
    events = events_of(STREAM, [*STREAMED, init])
    assert ends(events)[-1] == ends(events_of(STREAM, STREAMED))[-1]
    assert len([event for event in events_of(STREAM, [init, prompt, init]) if isinstance(event, SessionInfo)]) == 1


def test_a_completion_without_text_before_it_brings_the_answer_and_zeros_are_unknown() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0}
    end = {"type": "completion", "finalText": "Done.", "timestamp": 2, "usage": usage}
    events = events_of(STREAM, [*OLD[:2], *lines(end)])
    assert texts(events) == ["Done."]
    assert not [event for event in events if isinstance(event, TokenUsage)]


def test_a_completion_behind_repeated_lines_is_no_second_answer() -> None:
    init, prompt = STREAMED[:2]
    message = {"type": "message", "role": "assistant", "id": "m", "text": "Done.", "timestamp": 1}
    end = {"type": "completion", "finalText": "Done.", "timestamp": 2}
    for log in ([init, prompt, *lines(message), init, prompt], [init, prompt, *lines(message), prompt]):
        assert texts(events_of(STREAM, [*log, *lines(end, end)])) == ["Done."]


def test_a_session_has_its_answers_calls_and_outcomes() -> None:
    events = events_of(SESSION, WRITTEN)
    assert [(call.name, call.message_id) for call in calls(events)] == [
        ("Read", "a1"),
        ("Execute", "a1"),
        ("Task", "a2"),
    ]
    assert calls(events)[1].input == {"command": "pytest -q"}
    assert [(r.call_id, r.outcome) for r in results(events)] == [("c2", "error"), ("c1", "ok"), ("c3", "ok")]
    assert ends(events) == [("complete", None), ("complete", None)]
    (info,) = [event for event in events if isinstance(event, SessionInfo)]
    assert (info.title, info.cwd) == ("Fix the test", "/home/ada/orchard")
    assert [event.name for event in events if isinstance(event, Notification)] == ["compact_boundary"]


@pytest.mark.parametrize(
    ("reason", "status"),
    [("completed", "complete"), ("error", "error"), ("cancelled", "interrupted"), ("later", "unknown")],
)
def test_the_outcome_of_the_last_turn_is_that_of_the_session(reason: str, status: str) -> None:
    outcome = {"type": "agent_turn_outcome", "id": "o2", "reason": reason}
    assert ends(events_of(SESSION, [*WRITTEN[:-1], *lines(outcome)]))[-1][0] == status


def test_the_settings_have_model_and_tokens_of_the_session() -> None:
    spent = {"inputTokens": 10, "outputTokens": 5, "cacheCreationTokens": 3, "cacheReadTokens": 2, "thinkingTokens": 1}
    settings = lines({"model": "pear-2", "tokenUsage": spent, "autonomyLevel": "low"})
    assert best(PROVIDER, settings) == ("droid-session", 0.9)
    info, used = events_of(SESSION, settings)
    assert isinstance(info, SessionInfo) and isinstance(used, TokenUsage)
    assert (info.model, used.scope, used.input, used.output, used.reasoning) == ("pear-2", "session", 15, 5, 1)
    with_children = lines({"tokenUsage": spent, "inclusiveTokenUsage": {**spent, "inputTokens": 99}})
    (own,) = [event for event in events_of(SESSION, with_children) if isinstance(event, TokenUsage)]
    assert own.input == 15
    zeros = lines({"model": "pear-2", "tokenUsage": dict.fromkeys(spent, 0)})
    assert not any(isinstance(event, TokenUsage) for event in events_of(SESSION, zeros))


def test_a_fork_counts_only_what_is_not_in_its_parents_log() -> None:
    start = lines({"type": "session_start", "id": "s2", "cwd": "/w", "parent": "s1"})
    context = DecodeContext("log", history=lambda parent: [crc32(b"a1"), crc32(b"u1")] if parent == "s1" else [])
    batch = decoded(SESSION, [*start, *WRITTEN[1:]], context)
    assert batch.ignored["copied from the parent session"] == 2
    assert [call.name for call in calls(batch.events)] == ["Task"]
    assert len(calls(decoded(SESSION, [*start, *WRITTEN[1:]]).events)) == 3
