"""What verdicts say beside their score: each thing that was looked at, what it took, what was missing."""

from typing import Any

import pytest

from agentv_stages.model.event import AnyEvent, SessionEnd, ToolCall, ToolResult
from agentv_stages.trajectory.verdict import MAX_ASSERTIONS, MAX_EVIDENCE, Proof, evidence_of
from support.trajectories import Trace, evaluator_of, judge, score, trace_of

READ = {"tool": "Read", "args": {"a": 1}, "max_duration_ms": 100}
STEPS: list[Any] = [READ, {"tool": "Edit"}]
NO_TRACE = ["- No trace available for evaluation"]
EXTRA: list[Any] = [("Read", {"a": 1}, 150), "Bash", "Grep"]
OTHER: list[Any] = [("Read", {"a": 2}, 50)]


def mode(name: str, steps: list[Any] = STEPS) -> dict[str, Any]:
    return {"type": "tool-trajectory", "mode": name, "expected": steps}


def told(config: dict[str, Any], events: list[AnyEvent], compat: bool = False) -> list[str]:
    return [f"{'+' if a.passed else '-'} {a.text}" for a in judge(evaluator_of(config, compat), events).assertions]


@pytest.mark.parametrize(
    ("name", "calls", "compat", "assertions"),
    [
        ("exact", EXTRA, False, ["- Expected 2 tool calls, got 3", "+ Position 0: Read",
                                 "- Read took 150ms (max: 100ms)", "- Position 1: expected Edit, got Bash"]),
        ("exact", OTHER, False, ["- Expected 2 tool calls, got 1", "- Position 0: Read args mismatch",
                                 "- Position 1: expected Edit, got nothing"]),
        ("in_order", EXTRA, False, ["+ Found Read at position 0", "- Read took 150ms (max: 100ms)",
                                    "- Expected Edit at position 1, not found in order"]),
        ("in_order", [("Read", {"a": 1}, 50)], True, ["+ Found Read at position 0",
                                                      "+ Read completed in 50ms (max: 100ms)",
                                                      "- Expected Edit at position 1, not found in remaining trace"]),
        ("in_order", OTHER, True, ["- Expected Read at position 0: tool found at 0 but args mismatch",
                                   "- Expected Edit at position 1, not found in remaining trace"]),
        ("superset", ["Bash", "Edit"], False, ["- Expected Read not found in actual trajectory",
                                               "+ Found Edit at position 1"]),
        ("subset", EXTRA, True, ["+ 1 of 3 tool calls are in allowed set",
                                 "- Position 1: Bash is not in allowed set",
                                 "- Position 2: Grep is not in allowed set"]),
        ("subset", [], False, ["+ No actual tool calls (trivially a subset)"]),
    ],
)  # fmt: skip
def test_each_step_is_told(name: str, calls: list[Any], compat: bool, assertions: list[str]) -> None:
    assert told(mode(name), trace_of(calls), compat) == assertions


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(
    ("name", "nothing"),
    [
        ("exact", "+ No tool sequence specified"),
        ("in_order", "+ No tool sequence specified"),
        ("superset", "+ No expected tools specified"),
        ("subset", "+ No actual tool calls (trivially a subset)"),
    ],
)
def test_a_trace_without_calls_is_told_from_no_trace(name: str, nothing: str, compat: bool) -> None:
    assert told(mode(name, []), trace_of([]), compat) == [nothing]
    assert told(mode(name, []), [], compat) == NO_TRACE


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"type": "forbid", "calls": ["Bash(rm *)"]}, "+ Bash(rm *) was not called"),
        ({"type": "max-repeats", "max": 3}, "+ no call came twice (at most 3 of 100)"),
        ({"type": "watched-commands", "not_used": ["rm"]}, "+ rm was run 0 times (not to be used)"),
    ],
)
def test_a_limit_that_fails_on_no_trace_says_why(config: dict[str, Any], kept: str) -> None:
    """It said `FAIL` and below it that the limit was kept."""
    assert told(config, []) == NO_TRACE
    assert told(config, trace_of([])) == [kept]


@pytest.mark.parametrize(
    "config",
    [
        mode("in_order"),
        mode("subset", []),
        {"type": "forbid", "calls": ["Bash(rm *)"]},
        {"type": "max-turns", "max": 3},
        {"type": "skill-used", "value": "csv"},
        {"type": "trajectory:tool-used", "value": "Edit"},
        {"type": "contains", "value": "done"},
        {"type": "composite", "assertions": [{"type": "contains", "value": "done"}]},
    ],
)
def test_no_trace_shows_neither_a_thing_nor_its_opposite(config: dict[str, Any]) -> None:
    """Inverted, what was not done passed though the agent had printed nothing. AgentV inverts this score, too."""
    for negate in (False, True):
        result = judge(evaluator_of({**config, "negate": negate}), [])
        assert (result.score, result.verdict) == (0, "fail")
        assert [assertion.text for assertion in result.assertions] == [NO_TRACE[0][2:]]
        assert judge(evaluator_of({**config, "negate": negate, "compat": "agentv"}), []).score == float(negate)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", ["exact", "in_order"])
