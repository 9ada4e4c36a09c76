"""Steps, minimums and forbidden calls that say how the call ended, and on which stream it was."""

from typing import Any

import pytest

from agentv_stages.model.event import Outcome, ToolCall
from agentv_stages.trajectory import ConfigError, build
from support.trajectories import Trace, evaluator_of, judge, score, standing

MODES = ("in_order", "exact", "superset", "subset", "any_order")


def one(outcome: Outcome = "ok", exit_code: int | None = None, ms: int | None = None, stream: str = "main") -> Trace:
    args = {"command": "make"}
    return Trace().call("Bash", args, ms, outcome=outcome, exit_code=exit_code, stream=stream, command="make")


def expecting(mode: str, **step: Any) -> dict[str, Any]:
    return {"type": "tool-trajectory", "mode": mode, "expected": [{"tool": "Bash", **step}]}


ENDINGS: list[tuple[dict[str, Any], Trace, bool]] = [
    ({"outcome": "ok"}, one("ok"), True),
    ({"outcome": "ok"}, one("error"), False),
    ({"outcome": "error"}, one("error"), True),
    ({"outcome": ["denied", "cancelled"]}, one("cancelled"), True),
    ({"outcome": ["denied", "cancelled"]}, one("error"), False),
    ({"exit_code": 0}, one(exit_code=0), True),
    ({"exit_code": 0}, one("error", 2), False),
    ({"exit_code": [1, 2]}, one("error", 2), True),
    ({"exit_code": 0}, one("ok"), False),
    ({"max_ms": 50}, one(ms=50), True),
    ({"max_ms": 50}, one(ms=51), False),
    ({"max_ms": 50}, one(), False),
    ({"outcome": "error", "exit_code": 1, "max_ms": 9}, one("error", 1, 9), True),
    ({"outcome": "error", "exit_code": 1, "max_ms": 9}, one("error", 1, 10), False),
    ({"stream": "main"}, one(), True),
    ({"stream": "sub"}, one(stream="sidechain:a"), True),
    ({"stream": "sidechain:*"}, one(stream="sidechain:a"), True),
    ({"stream": "sidechain:b"}, one(stream="sidechain:a"), False),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("ending", "trace", "fits"), ENDINGS)
def test_a_step_of_every_mode_says_how_its_call_ended(
    mode: str, ending: dict[str, Any], trace: Trace, fits: bool
) -> None:
    if mode == "subset" and "stream" in ending and not fits:
        fits = True  # a call of a stream that nothing names is not looked at
    assert score(expecting(mode, **ending), trace.events)[1] == fits


