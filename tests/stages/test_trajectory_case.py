"""A case: weights, required evaluators, thresholds, skipped members, composites."""

from typing import Any

import pytest

from agentv_stages.model.event import AnyEvent
from agentv_stages.trajectory import Case, CaseResult, ConfigError, Context, Evaluator, Skipped, build
from support.trajectories import Trace, trace_of

GOOD: dict[str, Any] = {"type": "tool-trajectory", "mode": "superset", "expected": [{"tool": "a"}]}
BAD: dict[str, Any] = {"type": "tool-trajectory", "mode": "superset", "expected": [{"tool": "z"}]}


def run(configs: list[dict[str, Any]], events: list[AnyEvent] | None = None, **more: Any) -> CaseResult:
    context = Context(compat=more.get("compat", False), threshold=more.get("threshold"))
    case = Case("c", [build(config, context) for config in configs], more.get("threshold"), more.get("compat", False))
    for event in trace_of(["a"]) if events is None else events:
        case.push(event)
    case.flush()
    return case.result()


def test_the_score_is_the_weighted_mean() -> None:
    result = run([{**GOOD, "weight": 3}, BAD])
    assert (result.score, result.verdict) == (0.75, "fail")
    assert run([{**GOOD, "weight": 4}, BAD]).verdict == "pass"


def test_a_required_evaluator_that_fails_fails_the_case() -> None:
    result = run([{**GOOD, "weight": 9}, {**BAD, "required": True}])
    assert (result.score, result.verdict) == (0.9, "fail")


def test_in_compat_a_failed_required_evaluator_makes_the_score_0() -> None:
    result = run([{**GOOD, "weight": 9}, {**BAD, "required": True}], compat=True)
    assert (result.score, result.verdict) == (0, "fail")


def test_min_score_is_what_a_required_evaluator_needs() -> None:
    half = {"type": "tool-trajectory", "mode": "superset", "expected": ["a", "z"]}
    many = [{**GOOD, "weight": 9}]
    assert run([*many, {**half, "required": True}]).verdict == "fail"
    assert run([*many, {**half, "required": True, "min_score": 0.5}]).verdict == "pass"
    assert run([*many, {**half, "required": 0.5}]).verdict == "pass"
    assert run([*many, {**half, "required": 0.6}]).verdict == "fail"


def test_the_threshold_of_the_spec_holds_for_case_and_evaluators() -> None:
    result = run([GOOD, BAD], threshold=0.5)
    assert (result.score, result.verdict, result.threshold) == (0.5, "pass", 0.5)


def test_skipped_evaluators_stand_outside_the_score() -> None:
    result = run([GOOD, {"type": "llm-grader", "name": "judge"}, {"type": "code-grader"}])
    assert (result.score, result.verdict) == (1, "pass")
    assert [(r.name, r.verdict, r.reason) for r in result.evaluators[1:]] == [
        ("judge", "skipped", "it needs a model"),
        ("code-grader", "skipped", "it needs a script"),
    ]


def test_a_case_of_skipped_evaluators_is_skipped() -> None:
    result = run([{"type": "llm-grader"}])
    assert (result.score, result.verdict) == (None, "skipped")


def test_a_strict_exact_that_fails_does_not_get_lost_in_the_mean() -> None:
    exact = {"type": "tool-trajectory", "mode": "exact", "expected": ["a"]}
    result = run([{**GOOD, "weight": 9}, exact], trace_of(["a", "extra"]))
    assert (result.score, result.verdict) == (1, "fail")


def test_a_case_is_decided_as_soon_as_the_mean_cannot_be_reached() -> None:
    forbid = {"type": "forbid", "calls": ["Bash(rm *)"], "required": False}
    case = Case("c", [build(config, Context()) for config in (forbid, GOOD)])
    decisions = [d for e in Trace().call("Bash", command="rm x").events for d in case.push(e)]
    assert [d.standing for d in decisions] == ["violated"]
    kept = Case("c", [build(config, Context()) for config in ({**forbid, "weight": 0.1}, GOOD)])
    for event in Trace().call("Bash", command="rm x").events:
        kept.push(event)
    assert kept.standing == "open"


