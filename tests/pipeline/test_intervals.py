"""Intervals and the permutation test: what they say, and what they do not depend on."""

import random

import pytest

from agentv_stream.reports.intervals import Cell, Certainty, certainty


def test_a_single_run_on_each_side_has_no_interval() -> None:
    assert certainty([([1.0], [2.0])]) == Certainty(too_few=True)
    assert certainty([([1.0, 2.0], [2.0, 4.0])]).over == "attempts"
    assert certainty([([1.0], [2.0]), ([1.0], [4.0])]).over == "pairs"


def test_the_interval_holds_the_true_difference_about_as_often_as_it_says() -> None:
    source = random.Random(7)
    inside = 0
    for _ in range(60):
        found = certainty([([source.gauss(10, 2)], [source.gauss(13, 2)]) for _ in range(20)], resamples=300)
        assert found.low is not None and found.high is not None
        inside += found.low <= 3 <= found.high
    assert inside >= 50


def test_the_test_finds_a_difference_where_there_is_none_about_as_rarely_as_it_says() -> None:
    source = random.Random(3)
    found = 0
    for _ in range(200):
        p = certainty([([source.random()], [source.random()]) for _ in range(8)], resamples=20).p
        assert p is not None
        found += p <= 0.05
    assert found <= 20


@pytest.mark.parametrize(
    ("cells", "p", "too_few"),
    [
        ([([0.0], [1.0])] * 2, 2 / 4, True),
        ([([0.0], [1.0])] * 5, 2 / 32, True),
        ([([0.0], [1.0])] * 6, 2 / 64, False),
        ([([0.0], [1.0])] * 5 + [([1.0], [0.0])], 14 / 64, False),
        ([([0.0] * 3, [1.0] * 3)], 2 / 20, True),
        ([([0.0] * 4, [1.0] * 4)], 2 / 70, False),
        ([([0.0, 1.0], [10.0, 10.0, 10.0])], 1 / 10, True),
        ([([5.0, 5.0], [5.0, 5.0])], 1.0, True),
    ],
)
def test_the_p_of_small_data_is_exact(cells: list[Cell], p: float, too_few: bool) -> None:
    found = certainty(cells, resamples=20)
    assert found.p == pytest.approx(p)
    assert found.too_few == too_few


def test_of_many_pairs_the_p_is_estimated() -> None:
    clear = certainty([([0.0], [1.0 + i / 50]) for i in range(30)], resamples=500)
    assert clear.p is not None and clear.p <= 0.01 and not clear.too_few
    none = certainty([([0.0], [(-1.0) ** i]) for i in range(30)], resamples=500)
    assert none.p is not None and none.p >= 0.9


def test_where_nothing_varies_there_is_no_interval() -> None:
    found = certainty([([0.1, 0.1, 0.1], [0.4])] * 8)
    assert (found.low, found.high, found.over) == (None, None, "pairs")


def test_the_order_of_pairs_and_runs_does_not_matter() -> None:
    source = random.Random(1)
    cells = [([source.random() for _ in range(3)], [source.random() for _ in range(2)]) for _ in range(7)]
    first = certainty(cells)
    source.shuffle(cells)
    for left, right in cells:
        source.shuffle(left)
        source.shuffle(right)
    assert certainty(cells) == first