@pytest.mark.parametrize(("ending", "trace", "fits"), ENDINGS)
def test_a_minimum_says_how_its_calls_ended(ending: dict[str, Any], trace: Trace, fits: bool) -> None:
    config = {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Bash": {"min": 1, **ending}}}
    assert score(config, trace.events)[1] == fits
    assert score({**config, "minimums": {"kind:execute": ending}}, trace.events)[1] == fits


@pytest.mark.parametrize(("ending", "trace", "fits"), [e for e in ENDINGS if "max_ms" not in e[0]])
def test_forbid_says_how_a_call_must_not_end(ending: dict[str, Any], trace: Trace, fits: bool) -> None:
    config = {"type": "forbid", "calls": [{"call": "Bash(make)", **ending}]}
    assert score(config, trace.events)[1] != fits


@pytest.mark.parametrize(("ms", "kept"), [(50, True), (51, False), (None, True)])
def test_in_forbid_max_ms_is_how_long_a_call_may_take(ms: int | None, kept: bool) -> None:
    config = {"type": "forbid", "calls": [{"call": "Bash", "max_ms": 50}]}
    assert score(config, one(ms=ms).events)[1] == kept


def test_a_later_call_that_ended_well_is_found() -> None:
    """A failed test run and a later one that passes: the step is the later one."""
    trace = one("error").call("Edit").call("Bash", outcome="ok")
    steps = [{"tool": "Edit"}, {"tool": "Bash", "outcome": "ok"}]
    assert score({"type": "tool-trajectory", "mode": "in_order", "expected": steps}, trace.events) == (1, True)
    assert score({"type": "tool-trajectory", "mode": "in_order", "expected": steps[::-1]}, trace.events) == (0.5, False)


def test_a_call_without_a_result_is_unpaired_at_the_end() -> None:
    trace = Trace().text().call("Bash", result=False)
    assert score(expecting("superset", outcome="ok"), trace.events) == (0, False)
    assert score(expecting("exact", outcome="unpaired"), trace.events) == (1, True)


@pytest.mark.parametrize(
    ("config", "outcome", "wanted"),
    [
        (expecting("exact", outcome="ok"), "error", ["open", "violated"]),
        (expecting("superset", outcome="ok"), "ok", ["open", "satisfied"]),
        (expecting("in_order", outcome="error"), "error", ["open", "satisfied"]),
        ({**expecting("subset", outcome="ok"), "threshold": 1}, "error", ["open", "violated"]),
        (
            {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Bash": {"outcome": "ok"}}},
            "ok",
            ["open", "satisfied"],
        ),
        ({"type": "forbid", "calls": [{"call": "Bash", "outcome": "error"}]}, "error", ["open", "violated"]),
    ],
)
def test_the_result_decides_as_soon_as_it_comes(config: dict[str, Any], outcome: Outcome, wanted: list[str]) -> None:
    evaluator = evaluator_of(config)
    found: list[str] = []
    for event in one(outcome).events:
        evaluator.push(event)
        found.append(standing(evaluator))
    assert found == wanted


def test_results_in_another_order_than_calls_change_nothing() -> None:
    trace = Trace().call("Read", result=False).call("Bash", result=False)
    first, second = trace.events
    assert isinstance(first, ToolCall) and isinstance(second, ToolCall)
    trace.result(second, outcome="error").result(first, outcome="ok")
    steps = [{"tool": "Read", "outcome": "ok"}, {"tool": "Bash", "outcome": "error"}]
    for mode in MODES:
        assert score({"type": "tool-trajectory", "mode": mode, "expected": steps}, trace.events) == (1, True)


def test_a_stream_that_a_step_names_is_looked_at_and_the_other_steps_stay_on_theirs() -> None:
    trace = Trace().call("Read", stream="sidechain:a").call("Bash")
    steps = [{"tool": "Read", "stream": "sub"}, {"tool": "Bash"}]
    assert score({"type": "tool-trajectory", "mode": "exact", "expected": steps}, trace.events) == (1, True)
    assert score({"type": "tool-trajectory", "mode": "superset", "expected": ["Read", steps[0]]}, trace.events) == (
        0.5,
        False,
    )


def test_what_the_log_does_not_say_is_a_warning() -> None:
    for config in (
        expecting("superset", exit_code=0),
        expecting("in_order", exit_code=0),
        expecting("exact", exit_code=0),
        expecting("subset", exit_code=0),
        expecting("any_order", exit_code=0),
        {"type": "forbid", "calls": [{"call": "Bash", "exit_code": 1}]},
    ):
        (warning,) = judge(evaluator_of(config), one().events).warnings
        assert warning.startswith("No exit code in the log for Bash")


def test_the_assertion_says_how_the_call_ended() -> None:
    result = judge(evaluator_of(expecting("exact", outcome="ok")), one("error").events)
    assert [a.text for a in result.assertions] == ["Position 0: expected Bash (ok), the call ended error"]
    result = judge(
        evaluator_of({"type": "forbid", "calls": [{"call": "Bash", "outcome": "error"}]}), one("error").events
    )
    assert [a.text for a in result.assertions] == ["Bash (error) was called"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"outcome": "eror"}, "unknown outcome 'eror'"),
        ({"exit_code": "0"}, "exit_code must be a whole number"),
        ({"exit_code": True}, "exit_code must be a whole number"),
        ({"max_ms": -1}, "max_ms must be a number from 0"),
        ({"stream": ""}, "stream must be main, sub, or the name of a stream"),
    ],
)
def test_a_wrong_condition_is_an_error(step: dict[str, Any], said: str) -> None:
    for config in (
        expecting("exact", **step),
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Bash": step}},
        {"type": "forbid", "calls": [{"call": "Bash", **step}]},
    ):
        with pytest.raises(ConfigError, match=said):
            build(config)


def test_agentv_has_no_such_conditions() -> None:
    with pytest.raises(ConfigError, match="AgentV has no outcome"):
        build({**expecting("exact", outcome="ok"), "compat": "agentv"})


@pytest.mark.parametrize("item", [{}, {"call": ""}, {"call": 3}, {"form": "Bash"}, {"call": "Bash", "args": {}}])
def test_a_forbidden_call_with_conditions_names_the_call(item: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        build({"type": "forbid", "calls": [item]})
