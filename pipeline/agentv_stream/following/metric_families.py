"""Families of metrics in Prometheus' text format (version 0.0.4): counters, gauges, histograms with bounded labels."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

PREFIX = "agentv_stream_"
MOST_SERIES = 1_000  # of one family; further ones are added up under `OTHER`
LONGEST_LABEL = 100
OTHER = "other"

Labels: TypeAlias = tuple[str, ...]
Kind: TypeAlias = Literal["counter", "gauge", "histogram"]


class Counter:
    """Sums by label values. The first `MOST_SERIES` combinations are kept; `free` names the labels that become `other`
    in all further ones: those whose values come from logs.

    A sum may be corrected downwards: what `series` returns then stays until the sum has passed it.
    """

    def __init__(self, labels: Sequence[str], free: Iterable[str] = ()) -> None:
        self.labels = tuple(labels)
        self._free = tuple(label in free for label in labels)
        self._sums: dict[Labels, float] = {}
        self._shown: dict[Labels, float] = {}

    def add(self, values: Labels, amount: float = 1) -> None:
        """Adds to the sum of a combination of label values; `amount` may be negative."""
        values = bounded(values, self._free, self._sums)
        self._sums[values] = self._sums.get(values, 0) + amount

    def series(self) -> list[tuple[dict[str, str], float]]:
        """The sums by labels; none is less than it was before."""
        for values, amount in list(self._sums.items()):
            self._shown[values] = max(self._shown.get(values, 0), amount)
        return [(dict(zip(self.labels, values, strict=True)), n) for values, n in sorted(self._shown.items())]


def bounded(values: Labels, free: Sequence[bool], known: Mapping[Labels, object]) -> Labels:
    """The label values to count under: long ones are cut, and past `MOST_SERIES` the free ones are `other`."""
    values = tuple(value[:LONGEST_LABEL] for value in values)
    if values in known or len(known) < MOST_SERIES:
        return values
    return tuple(OTHER if is_free else value for value, is_free in zip(values, free, strict=True))


class Histogram:
    """Counts of values by one label, in buckets with the upper `bounds`."""

    def __init__(self, label: str, bounds: Sequence[float]) -> None:
        self.label, self.bounds = label, tuple(bounds)
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, value_of_label: str, value: float) -> None:
        counts = self._counts.setdefault(value_of_label, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self._sums[value_of_label] = self._sums.get(value_of_label, 0) + value

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        """Samples as (suffix, labels, value), the buckets cumulative."""
        out: list[tuple[str, dict[str, str], float]] = []
        for value, counts in sorted(self._counts.items()):
            total = 0
            for bound, count in zip((*map(str, self.bounds), "+Inf"), list(counts), strict=True):
                total += count
                out.append(("_bucket", {self.label: value, "le": bound}, total))
            out += [("_sum", {self.label: value}, self._sums[value]), ("_count", {self.label: value}, total)]
        return out


class Page:
    """The text of all families."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: Kind, text: str, *values: tuple[Mapping[str, str], float]) -> None:
        """A family whose name lacks the prefix, with its samples."""
        self._samples(name, kind, text, (("", labels, value) for labels, value in values))

    def histogram(self, name: str, text: str, values: Histogram) -> None:
        self._samples(name, "histogram", text, values.samples())

    def _samples(
        self, name: str, kind: Kind, text: str, samples: Iterable[tuple[str, Mapping[str, str], float]]
    ) -> None:
        self._lines += [f"# HELP {PREFIX}{name} {text}", f"# TYPE {PREFIX}{name} {kind}"]
        for suffix, labels, value in samples:
            shown = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
            self._lines.append(f"{PREFIX}{name}{suffix}{'{' + shown + '}' if shown else ''} {value:.15g}")

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
