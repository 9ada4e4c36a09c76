"""A mergeable histogram of durations; its quantiles are exact to within 1 %, its size is bounded."""

from math import ceil, exp, log

from msgspec import Struct

_STEP = log(1.02)  # a bucket spans 2 %; its middle is within 1 % of every value in it
_KEYS: dict[int, int] = {}


class Histogram(Struct):
    """Counts by bucket; `total` is the exact sum in ms. Values under 1 ms count as 0."""

    counts: dict[int, int] = {}
    count: int = 0
    total: int = 0

    def add(self, value_ms: int) -> None:
        key = _KEYS.get(value_ms)
        if key is None:
            key = -1 if value_ms < 1 else int(log(value_ms) / _STEP)
            if value_ms < 4096:
                _KEYS[value_ms] = key
        self.counts[key] = self.counts.get(key, 0) + 1
        self.count += 1
        self.total += value_ms

    def merge(self, other: "Histogram") -> None:
        counts = self.counts
        if counts:
            for key, n in other.counts.items():
                counts[key] = counts.get(key, 0) + n
        else:
            self.counts = other.counts.copy()
        self.count += other.count
        self.total += other.total

    def quantile(self, q: float) -> float | None:
        """The value in ms below which the share `q` of all values lies; None without values."""
        if not self.count:
            return None
        rank = max(1, ceil(q * self.count - 1e-9))  # the nearest rank
        for key in sorted(self.counts):
            rank -= self.counts[key]
            if rank <= 0:
                middle = 0.0 if key < 0 else exp((key + 0.5) * _STEP)
                return float(round(middle)) if middle < 50 else round(middle, 2)  # under 50 a bucket has one whole ms
        raise AssertionError("counts and count disagree")
