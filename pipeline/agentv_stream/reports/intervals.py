"""How certain a difference is. In: the figures of both sides, pair by pair. Out: an interval, and an exact test.

Everything depends on the figures alone, not on the order in which they were read or on the names of files.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import comb, fsum, isclose, sqrt
from typing import NamedTuple, TypeAlias

RESAMPLES = 5_000
CONFIDENCE = 0.95
MOST_EXACT = 20_000
"""Arrangements that the test goes through one by one; of more, RESAMPLES random ones."""
NOISE = 1e-12
"""Sums of fractions that differ by less, in relation to their size, are equal: 0.1 three times is 0.3."""

Cell: TypeAlias = tuple[Sequence[float], Sequence[float]]
"""The figures of one pair: those of the baseline's runs, those of the other approach's."""


class Certainty(NamedTuple):
    """`low` and `high` bound the mean difference with 95 %, None if the data cannot: there is one run on each side, or
    every resample is the same. `over` names the resampled units, `pairs` or `attempts`, None for one run on each side.

    `p` is the share of arrangements that differ at least as much, if approaches had no effect; `too_few`: even the
    clearest data would not get it to 5 %.
    """

    low: float | None = None
    high: float | None = None
    over: str | None = None
    p: float | None = None
    too_few: bool = False


def certainty(cells: Sequence[Cell], resamples: int = RESAMPLES, seed: int = 0) -> Certainty:
    """How certain the mean difference over pairs is. With a single pair its attempts are resampled."""
    ordered = sorted((sorted(left), sorted(right)) for left, right in cells)
    if len(ordered) < 2 and min(map(len, ordered[0])) < 2:
        return Certainty(too_few=True)
    scale = max(abs(value) for cell in ordered for side in cell for value in side)
    low, high = _bootstrap(ordered, resamples, random.Random(seed))
    p, fewest = _test(ordered, resamples, random.Random(seed), scale)
    over = "pairs" if len(ordered) > 1 else "attempts"
    if isclose(low, high, rel_tol=0, abs_tol=NOISE * scale):
        return Certainty(None, None, over, p, fewest > 1 - CONFIDENCE)
    return Certainty(settled(low, scale), settled(high, scale), over, p, fewest > 1 - CONFIDENCE)


def share_interval(part: int, whole: int) -> tuple[float, float]:
    """The bounds, with 95 %, of a share of which `part` of `whole` were seen (Wilson's score interval)."""
    z = 1.959963984540054
    share = part / whole
    middle = share + z * z / (2 * whole)
    spread = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    below = 1 + z * z / whole
    low, high = (middle - spread) / below, (middle + spread) / below
    return 0.0 if part == 0 else low, 1.0 if part == whole else high


def settled(value: float, scale: float) -> float:
    """The value, 0 where it is only the noise of sums."""
    return 0.0 if abs(value) <= NOISE * scale else value


def average(values: Iterable[float]) -> float:
    """The mean, the same in any order."""
    known = list(values)
    return fsum(known) / len(known)


def _bootstrap(cells: Sequence[Cell], resamples: int, source: random.Random) -> tuple[float, float]:
    """Percentile bounds. Pairs are drawn with replacement, and within each drawn pair its runs."""
    size = sum(len(left) + len(right) for left, right in cells)
    rounds = resamples if size <= 400 else max(200, resamples * 400 // size)
    means: list[float] = []
    for _ in range(rounds):
        deltas = [
            sum(source.choices(right, k=len(right))) / len(right) - sum(source.choices(left, k=len(left))) / len(left)
            for left, right in source.choices(cells, k=len(cells))
        ]
        means.append(sum(deltas) / len(deltas))
    means.sort()
    cut = int((1 - CONFIDENCE) / 2 * rounds)
    return means[cut], means[rounds - 1 - cut]


def _test(cells: Sequence[Cell], resamples: int, source: random.Random, scale: float) -> tuple[float, float]:
    """The permutation test, and the smallest p that so many figures can have.

    If an approach has no effect, each pair's difference could as well have the other sign; with a single pair each run
    could as well be of the other approach.
    """
    if len(cells) > 1:
        deltas = [average(right) - average(left) for left, right in cells]
        number, mirrored = 2 ** len(deltas), True
        observed = abs(fsum(deltas))
        signs = product((1, -1), repeat=len(deltas)) if number <= MOST_EXACT else _signs(len(deltas), resamples, source)
        sums = (sum(sign * delta for sign, delta in zip(chosen, deltas, strict=True)) for chosen in signs)
        noise = NOISE * scale * len(deltas)
    else:
        left, right = cells[0]
        together = [*left, *right]
        number = comb(len(together), len(left))
        mirrored = len(left) == len(right)
        whole = fsum(together)
        exact = combinations(together, len(left))
        chosen = exact if number <= MOST_EXACT else (source.sample(together, len(left)) for _ in range(resamples))
        observed = abs(average(right) - average(left))
        sums = ((whole - (half := sum(part))) / len(right) - half / len(left) for part in chosen)
        noise = NOISE * scale * len(together)
    seen = extreme = 0
    for total in sums:
        seen += 1
        extreme += abs(total) >= observed - noise
    return (extreme / seen if number <= MOST_EXACT else (extreme + 1) / (seen + 1)), min(1.0, (1 + mirrored) / number)


def _signs(length: int, number: int, source: random.Random) -> Iterable[Sequence[int]]:
    return (source.choices((1, -1), k=length) for _ in range(number))
