"""The smallest contract of the system: a stage takes one item and gives any number; at the end it gives what it held.

A stage needs nobody's base class. Stages with state also have `snapshot` and `restore` (`Stateful`), so that a follower
that is restarted goes on where it was.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)


class Stage(Protocol[In, Out]):
    """One step of a pipeline, without I/O, without a clock."""

    def push(self, item: In, /) -> Iterable[Out]:
        """Feeds one item; gives what follows from it."""
        ...

    def flush(self) -> Iterable[Out]:
        """The input has ended; gives what was held back. Called once.

        Raises: RuntimeError when called again.
        """
        ...


@runtime_checkable
class Stateful(Protocol):
    """A stage whose state can be taken out and put back.

    A snapshot is a Struct that `msgspec.json` can write and read, of a size that does not grow with the session.
    """

    def snapshot(self) -> Struct:
        """The state as it is; the stage may go on and change it."""
        ...

    def restore(self, snapshot: Any, /) -> None:
        """Puts back the state; `snapshot` is what `snapshot()` gave, or the same written as JSON and read as its type.

        Raises: msgspec.ValidationError when it does not fit.
        """
        ...


class Chain:
    """Several stages as one: what one gives, the next one takes."""

    def __init__(self, *stages: Stage[Any, Any]) -> None:
        self.stages = stages

    def push(self, item: Any, /) -> list[Any]:
        """Feeds one item through all stages."""
        return self._through(0, [item])

    def flush(self) -> list[Any]:
        """Flushes the stages in order; what one held goes through those behind it first."""
        out: list[Any] = []
        for i, stage in enumerate(self.stages):
            out.extend(self._through(i + 1, stage.flush()))
        return out

    def _through(self, start: int, items: Iterable[Any]) -> list[Any]:
        for stage in self.stages[start:]:
            items = [out for item in items for out in stage.push(item)]
        return list(items)


class Flushed:
    """Remembers that a stage was flushed; a second flush is a bug of the caller."""

    done = False

    def once(self) -> None:
        """Raises: RuntimeError the second time."""
        if self.done:
            raise RuntimeError("flush called twice")
        self.done = True
