"""cycles, repeated-failures, no-progress: agents that go in circles, seen while they do."""

from typing import Any

import pytest

from agentv_stages.model.event import AnyEvent, Outcome
from agentv_stages.trajectory import ConfigError, build
from agentv_stages.trajectory.stuck import MOST_KNOWN, NoProgress
from support.trajectories import Trace, evaluator_of, judge, score, standing


def told(config: dict[str, Any], events: list[AnyEvent]) -> tuple[bool, str]:
    result = judge(evaluator_of(config), events)
    (assertion,) = result.assertions
    assert assertion.passed == (result.verdict == "pass")
    return assertion.passed, assertion.text


def calls(letters: str) -> list[AnyEvent]:
    """A call for each letter, which is its argument; a capital one is made by another tool."""
    trace = Trace().text()
    for letter in letters:
        trace.call("Read" if letter.islower() else "Bash", {"q": letter})
    return trace.events


@pytest.mark.parametrize(
    ("letters", "most", "kept", "text"),
    [
        ("abab", 1, False, "Read → Read came 2 times in a row (at most 1)"),
        ("abab", 2, True, "Read → Read came 2 times in a row (at most 2)"),
        ("ababab", 2, False, "Read → Read came 3 times in a row (at most 2)"),
        ("xaBaBy", 1, False, "Read → Bash came 2 times in a row (at most 1)"),
        ("abcabc", 1, False, "Read → Read → Read came 2 times in a row (at most 1)"),
        ("aba", 1, True, "no sequence of calls came again (at most 1)"),
        ("aaaaaa", 1, True, "no sequence of calls came again (at most 1)"),
        ("abcabd", 1, True, "no sequence of calls came again (at most 1)"),
        ("abcdefabcdef", 1, True, "no sequence of calls came again (at most 1)"),
        ("abxab", 1, True, "no sequence of calls came again (at most 1)"),
        ("aabaab", 1, False, "Read → Read → Read came 2 times in a row (at most 1)"),
        ("", 1, True, "no sequence of calls came again (at most 1)"),
    ],
)
def test_a_sequence_of_calls_that_comes_again_and_again_is_a_cycle(
    letters: str, most: int, kept: bool, text: str
) -> None:
    assert told({"type": "cycles", "max": most}, calls(letters)) == (kept, text)


def test_a_longer_sequence_is_found_if_the_spec_says_so() -> None:
    assert score({"type": "cycles", "max": 1, "longest": 6}, calls("abcdefabcdef")) == (0, False)
    assert score({"type": "cycles", "max": 1, "longest": 2}, calls("abcabc")) == (1, True)
    assert score({"type": "cycles"}, calls("abab")) == (1, True)
    assert score({"type": "cycles"}, calls("ababab")) == (0, False)


def test_a_cycle_breaks_at_the_call_that_closes_it() -> None:
    evaluator = evaluator_of({"type": "cycles", "max": 1})
    for event in calls("abab"):
        evaluator.push(event)
    assert standing(evaluator) == "violated"
    assert evaluator.decided is not None and evaluator.decided.calls == 4


def test_cycles_of_named_tools_only() -> None:
    assert score({"type": "cycles", "max": 1, "tools": ["Bash"]}, calls("aXbXaXbX")) == (1, True)
    assert score({"type": "cycles", "max": 1, "tools": ["Bash"]}, calls("XaYXbY")) == (0, False)


def runs(*outcomes: Outcome, edit_before: int = -1) -> list[AnyEvent]:
    """The same command again and again; before one of them an edit that works."""
    trace = Trace().text()
    for i, outcome in enumerate(outcomes):
        if i == edit_before:
            trace.call("Edit", {"file_path": "a"})
        trace.call("Bash", {"command": "make"}, outcome=outcome)
    return trace.events


