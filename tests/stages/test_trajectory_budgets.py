"""execution-metrics, latency, cost, token-usage, max_turns, first_edit_turn."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.figures.stats import Stats
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, SessionEnd, SessionInfo, Source, TokenUsage
from support.trajectories import Trace, evaluator_of, judge, score, standing


def run(
    calls: int = 0,
    answers: int = 0,
    tokens: tuple[int, int] | None = None,
    cost: float | None = None,
    ms: int | None = None,
    tools: dict[str, int] | None = None,
) -> list[AnyEvent]:
    trace = Trace()
    for i in range(answers):
        trace.text(message_id=f"a{i}")
    for i in range(calls):
        trace.call("Write", {"n": i}, message_id="same")
    for tool, number in (tools or {}).items():
        for _ in range(number):
            trace.call(tool, message_id="same")
    if tokens is not None:
        trace.events.append(TokenUsage(trace.source(), "-0", "k", input=tokens[0], output=tokens[1]))
    if cost is not None or ms is not None:
        trace.events.append(SessionEnd(trace.source(), "-0", "complete", cost_usd=cost, duration_ms=ms))
    if not trace.events:
        trace.events.append(SessionEnd(trace.source(), "-0", "complete"))
    return trace.events


def metrics(**limits: float) -> dict[str, Any]:
    return {"type": "execution-metrics", **limits}


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@pytest.mark.parametrize(
    ("config", "events", "wanted"),
    [
        (metrics(max_tool_calls=10), run(calls=5), 1),
        (metrics(max_tool_calls=5), run(calls=10), 0),
        (metrics(max_llm_calls=5), run(answers=3), 1),
        (metrics(max_llm_calls=2), run(answers=5), 0),
        (metrics(max_tokens=2000), run(tokens=(800, 400)), 1),
        (metrics(max_tokens=1000), run(tokens=(800, 400)), 0),
        (metrics(max_cost_usd=0.1), run(cost=0.05), 1),
        (metrics(max_cost_usd=0.05), run(cost=0.1), 0),
        (metrics(max_duration_ms=5000), run(ms=3000), 1),
        (metrics(max_duration_ms=2000), run(ms=5000), 0),
        (metrics(target_exploration_ratio=0.6, exploration_tolerance=0.2), run(tools={"Read": 7, "Edit": 3}), 1),
        (metrics(target_exploration_ratio=0.8, exploration_tolerance=0.1), run(tools={"Read": 5, "Edit": 5}), 0),
        (metrics(target_exploration_ratio=0.5), run(tools={"Read": 6, "Edit": 4}), 1),
        (
            metrics(max_tool_calls=10, max_llm_calls=2, max_tokens=2000, max_cost_usd=0.05, max_duration_ms=5000),
            [*run(calls=1), *run(answers=5, tokens=(800, 400), cost=0.1, ms=3000)],
            0.6,
        ),
        (metrics(max_tool_calls=10), run(calls=5, tokens=(10**9, 10**9), cost=99, ms=10**9), 1),
        (metrics(max_tokens=5), run(calls=1), 0),
        (metrics(max_cost_usd=5), run(calls=1), 0),
        (metrics(max_duration_ms=5), run(calls=1), 0),
        (metrics(target_exploration_ratio=0.5), run(answers=1), 0),
        ({"type": "latency", "threshold": 3000}, run(ms=3000), 1),
        ({"type": "latency", "threshold": 2999}, run(ms=3000), 0),
        ({"type": "latency", "threshold": 2999}, run(calls=1), 0),
        ({"type": "cost", "budget": 0.1}, run(cost=0.1), 1),
        ({"type": "cost", "budget": 0.09}, run(cost=0.1), 0),
        ({"type": "cost", "budget": 0.09}, run(calls=1), 0),
        ({"type": "token-usage", "max_total": 1200}, run(tokens=(800, 400)), 1),
        ({"type": "token-usage", "max_total": 1199, "max_input": 800}, run(tokens=(800, 400)), 0),
        ({"type": "token-usage", "max_output": 1}, run(calls=1), 0),
    ],
)
def test_case_table(config: dict[str, Any], events: list[AnyEvent], wanted: float, compat: bool) -> None:
    assert score(config, events, compat) == (wanted, wanted >= 0.8)


def test_cached_tokens_are_part_of_the_input_but_apart_in_compat() -> None:
    usage = TokenUsage(Source("f", 0, 0, 1), "-0", "k", input=1000, cached=900, output=50)
    config = metrics(max_tokens=500)
    assert score(config, [usage]) == (0, False)
    assert score(config, [usage], compat=True) == (1, True)
    total = {"type": "token-usage", "max_total": 1050}
    assert score(total, [usage]) == score(total, [usage], compat=True) == (1, True)


def test_a_model_call_that_is_told_twice_counts_once() -> None:
    source = Source("f", 0, 0, 1)
    events: list[AnyEvent] = [
        TokenUsage(source, "-0", "k", input=100, output=1, output_final=False),
        TokenUsage(source, "-0", "k", input=100, output=50),
    ]
    assert score({"type": "token-usage", "max_total": 150}, events) == (1, True)


def test_what_two_sessions_in_one_input_spent_adds_up() -> None:
    source = Source("f", 0, 0, 1)
    events: list[AnyEvent] = [
        TokenUsage(source, "-0", "k", "session", input=100, output=10),
        SessionEnd(source, "-1", "complete", cost_usd=0.3),
        SessionInfo(source, "-2", session_id="another", another=True),
        TokenUsage(source, "-3", "l", "session", input=20, output=1),
        SessionEnd(source, "-4", "complete", cost_usd=0.1),
    ]
    for limits, kept in (({"max_tokens": 131, "max_cost_usd": 0.4}, 1), ({"max_tokens": 130, "max_cost_usd": 0.39}, 0)):
        assert score(metrics(**limits), events)[0] == kept


def test_a_placeholder_for_the_output_is_no_data() -> None:
    events: list[AnyEvent] = [TokenUsage(Source("f", 0, 0, 1), "-0", "k", input=100, output=1, output_final=False)]
    result = judge(evaluator_of({"type": "token-usage", "max_total": 500}), events)
    assert (result.score, result.warnings) == (0, ("Total tokens: no data",))


@pytest.mark.parametrize(
    ("config", "events"),
    [
        (metrics(max_tool_calls=2), run(calls=3)),
        ({"type": "max-turns", "max": 2}, run(answers=3)),
        ({"type": "cost", "budget": 0.5}, run(cost=0.6)),
        ({"type": "token-usage", "max_total": 10}, run(tokens=(20, 1))),
        ({"type": "latency", "threshold": 10}, run(ms=11)),
    ],
)
def test_a_broken_maximum_is_violated_for_good_before_the_end(config: dict[str, Any], events: list[AnyEvent]) -> None:
    evaluator = evaluator_of(config)
    for event in events:
        evaluator.push(event)
    assert standing(evaluator) == "violated"
    decided = evaluator.decided
    assert decided is not None and decided.at is not None


def test_a_kept_maximum_is_satisfied_only_at_the_end() -> None:
    evaluator = evaluator_of({"type": "max-turns", "max": 5})
    for event in run(answers=3):
        evaluator.push(event)
    assert standing(evaluator) == "open"
    evaluator.flush()
    assert standing(evaluator) == "satisfied"


def test_ratios_stay_open_to_the_end() -> None:
    evaluator = evaluator_of(metrics(target_exploration_ratio=1.0))
    for event in run(tools={"Edit": 5}):
        evaluator.push(event)
    assert standing(evaluator) == "open"


def test_turns_are_answers_of_the_main_stream_not_lines() -> None:
    trace = Trace()
    for _ in range(4):
        trace.text(message_id="one")
    trace.call("Read", message_id="one").text(message_id="sub", stream="sidechain:a").text(message_id="two")
    assert score({"type": "max-turns", "max": 2}, trace.events) == (1, True)
    assert score({"type": "max-turns", "max": 1}, trace.events) == (0, False)


def test_first_edit_turn_is_decided_by_the_edit_or_by_the_turn_that_comes_too_late() -> None:
    config = {"type": "first-edit-turn", "max": 2}
    early = evaluator_of(config)
    for event in Trace().text(message_id="1").call("Edit", message_id="2").events:
        early.push(event)
    assert standing(early) == "satisfied"
    late = evaluator_of(config)
    for event in Trace().text(message_id="1").text(message_id="2").text(message_id="3").events:
        late.push(event)
    assert standing(late) == "violated"
    assert score(config, Trace().call("Read").events) == (0, False)


def test_edits_of_sub_agents_and_shell_writes_are_no_first_edit() -> None:
    trace = Trace().call("Edit", stream="sidechain:a").call("Bash", kind="write", command="sed -i s/a/b/ x")
    assert score({"type": "first-edit-turn", "max": 9}, trace.events) == (0, False)


def test_exploration_goes_by_kind_and_in_compat_by_name() -> None:
    events = Trace().call("Bash", kind="read", command="cat x").events
    config = metrics(target_exploration_ratio=1.0)
    assert score(config, events) == (1, True)
    assert score(config, events, compat=True) == (0, False)


def test_session_end_may_carry_a_closing_record() -> None:
    end = SessionEnd(Source("f", 0, 0, 1), "-0", "complete", cost_usd=0.2, result_json=Raw(b"{}"))
    assert score({"type": "cost", "budget": 0.2}, [end]) == (1, True)


@pytest.mark.parametrize(("streams", "calls"), [("main", 2), ("all", 5)])
def test_model_calls_of_sub_agents_count_where_the_spec_says_so(streams: str, calls: int) -> None:
    trace = Trace().text(message_id="m1").text(message_id="m2")
    for name in ("a", "a", "b", "c"):
        trace.text(message_id=name, stream=f"sidechain:{name}")
    for limit, passes in ((calls, True), (calls - 1, False)):
        config = {**metrics(max_llm_calls=limit), "streams": streams}
        assert score(config, trace.events) == (float(passes), passes)


def test_model_calls_and_tokens_are_those_of_the_statistics() -> None:
    """Sub-agents at work at the same time on one stream, and a record that is repeated a thousand answers later."""
    trace = Trace()
    for name in ("a", "b", "a", "b"):
        trace.text(message_id=name, stream="subagent:x")
    trace.events.append(replace(trace.text(message_id="hint", stream="subagent:x").events.pop(), synthetic=True))
    for n in range(800):
        trace.events.append(TokenUsage(trace.source(), "-0", f"k{n % 799}", input=10, output=1))
    stats, totals = Stats(), Totals()
    for observer in (stats, totals):
        observer.observe(Batch(events=trace.events))
    assert stats.summary()["by_stream"]["subagent:x"]["turns"] == 2
    assert totals.tokens().input == 7990
    for over in (0, 1):
        calls = {**metrics(max_llm_calls=2 - over), "streams": "all"}
        assert score(calls, trace.events) == (1 - over, not over)
        assert score({"type": "token-usage", "max_input": 7990 - over}, trace.events) == (1 - over, not over)


def test_tokens_written_to_a_cache_are_none_of_the_input_in_compat() -> None:
    trace = Trace()
    trace.events.append(TokenUsage(trace.source(), "-0", "k", input=100, cached=30, cache_write=20, output=1))
    for limit, compat in ((50, True), (100, False)):
        assert score({"type": "token-usage", "max_input": limit}, trace.events, compat) == (1, True)
        assert score({"type": "token-usage", "max_input": limit - 1}, trace.events, compat) == (0, False)


def test_a_limit_that_was_exceeded_before_a_lower_total_came_is_not_said_to_be_less_than_that() -> None:
    """Claude Code's total leaves out an interrupted call: `Total tokens 60 > 100`."""
    calls = [TokenUsage(Source("f", i, 0, 1), "-0", str(i), input=60, output=0) for i in range(2)]
    total = TokenUsage(Source("f", 2, 0, 1), "-0", "", "session", input=60, output=0, covers_streams=True)
    result = judge(evaluator_of(metrics(max_tokens=100)), [*calls, total])
    assert result.decided is not None
    assert (result.verdict, result.decided.events) == ("fail", 2)
    assert [a.text for a in result.assertions] == ["Total tokens exceeded 100; at the end the log says 60"]


