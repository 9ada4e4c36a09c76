"""Structs that read like mappings: attributes and keys say the same."""

from collections.abc import Mapping

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from agentv_stages.figures.stats import Stats
from agentv_stages.figures.summary import ToolUseSummary, typed
from agentv_stages.model.keyed import Keyed


class Figures(Keyed, frozen=True):
    calls: int
    cost: float | None
    bound: int | UnsetType = UNSET


def test_members_are_read_as_attributes_and_by_key() -> None:
    figures = Figures(3, None)
    assert (figures.calls, figures["calls"], figures.get("cost", 1)) == (3, 3, None)
    assert dict(figures) == dict(**figures) == figures.as_dict() == {"calls": 3, "cost": None}
    assert list(figures.values()) == [3, None]
    assert isinstance(figures, Mapping)
    assert repr(figures) == "{'calls': 3, 'cost': None}"


@pytest.mark.parametrize("name", ["bound", "no_such", "keys", "__class__"])
def test_what_is_no_member_has_no_key(name: str) -> None:
    figures = Figures(3, None)
    assert name not in figures
    assert figures.get(name, "default") == "default"
    with pytest.raises(KeyError, match=name):
        figures[name]
    assert Figures(3, None, 2)["bound"] == 2


def test_it_equals_a_mapping_with_the_same_members() -> None:
    assert Figures(3, None) == {"calls": 3, "cost": None} == Figures(3, None)
    assert Figures(3, None) != {"calls": 3}
    assert Figures(3, None, 1) != Figures(3, None)
    assert Figures(3, None) != 3


def test_a_summary_is_typed_in_all_its_parts() -> None:
    stats = Stats(("make",))
    summary = typed(stats.summary())
    assert summary == msgspec.json.decode(msgspec.json.encode(summary), type=ToolUseSummary)
    assert (summary.by_kind.read, summary["by_kind"]["read"], summary.by_stream["main"].turns) == (0, 0, 0)
    assert summary.as_dict() == stats.summary()
    assert "first edit in turn None" in repr(summary)


def test_a_summary_without_lists_has_no_keys_for_them() -> None:
    summary = typed(Stats().summary(lists=False))
    assert "tool_sequence" not in summary
    assert b"tool_sequence" not in msgspec.json.encode(summary)


def test_unequal_is_the_contrary_of_equal() -> None:
    by_kind = typed(Stats().summary()).by_kind
    same = dict(by_kind.items())
    assert (by_kind == same, by_kind != same) == (True, False)
    assert (by_kind == {**same, "read": 1}, by_kind != {**same, "read": 1}) == (False, True)
