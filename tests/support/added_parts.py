"""An output, a transformation of records and a stage that nobody else has, to be added to every session."""

from copy import copy

from msgspec import Raw, Struct, json

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch, Record
from agentv_stages.session.parts import RECORDS, STAGES
from agentv_stages.sinks.output import Append, Operation
from agentv_stages.sinks.outputs import OUTPUTS, Wanted
from agentv_stages.sinks.transcript import Identity

ROWS = ".rows.txt"


class RowCount(Struct):
    """How many rows were counted."""

    rows: int = 0


class CountRows:
    """An output with a single line: the session, and how many rows its transcript has."""

    suffix, required, urgent = ROWS, False, False

    def __init__(self) -> None:
        self._count = RowCount()
        self._session: str | None = None

    @property
    def ready(self) -> bool:
        return self._session is not None

    @property
    def waiting(self) -> bool:
        return self._session is None and self._count.rows > 0

    def take(self, batch: Batch) -> None:
        self._count.rows += len(batch.messages)

    def begin(self, identity: Identity, blobs: str) -> None:
        self._session = identity.session_id

    def operations(self) -> list[Operation]:
        return []

    def close(self, observer: Observer) -> list[Operation]:
        line = f"{self._session} {self._count.rows}\n"
        return [Append(self.suffix, line.encode())] if self._count.rows else []

    def fork(self) -> "CountRows":
        other = copy(self)
        other._count = copy(self._count)
        return other

    def snapshot(self) -> RowCount:
        return self._count

    def restore(self, state: RowCount) -> None:
        self._count = state


def count_rows(wanted: Wanted) -> CountRows | None:
    return CountRows() if wanted.transcript else None


class Wrapped(Struct):
    """A record of another program with an agent's record in it."""

    log: str


def wrapped(data: bytes) -> bytes:
    """A log as the other program writes it."""
    return b"".join(json.encode(Wrapped(line.decode())) + b"\n" for line in data.splitlines())


class Unwrap:
    """Gives the agent's records; what is not wrapped stays as it is."""

    def push(self, batch: Batch, /) -> tuple[Batch, ...]:
        batch.records = [self._record(record) for record in batch.records]
        return (batch,)

    @staticmethod
    def _record(record: Record) -> Record:
        if not record.data.startswith(b'{"log":'):
            return record
        return Record(json.decode(record.data, type=Wrapped).log.encode(), record.offset, record.row)

    def flush(self) -> tuple[Batch, ...]:
        return ()


class Number:
    """Numbers the texts of a session, from 1: a stage with state."""

    def __init__(self) -> None:
        self._count = RowCount()

    def push(self, batch: Batch, /) -> tuple[Batch, ...]:
        for message in batch.messages:
            self._count.rows += 1
            message.content = [Raw(json.encode(f"text {self._count.rows}"))]
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        return ()

    def snapshot(self) -> RowCount:
        return self._count

    def restore(self, state: RowCount) -> None:
        self._count = state


def register() -> None:
    """Adds all of them, as a release of ours would."""
    OUTPUTS.append(count_rows)
    RECORDS.append(Unwrap)
    STAGES.append(Number)
