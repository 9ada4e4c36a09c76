"""Additions to the chain of every session: transformations of records, and stages after ours.

Each is a function without arguments that makes a stage over `Batch`, because every session has stages of its own. Ours
are in `RECORDS` and `STAGES`; a caller adds more as `Parts`. Where a session is followed or its state is handed on, a
stage with state has to have `snapshot` and `restore` (`Stateful`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.stage import Chain, Stage

BatchStage: TypeAlias = Stage[Batch, Batch]
MakeStage: TypeAlias = Callable[[], BatchStage]

RECORDS: list[MakeStage] = []
"""Run between framing and detection: batches have `records` and nothing else."""

STAGES: list[MakeStage] = []
"""Run after `Consolidate` and before the observers: batches have events and messages."""


@dataclass(frozen=True)
class Parts:
    """The caller's additions, as functions that make them."""

    records: tuple[MakeStage, ...] = ()
    stages: tuple[MakeStage, ...] = ()

    def make_records(self) -> list[BatchStage]:
        """The transformations of records of one session."""
        return [make() for make in (*RECORDS, *self.records)]

    def make_stages(self) -> list[BatchStage]:
        """The stages of one session that follow ours."""
        return [make() for make in (*STAGES, *self.stages)]


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
