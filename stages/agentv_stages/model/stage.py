"""The interface of every processing step: a stage takes one item and returns any number; at the end, the held items.

A stage needs no base class. Stages with state also have `snapshot` and `restore` (`Stateful`), so that a restarted
follower continues where it stopped.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Stage(Protocol[In, Out]):
    """One step of a pipeline, without I/O, without a clock."""

    def push(self, item: In, /) -> Iterable[Out]:
        """Takes one item; returns the items that follow from it."""
        ...

    def flush(self) -> Iterable[Out]:
        """Called once, at the end of the input; returns the items that were held.

        Raises: RuntimeError when called again.
        """
        ...


@runtime_checkable
class Stateful(Protocol):
    """A stage whose state can be saved and restored.

    A snapshot is a Struct that `msgspec.json` can write and read; its size does not grow with the session, but for the
    memory of its records (8 bytes each).
    """

    def snapshot(self) -> Struct:
        """The current state, not necessarily a copy: the stage may change it later."""
        ...

    def restore(self, snapshot: Any, /) -> None:
        """Restores a state that `snapshot()` returned, also after it was written as JSON and read back as its type.

        Raises: msgspec.ValidationError when it does not fit.
        """
        ...


class Chain:
    """Several stages as one: the output of each is the input of the next."""

    def __init__(self, *stages: Stage[Any, Any]) -> None:
        self.stages = stages

    def push(self, item: Any, /) -> list[Any]:
        """Feeds one item through all stages."""
        return self._through(0, [item])

    def flush(self) -> list[Any]:
        """Flushes the stages in order; what one held back passes through the later ones before they are flushed."""
        out: list[Any] = []
        for i, stage in enumerate(self.stages):
            out.extend(self._through(i + 1, stage.flush()))
        return out

    def _through(self, start: int, items: Iterable[Any]) -> list[Any]:
        for stage in self.stages[start:]:
            items = [out for item in items for out in stage.push(item)]
        return list(items)


class Flushed:
    """Remembers that a stage was flushed; a second flush is a bug in the caller."""

    done = False

    def once(self) -> None:
        """Raises: RuntimeError the second time."""
        if self.done:
            raise RuntimeError("flush called twice")
        self.done = True
