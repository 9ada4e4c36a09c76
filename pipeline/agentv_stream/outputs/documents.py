"""Outputs that are one document, written at the end of a session: batches in, the document's bytes out.

The part of a message is stored until then, because a message may be completed after a later one. A document neither
names nor opens a file: its driver does that (`document_sink.py`, `bulk/document_file.py`).
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.atif import Trajectory
from agentv_stages.sinks.case import CaseLine
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.naming import CASE, TRAJECTORY
from agentv_stream.outputs.step_spool import StepSpool


class Document(Protocol):
    """One document of one session. `name` is used in messages, `suffix` ends the name of its file.

    `empty`: the session gave nothing to write.
    """

    name: str
    suffix: str

    @property
    def empty(self) -> bool: ...

    def take(self, batch: Batch) -> None:
        """Takes a batch that has passed all stages. Raises: SinkError."""
        ...

    def document(self, about: Result) -> Iterator[bytes]:
        """The document, piece by piece; `about` is the result of the session. Raises: OSError."""
        ...

    def close(self) -> None:
        """Discards the stored parts."""
        ...


class AtifDocument:
    """The session in ATIF; none for a session without messages."""

    name, suffix = "trajectory", TRAJECTORY

    def __init__(self) -> None:
        self._trajectory = Trajectory()
        self._spool = StepSpool()

    @property
    def empty(self) -> bool:
        return not self._trajectory.models

    def take(self, batch: Batch) -> None:
        for message in batch.messages:
            self._spool.add(message, self._trajectory.step(message))

    def document(self, about: Result) -> Iterator[bytes]:
        return self._trajectory.document(about, self._spool.lines)

    def close(self) -> None:
        self._spool.close()


class CaseDocument:
    """The transcript as one line, which half written would be no valid JSON. `identity` returns that of the session, as
    known at its end."""

    name, suffix, empty = "case transcript", CASE, False

    def __init__(self, observer: Observer, identity: Callable[[], Identity]) -> None:
        self._totals = observer.totals
        self._identity = identity
        self._line = CaseLine()
        self._spool = StepSpool()

    def take(self, batch: Batch) -> None:
        for message in batch.messages:
            self._spool.add(message, self._line.element(message) + b"\n")

    def document(self, about: Result) -> Iterator[bytes]:
        totals = self._totals
        elements = (line[:-1] for line in self._spool.all_lines())
        return self._line.line(elements, self._identity(), totals.tokens(), totals.cost_usd, totals.duration_ms)

    def close(self) -> None:
        self._spool.close()