def test_a_case_is_satisfied_before_the_end_where_nothing_can_change_it() -> None:
    case = Case("c", [build(GOOD, Context())])
    decisions = [d for event in trace_of(["a", "b"]) for d in case.push(event)]
    assert [(d.standing, d.calls) for d in decisions] == [("satisfied", 1)]


def test_a_composite_survives_a_restart() -> None:
    config = {"type": "composite", "assertions": [GOOD, BAD], "aggregator": {"type": "maximum"}}
    first, second = (Case("c", [build(config, Context())]) for _ in range(2))
    for event in trace_of(["a"]):
        first.push(event)
    second.restore(first.snapshot())
    assert second.standing == "satisfied"
    second.flush()
    assert second.result().score == 1


def test_the_mean_can_decide_before_any_evaluator_does() -> None:
    half = {"type": "tool-trajectory", "mode": "exact", "expected": ["a", "b"], "threshold": 0.5}
    case = Case("c", [build(half, Context()), build(half, Context())], 0.8)
    for event in trace_of(["x"]):
        case.push(event)
    assert [e.standing for e in case.evaluators] == ["open", "open"]
    assert case.standing == "violated"


def test_composites_weigh_and_count_their_members() -> None:
    weighted = {"type": "composite", "assertions": [{**GOOD, "name": "g"}, {**BAD, "name": "b"}]}
    assert run([weighted]).score == 0.5
    assert run([{**weighted, "aggregator": {"type": "weighted_average", "weights": {"g": 4, "b": 1}}}]).score == 0.8
    unset = {"type": "weighted_average", "weights": {"g": None, "b": 3}}  # as if it were not there: 1
    assert run([{**weighted, "aggregator": unset}]).score == 0.25
    assert run([{**weighted, "aggregator": {"type": "threshold", "threshold": 0.5}}]).score == 1
    for kind, wanted in (("minimum", 0), ("maximum", 1), ("all_or_nothing", 0)):
        assert run([{**weighted, "aggregator": {"type": kind}}]).score == wanted
    member = build({**weighted, "aggregator": {"type": "llm-grader"}}, Context())
    assert isinstance(member, Skipped)


def test_expected_messages_go_by_position() -> None:
    calls = ({"tool": "a", "input": {"q": 1}}, {"tool": "b"})
    context = Context(expected_calls=calls)
    member = build({"type": "expected-messages"}, context)
    assert isinstance(member, Evaluator)
    case = Case("c", [member])
    standings: list[str] = []
    for event in trace_of([("a", {"q": 1}), "b", "extra"]):
        case.push(event)
        standings.append(case.standing)
    assert standings == ["open", "open", "open", "satisfied", "satisfied", "satisfied", "satisfied"]
    shifted = Case("c", [build({"type": "expected-messages"}, context)])
    for event in trace_of([("a", {"q": 2}), "b"]):
        shifted.push(event)
    shifted.flush()
    assert shifted.result().score == 0.5


BROKEN: list[dict[str, Any]] = [
    {"type": "no-such-type"},
    {"type": "tool-trajectory", "mode": "fuzzy"},
    {"type": "tool-trajectory"},
    {"type": "tool-trajectory", "mode": "exact", "expected": [{}]},
    {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "a", "kind": "read"}]},
    {"type": "tool-trajectory", "mode": "exact", "expected": [{"kind": "reed"}]},
    {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "a", "args_match": "some"}]},
    {"type": "tool-trajectory", "mode": "any_order", "minimums": {"a": "x"}},
    {**GOOD, "weight": -1},
    {**GOOD, "weight": True},
    {**GOOD, "min_score": 2},
    {**GOOD, "threshold": float("nan")},
    {**GOOD, "negate": "yes"},
    {**GOOD, "streams": "some"},
    {"type": "execution-metrics"},
    {"type": "latency"},
    {"type": "max-repeats", "max": 1.5},
    {"type": "max-repeats", "max": 1, "window": 10**9},
    {"type": "composite"},
    {"type": "composite", "assertions": [{"type": "forbid"}]},
]


