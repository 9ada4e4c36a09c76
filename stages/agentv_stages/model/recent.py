"""Bounded memories of recent entries, by key: `Recent`, and `remember` for a plain dict.

`Recent` has two generations of a dict: when the young one is full it becomes the old one, and the entries of the old
one are dropped. At least `size` entries are remembered, at most twice as many. `remember` drops the single oldest entry
of one dict; finding it costs a walk over the gaps of deleted entries, so this is for tables that are seldom full.
"""

from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Puts an entry into a table of at most `most`; when full, a new one replaces the oldest. Returns the value."""
    if len(known) >= most and key not in known:
        del known[next(iter(known))]
    known[key] = value
    return value


class Recent(Generic[Value]):
    """Remembers values by key; putting a key again makes it young again."""

    __slots__ = ("_old", "_young", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._young: dict[str, Value] = {}
        self._old: dict[str, Value] = {}

    def get(self, key: str) -> Value | None:
        """The value, None where the key is not remembered."""
        value = self._young.get(key)
        return value if value is not None else self._old.get(key)

    def put(self, key: str, value: Value) -> None:
        young = self._young
        if key in young:
            del young[key]  # so that the order is that of the last `put`
        elif len(young) >= self.size:
            self._old = young
            self._young = young = {}
        young[key] = value

    def items(self) -> dict[str, Value]:
        """All entries, in the order in which they were last put."""
        young = self._young
        return {**{key: value for key, value in self._old.items() if key not in young}, **young}

    def load(self, entries: dict[str, Value]) -> None:
        """Restores what `items` returned; if there are too many entries, the latest."""
        latest = list(entries.items())[-2 * self.size :]
        self._old, self._young = dict(latest[: -self.size]), dict(latest[-self.size :])
