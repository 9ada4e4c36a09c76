"""Which records a session has taken: those that a file repeats are skipped.

A file that was truncated, rewritten or rotated continues as a further generation. Records in it that any of the
session's files contained are skipped, each as often as it was taken.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from agentv_stages.model.batch import Batch, Record

HASH_BYTES = 8  # of a record, an event or a message
LONG = 100  # bytes; a shorter record may be equal by chance
Counts = dict[bytes, int]


def record_hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH_BYTES).digest()


@dataclass
class Repeated:
    """Repetitions in one file: `known` are the records that it may still repeat (None: none), `skipped` counts those so
    far.

    `repeating`: whether the last record was one; it is kept in the cursor, so that a restart does not interrupt a run
    of them.
    """

    known: Counts | None = None
    skipped: int = 0
    repeating: bool = True

    def begin(self, counts: Counts) -> None:
        """The file is read from its beginning, and may repeat these records."""
        self.known, self.repeating = counts, True

    def also(self, own: bytes) -> None:
        """Adds a record that another file contained."""
        if self.known is not None:
            self.known[own] = self.known.get(own, 0) + 1


class TakenRecords:
    """The hashes of all records that a session took. `stored` returns those in the cursors."""

    def __init__(self, stored: Callable[[], Counts]) -> None:
        self._stored = stored
        self.new: list[bytes] = []  # since the last commit
        self.anew = False  # those in the cursors no longer count
        self.repeated = 0

    def counts(self) -> Counts:
        """How often each record was taken."""
        counts = {} if self.anew else self._stored()
        for own in self.new:
            counts[own] = counts.get(own, 0) + 1
        return counts

    def committed(self) -> None:
        """All are in the cursors."""
        self.new, self.anew = [], False

    def drop(self) -> None:
        """Forgets all, because everything is read again."""
        self.new, self.anew = [], True

    def keep_new(self, batch: Batch, repeated: Repeated, others: list[Repeated]) -> None:
        """Removes the file's repetitions from the batch; the rest may be repeated later by `others` of the session."""
        kept = list[Record]()
        for record in batch.records:
            own = record_hash(record.data)
            if self._is_repeated(own, len(record.data), repeated):
                continue
            self.new.append(own)
            for other in others:
                other.also(own)
            skipped = repeated.skipped
            kept.append(record if not skipped else Record(record.data, record.offset, record.row - skipped))
        batch.records = kept

    def _is_repeated(self, own: bytes, length: int, repeated: Repeated) -> bool:
        known = repeated.known
        if known is None:
            return False
        # A short record may be equal by chance ("turn.started"): it counts as repeated only among others.
        repeated.repeating = known.get(own, 0) > 0 and (repeated.repeating or length >= LONG)
        if repeated.repeating:
            known[own] -= 1
            repeated.skipped += 1
            self.repeated += 1
        return repeated.repeating

    def row_taken(self, repeated: Repeated, look: bool) -> Callable[[str], bool]:
        """A function that says whether a store's row, by its id, was taken; with `look` False it also marks it as
        taken."""

        def is_taken(row: str) -> bool:
            if repeated.known is None:
                repeated.known = self.counts()
            known, own = repeated.known, record_hash(row.encode())
            if own in known:
                return True
            if not look:
                known[own] = 1
                self.new.append(own)
            return False

        return is_taken

    def may_still_repeat(self, repeated: Repeated, read: Iterable[Batch]) -> None:
        """After a restart: a file may still repeat all records in the cursors, except those of `read`, which stand in
        the part of it that was read."""
        counts = self._stored()
        for batch in read:
            for record in batch.records:
                own = record_hash(record.data)
                if counts.get(own, 0) > 0:
                    counts[own] -= 1
        repeated.known = counts
