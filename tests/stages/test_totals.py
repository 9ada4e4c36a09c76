"""Tokens, cost and time: one model call once, totals of the agent before sums, null where the log does not say."""

from typing import Any

from agentv_stages.batch import Batch
from agentv_stages.event import AnyEvent
from agentv_stages.totals import Totals, tokens_json
from support.events import batch, end, text, usage


def told(*events: AnyEvent) -> Totals:
    totals = Totals()
    totals.observe(batch(*events))
    return totals


def tokens(*events: AnyEvent) -> dict[str, Any]:
    return tokens_json(told(*events).tokens())


def test_nothing_known_is_null_and_never_zero() -> None:
    assert set(tokens().values()) == {None}
    totals = told(text(0, "x"))
    assert (totals.cost_usd, totals.duration_ms) == (None, None)


def test_one_call_is_counted_once_with_its_largest_output() -> None:
    seen = tokens(*(usage(n, "m", input=100, cached=90, output=o) for n, o in enumerate((8, 436, 12))))
    assert (seen["input"], seen["cached"], seen["output"]) == (100, 90, 436)


def test_a_final_output_wins_over_a_larger_placeholder() -> None:
    seen = tokens(usage(0, "m", input=1, output=9, output_final=False), usage(1, "m", output=5))
    assert (seen["input"], seen["output"], "output_at_least" in seen) == (1, 5, False)


def test_placeholders_alone_are_a_lower_bound() -> None:
    seen = tokens(usage(0, "a", input=1, output=9), usage(1, "b", input=1, output=1, output_final=False))
    assert (seen["output"], seen["output_at_least"]) == (None, 10)


def test_a_total_of_the_agent_covers_the_calls_of_its_streams() -> None:
    calls = [usage(0, "a", input=10, output=1), usage(1, "b", stream="sidechain:x", input=5, output=1)]
    own = usage(2, "t", scope="session", input=100, output=50)
    assert tokens(*calls, own)["input"] == 105
    assert tokens(*calls, usage(2, "t", scope="session", input=100, output=50, covers_streams=True))["input"] == 100


def test_segments_add_up_and_the_last_session_total_holds() -> None:
    parts = [usage(n, f"s{n}", scope="segment", input=10, output=2) for n in range(3)]
    assert tokens(*parts)["input"] == 30
    sums = [usage(n, "s", scope="session", input=10 * n, output=n) for n in (1, 2, 3)]
    assert tokens(*sums)["input"] == 30


def test_repeated_results_of_a_run_do_not_add_their_cost() -> None:
    totals = told(
        end(0, cost_usd=0.02, duration_ms=10, agent_num_turns=2),
        end(1, cost_usd=0.03, duration_ms=5, agent_num_turns=1),
    )
    assert (totals.cost_usd, totals.duration_ms, totals.state.agent_num_turns) == (0.03, 15, 3)


def test_without_a_word_of_the_agent_the_time_is_last_minus_first_event() -> None:
    assert (
        told(text(0, "a", time_ms=5_000), text(1, "b", time_ms=2_000), text(2, "c", time_ms=9_000)).duration_ms == 7_000
    )


def test_repetitions_are_told_in_a_window_of_bounded_size() -> None:
    totals = Totals(window=64)
    for n in range(10_000):
        totals.observe(Batch(events=[usage(n, f"m{n}", input=1, output=1)] * 2))
    assert totals.tokens().input == 10_000
    assert len(totals.snapshot().calls) <= 64


def test_models_and_streams_are_told_apart() -> None:
    totals = told(
        usage(0, "a", model="big", input=10, output=1),
        usage(1, "b", model="small", input=2, output=1, stream="sidechain:x"),
    )
    assert {name: row["input"] for name, row in totals.by_model().items()} == {"big": 10, "small": 2}
    assert {name: row["input"] for name, row in totals.by_stream().items()} == {"main": 10, "sidechain:x": 2}