def test_a_call_that_took_no_time_took_0_ms(name: str, compat: bool) -> None:
    assert "+ Read completed in 0ms (max: 100ms)" in told(mode(name), trace_of([("Read", {"a": 1}, 0)]), compat)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", ["exact", "in_order", "superset", "subset"])
def test_a_partial_result_tells_no_duration(name: str, compat: bool) -> None:
    trace = Trace().call("Read", {"a": 1}, result=False)
    call = trace.events[0]
    assert isinstance(call, ToolCall)
    partial = ToolResult(trace.source(), "-0", call.call_id, None, None, duration_ms=5, partial=True, call=call)
    slow = ToolResult(trace.source(), "-1", call.call_id, None, None, duration_ms=500, call=call)
    events: tuple[list[AnyEvent], list[AnyEvent]] = ([call, partial, slow], [call, slow])
    with_it, without = (judge(evaluator_of(mode(name), compat), given) for given in events)
    assert (with_it.score, with_it.assertions) == (without.score, without.assertions)


def test_forbidden_calls_are_told_form_by_form() -> None:
    config = {"type": "forbid", "calls": ["Read", "Bash(rm *)"]}
    assert told(config, trace_of(["Read", "Read"])) == ["- Read was called", "+ Bash(rm *) was not called"]
    assert told(config, trace_of(["Bash"])) == ["+ Read was not called", "+ Bash(rm *) was not called"]
    assert standings(config, ["Bash", "Read"]) == ["open", "violated"]
    for member in ("file_path", "path", "filePath", "notebook_path"):
        edits = {"type": "forbid", "calls": ["Edit(/etc/**)"]}
        assert told(edits, trace_of([("Edit", {member: "/etc/x"})])) == ["- Edit(/etc/**) was called"]
    (first, _) = judge(evaluator_of(config), trace_of(["Read", "Read"])).assertions
    assert [(e.row, e.tool, e.event) for e in first.evidence] == [(1, "Read", "tool_call"), (3, "Read", "tool_call")]


def test_evidence_names_the_canonical_tool_of_a_call_and_of_its_result() -> None:
    trace = Trace().call("Read", name="read_file")
    call, result = map(evidence_of, trace.events)
    assert (call.tool, result.tool, result.event) == ("Read", "Read", "tool_result")
    orphan = ToolResult(trace.source(), "-0", "x", None, None)
    assert (evidence_of(orphan).tool, evidence_of(orphan).call_id) == (None, "x")
    assert evidence_of(SessionEnd(trace.source(), "-0", "complete")).call_id is None


def test_a_full_list_makes_room_for_what_failed() -> None:
    steps: list[Any] = [{"tool": f"t{i}"} for i in range(MAX_ASSERTIONS + 5)]
    calls = [f"t{i}" for i in range(MAX_ASSERTIONS + 3)]
    result = judge(evaluator_of(mode("superset", steps)), trace_of(calls))
    assert [a.text for a in result.assertions if not a.passed] == [
        f"Expected t{i} not found in actual trajectory" for i in range(MAX_ASSERTIONS + 3, MAX_ASSERTIONS + 5)
    ]
    assert (len(result.assertions), result.assertions_truncated) == (MAX_ASSERTIONS, True)
    whole = judge(evaluator_of(mode("superset", steps[:MAX_ASSERTIONS])), trace_of(calls))
    assert (len(whole.assertions), whole.assertions_truncated) == (MAX_ASSERTIONS, False)


def test_a_list_of_failures_stays_as_it_is_when_it_is_full() -> None:
    proof = Proof()
    evidence = evidence_of(Trace().call("Read").events[0])
    for i in range(MAX_ASSERTIONS + 2):
        proof.add(f"{i} " + "x" * 5_000, False, [evidence] * 50)
    assert (len(proof.listed), proof.dropped, proof.listed[-1].text[:4]) == (MAX_ASSERTIONS, 2, "199 ")
    assert (len(proof.listed[0].text), len(proof.listed[0].evidence)) == (2_000, MAX_EVIDENCE)


def test_further_calls_are_named_a_few_of_them() -> None:
    result = judge(evaluator_of(mode("exact", [{"tool": "Read"}])), trace_of(["Read"] * 30))
    (extra, _) = result.assertions
    assert extra.text == "Expected 1 tool calls, got 30"
    assert [e.row for e in extra.evidence] == [3 + 2 * i for i in range(MAX_EVIDENCE)]


FORBID = {"type": "forbid", "calls": ["Edit"], "name": "f"}
HALF = {**mode("superset", [{"tool": "Read"}, {"tool": "Bash"}]), "name": "s"}
MEMBERS = [FORBID, HALF, {"type": "llm-grader", "prompt": "x", "name": "l"}]


