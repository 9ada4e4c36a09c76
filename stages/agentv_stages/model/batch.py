"""The envelope that flows through the pipeline: a batch of records, to which each stage adds on the way to the sinks.

It is the only mutable object of the pipeline; the records, events and faults in it are frozen.
"""

from msgspec import Struct

from agentv_stages.model.event import AnyEvent
from agentv_stages.model.fault import Fault, Reason
from agentv_stages.model.message import Message

BETWEEN = b"\n\0\n"
"""Joins records for one search: no pattern of a secret goes on over it."""
_MOST_STRANGERS = 64  # more than the decoder examines


class Chunk(Struct, frozen=True, gc=False):
    """The bytes of one read, with their time of arrival (UTC ms; None where it was not recorded).

    `file` names the input that they come from, where a session has several.
    """

    data: bytes
    arrived_ms: int | None = None
    file: str = ""


class Record(Struct, frozen=True, gc=False):
    """One raw line (or one element of a whole-file log): `data` without its line end.

    `offset` is where it begins in the file, in bytes; `row` counts records from 0. Elements of one array share an
    offset. Where `data` differs from the file, `size` is the length in the file, and `raw` the bytes of the file
    if they are known: lengths, and ids that are hashes, are those of the file.
    """

    data: bytes
    offset: int
    row: int
    raw: bytes = b""
    size: int = 0

    @property
    def original(self) -> bytes:
        """The bytes in the file."""
        return self.raw or self.data

    @property
    def length(self) -> int:
        """How many bytes there are in the file."""
        return self.size or len(self.data)

    def replaced(self, data: bytes) -> "Record":
        """The same record with other bytes in place of the file's bytes."""
        return Record(data, self.offset, self.row, self.original, self.length)

    def without_raw(self) -> "Record":
        """The same record, to be saved: without the bytes that a transformation took out."""
        return Record(self.data, self.offset, self.row, b"", self.size) if self.raw else self

    def moved(self, rows: int) -> "Record":
        """The same record so many rows further on."""
        return Record(self.data, self.offset, self.row + rows, self.raw, self.size) if rows else self


class Begun(Struct, frozen=True, gc=False):
    """A record of another session in the same input: its row, the session before it, its own id, and whether it is a
    header, with which a session can also be resumed."""

    row: int
    before: str
    session: str
    header: bool = True


class Batch(Struct):
    """The records of one read, and everything that the stages derived from them.

    The line reader fills `records`, the decoder `events`, `ignored` and `unknown`, the consolidator `messages`; any
    stage may add `faults`. All are in the order of the input, except `messages`, which are in order of completion: a
    message may arrive batches after its records, and at the end of the input there are batches without records.

    `file` is the name of the input (a sub-agent's own file has its own), `arrived_ms` when the bytes arrived (UTC
    milliseconds; None for a finished file). `ignored` counts, by name, records that are known and carry nothing to
    keep; `unknown` counts records whose type the decoder does not know, and `strangers` holds the first of them. `end`
    is the offset in bytes just after the last whole line of this batch. `unterminated`: the last record has no line end
    (only from a flush). `document`: the record is pretty-printed. `again`: a store repeats records in another form;
    records and events are not counted again. `elements` counts the elements after the first of records
    that are arrays: each element is a record. `begun`: sessions that begin in the log of another one.
    """

    file: str = ""
    arrived_ms: int | None = None
    end: int = 0
    unterminated: bool = False
    document: bool = False
    records: list[Record] = []
    events: list[AnyEvent] = []
    messages: list[Message] = []
    faults: list[Fault] = []
    ignored: dict[str, int] = {}
    unknown: dict[str, int] = {}
    strangers: list[Record] = []
    again: bool = False
    elements: int = 0
    begun: list[Begun] = []

    def __repr__(self) -> str:
        counts = f"{len(self.records)} records, {len(self.events)} events, {len(self.messages)} messages"
        return f"<Batch of {self.file!r}: {counts}, {len(self.faults)} faults>"

    def ignore(self, name: str) -> None:
        """Counts a record that carries nothing to keep."""
        self.ignored[name] = self.ignored.get(name, 0) + 1

    def unknown_type(self, name: str, record: Record) -> None:
        """Counts a record whose type its decoder does not know, and keeps it: it may be another dialect's."""
        if not name or name[-1] in "/:":
            name += "(no type)"
        self.unknown[name] = self.unknown.get(name, 0) + 1
        if len(self.strangers) < _MOST_STRANGERS:
            self.strangers.append(record)

    def fault(self, reason: Reason, record: Record, detail: str) -> None:
        """Adds a fault about a whole record."""
        self.faults.append(Fault(reason, self.file, record.row, record.offset, record.length, detail, record.data))
