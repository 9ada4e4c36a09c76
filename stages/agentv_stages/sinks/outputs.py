"""The outputs that every driver writes: transcript, dead letters, stream log, and what else is registered here.

A new output is one class and one row of `OUTPUTS`: it then runs wherever sessions are written.
"""

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Fault
from agentv_stages.model.message import Message
from agentv_stages.session.saved import SavedMessages
from agentv_stages.sinks import dead_letters, raw_log
from agentv_stages.sinks.output import Append, Operation, Output, Patch, Put
from agentv_stages.sinks.span_options import SpanOptions
from agentv_stages.sinks.suffixes import LETTERS, RAW_LOG, SUMMARY_LOG, TRANSCRIPT
from agentv_stages.sinks.summary_log import SummaryLog, SummaryState
from agentv_stages.sinks.transcript import Identity, TranscriptRows, closing_members, patch

if TYPE_CHECKING:  # its rules take 40 ms
    from agentv_stages.redaction.redactor import Redactor

StreamLog: TypeAlias = Literal["false", "summary", "raw"]


_MOST_HELD = 256 * 1024  # bytes of records in dead letters that wait for the session's name


class Wanted(Struct, frozen=True):
    """Which outputs a session has. `totals_at_end`: the transcript goes where nothing can be patched. `redactor` is for
    the texts in spans."""

    transcript: bool = True
    totals_at_end: bool = False
    stream_log: StreamLog = "false"
    spans: SpanOptions | None = None
    traces: bool = False
    redactor: "Redactor | None" = None


class TranscriptState(Struct):
    """The state of a transcript that has begun or waits for that."""

    rows: int = 0
    held: SavedMessages = field(default_factory=SavedMessages)


class Transcript:
    """A row for each message. The totals go into the first row, or with `at_end` into the last: then the newest row is
    held back, for files that cannot be patched."""

    suffix, required, urgent = TRANSCRIPT, True, False

    def __init__(self, at_end: bool = False) -> None:
        self.held: list[Message] = []
        self.rows: TranscriptRows | None = None
        self._at_end = at_end

    @property
    def ready(self) -> bool:
        return self.rows is not None

    @property
    def waiting(self) -> bool:
        return self.rows is None and bool(self.held)

    def take(self, batch: Batch) -> None:
        if batch.messages:
            self.held += batch.messages

    def begin(self, identity: Identity, blobs: str) -> None:
        self.rows = TranscriptRows(identity, gap=not self._at_end)

    def operations(self) -> list[Operation]:
        done, self.held = (self.held[:-1], self.held[-1:]) if self._at_end else (self.held, [])
        return self._append(self._rows.render(done)) if done else []

    def close(self, observer: Observer) -> list[Operation]:
        rows, out = self._rows, self.operations()
        if self._at_end:
            last, self.held = self.held, []
            closing = closing_members(observer)
            return out + self._append(b"".join([rows.row(message, closing) for message in last]))
        patched = patch(closing_members(observer)) if rows.rows else None
        return [*out, Patch(self.suffix, *patched)] if patched is not None else out

    def _append(self, data: bytes) -> list[Operation]:
        return [Append(self.suffix, data)] if data else []

    @property
    def _rows(self) -> TranscriptRows:
        assert self.rows is not None  # `begin` was called
        return self.rows

    def snapshot(self) -> TranscriptState:
        return TranscriptState(self.rows.rows if self.rows is not None else 0, SavedMessages.of(self.held))

    def restore(self, state: TranscriptState) -> None:
        """As `Stateful.restore`, after `begin` if that was called before."""
        self.held = state.held.back()
        if self.rows is not None:
            self.rows.rows = state.rows

    def go_on_at(self, rows: int) -> None:
        """So many rows were written before, by another object."""
        self._rows.rows = rows

    def fork(self) -> "Transcript":
        other = copy(self)
        other.held, other.rows = [*self.held], copy(self.rows)
        return other


