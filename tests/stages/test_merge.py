"""Merging of summaries: the order and the grouping of the merging do not matter, sequences included."""

import copy

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from agentv_stages import merge
from agentv_stages.histogram import Histogram
from agentv_stages.merge import Figures, Sequence, Summary, TokenSums, ToolSums
from agentv_stages.totals import Tokens

_names = st.sampled_from(["Read", "Bash", "Edit", "größer"])
_counts = st.dictionaries(_names, st.integers(0, 10**9), max_size=4)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    out = Histogram()
    for value in draw(st.lists(st.integers(0, 10**7), max_size=5)):
        out.add(value)
    return out


_tools = st.builds(ToolSums, *[st.integers(0, 10**6)] * 4, durations=histograms())
_tokens = st.builds(TokenSums, sums=_counts, told=_counts, unsure=st.integers(0, 9))
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