def test_before_the_end_a_limit_that_is_kept_so_far_is_not_said_to_be_broken() -> None:
    evaluator = evaluator_of({"type": "max-turns", "max": 5})
    for event in run(answers=3):
        evaluator.push(event)
    (assertion,) = evaluator.result().assertions
    assert (assertion.text, assertion.passed) == ("Turns 3 so far, limit 5", False)  # it said: Turns 3 > 5
    evaluator.flush()
    (assertion,) = evaluator.result().assertions
    assert (assertion.text, assertion.passed) == ("Turns 3 <= 5", True)


CENTS = (0.1, 0.2)  # their sum is 0.30000000000000004


@pytest.mark.parametrize("config", [{"type": "cost", "budget": 0.3}, metrics(max_cost_usd=0.3)])
def test_money_is_compared_with_a_tolerance(config: dict[str, Any]) -> None:
    """The case failed with "Cost in USD 0.3 > 0.3"."""
    assert sum(CENTS) > 0.3
    assert score(config, run(cost=sum(CENTS))) == (1, True)
    assert score(config, run(cost=0.300001)) == (0, False)
    negated = {**config, "negate": True}
    assert score(negated, run(cost=sum(CENTS))) == (0, False)


@pytest.mark.parametrize(
    ("limit", "cost", "text"),
    [
        (0.3, 0.3000004, "Cost in USD 0.3000004 > 0.3"),
        (0.3, sum(CENTS), "Cost in USD 0.3 <= 0.3"),
        (1e-05, 2e-05, "Cost in USD 0.00002 > 0.00001"),
        (5, 1234567.5, "Cost in USD 1234567.5 > 5"),
    ],
)
def test_the_figures_of_a_limit_are_told_in_full(limit: float, cost: float, text: str) -> None:
    result = judge(evaluator_of({"type": "cost", "budget": limit}), run(cost=cost))
    assert [assertion.text for assertion in result.assertions] == [text]


def test_large_figures_are_told_in_full_and_compared_exactly() -> None:
    """`10000001 > 1e+07` does not say by how much."""
    result = judge(evaluator_of(metrics(max_tokens=10_000_000)), run(tokens=(10_000_000, 1)))
    assert [(a.text, a.passed) for a in result.assertions] == [("Total tokens 10000001 > 10000000", False)]


def test_in_compat_money_is_compared_as_agentv_does() -> None:
    result = judge(evaluator_of({"type": "cost", "budget": 0.3}, compat=True), run(cost=sum(CENTS)))
    assert [(a.text, a.passed) for a in result.assertions] == [("Cost in USD 0.30000000000000004 > 0.3", False)]