class Letters:
    """A line for each fault; bytes that cannot stand in it go to a blob, a record over the cap piece by piece.

    With `blobs`, the folder's name in the lines, it need not wait for the session's name.
    """

    suffix, required = LETTERS, True

    def __init__(self, blobs: str | None = None) -> None:
        self.held: list[Fault] = []
        self.blobs = blobs
        self.giant: Fault | None = None  # the beginning of a record over the cap, without its bytes

    @property
    def ready(self) -> bool:
        return self.blobs is not None

    @property
    def waiting(self) -> bool:
        return self.blobs is None and bool(self.held)

    @property
    def urgent(self) -> bool:
        return any(fault.part != "whole" for fault in self.held) or sum(f.length for f in self.held) >= _MOST_HELD

    def take(self, batch: Batch) -> None:
        if batch.faults:
            self.held += batch.faults

    def begin(self, identity: Identity, blobs: str) -> None:
        if self.blobs is None:
            self.blobs = blobs

    def operations(self) -> list[Operation]:
        faults, self.held = self.held, []
        out: list[Operation] = []
        lines: list[bytes] = []  # noise gives many short lines, and a system call for each would take 40 µs
        for fault in faults:
            if fault.part != "whole" or not dead_letters.stands_in_line(fault):
                if lines:
                    out.append(Append(self.suffix, b"".join(lines)))
                    lines = []
                out.append(self._put(fault))
            line = self._line(fault)
            if line:
                lines.append(line)
        return [*out, Append(self.suffix, b"".join(lines))] if lines else out

    def _put(self, fault: Fault) -> Put:
        if fault.part == "begin":
            self.giant = replace(fault, data=b"")
        named = fault if fault.part == "whole" or self.giant is None else self.giant
        return Put(dead_letters.blob_name(named), fault.data, fault.part)

    def _line(self, fault: Fault) -> bytes:
        """The line of a fault; that of a record over the cap comes with its end."""
        if fault.part == "whole":
            in_line = dead_letters.stands_in_line(fault)
            return dead_letters.render(fault, None if in_line else f"{self.blobs}/{dead_letters.blob_name(fault)}")
        if fault.part != "end" or self.giant is None:
            return b""
        giant, self.giant = self.giant, None
        length = fault.offset + fault.length - giant.offset
        return dead_letters.render(giant, f"{self.blobs}/{dead_letters.blob_name(giant)}", length)

    def close(self, observer: Observer) -> list[Operation]:
        return self.operations()

    def fork(self) -> "Letters":
        other = copy(self)
        other.held = [*self.held]
        return other


class Log:
    """The stream log: the records as they are, or a summary for people."""

    required, urgent = False, False

    def __init__(self, kind: Literal["summary", "raw"]) -> None:
        self.suffix = RAW_LOG if kind == "raw" else SUMMARY_LOG
        self.held: list[Batch] = []
        self.ready = False
        self._summary = SummaryLog() if kind == "summary" else None

    @property
    def waiting(self) -> bool:
        return not self.ready and bool(self.held)

    def take(self, batch: Batch) -> None:
        self.held.append(batch)

    def begin(self, identity: Identity, blobs: str) -> None:
        self.ready = True

    def operations(self) -> list[Operation]:
        batches, self.held = self.held, []
        render = raw_log.render if self._summary is None else self._summary.render
        return self._append(b"".join([render(batch) for batch in batches]))

    def close(self, observer: Observer) -> list[Operation]:
        out = self.operations()
        return out if self._summary is None else out + self._append(self._summary.flush())

    def _append(self, data: bytes) -> list[Operation]:
        return [Append(self.suffix, data)] if data else []

    def snapshot(self) -> SummaryState:
        """The state of the summary between two events."""
        return self._summary.snapshot() if self._summary is not None else SummaryState()

    def restore(self, state: SummaryState) -> None:
        if self._summary is not None:
            self._summary.restore(state)

    def fork(self) -> "Log":
        other = copy(self)
        other.held = [*self.held]
        if self._summary is not None:
            other._summary = SummaryLog()
            other._summary.restore(self._summary.snapshot())
        return other


def _log(wanted: Wanted) -> Output | None:
    return None if wanted.stream_log == "false" else Log(wanted.stream_log)


def _spans(wanted: Wanted) -> Output | None:
    if wanted.spans is None:
        return None
    from agentv_stages.sinks.span_log import SpanLog  # with the rules of redaction: 10 ms that few sessions need

    return SpanLog(wanted.spans, wanted.redactor)


def _traces(wanted: Wanted) -> Output | None:
    if not wanted.traces:
        return None
    from agentv_stages.sinks.trace_log import TraceLog  # with the evaluators, 80 ms that few sessions need

    return TraceLog()


MakeOutput: TypeAlias = Callable[[Wanted], Output | None]
OUTPUTS: list[MakeOutput] = [
    lambda wanted: Transcript(wanted.totals_at_end) if wanted.transcript else None,
    lambda wanted: Letters() if wanted.transcript else None,
    _log,
    _spans,
    _traces,
]
"""Each makes its output for one session, or returns None where that is not wanted."""


def make_outputs(wanted: Wanted) -> list[Output]:
    """The outputs of one session."""
    return [output for make in OUTPUTS if (output := make(wanted)) is not None]


def suffixes() -> list[str]:
    """The suffixes of all outputs, the transcript's first."""
    both = [*make_outputs(Wanted(stream_log="summary")), *make_outputs(Wanted(stream_log="raw"))]
    return list(dict.fromkeys(output.suffix for output in both))
