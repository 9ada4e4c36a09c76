"""Laws of every evaluator, over random trajectories: online is offline, final stays final, a restart changes
nothing."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN, AnyEvent, Source, TokenUsage
from agentv_stages.trajectory import Case, Evaluator
from support.specs import configs, traces
from support.trajectories import Trace, evaluator_of

EPSILON = 1e-9


def feed(evaluator: Evaluator, events: list[AnyEvent]) -> None:
    for event in events:
        evaluator.push(event)


@settings(max_examples=300, deadline=None)
@given(configs(), traces(), st.booleans())
def test_a_final_verdict_is_that_of_every_continuation(
    config: dict[str, Any], events: list[AnyEvent], compat: bool
) -> None:
    """Whenever the verdict is final after a prefix, ending there and ending later both give that verdict."""
    live = evaluator_of(config, compat)
    final: str | None = None
    for i, event in enumerate(events):
        live.push(event)
        if live.final and final is None:
            final = live.standing
            cut = evaluator_of(config, compat)
            feed(cut, events[: i + 1])
            cut.flush()
            assert cut.standing == final
        assert final is None or live.standing == final
    live.flush()
    assert live.standing != "open"
    assert final is None or live.standing == final


@settings(max_examples=200, deadline=None)
@given(configs(), traces(), st.booleans())
def test_bounds_never_widen_and_meet_at_the_end(config: dict[str, Any], events: list[AnyEvent], compat: bool) -> None:
    evaluator = evaluator_of(config, compat)
    low, high = evaluator.score_bounds()
    for event in events:
        evaluator.push(event)
        new_low, new_high = evaluator.score_bounds()
        assert new_low <= new_high
        if "in_order" not in json.dumps(config):
            assert new_low >= low - EPSILON and new_high <= high + EPSILON
        low, high = new_low, new_high
    evaluator.flush()
    end = evaluator.score_bounds()
    assert end.low == end.high
    result = evaluator.result()
    assert result.score is not None and 0 <= result.score <= 1


@settings(max_examples=200, deadline=None)
@given(configs(), traces(), st.integers(0, 14), st.booleans())
def test_a_restart_from_a_snapshot_changes_nothing(
    config: dict[str, Any], events: list[AnyEvent], cut: int, compat: bool
) -> None:
    whole = evaluator_of(config, compat)
    feed(whole, events)
    whole.flush()
    first = evaluator_of(config, compat)
    feed(first, events[:cut])
    second = evaluator_of(config, compat)
    second.restore(msgspec.json.decode(msgspec.json.encode(first.snapshot())))
    feed(second, events[cut:])
    second.flush()
    assert msgspec.json.encode(second.result()) == msgspec.json.encode(whole.result())


@settings(max_examples=200, deadline=None)
@given(st.lists(configs(), min_size=1, max_size=4), traces(), st.lists(st.integers(1, 5), max_size=8), st.booleans())
def test_a_case_gives_the_same_for_any_chunking(
    many: list[dict[str, Any]], events: list[AnyEvent], sizes: list[int], compat: bool
) -> None:
    def case() -> Case:
        return Case("c", [evaluator_of(config, compat) for config in many], compat=compat)

    offline, online = case(), case()
    offline.on_batch(Batch(events=list(events)))
    offline.flush()
    decided: list[str] = []
    at = 0
    for size in [*sizes, len(events) + 1]:
        decided += [d.standing for d in online.on_batch(Batch(events=events[at : at + size]))]
        at += size
    decided += [d.standing for d in online.flush()]
    assert msgspec.json.encode(online.result()) == msgspec.json.encode(offline.result())
    assert decided == [online.standing]
    assert (online.result().verdict == "pass") == (online.standing == "satisfied")


def test_a_model_call_that_is_told_again_after_a_restart_counts_once() -> None:
    config: dict[str, Any] = {"type": "execution-metrics", "max_tokens": 100}
    told = TokenUsage(Source("trace.jsonl", 1, 0, 9, None, MAIN, ""), "", "call-1", input=60, output=10)
    first = evaluator_of(config, False)
    feed(first, [told])
    second = evaluator_of(config, False)
    second.restore(msgspec.json.decode(msgspec.json.encode(first.snapshot())))
    feed(second, [told])
    second.flush()
    assert second.result().score == 1


def test_an_answer_that_goes_on_after_a_restart_is_one_turn() -> None:
    config: dict[str, Any] = {"type": "max-turns", "max": 2}
    first = evaluator_of(config, False)
    feed(first, Trace().text(message_id="one").text(message_id="two").events)
    second = evaluator_of(config, False)
    second.restore(msgspec.json.decode(msgspec.json.encode(first.snapshot())))
    feed(second, Trace().text(message_id="one").events)
    second.flush()
    assert second.result().score == 1