@pytest.mark.parametrize("config", BROKEN)
def test_bad_configurations_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        build(config, Context())


def test_flush_twice_is_refused() -> None:
    case = Case("c", [build(GOOD, Context())])
    case.flush()
    with pytest.raises(RuntimeError):
        case.flush()


AGGREGATORS: list[Any] = [
    "weighted_average",
    "minimum",
    "maximum",
    "all_or_nothing",
    {"type": "threshold", "threshold": 0.5},
    {"type": "weighted_average", "weights": {"bad": 0}},
]
DONE: dict[str, Any] = {"type": "contains", "value": "hello", "weight": 9}
VIOLATED: dict[str, Any] = {"type": "forbid", "name": "bad", "calls": ["a"]}


def composite(*members: dict[str, Any], aggregator: Any = "weighted_average", **more: Any) -> dict[str, Any]:
    return {"type": "composite", "assertions": list(members), "aggregator": aggregator, **more}


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(
    "bad", [VIOLATED, {**BAD, "name": "bad", "required": True}, {**BAD, "name": "bad", "required": 0.5}]
)
def test_required_holds_within_a_composite_whatever_its_aggregator(aggregator: Any, bad: dict[str, Any]) -> None:
    """A member that is required was outweighed by the others: the case passed at 0.82."""
    inner = composite({**DONE, "name": "g"}, bad, aggregator=aggregator)
    outer = composite({**DONE, "name": "bad"}, inner, aggregator=aggregator)
    for config in (inner, outer, {**inner, "weight": 0.01}):
        assert run([config]).verdict == "fail"
        assert run([config, {**DONE, "weight": 99}]).verdict == "fail"
        assert run([config], compat=False, threshold=0.1).verdict == "fail"


def test_what_a_composite_or_a_member_does_not_require_can_be_outweighed() -> None:
    assert run([composite(DONE, {**VIOLATED, "required": False})]).verdict == "pass"
    assert run([composite(DONE, BAD)]).verdict == "pass"
    lenient = composite(DONE, VIOLATED, required=False)
    result = run([lenient, DONE])
    assert (result.verdict, result.evaluators[0].verdict) == ("pass", "fail")


def test_a_composite_with_a_required_member_is_open_while_that_one_is() -> None:
    """Its score alone was enough; a later violation could not change the verdict any more."""
    case = Case("c", [build(composite(GOOD, VIOLATED, aggregator="maximum"), Context())])
    for event in trace_of(["a"]):
        case.push(event)
    assert case.standing == "violated"
    forbidden_later = composite(GOOD, {**VIOLATED, "calls": ["z"]}, aggregator="maximum", threshold=0)
    case = Case("c", [build(forbidden_later, Context())])
    for event in trace_of(["a"]):
        case.push(event)
    assert case.standing == "open"
    case.flush()
    assert case.result().verdict == "pass"


def test_a_negated_composite_passes_where_a_required_member_fails() -> None:
    assert run([composite(DONE, VIOLATED, negate=True)]).verdict == "pass"
    assert run([composite(DONE, {**VIOLATED, "calls": ["z"]}, negate=True)]).verdict == "fail"


def test_in_compat_only_our_own_types_are_required_within_a_composite() -> None:
    """AgentV ignores `required` there, and has no `forbid`."""
    done = {**DONE, "weight": 1}
    weights = {"type": "weighted_average", "weights": {"g": 9}}
    required = composite({**done, "name": "g"}, {**BAD, "required": True}, aggregator=weights)
    assert run([required], compat=True).verdict == "pass"
    assert run([composite({**done, "name": "g"}, VIOLATED, aggregator=weights)], compat=True).verdict == "fail"


def test_the_proof_of_a_composite_says_which_required_member_failed() -> None:
    texts = [a.text for a in run([composite(DONE, VIOLATED)]).evaluators[0].assertions if not a.passed]
    assert texts == ["bad: score 0.00, required", "bad: a was called"]
