"""Amp's stream and threads, by hand-made logs."""

from typing import Any

import pytest

from agentv_stages.model.event import SessionEnd, SessionInfo, TokenUsage, UserText
from agentv_stages.providers.amp import PROVIDER
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
    total,
)

STREAM, THREAD = dialect(PROVIDER, "amp-stream"), dialect(PROVIDER, "amp-thread")
STREAMED = records((FIXTURES / "amp" / "stream.jsonl").read_bytes())
KEPT = records((FIXTURES / "amp" / "thread.json").read_bytes())


@pytest.mark.parametrize(("of", "log"), [(STREAM, STREAMED), (THREAD, KEPT)])
def test_logs_are_recognised_and_keep_the_laws(of: Any, log: Any) -> None:
    assert best(PROVIDER, log) == (of.name, 1.0)
    check_laws(of, log)
    check_odd_shapes(PROVIDER, log)


def test_a_stream_has_a_turn_for_each_line_of_the_assistant() -> None:
    events = events_of(STREAM, STREAMED)
    assert [(call.name, call.source.stream) for call in calls(events)] == [
        ("Read", "main"),
        ("shell_command", "main"),
        ("Task", "main"),
        ("glob", "subagent:t3"),
    ]
    assert len({call.message_id for call in calls(events)}) == 3
    assert [(r.call_id, r.outcome) for r in results(events)] == [
        ("t2", "error"),
        ("t1", "ok"),
        ("t4", "ok"),
        ("t3", "ok"),
    ]
    assert [event.text for event in events if isinstance(event, UserText)] == ["Fix the failing test."]
    assert total(events) == {"input": 24 + 9 + 2840, "cached": 2840, "output": 82, "reasoning": 0}
    assert not any(info.model for info in events if isinstance(info, SessionInfo))


@pytest.mark.parametrize(
    ("members", "end"),
    [
        ({"subtype": "success", "is_error": False}, ("complete", None)),
        ({"subtype": "error_max_turns", "is_error": True, "error": "too many"}, ("error", "too many")),
        ({"subtype": "error_during_execution"}, ("error", "error_during_execution")),
    ],
)
def test_a_stream_ends_as_its_result_says(members: dict[str, Any], end: tuple[str, str | None]) -> None:
    (event,) = events_of(STREAM, lines({"type": "result", "session_id": "T-1", **members}))
    assert isinstance(event, SessionEnd) and (event.status, event.reason) == end


def test_a_thread_has_outcomes_in_its_runs() -> None:
    events = events_of(THREAD, KEPT)
    assert [(r.call_id, r.outcome, r.exit_code) for r in results(events)] == [
        ("t1", "error", 1),
        ("t2", "denied", None),
        ("t3", "cancelled", None),
        ("t4", "ok", None),
    ]
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]
    info = next(event for event in events if isinstance(event, SessionInfo))
    assert (info.cwd, info.title) == ("/home/ada/orchard", "Fix the test")


def test_openais_models_have_their_uncached_input_under_the_name_of_cache_writes() -> None:
    first, second = [event for event in events_of(THREAD, KEPT) if isinstance(event, TokenUsage)]
    assert (first.input, first.cached, first.cache_write, first.output) == (330, 300, 20, 50)
    assert (second.input, second.cached, second.cache_write, second.output) == (340, 300, None, 20)


@pytest.mark.parametrize(
    ("run", "end"),
    [
        ({"status": "done", "result": {"exitCode": 2}}, ("error", 2)),
        ({"status": "cancelled", "result": {"exitCode": 130}}, ("cancelled", 130)),
        ({"status": "in-progress"}, None),
        ({"status": "blocked-on-user"}, None),
    ],
)
def test_a_run_that_has_not_ended_is_no_result(run: dict[str, Any], end: tuple[str, int] | None) -> None:
    block = {"type": "tool_result", "toolUseID": "t", "run": run}
    thread = {"id": "T-1", "messages": [{"role": "user", "content": [block]}]}
    assert [(r.outcome, r.exit_code) for r in results(events_of(THREAD, lines(thread)))] == [end] * (end is not None)


@pytest.mark.parametrize("of", [STREAM, THREAD])
def test_a_content_may_be_one_text(of: Any) -> None:
    user, answer = ({"role": role, "content": "So."} for role in ("user", "assistant"))
    log = lines({"id": "T-1", "messages": [user, answer]})
    if of is STREAM:
        log = lines(*({"type": m["role"], "session_id": "T-1", "message": m} for m in (user, answer)))
    batch = decoded(of, log)
    assert (texts(batch.events), batch.faults) == (["So."], [])
    assert [event.text for event in batch.events if isinstance(event, UserText)] == ["So."]
