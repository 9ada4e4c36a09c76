"""The output of trace events: a line of AgentV's generic trace for each event that a trace contains.

In: batches. Out: JSON lines. Source: `agentv_stages.trajectory.trace_events`.
"""

from copy import copy

from msgspec import Struct

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.output import Append, Operation
from agentv_stages.sinks.suffixes import TRACE
from agentv_stages.sinks.transcript import Identity
from agentv_stages.trajectory.trace_events import render


class TraceLogState(Struct):
    """Lines that wait until the session is known."""

    held: str = ""


class TraceLog:
    """The trace of one session."""

    suffix, required, urgent = TRACE, False, False

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self.ready = False

    @property
    def waiting(self) -> bool:
        return not self.ready and bool(self.held)

    def take(self, batch: Batch) -> None:
        lines = render(batch)
        if lines:
            self.held.append(lines)

    def begin(self, identity: Identity, blobs: str) -> None:
        self.ready = True

    def operations(self) -> list[Operation]:
        data, self.held = b"".join(self.held), []
        return [Append(self.suffix, data)] if data else []

    def close(self, observer: Observer) -> list[Operation]:
        return self.operations()

    def snapshot(self) -> TraceLogState:
        return TraceLogState(b"".join(self.held).decode("utf-8", "surrogateescape"))

    def restore(self, state: TraceLogState) -> None:
        self.held = [state.held.encode("utf-8", "surrogateescape")] if state.held else []

    def fork(self) -> "TraceLog":
        other = copy(self)
        other.held = [*self.held]
        return other
