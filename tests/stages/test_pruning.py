"""The member that a validation error names is taken out, and nothing else."""

from typing import Any

import msgspec
import pytest
from msgspec import Struct, field

from agentv_stages.chain.pruning import prune


class Inner(Struct):
    x: int = 0


class Dotted(Struct):
    inner: Inner | None = field(name="example.com/v1.2", default=None)


class Outer(Struct):
    dotted: list[Dotted] | None = None
    one: Inner | None = None
    many: list[Inner] | None = None
    named: dict[str, Inner] | None = None
    lists: dict[str, list[Inner]] | None = None


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"one": {"x": "s", "y": 1}}, {"one": {"y": 1}}),
        ({"many": [{"x": 1}, 7, {"x": 2}]}, {"many": [{"x": 1}, {"x": 2}]}),
        ({"many": [{"x": 1}, {"x": [0], "y": 1}]}, {"many": [{"x": 1}, {"y": 1}]}),
        ({"named": {"a.b": 7, "c": {"x": 1}}}, {"named": {"c": {"x": 1}}}),
        ({"named": {"a": {"x": "s"}, "c": {"x": 1}}}, {"named": {"a": {}, "c": {"x": 1}}}),
        ({"lists": {"a": [{"x": 1}], "b": [None, {"x": 2}]}}, {"lists": {"a": [{"x": 1}], "b": [{"x": 2}]}}),
        ({"many": [7, {"x": 1}, 8, None]}, {"many": [{"x": 1}, None]}),
        ({"many": 7}, {}),
        ({"dotted": [{}, {"example.com/v1.2": {"x": "s", "y": 1}}]}, {"dotted": [{}, {"example.com/v1.2": {"y": 1}}]}),
        ({"dotted": [{"example.com/v1.2": 7, "z": 1}]}, {"dotted": [{"z": 1}]}),
    ],
)
def test_only_what_does_not_fit_is_removed(given: dict[str, Any], left: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(given, Outer)
    assert prune(given, str(refused.value))
    assert given == left


def test_a_message_without_a_place_removes_nothing() -> None:
    given: dict[str, Any] = {"x": 1}
    assert not prune(given, "Expected `object`, got `int`")
    assert not prune(given, "Expected `int`, got `str` - at `$.y.z`")
    assert given == {"x": 1}
    given = {"many": [{"x": 1}]}
    assert not prune(given, "Expected `int`, got `str` - at `$.many[1].x`")
    assert not prune(given, "Expected `object`, got `int` - at `$.many[1]`")
    assert given == {"many": [{"x": 1}]}
