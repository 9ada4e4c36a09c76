"""An output of a session: batches go in, operations on files come out; the caller carries them out.

An output renders; it does not know where its file is. All of a session's outputs have one beginning of their names, and
each a suffix of its own; bytes that cannot stand in a line go into files of their own, the blobs.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Part
from agentv_stages.sinks.transcript import Identity


class Append(NamedTuple):
    """Whole lines for the end of the output with this suffix."""

    suffix: str
    data: bytes


class Patch(NamedTuple):
    """Bytes that replace as many at an offset of the output with this suffix."""

    suffix: str
    offset: int
    data: bytes


class Put(NamedTuple):
    """A blob, whole or the next part of it; parts of two blobs never alternate."""

    name: str
    data: bytes
    part: Part = "whole"


Operation: TypeAlias = Append | Patch | Put


def lines_of(operations: Iterable[Operation]) -> bytes:
    """The lines of an output that has nothing but lines."""
    return b"".join([operation.data for operation in operations])


class Output(Protocol):
    """One output of one session.

    `take` keeps the parts of each batch that it needs; `operations` renders them, once the output is `ready`: most are
    when `begin` has named the session. `waiting`: taken parts only wait for `begin`; `urgent`: there are so many that
    the session had better be named now. If a `required` output fails, the run fails.
    """

    suffix: str
    required: bool

    @property
    def ready(self) -> bool: ...

    @property
    def waiting(self) -> bool: ...

    @property
    def urgent(self) -> bool: ...

    def take(self, batch: Batch) -> None:
        """Takes a batch that has passed all stages."""
        ...

    def begin(self, identity: Identity, blobs: str) -> None:
        """The session has its name; `blobs` is how lines name the folder of the blobs."""
        ...

    def operations(self) -> list[Operation]:
        """The operations for the batches taken since the last call."""
        ...

    def close(self, observer: Observer) -> list[Operation]:
        """The session has ended: `operations`, then what closes the output."""
        ...

    def fork(self) -> "Output":
        """A copy, to render an end that may be undone."""
        ...


class Writer:
    """Several outputs as one."""

    def __init__(self, outputs: Iterable[Output]) -> None:
        self.outputs: Sequence[Output] = tuple(outputs)
        self.begun = False

    @property
    def waiting(self) -> bool:
        """Whether an output waits for `begin`."""
        return any(output.waiting for output in self.outputs)

    def take(self, batch: Batch) -> None:
        for output in self.outputs:
            output.take(batch)

    def begin(self, identity: Identity, blobs: str) -> None:
        self.begun = True
        for output in self.outputs:
            output.begin(identity, blobs)

    def operations(self) -> list[Operation]:
        return [operation for output in self.outputs if output.ready for operation in output.operations()]

    def close(self, observer: Observer) -> list[Operation]:
        return [operation for output in self.outputs if output.ready for operation in output.close(observer)]

    def fork(self) -> "Writer":
        copy = Writer(output.fork() for output in self.outputs)
        copy.begun = self.begun
        return copy
