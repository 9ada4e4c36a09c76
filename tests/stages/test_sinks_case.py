"""The one-line-per-case form of AgentV 4.15."""

import json
from typing import Any

import pytest
from msgspec import Raw

from agentv_stages.model.message import Message, PairedCall, Role
from agentv_stages.model.payload import to_raw
from agentv_stages.model.tokens import Tokens
from agentv_stages.sinks.case import CaseLine
from agentv_stages.sinks.transcript import Identity
from support.events import at, call, result

IDENTITY = Identity("case", "claude", "claude", "s-1", "claude-stream", model="m", started_ms=0)


def message(role: Role, *content: Any, index: int = 0, **more: Any) -> Message:
    time_ms = more.pop("time_ms", None)
    return Message(index, role, at(index, time_ms), "m", content=[to_raw(block) for block in content], **more)


def line(
    *batches: list[Message], tokens: Tokens | None = None, cost: float | None = None, ms: int | None = None
) -> Any:
    case = CaseLine()
    elements = [case.element(message) for batch in batches for message in batch]
    data = b"".join(case.line(elements, IDENTITY, tokens or Tokens(), cost, ms))
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 1
    return json.loads(data.decode())


TALK = [message("user", "fix it"), message("assistant", "ok", index=1), message("user", "thanks", index=2)]


@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_messages_are_one_line_whatever_the_batches_are(cut: int) -> None:
    made = line(TALK[:cut], TALK[cut:])
    assert [(m["role"], m["content"]) for m in made["output"]] == [
        ("user", "fix it"),
        ("assistant", "ok"),
        ("user", "thanks"),
    ]
    assert made["input"] == "fix it"
    assert made["source"]["session_id"] == "s-1"


def test_a_session_without_messages_is_a_line_all_the_same() -> None:
    assert line([])["output"] == []
    assert line([])["input"] == ""


def test_the_input_is_the_first_text_of_a_person() -> None:
    made = line([message("user", "reminder", injected=True), message("user", "a", [{"type": "text", "text": "b"}])])
    assert made["input"] == "ab"


def test_the_input_is_not_what_a_sub_agent_was_told_nor_a_later_prompt() -> None:
    """Claude's stream has no prompt of the main agent's: `input` was that of the first sub-agent."""
    told = Message(0, "user", at(0, stream="sidechain:a"), "m", content=[to_raw("read it")])
    assert line([told])["input"] == ""
    assert line([told, message("user", "second", index=2), message("user", "first", index=1)])["input"] == "first"


def test_members_are_in_camel_case_and_payloads_stay_as_they_were() -> None:
    read = call(1, "t", "Read", given={"file_path": "x", "old_string": 1})
    paired = PairedCall(read, result(2, "t", output={"a_b": 1}, duration_ms=7))
    (made,) = line([message("assistant", "look", calls=[paired], time_ms=1_000, end_ms=3_500)])["output"]
    assert made["toolCalls"] == [
        {"tool": "Read", "input": {"file_path": "x", "old_string": 1}, "id": "t", "output": {"a_b": 1}, "durationMs": 7}
    ]
    assert made["durationMs"] == 2_500
    assert made["startTime"] == "1970-01-01T00:00:01.000Z"


def test_a_late_result_is_no_second_call() -> None:
    paired = PairedCall(call(0, "t"), result(1, "t"))
    assert "toolCalls" not in line([message("tool", "late", calls=[paired])])["output"][0]


def test_totals_that_are_known_stand_at_the_end() -> None:
    made = line(TALK, tokens=Tokens(input=10, output=4, cached=3), cost=0.5, ms=1200)
    assert (made["token_usage"], made["cost_usd"], made["duration_ms"]) == (
        {"input": 10, "output": 4, "cached": 3},
        0.5,
        1200,
    )
    unknown = line(TALK, tokens=Tokens(input=10, output=1, unsure=1))
    assert (unknown["token_usage"], unknown["cost_usd"]) == ({"input": 10}, None)
    assert "duration_ms" not in unknown
    assert "token_usage" not in line(TALK)


def test_broken_bytes_of_a_log_become_readable() -> None:
    broken = Message(0, "assistant", at(0), "m", content=[Raw(b'"a\xff"')])
    assert line([broken])["output"][0]["content"] == "a�"
