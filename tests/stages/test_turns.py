"""Turns: one assistant message of the main stream, in however many records."""

from msgspec import json

from agentv_stages.model.event import AssistantText, Reasoning, ToolCall
from agentv_stages.model.turns import Turns, TurnState
from support.events import at, call
from support.events import text as any_text


def said(row: int, message: str, **more: object) -> AssistantText:
    event = any_text(row, "x", message, **more)  # type: ignore[arg-type]  # plain members
    assert isinstance(event, AssistantText)
    return event


def turns_of(*events: AssistantText | Reasoning | ToolCall) -> list[int | None]:
    turns = Turns()
    return [turns.turn_of(event) for event in events]


def test_records_of_one_message_are_one_turn() -> None:
    assert turns_of(said(0, "m1"), call(1, "t", message="m1"), said(2, "m2"), call(3, "u", message="m2")) == [
        1,
        1,
        2,
        2,
    ]


def test_a_message_that_comes_back_later_keeps_its_turn() -> None:
    assert turns_of(said(0, "m1"), said(1, "m2"), call(2, "t", message="m1"), said(3, "m3")) == [1, 2, 1, 3]


def test_a_message_that_came_back_keeps_its_turn_in_all_that_follows() -> None:
    again = [call(n, f"t{n}", message="m1") for n in (2, 3)]
    assert turns_of(said(0, "m1"), said(1, "m2"), *again) == [1, 2, 1, 1]


def test_sub_agents_have_no_turns_and_do_not_break_one() -> None:
    assert turns_of(said(0, "m1"), said(1, "s1", stream="sidechain:a"), said(2, "m1")) == [1, None, 1]


def test_what_the_program_says_by_itself_is_no_turn() -> None:
    assert turns_of(said(0, "m1"), said(1, "api-error", synthetic=True), said(2, "m2")) == [1, None, 2]


def test_a_snapshot_knows_the_messages_that_were_counted() -> None:
    first = Turns()
    first.turn_of(said(0, "m1"))
    first.turn_of(said(1, "m2"))
    second = Turns()
    second.restore(json.decode(json.encode(first.snapshot()), type=TurnState))
    assert [second.turn_of(said(2, "m1")), second.turn_of(said(3, "m2")), second.turn_of(said(4, "m3"))] == [1, 2, 3]
    assert second.count == 3


def test_memory_is_bounded_whatever_the_number_of_messages() -> None:
    turns = Turns()
    for row in range(10_000):
        turns.turn_of(said(row, f"m{row}"))
    assert turns.count == 10_000
    assert len(json.encode(turns.snapshot())) < 10_000


def test_reasoning_alone_is_a_turn() -> None:
    assert turns_of(Reasoning(at(0), "", "m1", said(0, "m1").text_json)) == [1]
