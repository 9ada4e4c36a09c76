"""Additions to the chain of every session: transformations of records, and stages after ours.

Each is a function without arguments that makes a stage over `Batch`, because every session has stages of its own. Ours
are in `RECORDS` and `STAGES`; a caller adds more as `Parts`. Where a session is followed or its state is handed on, a
stage with state has to have `snapshot` and `restore` (`Stateful`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw, Struct

from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.stage import Chain, Stage

if TYPE_CHECKING:  # compiling the rules takes time, and most sessions are not redacted
    from agentv_stages.redaction.redactor import Redactor

BatchStage: TypeAlias = Stage[Batch, Batch]
MakeStage: TypeAlias = Callable[[], BatchStage]

RECORDS: list[MakeStage] = []
"""Run between framing and detection: batches have `records` and nothing else."""

STAGES: list[MakeStage] = []
"""Run after `Consolidate` and before the observers: batches have events and messages."""


class Parts(Struct, frozen=True):
    """The caller's additions, as functions that make them; and what redacts the records after their transformations."""

    records: tuple[MakeStage, ...] = ()
    stages: tuple[MakeStage, ...] = ()
    redactor: "Redactor | None" = None

    def make_records(self) -> list[BatchStage]:
        """The transformations of records of one session."""
        stages = [make() for make in (*RECORDS, *self.records)]
        if self.redactor is None:
            return stages
        from agentv_stages.redaction.records import RedactRecords

        return [*stages, RedactRecords(self.redactor)]

    def make_stages(self) -> list[BatchStage]:
        """The stages of one session that follow ours."""
        return [make() for make in (*STAGES, *self.stages)]

    def original(self, batch: Batch) -> Batch:
        """The batch as verdicts see it: with the texts that were redacted."""
        vault = self.redactor.vault if self.redactor is not None else None
        return batch if vault is None else vault.batch(batch)

    def hidden(self, values: list[Raw]) -> list[Raw]:
        """JSON about original events as it may be written: redacted again."""
        redactor = self.redactor
        return values if redactor is None else [Raw(redactor.hide(bytes(value))) for value in values]


NONE = Parts()


def framed(lines: Stage[Chunk, Batch], records: Iterable[Stage[Any, Any]]) -> Stage[Chunk, Batch]:
    """A line reader and the transformations of its records as one stage."""
    stages = tuple(records)
    return Chain(lines, *stages) if stages else lines


def transform(records: Sequence[BatchStage], batch: Batch) -> list[Batch]:
    """A batch of records after the transformations."""
    return Chain(*records).push(batch) if records else [batch]


def last_records(lines: LineReader, parts: Parts) -> list[Batch]:
    """The unfinished last line after the transformations, to be looked at: it stays in the reader, and transformations
    that are made for it alone see it."""
    last = lines.peek()
    return [] if last is None else transform(parts.make_records(), Batch(lines.file, records=[last]))
