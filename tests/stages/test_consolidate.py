"""Messages: one answer is one message, whatever its pieces; it leaves once, when its calls are answered."""

from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Raw

from agentv_stages.chain import consolidate
from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.pair import Pair
from agentv_stages.model import message as message_module
from agentv_stages.model.event import AnyEvent, Retract, SlashCommand
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import join_strings
from agentv_stages.sinks.transcript import Identity, TranscriptRows
from support.events import at, batch, call, end, result, text, thought, usage, user


def run(*events: AnyEvent) -> tuple[list[Message], list[Message]]:
    """Messages that left on their way, and those that left at the end."""
    pairs, stage = Pair(), Consolidate()
    whole = batch(*events)
    pairs.push(whole)
    stage.push(whole)
    late = [m for last in pairs.flush() for b in stage.push(last) for m in b.messages]
    late += [m for last in stage.flush() for m in last.messages]
    return whole.messages, late


def all_of(*events: AnyEvent) -> list[Message]:
    early, late = run(*events)
    return sorted([*early, *late], key=lambda m: m.index)


def said(message: Message) -> list[str]:
    return [msgspec.json.decode(block) for block in message.content]


def test_blocks_of_one_answer_are_one_message() -> None:
    (message,) = all_of(thought(0, "hm"), text(1, "a"), text(2, "b"), call(3, "t"), result(4, "t"))
    assert (said(message), len(message.thinking), len(message.calls), message.turn) == (["a", "b"], 1, 1, 1)


def test_tokens_that_stand_before_what_their_message_says_are_its_own() -> None:
    first: list[AnyEvent] = [user(0, "u"), usage(1, "b1", input=1), call(2, "a", message="b1"), result(3, "a")]
    second: list[AnyEvent] = [
        usage(4, "b4", input=4),
        call(5, "b", message="b4"),
        result(6, "b"),
        usage(7, "other", input=4, output=7),
    ]
    stage = Consolidate()
    messages: list[Message] = []
    for event in first + second:  # restored at every place
        messages += stage.push(batch(event))[0].messages
        state = msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=consolidate.ConsolidateState)
        stage = Consolidate()
        stage.restore(state)
    messages += [m for last in stage.flush() for m in last.messages]
    told = {m.message_id: m.usage.key for m in messages if m.usage is not None}
    assert told == {"b1": "b1", "b4": "b4"}


def test_deltas_make_one_text() -> None:
    pieces = [text(n, p, delta=True) for n, p in enumerate(["He", 'l"l', "o\n", "😀"])]
    (message,) = all_of(*pieces)
    assert said(message) == ['Hel"lo\n😀']


def test_a_whole_block_after_deltas_stands_behind_them() -> None:
    (message,) = all_of(text(0, "a", delta=True), text(1, "b", delta=True), text(2, "c"), text(3, "d"))
    assert said(message) == ["ab", "c", "d"]


def test_a_text_that_no_model_made_makes_its_message_synthetic() -> None:
    first, second = all_of(text(0, "a", "m1", synthetic=True), thought(1, "x", "m1"), text(2, "b", "m2"))
    assert (first.synthetic, second.synthetic) == (True, False)


def test_deltas_of_text_and_thought_in_turn_are_kept_apart() -> None:
    (message,) = all_of(
        thought(0, "a", delta=True), text(1, "x", delta=True), thought(2, "b", delta=True), text(3, "y", delta=True)
    )
    assert "".join(said(message)) == "xy"
    assert "".join(msgspec.json.decode(t) for t in message.thinking) == "ab"


