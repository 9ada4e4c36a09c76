"""trajectory:tool-used, tool-args-match, tool-sequence, step-count: AgentV's tests and the differences of compat."""

from typing import Any

import pytest
from msgspec import Raw, json

from agentv_stages.model.event import AnyEvent, Reasoning
from agentv_stages.trajectory import ConfigError
from support.trajectories import Trace, evaluator_of, judge, score, trace_of


def orders() -> list[AnyEvent]:
    made = Trace().text()
    made.call("search_orders", {"order_id": "123", "page": 1, "request_id": "r"})
    made.call("search_orders", {"order_id": "456", "page": 2})
    made.call("compose_reply", {"text": "hi"})
    made.call("Bash", {"cmd": "npm test"}, name="exec_command", command="npm test")
    return made.events


ARGS = {"name": "search_orders", "args": {"order_id": "123"}}


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
@pytest.mark.parametrize(
    ("kind", "value", "inverse", "passes"),
    [
        ("tool-used", "search_orders", False, True),
        ("tool-used", ["search_orders", "compose_reply"], False, True),
        ("tool-used", ["search_orders", "missing"], False, False),
        ("tool-used", {"pattern": "search*", "min": 2, "max": 2}, False, True),
        ("tool-used", {"pattern": "SEARCH*", "max": 1}, False, False),
        ("tool-used", "delete_order", True, True),
        ("tool-used", ["delete_order", "search_orders"], True, False),
        ("tool-args-match", ARGS, False, True),
        ("tool-args-match", {**ARGS, "mode": "exact"}, False, False),
        (
            "tool-args-match",
            {**ARGS, "mode": "exact", "defaults": {"page": 1}, "ignore": ["request_id"]},
            False,
            True,
        ),
        ("tool-args-match", {"name": "search_orders", "arguments": {"order_id": "9"}}, True, True),
        ("tool-sequence", ["search_orders", "compose_reply"], False, True),
        ("tool-sequence", ["compose_reply", "search_orders"], False, False),
        ("tool-sequence", {"steps": ["search_orders", "compose_reply"], "mode": "exact"}, False, False),
        ("tool-sequence", {"steps": ["search_orders", "missing", "compose_reply"]}, False, False),
        ("step-count", {"type": "tool", "min": 3}, False, True),
        ("step-count", {"type": "command", "pattern": "npm*", "min": 1, "max": 1}, False, True),
        ("step-count", {"type": "message", "min": 1, "max": 1}, False, True),
        ("step-count", {"type": "tool", "max": 2}, True, True),
    ],
)
def test_case_table(kind: str, value: Any, inverse: bool, passes: bool, compat: bool) -> None:
    config = {"type": f"trajectory:{kind}", "value": value, "inverse": inverse}
    assert score(config, orders(), compat) == (float(passes), passes)


def test_a_command_is_a_tool_too_but_not_in_compat() -> None:
    config = {"type": "trajectory:tool-used", "value": "exec_command"}
    assert score(config, orders()) == (1, True)
    assert score(config, orders(), compat=True) == (0, False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tool-used", {"name": "x", "min": 1}),
        ("tool-args-match", {"name": "x", "args": {}}),
        ("tool-sequence", {"steps": ["x"]}),
        ("step-count", {"name": "x", "min": 1}),
    ],
)
def test_no_trace_fails_with_and_without_inverse(kind: str, value: Any) -> None:
    for inverse in (False, True):
        assert score({"type": f"trajectory:{kind}", "value": value, "inverse": inverse}, []) == (0, False)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tool-used", None),
        ("tool-used", {}),
        ("tool-args-match", {"name": "x"}),
        ("tool-args-match", "x"),
        ("tool-args-match", {"name": "x", "args": {}, "mode": "fuzzy"}),
        ("tool-sequence", []),
        ("tool-sequence", {"steps": ["a"], "mode": "any"}),
        ("step-count", {"type": "tool"}),
        ("step-count", {"type": "thing", "min": 1}),
        ("step-count", {"min": 3, "max": 1}),
    ],
)
def test_bad_values_are_refused(kind: str, value: Any) -> None:
    with pytest.raises(ConfigError):
        evaluator_of({"type": f"trajectory:{kind}", "value": value})


def test_verdicts_fall_as_soon_as_they_can() -> None:
    used = evaluator_of({"type": "trajectory:tool-used", "value": "a"})
    most = evaluator_of({"type": "trajectory:tool-used", "value": {"name": "a", "max": 1}})
    never = evaluator_of({"type": "trajectory:tool-used", "value": "a", "inverse": True})
    exact = evaluator_of({"type": "trajectory:tool-sequence", "value": {"steps": ["b"], "mode": "exact"}})
    for event in Trace().call("a").events:
        for evaluator in (used, most, never, exact):
            evaluator.push(event)
    assert [e.standing for e in (used, most, never, exact)] == ["satisfied", "open", "violated", "violated"]
    for event in Trace().call("a").events:
        most.push(event)
    assert most.standing == "violated"


def test_any_tool_at_all_may_be_counted_by_a_star() -> None:
    config = {"type": "trajectory:tool-used", "value": {"name": "*", "min": 2}}
    assert score(config, trace_of(["Read"])) == (0, False)
    assert score(config, trace_of(["Read", "Edit"])) == (1, True)


@pytest.mark.parametrize("kind", ["message", "reasoning"])
def test_an_answer_is_one_step_of_its_type_whatever_stands_between_its_blocks(kind: str) -> None:
    trace = Trace()
    for stream in ("main", "sidechain:s", "main", "sidechain:s"):
        trace.events.append(Reasoning(trace.source(stream), "-0", "one", Raw(b'"hm"')))
        trace.text(message_id="one", stream=stream)
    for streams, number in (("main", 1), ("all", 2)):
        value = {"type": kind, "min": number, "max": number}
        config = {"type": "trajectory:step-count", "value": value, "streams": streams}
        assert score(config, trace.events) == (1, True)


def test_many_answers_are_counted_also_after_a_restart() -> None:
    config = {"type": "trajectory:step-count", "value": {"type": "message", "min": 3_000, "max": 3_000}}
    first, second = evaluator_of(config), evaluator_of(config)
    trace = Trace()
    for i in range(3_000):
        trace.text(message_id=f"m{i}").text(message_id=f"m{max(0, i - 1_000)}")
    for event in trace.events[:3_000]:
        first.push(event)
    second.restore(json.decode(json.encode(first.snapshot())))
    assert judge(second, trace.events[3_000:]).score == 1
