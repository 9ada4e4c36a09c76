"""Entries of a spec from Python: what is no entry is refused, a slip in a name, too."""

from types import MappingProxyType
from typing import Any

import pytest

from agentv_stages.trajectory import ConfigError, Context, Evaluator, Skipped, build

SLIPS: list[tuple[Any, str]] = [
    ({}, "a mapping with a type"),
    (None, "a mapping with a type"),
    ([], "a mapping with a type"),
    ({"type": "max-turn", "max": 5}, "no evaluator has the type 'max-turn'; there are: .*max-turns"),
    ({"type": "max-turns", "max": 5, "requierd": True}, "no field 'requierd' here; there are: .*required"),
    ({"type": "execution-metrics", "max_tool_call": 60}, "no field 'max_tool_call' here; .*max_tool_calls"),
    ({"type": "contains", "value": "x", "inverse": True}, "no field 'inverse' here; there are: .*negate"),
    ({"type": "cost", "budget": 1, "enabled": "no"}, "enabled must be true or false"),
    ({"type": "cost", "budget": 1, "threshhold": 3}, "no field 'threshhold' here; .*threshold"),
    (
        {"type": "tool-trajectory", "mode": "in_order", "expected": [{"tool": "Read", "arg": {}}]},
        "no field 'arg' here; there are: args",
    ),
]


@pytest.mark.parametrize(("entry", "told"), SLIPS)
def test_a_slip_does_not_pass_for_a_wish(entry: Any, told: str) -> None:
    """They gave evaluators without the limit, which every run passes; of an entry without a type a KeyError."""
    with pytest.raises(ConfigError, match=told):
        build(entry)


def test_an_entry_may_be_any_mapping_and_needs_no_context() -> None:
    entry = MappingProxyType({"type": "max-turns", "max": 5, "x-note": "ours"})
    one, other = build(entry), build(dict(entry), Context())
    assert isinstance(one, Evaluator)
    assert isinstance(other, Evaluator)
    assert one.terms == other.terms


def test_an_evaluator_that_is_not_enabled_is_skipped() -> None:
    """It was judged all the same."""
    assert isinstance(build({"type": "max-turns", "max": 5, "enabled": False}), Skipped)
    assert isinstance(build({"type": "max-turns", "max": 5, "enabled": True}), Evaluator)


LARGE = 10**400
TOO_LARGE: list[dict[str, Any]] = [
    {"type": "max-turns", "max": LARGE},
    {"type": "max-turns", "max": float("inf")},
    {"type": "max-turns", "max": 5, "threshold": LARGE},
    {"type": "max-repeats", "max": 1, "window": LARGE},
    {"type": "trajectory:step-count", "value": {"min": LARGE}},
    {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": LARGE}},
    {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "Read", "max_duration_ms": LARGE}]},
]


@pytest.mark.parametrize("entry", TOO_LARGE, ids=range(len(TOO_LARGE)))
def test_a_number_beyond_floats_is_refused(entry: dict[str, Any]) -> None:
    """OverflowError ended the command."""
    with pytest.raises(ConfigError, match="number"):
        build(entry)


def _entries(number: Any) -> list[dict[str, Any]]:
    """One of each field that holds a number."""
    member = {"type": "contains", "name": "m", "value": "x"}
    weighted = {"type": "weighted_average", "weights": {"m": number}}
    return [
        *({"type": kind, "max": number} for kind in ("max-turns", "first-edit-turn", "max-repeats")),
        {"type": "execution-metrics", "max_tool_calls": number},
        {"type": "latency", "threshold": number},
        {"type": "cost", "budget": number},
        {"type": "token-usage", "max_total": number},
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Read": number}},
        {"type": "tool-trajectory", "mode": "exact", "expected": [{"tool": "Read", "max_duration_ms": number}]},
        {"type": "trajectory:step-count", "value": {"type": "tool", "min": number}},
        {"type": "trajectory:tool-used", "value": {"name": "Read", "max": number}},
        {"type": "skill-used", "value": {"name": "a", "min": number, "max": number}},
        {**member, "weight": number},
        {**member, "min_score": number},
        {"type": "composite", "assertions": [member], "aggregator": weighted},
    ]


@pytest.mark.parametrize("number", ["1", True, -1, float("nan"), float("inf"), LARGE, [1]])
def test_every_field_refuses_what_is_no_number_of_its_range(number: Any) -> None:
    for entry in _entries(number):
        with pytest.raises(ConfigError, match=r"must be a (whole )?number"):
            build(entry)


def test_every_field_takes_a_whole_number_as_an_integer_or_not() -> None:
    """JavaScript, and so AgentV, knows no difference between 1 and 1.0."""
    for whole, exact in zip(_entries(1.0), _entries(1), strict=True):
        one, other = build(whole), build(exact)
        assert isinstance(one, Evaluator)
        assert isinstance(other, Evaluator)
        assert one.terms == other.terms