def test_a_text_is_joined_once_however_often_a_thought_comes_between(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []

    def join(parts: list[Raw]) -> Raw:
        joined.append(len(parts))
        return join_strings(parts)

    monkeypatch.setattr(message_module, "join_strings", join)
    pieces = [piece for n in range(0, 200, 2) for piece in (text(n, "x", delta=True), thought(n + 1, "y", delta=True))]
    (message,) = all_of(*pieces)
    assert (said(message), len(message.thinking)) == (["x" * 100], 1)
    assert sum(joined) == len(pieces)  # was about 100 * 100: each piece joined all before it


def test_a_message_leaves_when_its_calls_are_answered() -> None:
    early, late = run(call(0, "a", message="m1"), text(1, "x", "m2"), user(2, "y"), result(3, "a"), end(4))
    assert [m.message_id for m in early] == ["m2", "m1", "u2"]
    assert late == []


def test_open_calls_are_counted_not_looked_for() -> None:
    class Counted(list[PairedCall]):
        looks = 0

        def __iter__(self) -> Iterator[PairedCall]:
            Counted.looks += 1
            return super().__iter__()

    pairs, stage = Pair(), Consolidate()
    asked = batch(*(call(n, f"c{n}", message="m1") for n in range(50)), text(50, "x", "m2"))
    pairs.push(asked)
    stage.push(asked)
    (waiting,) = stage.snapshot().waiting.values()
    waiting.calls = Counted(waiting.calls)
    answered = batch(*(result(60 + n, f"c{n}") for n in range(50)))
    pairs.push(answered)
    stage.push(answered)
    assert [m.message_id for m in answered.messages] == ["m1"]
    assert Counted.looks == 0  # was once a result: 20,000 calls of one message took seconds


def test_what_waits_leaves_at_the_end_in_order() -> None:
    early, late = run(call(0, "a", message="m1"), text(1, "x", "m2"), text(2, "z", "m3"))
    assert [m.message_id for m in early] == ["m2"]
    assert [m.message_id for m in late] == ["m1", "m3"]


def test_streams_do_not_end_each_others_messages() -> None:
    messages = all_of(
        text(0, "main"),
        text(1, "sub", "s1", stream="sidechain:a"),
        text(2, " goes on", delta=True),
        text(3, "!", "s1", stream="sidechain:a"),
    )
    assert [("".join(said(m)), m.source.stream, m.turn) for m in messages] == [
        ("main goes on", "main", 1),
        ("sub!", "sidechain:a", None),
    ]


def test_turns_count_answers_of_the_main_stream() -> None:
    messages = all_of(text(0, "a", "m1"), user(1, "u"), text(2, "b", "m2"), text(3, "c", "m3"))
    assert [(m.role, m.turn) for m in messages] == [
        ("assistant", 1),
        ("user", None),
        ("assistant", 2),
        ("assistant", 3),
    ]


def test_an_answer_that_goes_on_after_anothers_lines_is_the_same_message() -> None:
    messages = all_of(call(0, "a", message="m1"), text(1, "x", "m2"), text(2, "more", "m1"), result(3, "a"))
    assert [(m.message_id, said(m)) for m in messages] == [("m1", ["more"]), ("m2", ["x"])]


def test_an_answer_that_goes_on_is_found_however_many_wait_for_results() -> None:
    """Where no call gets a result, all wait: only the oldest one was looked at."""
    many: list[AnyEvent] = [call(n, f"t{n}", message=f"m{n}") for n in range(90)]
    messages = all_of(*many, text(90, "more", "m88", time_ms=7_000))
    assert len(messages) == 90
    assert (said(messages[88]), messages[88].end_ms) == (["more"], 7_000)


def test_what_comes_for_a_row_that_has_left_is_late() -> None:
    messages = all_of(text(0, "a", "m1"), user(1, "u"), text(2, "b", "m1"), text(3, "c", "m2"), text(4, "d", "m1"))
    assert [m.late for m in messages] == [False, False, True, False, False]


def test_the_streams_whose_last_row_is_known_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidate, "MOST_LAST", 2)
    stage = Consolidate()
    for n in range(5):
        stage.push(batch(text(n, "a", f"m{n}", stream=f"sidechain:{n}"), end(n, stream=f"sidechain:{n}")))
    assert stage.snapshot().last_ids == {"sidechain:3": "m3", "sidechain:4": "m4"}


def test_the_streams_whose_tokens_came_before_their_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidate, "MOST_STREAMS", 2)
    stage = Consolidate()
    stage.push(batch(*(usage(n, f"b{n}", stream=f"sidechain:{n}") for n in range(5))))
    assert list(stage.snapshot().early) == ["sidechain:3", "sidechain:4"]


def test_a_slash_command_is_an_injected_user_message() -> None:
    (message,) = all_of(SlashCommand(at(0), "", "/cost", "now"))
    assert (message.role, message.injected, said(message)) == ("user", True, ["/cost now"])


def test_tokens_that_come_before_their_answer_are_its_own() -> None:
    """An answer that asks for nothing but a script: its calls are known when the script makes them."""
    given = (
        usage(0, "r1", input=10),
        call(1, "a", message="m1"),
        result(2, "a"),
        usage(3, "r2", input=20),
        call(4, "b", message="m2"),
        result(5, "b"),
        usage(6, "r3", input=30),
        call(7, "c", message="m3"),
        result(8, "c"),
        text(9, "Done.", "m4"),
        usage(10, "r4", input=40),
    )
    assert [m.usage.input for m in all_of(*given) if m.usage is not None] == [10, 20, 30, 40]


