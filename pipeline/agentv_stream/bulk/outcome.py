"""The outcome of a bulk run."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from agentv_stages.figures.merge import Summary
from agentv_stream.bulk.unit import Done, Unit, printable
from agentv_stream.errors import AgentvStreamError, DamagedArchive, EmptyInput, NotALog, SourceError, UsageError

if TYPE_CHECKING:
    from agentv_stream.bulk.find import Trouble


class Failure(msgspec.Struct):
    """A source that could not be read, or only partly (`DamagedArchive`). `kind` is the exception's name."""

    source: str
    error: str
    kind: str


@dataclass
class Outcome:
    """The outcome of a bulk run. Counts are of sessions.

    `found` were found, `done` read (`cached` of them by an earlier run), `skipped` done by one. `parts` are files that
    are part of another file's session, `others` files found in folders that are no session, `failures` those that could
    not be read. `bytes` is the size of the files as stored, `records` and `faults` are sums, `seconds` is the duration.
    `summary` has the figures by group, `outputs` the places by kind. `waiting` are the sessions that a dry run would
    read. `notes` are messages for people. `price_table` is the date of the prices with which costs were estimated.
    """

    found: int = 0
    done: int = 0
    cached: int = 0
    skipped: int = 0
    parts: list[str] = field(default_factory=list[str])
    failures: list[Failure] = field(default_factory=list[Failure])
    others: list[str] = field(default_factory=list[str])
    bytes: int = 0
    seconds: float = 0.0
    records: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    summary: Summary = field(default_factory=Summary)
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    notes: list[str] = field(default_factory=list[str])
    price_table: str | None = None
    waiting: list[Unit] = field(default_factory=list[Unit])

    def take(self, done: Done) -> None:
        """Takes one unit: its bytes, or its error; everything else is counted in the summary."""
        if done.error is not None and done.unit.in_folder and done.kind in ("NotALog", "EmptyInput"):
            self.others.append(done.unit.name)
            return
        if done.error is not None:
            self.failures.append(Failure(done.unit.name, done.error.partition("; tried ")[0], done.kind or ""))
            return
        if done.damage is not None:
            told_so = f"{done.damage}; what came before counts"
            self.failures.append(Failure(done.unit.name, told_so, DamagedArchive.__name__))
        self.bytes += done.unit.size + sum(companion.size for companion in done.companions)


def failures_of(trouble: "Trouble") -> list[Failure]:
    """Places that could not be listed."""
    return [Failure(place, printable(str(error))[0], type(error).__name__) for place, error in trouble]


def error_of(done: Done) -> AgentvStreamError:
    """The exception with which a unit ended."""
    if done.damage is not None:
        return DamagedArchive(done.damage)
    known: dict[str, type[AgentvStreamError]] = {
        "NotALog": NotALog,
        "DamagedArchive": DamagedArchive,
        "EmptyInput": EmptyInput,
        "UsageError": UsageError,
    }
    return known.get(done.kind or "", SourceError)(done.error or "")


def note_copies(units: list[Unit], outcome: Outcome) -> None:
    """Notes how many files are copies of others."""
    count = sum(len(unit.copies) for unit in units)
    if count:
        many = "files are copies of others" if count > 1 else "file is a copy of another"
        outcome.notes.append(f"{count:,} {many}; what they hold counts once")
