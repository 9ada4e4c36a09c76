"""Crush's rows: the laws of any decoder, and shapes that no version writes."""

from typing import Any

import pytest

from agentv_stages.model.event import Notification, SessionEnd, ToolCall, ToolResult, UserText
from agentv_stages.providers.crush import PROVIDER
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
)

ROWS = dialect(PROVIDER, "crush-rows")
GIVEN = records((FIXTURES / "crush" / "rows.jsonl").read_bytes())


def test_rows_are_recognised_and_keep_the_laws() -> None:
    assert best(PROVIDER, GIVEN) == ("crush-rows", 1.0)
    assert best(PROVIDER, GIVEN[:1]) == ("crush-rows", 0.9)
    check_laws(ROWS, GIVEN)


def test_rows_of_any_shape_are_used_or_refused() -> None:
    check_odd_shapes(PROVIDER, GIVEN)


def row(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"message": {"id": "m", "session_id": "s", "role": role, "parts": list(parts), "created_at": 1, **more}}


@pytest.mark.parametrize(
    ("given", "arguments"),
    [('{"a":1}', b'{"a":1}'), ("", b"{}"), ("{", b'{"input":"{"}'), ("[1]", b'{"input":"[1]"}'), (None, b"{}")],
)
def test_the_input_of_a_call_is_json_within_a_string(given: str | None, arguments: bytes) -> None:
    part = {"type": "tool_call", "data": {"id": "c", "name": "bash", "input": given}}
    (call,) = calls(events_of(ROWS, lines(row("assistant", part))))
    assert bytes(call.input_json) == arguments


def result_of(tool: str, data: dict[str, Any]) -> tuple[str | None, int | None]:
    call = row("assistant", {"type": "tool_call", "data": {"id": "c", "name": tool}})
    given = lines(call, row("tool", {"type": "tool_result", "data": {"tool_call_id": "c", **data}}))
    (found,) = [event for event in events_of(ROWS, given) if isinstance(event, ToolResult)]
    return found.outcome, found.exit_code


@pytest.mark.parametrize(
    ("data", "outcome", "code"),
    [
        ({"content": "done"}, "ok", None),
        ({"content": "no\nExit code 3"}, "error", 3),
        ({"content": "<cwd>/w</cwd>\nExit code 0"}, "ok", 0),
        ({"content": "it says Exit code 3 in the middle"}, "ok", None),
        ({"content": "User denied permission", "is_error": True}, "denied", None),
        ({"content": "User denied permission"}, "ok", None),
        ({"is_error": True}, "error", None),
    ],
)
def test_a_result_has_its_outcome(data: dict[str, Any], outcome: str, code: int | None) -> None:
    assert result_of("bash", data) == (outcome, code)


def test_a_file_that_ends_with_an_exit_code_is_no_failure() -> None:
    assert result_of("view", {"content": "<file>\n1|Exit code 3\n</file>"}) == ("ok", None)


def test_seconds_and_milliseconds_are_times() -> None:
    text = {"type": "text", "data": {"text": "Go."}}
    for created in (1789000000, 1789000000000):
        (event,) = events_of(ROWS, lines(row("user", text, created_at=created)))
        assert isinstance(event, UserText) and event.source.time_ms == 1789000000000


def test_what_is_no_prompt_and_no_call_of_the_model_is_a_notice() -> None:
    events = events_of(
        ROWS,
        lines(
            row("user", {"type": "shell_command", "data": {"command": "ls"}}),
            row("assistant", {"type": "finish", "data": {"reason": "end_turn"}}, is_summary_message=1),
        ),
    )
    assert [event.name for event in events if isinstance(event, Notification)] == ["user_shell", "compact_boundary"]
    assert not any(isinstance(event, (UserText, ToolCall)) for event in events)
    assert [event.status for event in events if isinstance(event, SessionEnd)] == ["complete"]