def test_tokens_of_an_answer_that_never_came_are_not_those_of_the_next() -> None:
    given = (text(0, "a", "m1"), usage(1, "r1", input=10), usage(2, "lost", input=15), text(3, "b", "m2"))
    after = (usage(4, "r2", input=20), text(5, "c", "m3"), usage(6, "r3", input=30))
    assert [m.usage.key for m in all_of(*given, *after) if m.usage is not None] == ["r1", "r2", "r3"]


def test_usage_belongs_to_the_running_answer() -> None:
    (message,) = all_of(text(0, "a"), usage(1, "m1", input=10, output=5))
    assert message.usage is not None
    assert message.usage.input == 10


def test_what_is_taken_back_is_marked_while_it_is_here() -> None:
    (message,) = all_of(text(0, "a"), Retract(at(1), "", ("m1",), "superseded"))
    assert message.retracted


def test_waiting_messages_are_bounded_and_a_late_result_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consolidate, "MOST_WAITING", 5)
    many = [call(n, f"t{n}", message=f"m{n}") for n in range(12)]
    early, late = run(*many, result(50, "t0", output="late"))
    assert [m.message_id for m in early[:6]] == [f"m{n}" for n in range(6)]
    (row,) = [m for m in (*early, *late) if m.role == "tool"]
    assert row.late
    assert said(row) == ["late"]
    assert row.calls[0].result is not None
    assert len({m.index for m in (*early, *late)}) == len(early) + len(late) == 13
    # In the transcript each call stands once: in the row of its message.
    rows = TranscriptRows(Identity("t", "x", "p", "s", "f")).render([*early, *late]).splitlines()
    calls = [c["id"] for line in rows for c in msgspec.json.decode(line).get("tool_calls", [])]
    assert sorted(calls) == sorted(f"t{n}" for n in range(12))


def test_a_result_without_a_call_is_a_row_of_its_own() -> None:
    messages = all_of(text(0, "a"), result(1, "nobody", output="lost"))
    (row,) = [m for m in messages if m.role == "tool"]
    assert said(row) == ["lost"]


def test_a_message_that_the_program_began_is_a_turn_where_the_model_goes_on() -> None:
    one, other, last = all_of(
        text(0, "Error: 400", "m1", synthetic=True),
        text(1, "a", "m2", synthetic=True),
        call(2, "t", message="m2"),
        text(3, "b", "m3"),
    )
    assert [(m.turn, m.synthetic) for m in (one, other, last)] == [(None, True), (1, True), (2, False)]


def test_a_restored_stage_joins_a_result_with_the_call_that_it_would_have_joined() -> None:
    """The id was used before, by a call that nobody answered."""
    events = [call(0, "t", "Read", "m1"), text(1, "x", "m2"), call(2, "t", "Glob", "m3"), result(3, "t")]

    def outcomes(restart: bool) -> list[tuple[int, str, str | None]]:
        pairs, stage, left = Pair(), Consolidate(), list[Message]()
        for event in events:
            if restart:
                again = Consolidate()
                again.restore(
                    msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=consolidate.ConsolidateState)
                )
                stage = again
            (given,) = pairs.push(batch(event))
            left += stage.push(given)[0].messages
        left += [m for last in stage.flush() for m in last.messages]
        return [(m.index, c.call.name, c.result.outcome if c.result else None) for m in left for c in m.calls]

    assert outcomes(restart=False) == outcomes(restart=True) == [(0, "Read", "unpaired"), (2, "Glob", "ok")]


def test_tokens_below_zero_are_none_of_a_message() -> None:
    (message,) = all_of(text(0, "a"), usage(1, "m1", input=5, output=-1))
    assert message.usage is not None
    assert (message.usage.input, message.usage.output) == (5, None)


@pytest.mark.parametrize("answered", [True, False])
def test_a_message_of_many_calls_goes_on_in_another_one(answered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing tells answers apart, all calls of a session are of one: it must not wait for the end."""
    monkeypatch.setattr(consolidate, "MOST_CALLS", 10)
    asked = [call(n, f"t{n}") for n in range(35)]
    events = [e for one in asked for e in ((one, result(100 + one.source.row, one.call_id)) if answered else (one,))]
    early, late = run(*events)
    assert [len(m.calls) for m in sorted([*early, *late], key=lambda m: m.index)] == [10, 10, 10, 5]
    assert {(m.turn, m.message_id) for m in (*early, *late)} == {(1, "m1")}
    assert [m.late for m in sorted([*early, *late], key=lambda m: m.index)] == [False, True, True, True]
    assert len(early) == (3 if answered else 0)
