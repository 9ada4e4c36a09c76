"""The case tables of AgentV's tool-trajectory, in its own scoring (`compat: agentv`) and in ours."""

from typing import Any

import pytest

from agentv_stages.trajectory import Case
from support.events import call, result
from support.trajectories import Trace, evaluator_of, judge, score, standing, trace_of

Q = {"query": "test"}
QL = {"query": "test", "limit": 10}
QLX = {"query": "test", "limit": 10, "extra": True}


def traj(mode: str, expected: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    config: dict[str, Any] = {"type": "tool-trajectory", "mode": mode, **more}
    if expected is not None:
        config["expected"] = [{"tool": item} if isinstance(item, str) else item for item in expected]
    return config


def step(tool: str, args: Any = None, ms: int | None = None, match: Any = None) -> dict[str, Any]:
    item: dict[str, Any] = {"tool": tool}
    if args is not None:
        item["args"] = args
    if ms is not None:
        item["max_duration_ms"] = ms
    if match is not None:
        item["args_match"] = match
    return item


SAME: list[tuple[dict[str, Any], list[Any], float]] = [
    (traj("any_order", minimums={"search": 3, "analyze": 1}), ["search"] * 3 + ["analyze"], 1),
    (traj("any_order", minimums={"search": 3, "analyze": 1}), ["search", "analyze"], 0.5),
    (traj("any_order", minimums={"search": 1}), [], 0),
    (traj("any_order", minimums={"a": 0}), ["b"], 1),
    (traj("any_order", minimums={}), ["b"], 1),
    (traj("in_order", ["search", "analyze", "report"]), ["init", "search", "analyze", "report"], 1),
    (traj("in_order", ["search", "analyze"]), ["search"], 0.5),
    (traj("in_order", ["search", "report"]), ["report", "search"], 0.5),
    (traj("exact", ["search", "analyze"]), ["search", "analyze"], 1),
    (traj("exact", ["search", "analyze"]), ["search", "wrong"], 0.5),
    (traj("superset", ["search", "analyze"]), ["init", "search", "analyze"], 1),
    (traj("superset", ["search", "analyze"]), ["search", "cleanup"], 0.5),
    (traj("superset", ["search", "search"]), ["search"], 0.5),
    (traj("superset", []), ["search"], 1),
    (traj("subset", ["read", "search", "analyze"]), ["read", "search"], 1),
    (traj("subset", ["read", "search"]), ["read", "delete"], 0.5),
    (traj("subset", ["read"]), ["read"] * 3, 1),
    (traj("subset", ["read", "search"]), [], 1),
    (traj("subset", []), ["read"], 0),
    (traj("exact", [step("search", QL)]), [("search", QL)], 1),
    (traj("exact", [step("search", QL)]), [("search", QLX)], 0),
    (traj("exact", [step("search", "any")]), [("search", {"whatever": 1})], 1),
    (traj("exact", [step("search", QL, match="superset")]), [("search", QLX)], 1),
    (traj("exact", [step("search", QL, match="superset")]), [("search", Q)], 0),
    (traj("exact", [step("search", QL, match="subset")]), [("search", Q)], 1),
    (traj("exact", [step("search", Q, match="subset")]), [("search", {**Q, "extra": 1})], 0),
    (traj("exact", [step("search", Q, match="ignore")]), [("search", {"other": 1})], 1),
    (
        traj("exact", [step("search", {"query": "x", "limit": 10, "format": "json"}, match=["query"])]),
        [("search", {"query": "x", "limit": 99, "format": "xml"})],
        1,
    ),
    (traj("exact", [step("search", Q, match=["query"])]), [("search", {"query": "other"})], 0),
    (
        traj("exact", [step("s", {"config": {"query": "x", "format": "json"}}, match=["config.query"])]),
        [("s", {"config": {"query": "x", "format": "xml"}})],
        1,
    ),
    (traj("exact", [step("search", Q, match=["query", "limit"])]), [("search", {**Q, "limit": 99})], 1),
    (
        traj("exact", [step("search", Q), step("analyze", {"format": "json"})], args_match="superset"),
        [("search", {**Q, "x": 1}), ("analyze", {"format": "json", "y": 2})],
        1,
    ),
    (
        traj("exact", [step("search", Q), step("analyze", {"format": "json"}, match="exact")], args_match="superset"),
        [("search", {**Q, "x": 1}), ("analyze", {"format": "json", "y": 2})],
        0.5,
    ),
    (
        traj("exact", [step("search", {"query": "a", "format": "b", "n": 1})], args_match=["query", "format"]),
        [("search", {"query": "a", "format": "b", "n": 2})],
        1,
    ),
    (
        traj("in_order", [step("search", Q), step("analyze")], args_match="superset"),
        [("search", {"query": "wrong"}), ("analyze", {})],
        0.5,
    ),
    (traj("exact", [step("a", {"tags": ["a", "b", "c"]})]), [("a", {"tags": ["a", "b", "c"]})], 1),
    (traj("exact", [step("a", {"tags": ["a", "b", "c"]})]), [("a", {"tags": ["c", "b", "a"]})], 0),
    (traj("exact", [step("a", {})]), [("a", {})], 1),
    (traj("exact", [step("a", Q)]), ["a"], 0),
    (traj("in_order", [step("Read", ms=100)]), [("Read", {}, 45)], 1),
    (traj("in_order", [step("Read", ms=50)]), [("Read", {}, 120)], 0.5),
    (traj("in_order", [step("Read", ms=100)]), [("Read", {})], 1),
    (
        traj("in_order", [step("Read", ms=100), step("Edit"), step("Write", ms=500)]),
        [("Read", {}, 45), ("Edit", {}), ("Write", {}, 600)],
        0.8,
    ),
    (
        traj("exact", [step("Read", ms=100), step("Edit", ms=500)]),
        [("Read", {}, 30), ("Edit", {}, 200)],
        1,
    ),
    (traj("exact", [step("Read", ms=100)]), [("Read", {}, 150)], 0.5),
    (traj("exact", [step("Read", ms=100)]), [("Read", {}, 100)], 1),
    (traj("exact", [step("Read", ms=100)]), [("Write", {}, 10)], 0),
    (traj("subset", [step("search", Q, match="superset")]), [("search", {**Q, "extra": 1})], 1),
    (traj("exact", ["a", "b"]), ["x", "a", "b"], 0),
    (traj("exact", [step("a", {"q": 1}, 10)]), [("a", {"q": 2}, 5)], 0),
    (traj("exact", [step("a", ms=10), step("b", ms=10)]), [("a", {}, 5), ("b", {})], 1),
    (traj("exact", [step("a", ms=10)]), [("b", {}, 5)], 0),
    (traj("subset", ["a"]), ["a", "b", "c"], 0.3333),
    (traj("exact", [step("a", {"q": 1}, match=[])]), [("a", {"q": 2})], 1),
    (traj("exact", [step("a", {"q": 1}, match="subset")]), [("a", {})], 1),
    (traj("exact", [step("a", {}, match="superset")]), [("a", {"z": 1})], 1),
    (traj("exact", [step("a", {"o": {"x": 1}}, match="superset")]), [("a", {"o": {"x": 1, "y": 2}})], 0),
    (traj("exact", [step("a", {"o": {"x": 1}}, match=["o.x"])]), [("a", {})], 0),
    (traj("exact", [step("a", {"q": 1}, match="ignore")]), ["a"], 1),
    (traj("in_order", []), ["a"], 1),
]
"""Config, calls, score: here both scorings agree."""


@pytest.mark.parametrize(("config", "calls", "wanted"), SAME)
@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_case_tables_where_both_scorings_agree(
    config: dict[str, Any], calls: list[Any], wanted: float, compat: bool
) -> None:
    got, passed = score(config, trace_of(calls), compat)
    assert got == wanted
    assert passed == (wanted >= 0.8)


DIFFERENT: list[tuple[dict[str, Any], list[Any], tuple[float, bool], tuple[float, bool]]] = [
    # A further call costs nothing in AgentV.
    (traj("exact", ["search", "analyze"]), ["search", "analyze", "extra"], (1, False), (1, True)),
    # Four of five in their places are a pass there.
    (traj("exact", list("abcde")), list("abcd"), (0.8, False), (0.8, True)),
    # A missing step eats the rest of the trace there.
    (traj("in_order", ["search", "analyze", "report"]), ["search", "report"], (0.6667, False), (0.3333, False)),
    (traj("in_order", ["a", "b", "c"]), ["b", "a", "c"], (0.6667, False), (0.3333, False)),
    (traj("in_order", ["a", "z", "c"]), ["a", "c"], (0.6667, False), (0.3333, False)),
    # A call of the tool with other arguments is taken for the step there.
    (
        traj("in_order", [step("a", {"q": 1}), step("b")]),
        [("a", {"q": 2}), ("a", {"q": 1}), ("b", None)],
        (1, True),
        (0.5, False),
    ),
    # The greedy choice takes the only call that fits the second step.
    (
        traj("superset", [step("a"), step("a", {"q": 1})]),
        [("a", {"q": 1}), ("a", {"q": 2})],
        (1, True),
        (0.5, False),
    ),
    # Superset and subset do not look at durations there.
    (traj("superset", [step("a", ms=1)]), [("a", {}, 99)], (0, False), (1, True)),
    (traj("subset", [step("a", ms=1)]), [("a", {}, 99)], (0, False), (1, True)),
    # The duration of a missed step stays among the things to be checked there.
    (
        traj("exact", [step("a", ms=10), step("b"), step("c")]),
        [("x", {}, 5), ("b", None), ("c", None)],
        (0.6667, False),
        (0.5, False),
    ),
    (
        traj("in_order", [step("a"), step("b"), step("z", ms=10)]),
        ["a", "b"],
        (0.6667, False),
        (0.5, False),
    ),
    # An empty trace has no summary there; a minimum of 0 is met by it.
    (traj("any_order", minimums={"a": 0}), [], (1, True), (0, False)),
]
"""Config, calls, our (score, pass), AgentV 4.42's: its defects, mended by default."""


@pytest.mark.parametrize(("config", "calls", "ours", "theirs"), DIFFERENT)
def test_defects_are_mended_by_default_and_kept_in_compat(
    config: dict[str, Any], calls: list[Any], ours: tuple[float, bool], theirs: tuple[float, bool]
) -> None:
    assert score(config, trace_of(calls)) == ours
    assert score(config, trace_of(calls), compat=True) == theirs
    assert score({**config, "compat": "agentv"}, trace_of(calls)) == theirs


@pytest.mark.parametrize("mode", ["any_order", "in_order", "exact", "superset", "subset"])
def test_no_trace_at_all_fails(mode: str) -> None:
    assert score(traj(mode, ["a"], minimums={"a": 1}), []) == (0, False)


def test_exact_with_a_threshold_of_the_spec_passes_by_its_score() -> None:
    assert score(traj("exact", ["a", "b"], threshold=0.8), trace_of(["a", "b", "extra"])) == (1, True)
    assert score(traj("exact", list("abcde"), threshold=0.8), trace_of(list("abcd"))) == (0.8, True)


def test_exact_is_violated_at_the_first_call_that_makes_the_pass_impossible() -> None:
    evaluator = evaluator_of(traj("exact", ["a", "b"]))
    trace = Trace().call("a").call("b")
    for event in trace.events:
        evaluator.push(event)
    assert standing(evaluator) == "open"
    trace.call("c")
    (decision,) = evaluator.push(trace.events[-2])
    assert decision.standing == "violated"
    assert decision.at is not None and decision.at.tool == "c"
    assert decision.calls == 3


def test_exact_with_a_threshold_stays_open_while_the_threshold_can_be_reached() -> None:
    evaluator = evaluator_of(traj("exact", list("abcde"), threshold=0.6))
    trace = Trace().call("x").call("x").call("x")
    for event in trace.events[:4]:
        evaluator.push(event)
    assert standing(evaluator) == "open"
    for event in trace.events[4:]:
        evaluator.push(event)
    assert standing(evaluator) == "violated"


@pytest.mark.parametrize(
    "config",
    [traj("any_order", minimums={"a": 1, "b": 1}), traj("in_order", ["a", "b"]), traj("superset", ["b", "a"])],
    ids=["any_order", "in_order", "superset"],
)
def test_rising_modes_are_satisfied_for_good_when_met_and_violated_only_at_the_end(config: dict[str, Any]) -> None:
    evaluator = evaluator_of(config)
    trace = Trace().call("a").call("x").call("b").call("z")
    standings: list[str] = []
    for event in trace.events:
        evaluator.push(event)
        standings.append(evaluator.standing)
    assert standings == ["open"] * 4 + ["satisfied"] * 4
    short = evaluator_of(config)
    for event in Trace().call("a").call("x").events:
        short.push(event)
    assert standing(short) == "open"
    short.flush()
    assert standing(short) == "violated"


def test_a_step_with_a_duration_waits_for_its_result() -> None:
    evaluator = evaluator_of(traj("in_order", [step("Read", ms=100), step("Edit")]))
    trace = Trace().call("Read", result=False).call("Edit", result=False)
    for event in trace.events:
        evaluator.push(event)
    assert standing(evaluator) == "open"
    call = trace.events[0]
    trace.result(call, 40)  # type: ignore[arg-type]  # the first event is the call
    evaluator.push(trace.events[-1])
    assert standing(evaluator) == "satisfied"


def test_a_slow_call_of_in_order_is_mended_by_a_faster_one_later() -> None:
    config = traj("in_order", [step("Read", ms=50)])
    assert score(config, trace_of([("Read", {}, 120), ("Read", {}, 10)])) == (1, True)


def test_subset_is_open_to_the_end_unless_nothing_can_mend_it() -> None:
    open_one = evaluator_of(traj("subset", ["a"]))
    strict = evaluator_of(traj("subset", ["a"], threshold=1.0))
    empty = evaluator_of(traj("subset", []))
    for event in trace_of(["a", "b"]):
        for evaluator in (open_one, strict, empty):
            evaluator.push(event)
    assert (open_one.standing, strict.standing, empty.standing) == ("open", "violated", "violated")


def test_streams_of_sub_agents_count_only_where_the_spec_says_so() -> None:
    events = Trace().text().call("a", stream="sidechain:x").events
    assert score(traj("superset", ["a"]), events) == (0, False)
    assert score(traj("superset", ["a"], streams="all"), events) == (1, True)


@pytest.mark.parametrize("streams", ["main", "all"])
@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@pytest.mark.parametrize("mode", ["exact", "in_order", "superset", "subset"])
def test_a_sub_agents_result_under_the_same_id_does_not_end_a_call(mode: str, compat: bool, streams: str) -> None:
    """The slow result of the sub-agent was taken for that of the fast call."""
    fast, slow = call(0, "call_0"), call(1, "call_0", "x", stream="subagent:a")
    results = [
        result(2, "call_0", stream="subagent:a", duration_ms=900, call=slow),
        result(3, "call_0", duration_ms=5, call=fast),
    ]
    config = traj(mode, [step("Read", ms=10)], streams=streams)
    if streams == "all" and mode in ("exact", "subset"):
        config["expected"].append({"tool": "x"})
    assert score(config, [fast, slow, *results], compat) == (1, True)


def test_a_step_may_name_a_kind_in_place_of_a_tool() -> None:
    config = traj("in_order", [{"kind": "read"}, {"kind": "write"}])
    assert score(config, trace_of(["Read", "Edit"])) == (1, True)
    assert score(config, trace_of(["Edit", "Read"])) == (0.5, False)
    assert score(traj("any_order", minimums={"kind:read": 2}), trace_of(["Read", "LS"])) == (1, True)


def test_nested_superset_is_recursive_where_asked() -> None:
    config = traj("exact", [step("a", {"o": {"x": 1}}, match="superset_deep")])
    assert score(config, trace_of([("a", {"o": {"x": 1, "y": 2}})])) == (1, True)


def test_failed_calls_count() -> None:
    events = Trace().call("a", outcome="error").call("b", result=False).events
    assert score(traj("in_order", ["a", "b"]), events) == (1, True)


def test_native_names_and_globs_name_tools_by_default_only() -> None:
    events = Trace().call("Bash", name="exec_command").call("mcp__db__query").events
    assert score(traj("superset", ["exec_command", "mcp__db__*"]), events) == (1, True)
    assert score(traj("superset", ["exec_command", "mcp__db__*"]), events, compat=True) == (0, False)
    least = traj("any_order", minimums={"Bash": 1})
    assert score(least, events) == score(least, events, compat=True) == (1, True)


def test_superset_rearranges_its_calls_so_that_most_steps_get_one() -> None:
    steps = [step("a", {"k": 1}, match="superset"), step("a", {"j": 1}, match="superset"), step("a")]
    calls = [("a", {"k": 1, "j": 1}), ("a", {"k": 1}), ("a", {"x": 9})]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        assert score(traj("superset", steps), trace_of([calls[i] for i in order])) == (1, True)


def test_negate_swaps_standing_score_and_assertions() -> None:
    evaluator = evaluator_of({**traj("superset", ["rm"]), "negate": True})
    for event in trace_of(["rm"]):
        evaluator.push(event)
    assert standing(evaluator) == "violated"
    evaluator.flush()
    result = evaluator.result()
    assert (result.score, result.verdict) == (0, "fail")
    assert [a.passed for a in result.assertions] == [False]
    assert score({**traj("superset", ["rm"]), "negate": True}, trace_of(["ls"])) == (1, True)


def test_assertions_name_the_events_that_prove_them() -> None:
    result = judge(evaluator_of(traj("superset", ["a"])), trace_of(["x", "a"]))
    (assertion,) = result.assertions
    assert assertion.text == "Found a at position 1"
    assert [(e.row, e.tool, e.event) for e in assertion.evidence] == [(3, "a", "tool_call")]


def test_missing_durations_are_warned_about() -> None:
    result = judge(evaluator_of(traj("exact", [step("a", ms=5)])), trace_of(["a"]))
    assert result.warnings == ("No duration data for a; latency assertion skipped",)


def test_a_long_trace_leaves_no_calls_in_the_state() -> None:
    import msgspec

    sizes: list[int] = []
    for number in (100, 4000):
        evaluator = evaluator_of(traj("superset", [step("a", {"q": i}) for i in range(5)]))
        trace = Trace()
        for i in range(number):
            trace.call("a", {"q": i % 3, "text": "x" * 200})
        for event in trace.events:
            evaluator.push(event)
        sizes.append(len(msgspec.json.encode(evaluator.snapshot())))
    assert sizes[1] < sizes[0] * 1.2


def test_negating_what_is_broken_whatever_its_score_gives_1() -> None:
    config = {**traj("exact", ["a"]), "negate": True}
    assert score(config, trace_of(["a", "b"])) == (1, True)
    assert score(config, trace_of(["a"])) == (0, False)
    case = Case("c", [evaluator_of(config)])
    for event in trace_of(["a", "b"]):
        case.push(event)
    case.flush()
    assert case.result().verdict == "pass"


@pytest.mark.parametrize("match", ["exact", "superset", "superset_deep", "subset", ["n"]])
@pytest.mark.parametrize(("expected", "actual"), [(10**400, 5.5), (5.5, 10**400)], ids=["expected", "actual"])
def test_an_integer_beyond_floats_in_the_arguments_of_a_call_equals_no_other(
    match: Any, expected: float, actual: float
) -> None:
    """OverflowError ended the command, and with it a live check, whatever the agent did next."""
    config = {"type": "tool-trajectory", "mode": "exact", "args_match": match}
    config["expected"] = [{"tool": "a", "args": {"n": expected}}]
    assert score(config, trace_of([("a", {"n": actual})])) == (0.0, False)
    assert score(config, trace_of([("a", {"n": expected})])) == (1.0, True)


def test_superset_moves_calls_along_a_chain_of_any_length() -> None:
    """A chain of more than about 1,000 steps ended the command with a RecursionError."""
    number = 1_200
    steps = [{"tool": "a", "args": {f"k{i}": 1}, "args_match": "superset"} for i in range(number)]
    calls: list[Any] = [("a", {f"k{i}": 1, f"k{i + 1}": 1}) for i in range(number - 1)]
    assert score(traj("superset", steps), trace_of([*calls, ("a", {"k0": 1})])) == (1, True)


@pytest.mark.parametrize("more", [{}, {"threshold": 0.1}, {"min_score": 0.5}])
def test_an_exact_without_steps_fails_on_the_first_call(more: dict[str, Any]) -> None:
    """It passed with any calls: the natural way to say "no tools at all" said nothing."""
    config = {**traj("exact", []), **more}
    assert score(config, trace_of([])) == (1, True)
    assert score(config, trace_of(["a"])) == (0, False)
    assert score({**config, "negate": True}, trace_of(["a"])) == (1, True)
    evaluator = evaluator_of(config)
    for event in trace_of(["a"])[:2]:
        evaluator.push(event)
    assert evaluator.standing == "violated"
    assert score(config, trace_of(["a"]), compat=True) == (1, True)


@pytest.mark.parametrize("kind", ["expected-messages", "expected-tool-calls"])
@pytest.mark.parametrize("mode", [{}, {"mode": "exact"}, {"mode": "in_order"}])
def test_expected_messages_without_calls_fail_on_any_call(kind: str, mode: dict[str, Any]) -> None:
    config = {"type": kind, **mode}
    assert score(config, trace_of(["a"])) == (0, False)
    assert score(config, trace_of([])) == (1, True)
    assert score(config, trace_of(["a"]), compat=True) == (1, True)
