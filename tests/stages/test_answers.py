"""Which records with one message id are one model call."""

import msgspec
import pytest
from msgspec.structs import replace

from agentv_stages.chain.pair import Pair, PairState
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import PIECES, AnyEvent, AssistantText, Retract, TokenUsage, ToolCall
from agentv_stages.model.turns import Turns
from support.events import at, batch, call, result, text, usage, user

Record = list[AnyEvent]


def record(row: int, *events: AnyEvent, number: int | None = PIECES, stream: str = "main") -> Record:
    """The events as those of one record of a second of its own."""
    source = replace(at(row, 1_000_000 + 1_000 * row, stream), answer=number)
    return [replace(event, source=source) for event in events]


def ids(*records: Record) -> list[str]:
    """The own ids of the answers of texts and calls."""
    stage = Pair()
    out: list[str] = []
    for one in records:
        pushed = batch(*one)
        stage.push(pushed)
        out += [e.message_id for e in pushed.events if isinstance(e, (AssistantText, ToolCall))]
    return out


def spent(prompt: int | None, cached: int = 0, key: str = "m") -> TokenUsage:
    tokens = usage(0, key, input=prompt, cached=cached, output=5)
    assert isinstance(tokens, TokenUsage)
    return tokens


def test_pieces_with_equal_usage_are_one_answer_even_after_a_result() -> None:
    assert (
        ids(
            record(0, text(0, "I look.", "m"), spent(100)),
            record(1, call(1, "a", message="m")),
            record(2, result(2, "a")),
            record(3, call(3, "b", message="m"), spent(100)),
            record(4, call(4, "c", message="m")),
        )
        == ["m"] * 4
    )


def test_different_usage_is_another_answer() -> None:
    assert ids(
        record(0, call(0, "a", message="m"), spent(100)),
        record(1, result(1, "a")),
        record(2, call(2, "b", message="m"), spent(110)),
        record(3, result(3, "b")),
        record(4, text(4, "Done.", "m"), spent(110, 20)),
        record(5, user(5, "More.")),
        record(6, text(6, "Done.", "m"), spent(130)),
    ) == ["m", "m/2", "m/3", "m/4"]


@pytest.mark.parametrize("tokens", [(), (spent(0),), (spent(None),)])
def test_without_usage_what_follows_a_result_is_another_answer(tokens: tuple[TokenUsage, ...]) -> None:
    assert ids(
        record(0, text(0, "I look.", "m"), *tokens),
        record(1, call(1, "a", message="m"), *tokens),
        record(2, result(2, "a")),
        record(3, call(3, "b", message="m"), *tokens),
        record(4, result(4, "b")),
        record(5, text(5, "Done.", "m"), *tokens),
    ) == ["m", "m", "m/2", "m/3"]


def test_without_usage_a_block_that_comes_again_is_of_the_same_answer() -> None:
    said = [
        [
            replace(event, source=replace(event.source, base_id="", time_ms=None))
            for event in record(row, text(0, "I look.", "m"))
        ]
        for row in (0, 2)
    ]
    after = record(4, text(4, "Done.", "m"))
    assert ids(said[0], record(1, result(1, "a")), said[1], record(3, result(3, "b")), after) == ["m", "m", "m/2"]


def test_what_follows_an_input_is_another_answer_whatever_its_usage() -> None:
    assert ids(
        record(0, text(0, "One.", "m"), spent(100)),
        record(1, user(1, "And?")),
        record(2, text(2, "Another.", "m"), spent(100)),
    ) == ["m", "m/2"]


def test_another_request_is_another_answer() -> None:
    assert ids(
        record(0, call(0, "a", message="m"), spent(100), number=-7),
        record(1, result(1, "a")),
        record(2, call(2, "b", message="m"), spent(100), number=-7),
        record(3, result(3, "b")),
        record(4, call(4, "c", message="m"), spent(100), number=-8),
    ) == ["m", "m", "m/2"]


def test_equal_numbers_are_one_answer_and_others_several() -> None:
    assert ids(
        record(0, call(0, "a", message="m"), result(0, "a"), spent(100), number=5),
        record(1, call(1, "b", message="m"), result(1, "b"), spent(100), number=6),
        record(2, text(2, "More of the first.", "m"), number=5),
        record(3, text(3, "x", "n"), number=6),
    ) == ["m", "m/2", "m", "n"]


def test_ids_that_a_decoder_made_stay() -> None:
    assert ids(
        record(0, call(0, "a", message="m"), spent(100), number=None),
        record(1, result(1, "a"), number=None),
        record(2, call(2, "b", message="m"), spent(200), number=None),
    ) == ["m", "m"]


def test_turns_and_tokens_follow_the_own_ids() -> None:
    stage, totals, turns = Pair(), Totals(), Turns()
    for n in range(400):
        pushed = batch(*record(2 * n, call(0, f"c{n}", message="m"), spent(100 + n)))
        stage.push(pushed)
        totals.observe(pushed)
        for event in pushed.events:
            if isinstance(event, ToolCall):
                turns.turn_of(event)
        pushed = batch(*record(2 * n + 1, result(0, f"c{n}")))
        stage.push(pushed)
    assert (turns.count, totals.state.model_calls) == (400, 400)
    assert totals.tokens().input == sum(range(100, 500))


def test_what_is_taken_back_is_the_latest_answer() -> None:
    stage = Pair()
    out: list[AnyEvent] = []
    for one in (
        record(0, text(0, "One.", "m"), number=1),
        record(1, text(1, "Two.", "m"), number=2),
        record(2, Retract(at(2), "", ("m", "n"), "retry"), number=None),
    ):
        pushed = batch(*one)
        stage.push(pushed)
        out += pushed.events
    assert isinstance(out[-1], Retract)
    assert out[-1].message_ids == ("m/2", "n")


def test_cuts_and_restarts_change_nothing() -> None:
    records = [
        record(0, text(0, "I look.", "m"), spent(100)),
        record(1, call(1, "a", message="m")),
        record(2, result(2, "a")),
        record(3, call(3, "b", message="m"), spent(100)),
        record(4, result(4, "b")),
        record(5, call(5, "c", message="m"), spent(120)),
        record(6, user(6, "And?"), stream="s"),
        record(7, text(7, "Hm.", "m"), spent(120), stream="s"),
        record(5, call(5, "c", message="m"), spent(120)),
        record(8, text(8, "Done.", "m"), spent(120)),
        record(9, text(9, "x", "m"), number=3),
    ]
    records[8] = [replace(event, source=replace(event.source, row=88)) for event in records[8]]
    whole = batch(*(event for one in records for event in one))
    Pair().push(whole)
    assert whole.ignored == {"repeated-call": 1, "repeated-record": 1}
    for cut in range(len(records)):
        stage, out = Pair(), list[AnyEvent]()
        for n, one in enumerate(records):
            if n == cut:
                again = Pair()
                again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot()), type=PairState))
                stage = again
            pushed: Batch = batch(*one)
            stage.push(pushed)
            out += pushed.events
        assert out == whole.events
