"""Long lists and maps of which only a part is made at a time: as a whole they would be megabytes."""

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from msgspec import Struct, to_builtins

SIZE = 256  # entries that are made at a time


class Slices(Struct, frozen=True):
    """The first `size` entries of something that only grows; `make(begin, end)` gives some of them, as a list or a map.

    Later additions do not change it, so another thread may make the entries.
    """

    size: int
    make: Callable[[int, int], list[Any] | dict[str, Any]]

    def __iter__(self) -> Iterator[list[Any] | dict[str, Any]]:
        """The slices, at least one, which may be empty."""
        for begin in range(0, self.size or 1, SIZE):
            yield self.make(begin, min(begin + SIZE, self.size))

    def whole(self) -> list[Any] | dict[str, Any]:
        """All entries."""
        return self.make(0, self.size)


def is_map_of_slices(value: Any) -> TypeGuard[dict[str, Slices]]:
    return type(value) is dict and type(next(iter(value.values()), None)) is Slices  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType] - anything


def whole(value: Any) -> Any:
    """A value with lists in place of `Slices`, as builtins."""
    if isinstance(value, Slices):
        return value.whole()
    if is_map_of_slices(value):
        return {name: slices.whole() for name, slices in value.items()}
    return to_builtins(value)
