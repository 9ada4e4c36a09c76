"""Chains of stages, and the rule that a stage is flushed once."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentv_stages.chain.pair import Pair
from agentv_stages.model.stage import Chain, Flushed, Stateful


class Held:
    """Gives each item when the next one comes; the last at the flush."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: list[str] = []
        self.flushed = Flushed()

    def push(self, item: str, /) -> Iterable[str]:
        out, self.held = self.held, [item + self.name]
        return out

    def flush(self) -> Iterable[str]:
        self.flushed.once()
        return self.held


class Twice:
    def push(self, item: str, /) -> Iterable[str]:
        return (item, item.upper())

    def flush(self) -> Iterable[str]:
        return ("end",)


@given(st.lists(st.text("abc", min_size=1, max_size=2)))
def test_a_chain_gives_what_its_stages_give_one_behind_the_other(items: list[str]) -> None:
    chain = Chain(Held("1"), Twice(), Held("2"))
    out = [made for item in items for made in chain.push(item)]
    out += chain.flush()
    doubled = [made for item in items for made in (item + "1", (item + "1").upper())]
    assert out == [f"{made}2" for made in [*doubled, "end"]]


def test_what_a_stage_held_goes_through_those_behind_it() -> None:
    chain = Chain(Held("1"), Held("2"), Held("3"))
    assert chain.push("x") == []
    assert chain.flush() == ["x123"]


def test_a_chain_of_nothing_hands_on() -> None:
    assert Chain().push(5) == [5]
    assert Chain().flush() == []


def test_a_chain_is_a_stage() -> None:
    inner = Chain(Held("1"), Twice())
    outer = Chain(inner, Held("2"))
    assert [*outer.push("a"), *outer.flush()] == ["a12", "A12", "end2"]


def test_a_second_flush_is_refused() -> None:
    chain = Chain(Held("1"))
    chain.flush()
    with pytest.raises(RuntimeError, match="flush called twice"):
        chain.flush()


def test_stages_with_snapshots_can_be_told_from_others() -> None:
    assert isinstance(Pair(), Stateful)
    assert not isinstance(Twice(), Stateful)
