"""Merging of summaries: the order and the grouping of the merging do not matter, sequences included."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from agentv_stages.chain.pair import Pair
from agentv_stages.figures import merge
from agentv_stages.figures.counters import ToolSums
from agentv_stages.figures.histogram import Histogram
from agentv_stages.figures.merge import By, Figures, Sequence, Summary, TokenSums, figures_of, summary_of
from agentv_stages.figures.result import Observer
from agentv_stages.model.event import SessionInfo
from agentv_stages.model.fault import Fault
from agentv_stages.model.tokens import Tokens
from agentv_stages.providers import get_provider
from agentv_stages.trajectory.json_values import is_object
from support.events import at, batch, call, end, result, usage

_names = st.sampled_from(["Read", "Bash", "Edit", "größer"])
_counts = st.dictionaries(_names, st.integers(0, 10**9), max_size=4)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    out = Histogram()
    for value in draw(st.lists(st.integers(0, 10**7), max_size=5)):
        out.add(value)
    return out


_tools = st.builds(ToolSums, *[st.integers(0, 10**6)] * 4, durations=histograms())
_tokens = st.builds(TokenSums, sums=_counts, unsure=st.integers(0, 9))
_figures = st.builds(
    Figures,
    sessions=st.integers(0, 5),
    tool_calls=st.integers(0, 10**6),
    cost_pico=st.integers(0, 10**15),
    costed=st.integers(0, 5),
    tokens=_tokens,
    by_status=_counts,
    by_kind=_counts,
    by_outcome=_counts,
    faults=_counts,
    tools=st.dictionaries(_names, _tools, max_size=3),
)
_tool_lists = st.lists(_names, max_size=5).map(tuple)
_sequences = st.lists(
    st.builds(Sequence, st.sampled_from(["a", "b", "c"]), st.integers(0, 10**6), _tool_lists), max_size=4
)
_summaries = st.builds(
    Summary,
    groups=st.dictionaries(st.sampled_from(["claude", "codex", "2026-01-01"]), _figures, max_size=3),
    sequences=_sequences.map(sorted),
)


def _merged(parts: list[Summary]) -> Summary:
    out = Summary()
    for part in parts:
        out.merge(copy.deepcopy(part))
    return out


@settings(max_examples=60, deadline=None)
@given(st.lists(_summaries, min_size=1, max_size=6), st.randoms(use_true_random=False), st.integers(0, 5))
def test_any_order_and_any_grouping_of_merges_gives_the_same(parts: list[Summary], random: object, cut: int) -> None:
    expected = _merged(parts)
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    left, right = _merged(shuffled[:cut]), _merged(shuffled[cut:])
    right.merge(left)
    assert right == expected


@given(st.dictionaries(st.tuples(_names, st.integers(0, 99)), st.lists(_names, max_size=5)), st.integers(1, 4))
def test_a_cap_on_sequences_keeps_the_first_entries_however_they_came(
    sessions: dict[tuple[str, int], list[str]], pieces: int
) -> None:
    sequences = [Sequence(source, position, tuple(tools)) for (source, position), tools in sessions.items()]
    parts = [Summary(sequences=sorted(sequences[i::pieces])) for i in range(pieces)]
    with MonkeyPatch.context() as patch:
        patch.setattr(merge, "MOST_SEQUENCE", 7)
        one = _merged(parts)
        other = _merged(parts[::-1])
        assert one.sequences == other.sequences
        assert one.truncated == other.truncated
        assert sum(len(sequence.tools) for sequence in one.sequences) <= 7


def test_merging_leaves_the_other_summary_alone() -> None:
    one = Summary({"claude": Figures(sessions=1, by_kind={"read": 1}, tools={"Read": ToolSums(calls=1)})})
    before = msgspec.json.encode(one)
    total = Summary()
    total.merge(one)
    total.merge(one)
    assert total.groups["claude"].tools["Read"].calls == 2
    assert msgspec.json.encode(one) == before


def test_money_adds_up_exactly_in_any_order() -> None:
    costs = [0.1, 0.2, 0.3, 1e-9, 123456.789]
    sums: list[float] = []
    for order in (costs, costs[::-1], sorted(costs, reverse=True)):
        total = Figures()
        for cost in order:
            total.merge(Figures(cost_pico=round(cost * 10**12), costed=1))
        sums.append(total.as_json()["cost_usd"])
    assert len(set(sums)) == 1


def test_what_no_session_told_is_null_and_never_zero() -> None:
    shown = Figures(sessions=2).as_json()
    assert shown["cost_usd"] is None
    assert shown["duration_ms"] is None
    assert shown["tokens"]["input"] is None


def test_a_placeholder_of_output_makes_the_sum_a_lower_bound() -> None:
    sums = TokenSums()
    sums.add(Tokens(input=5, output=1, unsure=1))
    sums.add(Tokens(input=5, output=10))
    assert sums.as_json()["output"] is None
    assert sums.as_json()["output_at_least"] == 11


def test_a_summary_survives_json() -> None:
    tools = ToolSums(calls=1)
    tools.durations.add(250)
    one = Summary({"x": Figures(1, tools={"Read": tools})}, [Sequence("a", 0, ("Read",))])
    assert msgspec.json.decode(msgspec.json.encode(one), type=Summary) == one


def _session(cost_usd: float | None = 0.25) -> Observer:
    provider = get_provider("claude")
    observer, pairs = Observer(provider, provider.dialects[0]), Pair()
    whole = batch(
        SessionInfo(at(0, 86_400_000), "", "s", cwd="/repo", model="big"),
        call(1, "a", "Read", "m1", kind="read", time_ms=86_401_000),
        result(2, "a", output="12345678", time_ms=86_401_500),
        call(3, "b", "Read", "m2", kind="read"),
        result(4, "b", "error"),
        call(5, "c", "Edit", "m3", kind="write", edit=True, given={"a": 1}),
        result(6, "c", "denied"),
        call(7, "d", "Bash", "m3", kind="execute"),
        usage(8, "m1", input=10, output=2, cached=4),
        end(9, cost_usd=cost_usd, duration_ms=9_000),
    )
    whole.faults.append(Fault("torn", "log", 9, 9, 9, "", b""))
    pairs.push(whole)
    observer.observe(whole)
    return observer


def test_the_figures_of_a_session_are_those_of_its_result() -> None:
    observer = _session()
    seen = observer.result(["d"]).tool_use_summary
    shown = figures_of(observer, 1, 0.5).as_json()
    for name in ("by_kind", "by_outcome"):
        assert shown[name] == {key: count for key, count in seen[name].items() if count}
    assert (shown["tool_calls"], shown["turns"], shown["edits"], shown["sessions_with_edits"]) == (4, 3, 1, 1)
    assert shown["tools"] == dict(sorted(seen["tools"].items()))
    assert shown["tools"]["Bash"]["total_ms"] is None
    assert (shown["cost_usd"], shown["sessions_with_cost"], shown["duration_ms"]) == (0.25, 1, 9_000)
    assert (shown["estimated_cost_usd"], shown["sessions_with_estimate"]) == (0.5, 1)
    assert (shown["by_status"], shown["faults"]) == ({"complete": 1}, {"torn": 1})
    assert (shown["tokens"]["input"], shown["tokens"]["output"], shown["tokens"]["cached"]) == (10, 2, 4)
    plain = figures_of(_session(None), 0).as_json()
    assert (plain["cost_usd"], plain["sessions_with_cost"], "estimated_cost_usd" in plain) == (None, 0, False)


def test_two_of_a_session_are_twice_its_figures() -> None:
    one = figures_of(_session(), 0, 0.5).as_json()
    both = Summary({"a": figures_of(_session(), 0, 0.5), "b": figures_of(_session(), 0, 0.5)}).total().as_json()

    def doubled(value: Any) -> Any:
        if is_object(value):
            return {name: inner if name in ("p50_ms", "p95_ms") else doubled(inner) for name, inner in value.items()}
        return 2 * value if isinstance(value, (int, float)) else value

    assert both == doubled(one)


@pytest.mark.parametrize(("by", "group"), [("all", "all"), ("provider", "claude")])
def test_a_session_belongs_to_a_group(by: By, group: str) -> None:
    told = summary_of(_session(), 1, "log", 3, by, sequences=True)
    assert list(told.groups) == [group]
    assert told.sequences == [Sequence("log", 3, ("Read", "Read", "Edit", "Bash"))]
    assert not told.truncated
    assert summary_of(_session(), 1, "log", by=by).sequences == []


def test_that_a_sequence_was_cut_is_not_forgotten() -> None:
    cut, whole = Summary(truncated=True), Summary(sequences=[Sequence("a", 0, ("Read",))])
    for first, second in ((cut, whole), (whole, cut)):
        assert _merged([first, second]).truncated
    with MonkeyPatch.context() as patch:
        patch.setattr(merge, "MOST_SEQUENCE", 1)
        assert _merged([whole, Summary(sequences=[Sequence("b", 0, ("Read",))])]).truncated