@pytest.mark.parametrize(
    ("aggregator", "wanted"),
    [
        ({"type": "weighted_average"}, 0.75),
        ({"type": "weighted_average", "weights": {"f": 3, "s": 1}}, 0.875),
        ({"type": "minimum"}, 0.5),
        ({"type": "maximum"}, 1),
        ({"type": "all_or_nothing"}, 0),
        ({"type": "threshold", "threshold": 0.5}, 1),
        ({"type": "threshold", "threshold": 0.6}, 0),
    ],
)
def test_a_composite_counts_its_members_as_they_end_and_tells_what_they_say(
    aggregator: dict[str, Any], wanted: float
) -> None:
    config = {"type": "composite", "assertions": MEMBERS, "aggregator": aggregator}
    assert judge(evaluator_of(config), trace_of(["Read"])).score == wanted
    assert told(config, trace_of(["Read"])) == [
        "+ f: score 1.00",
        "+ f: Edit was not called",
        "- s: score 0.50",
        "+ s: Found Read at position 0",
        "- s: Expected Bash not found in actual trajectory",
        "+ l: skipped, it needs a model",
    ]


def test_a_composite_of_all_is_broken_by_the_first_that_fails_and_met_by_the_last_that_passes() -> None:
    config = {"type": "composite", "assertions": [HALF, FORBID], "aggregator": {"type": "all_or_nothing"}}
    assert standings(config, ["Read", "Edit", "Bash"]) == ["open", "violated", "violated"]
    both = {**mode("superset", [{"tool": "Edit"}]), "name": "e"}
    assert standings({**config, "assertions": [HALF, both]}, ["Edit", "Read", "Bash"]) == ["open", "open", "satisfied"]


def standings(config: dict[str, Any], calls: list[str]) -> list[str]:
    """Where an evaluator stands after each call."""
    evaluator, found = evaluator_of(config), list[str]()
    for call in calls:
        for event in trace_of([call]):
            evaluator.push(event)
        found.append(evaluator.standing)
    return found


@pytest.mark.parametrize("compat", [False, True])
def test_a_skill_that_was_not_loaded_is_told_with_the_calls_that_there_were(compat: bool) -> None:
    config = {"type": "skill-trigger", "skill": "csv", "should_trigger": True}
    assert told(config, trace_of(["Bash", "Edit"]), compat) == ['- Skill "csv" not found in 2 tool call(s)']
    assert told({**config, "should_trigger": False}, trace_of(["Bash"]), compat) == [
        '+ Skill "csv" correctly did not trigger'
    ]


def test_path_steps_are_told_with_their_counts() -> None:
    calls: list[Any] = [("search", {"id": 1}), ("search", {"id": 2}), "reply"]
    matched = {"type": "trajectory:tool-args-match", "value": {"name": "search", "args": {"id": 2}}}
    assert told(matched, trace_of(calls)) == ["+ search: 1 of 2 calls have the expected arguments"]
    other = {"type": "trajectory:tool-args-match", "value": {"name": "search", "args": {"id": 3}}}
    assert told(other, trace_of(calls)) == ["- search: 0 of 2 calls have the expected arguments"]
    assert len(told({"type": "trajectory:tool-used", "value": ["search", "reply", "none"]}, trace_of(calls))) == 3
    assert told(matched, []) == NO_TRACE
    result = judge(evaluator_of({"type": "trajectory:tool-used", "value": "search"}), trace_of(["search"] * 30))
    assert [e.row for e in result.assertions[0].evidence] == [1 + 2 * i for i in range(MAX_EVIDENCE)]


def test_the_members_of_a_composite_inherit_its_streams_and_its_compat() -> None:
    """They looked at the main stream only, so that a limit was kept whatever the sub-agents called."""
    limit = {"type": "execution-metrics", "max_tool_calls": 1}
    events = Trace().text().call("a", stream="sidechain:x").call("a", stream="sidechain:x").events
    composite = {"type": "composite", "assertions": [limit], "aggregator": "minimum"}
    assert score(composite, events) == (1, True)
    assert score({**composite, "streams": "all"}, events) == score({**limit, "streams": "all"}, events) == (0, False)
    own = {**composite, "streams": "all", "assertions": [{**limit, "streams": "main"}]}
    assert score(own, events) == (1, True)
    exact = {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "a"}]}
    further = Trace().call("a").call("a").events
    outer = {"type": "composite", "aggregator": "all_or_nothing", "assertions": [exact]}
    assert score(outer, further) == (0, False)
    assert score({**outer, "compat": "agentv"}, further) == (1, True)


@pytest.mark.parametrize("aggregator", ["weighted_average", "minimum", "maximum", "threshold", "all_or_nothing"])
def test_an_exact_that_fails_because_of_further_calls_does_not_pass_in_a_composite(aggregator: str) -> None:
    """All its steps are in their places, so its score is 1, and the composite passed with it."""
    exact = {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "a"}]}
    config = {"type": "composite", "aggregator": aggregator, "assertions": [exact]}
    assert score(config, trace_of(["a"])) == (1, True)
    assert score(config, trace_of(["a", "b"])) == score(exact, trace_of(["b"])) == (0, False)
    assert score({**config, "assertions": [{**exact, "negate": True}]}, trace_of(["a", "b"])) == (1, True)
