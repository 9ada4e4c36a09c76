"""The envelope: one batch of records that each stage enriches on its way to the sinks.

It is the one mutable object of the pipeline; the records, events and faults in it are frozen.
"""

from msgspec import Struct

from agentv_stages.event import AnyEvent
from agentv_stages.fault import Fault, Reason
from agentv_stages.message import Message

_MOST_STRANGERS = 64  # more than the decoder looks at


class Chunk(Struct, frozen=True, gc=False):
    """Bytes as one read gave them, with the time of their arrival (UTC ms; None where nobody looked at a clock).

    `file` names the input that they are of, where a session has several.
    """

    data: bytes
    arrived_ms: int | None = None
    file: str = ""


class Record(Struct, frozen=True, gc=False):
    """One raw line (or one element of a whole-file log): `data` without its line end.

    `offset` is where it begins in the file, in bytes; `row` counts records from 0. Elements of one
    array share the offset.
    """

    data: bytes
    offset: int
    row: int


class Batch(Struct):
    """What one read brought, and what the stages made of it.

    The line reader fills `records`, the decoder `events`, `ignored` and `unknown`, the consolidator `messages`; any
    stage may add `faults`. All are in the order of the input, but `messages` in that of their completion: a message
    may come batches behind its records, and at the end of the input there are batches without records.

    `file` is the input's name (a sub-agent's own file has its own), `arrived_ms` when the bytes came: UTC
    milliseconds, None of a finished file. `ignored` counts records that are known and carry nothing to keep, by
    name; `unknown` counts record types that no decoder knows, of which `strangers` holds the first. `end` is the
    offset in bytes behind the last whole line of this batch. `unterminated` says that the last record has no line
    end, which only a flush gives; `document` that the record is pretty-printed; `again` that a store tells
    something in another form that was told before, which counts for nothing more. `elements` counts what a record
    that is an array holds beyond its first element: each of them is a record.
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

    def ignore(self, name: str) -> None:
        """Counts a record that carries nothing to keep."""
        self.ignored[name] = self.ignored.get(name, 0) + 1

    def unknown_type(self, name: str, record: Record) -> None:
        """Counts a record whose type its decoder does not know; it is looked at again as another dialect's."""
        if not name or name[-1] in "/:":
            name += "(no type)"
        self.unknown[name] = self.unknown.get(name, 0) + 1
        if len(self.strangers) < _MOST_STRANGERS:
            self.strangers.append(record)

    def fault(self, reason: Reason, record: Record, detail: str) -> None:
        """Adds a fault about a whole record."""
        self.faults.append(Fault(reason, self.file, record.row, record.offset, len(record.data), detail, record.data))