@pytest.mark.parametrize(
    ("events", "most", "kept", "text"),
    [
        (runs("error", "error"), 1, False, "the same call of Bash failed 2 times with no change between (at most 1)"),
        (runs("error", "denied"), 1, False, "the same call of Bash failed 2 times with no change between (at most 1)"),
        (runs("error"), 1, True, "the same call of Bash failed once with no change between (at most 1)"),
        (runs("error"), 0, False, "the same call of Bash failed once with no change between (at most 0)"),
        (
            runs("error", "error", edit_before=1),
            1,
            True,
            "the same call of Bash failed once with no change between (at most 1)",
        ),
        (runs("error", "ok", "error"), 1, True, "the same call of Bash failed once with no change between (at most 1)"),
        (runs("error", "cancelled"), 1, True, "the same call of Bash failed once with no change between (at most 1)"),
        (runs("ok", "ok"), 1, True, "no call failed (at most 1)"),
        (
            Trace()
            .call("Bash", {"command": "a"}, outcome="error")
            .call("Bash", {"command": "b"}, outcome="error")
            .events,
            1,
            True,
            "the same call of Bash failed once with no change between (at most 1)",
        ),
    ],
)
def test_the_same_call_that_fails_again_is_told(events: list[AnyEvent], most: int, kept: bool, text: str) -> None:
    assert told({"type": "repeated-failures", "max": most}, events) == (kept, text)


def test_an_edit_that_fails_changes_nothing() -> None:
    trace = Trace().call("Bash", {"command": "make"}, outcome="error").call("Edit", {"x": 1}, outcome="error")
    trace.call("Bash", {"command": "make"}, outcome="error")
    assert score({"type": "repeated-failures", "max": 1}, trace.events) == (0, False)


def idle(number: int) -> Trace:
    trace = Trace().text()
    for _ in range(number):
        trace.call("Bash", {"command": "sleep 1"}, output="waiting")
    return trace


def test_calls_that_bring_nothing_new_are_counted_in_a_row() -> None:
    """The first one brings an output that was not there before."""
    assert told({"type": "no-progress", "max": 3}, idle(4).events) == (
        True,
        "3 calls in a row without a new file or output (at most 3)",
    )
    assert told({"type": "no-progress", "max": 3}, idle(9).events) == (
        False,
        "4 calls in a row without a new file or output (at most 3)",
    )
    assert told({"type": "no-progress"}, []) == (False, "No trace available for evaluation")


@pytest.mark.parametrize(
    "progress",
    [
        {"tool": "Read", "files": ("new.py",)},
        {"tool": "Bash", "output": "something else"},
        {"tool": "Edit", "args": {"file_path": "known.py"}},
    ],
)
def test_a_new_file_a_new_output_or_a_change_is_progress(progress: dict[str, Any]) -> None:
    trace = idle(4)
    trace.call(**progress)
    for _ in range(3):
        trace.call("Bash", {"command": "sleep 1"}, output="waiting")
    assert score({"type": "no-progress", "max": 3}, trace.events) == (1, True)
    stale = idle(4)
    stale.call("Read", output="waiting", files=())
    assert score({"type": "no-progress", "max": 3}, stale.events) == (0, False)


def test_a_failed_edit_without_a_new_message_is_no_progress() -> None:
    trace = idle(4)
    trace.call("Edit", {"file_path": "a"}, output="waiting", outcome="error")
    assert score({"type": "no-progress", "max": 3}, trace.events) == (0, False)


def test_what_is_remembered_is_bounded() -> None:
    rule = NoProgress(3)
    trace = Trace()
    for i in range(MOST_KNOWN + 50):
        trace.call("Bash", output=i)
    for event in trace.events:
        rule.observe(event)
    assert len(rule.state.known) == MOST_KNOWN


@pytest.mark.parametrize("kind", ["cycles", "repeated-failures", "no-progress"])
def test_they_are_required_and_look_at_the_main_stream_unless_told(kind: str) -> None:
    evaluator = evaluator_of({"type": kind})
    assert evaluator.terms.required
    trace = Trace().text()
    for _ in range(30):
        for tool in ("Read", "Bash"):
            trace.call(tool, {"q": 1}, output="x", outcome="error", stream="sidechain:a")
    assert score({"type": kind}, trace.events) == (1, True)
    assert score({"type": kind, "streams": "all"}, trace.events) == (0, False)


@pytest.mark.parametrize(
    "config",
    [
        {"type": "cycles", "max": 0},
        {"type": "cycles", "longest": 1},
        {"type": "cycles", "longest": 101},
        {"type": "no-progress", "max": -1},
        {"type": "repeated-failures", "max": 1.5},
        {"type": "no_progress", "window": 3},
    ],
)
def test_wrong_settings_are_errors(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        build(config)
