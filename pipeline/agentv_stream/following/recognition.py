"""Which dialect a followed log is: unknown, recognised, or assumed as long as the log rests.

In: the first records. Out: a `Recognised`, with the records that were held until then.
"""

from typing import NamedTuple

from agentv_stages.model.batch import Batch
from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.session.detect import Detector, UnknownFormat


class Recognised(NamedTuple):
    """A decision. `changed` says that the log was taken for another dialect before."""

    provider: Provider
    dialect: Dialect
    held: list[Batch]
    changed: bool


class Recognition:
    """`detector` is None once the dialect is known. `strange` says that no dialect fits.

    `given_up`: too many records came without being recognised, so no more of the log is read.
    """

    def __init__(self, only: Provider | None) -> None:
        self._only = only
        self._guessed: Dialect | None = None  # the dialect assumed when the log rested, while it is detected again
        self._assumed_by: Detector | None = None
        self.detector: Detector | None = Detector(only)
        self.strange = self.given_up = False

    @property
    def assumed(self) -> bool:
        """Whether the dialect was only decided because the log rests."""
        return self._assumed_by is not None

    def take(self, batch: Batch) -> Recognised | None:
        """Takes records while the dialect is unknown. Raises: UnknownFormat."""
        assert self.detector is not None
        if self.detector.push(batch):
            return self._decide(self.detector)
        if self.detector.given_up:
            self.detector = Detector(self._only)  # discards the held records
            self.strange = self.given_up = True
        return None

    def at_rest(self, unfinished: list[Batch]) -> Recognised | None:
        """Decides by the records so far and the `unfinished` ones, which may still change; None if none fits."""
        assert self.detector is not None
        probe = self.detector.fork()
        for batch in unfinished:
            probe.push(batch)
        if not probe.seen_records:
            return None
        try:
            return self._decide(probe)
        except UnknownFormat:
            self.strange = True
            return None

    def _decide(self, detector: Detector) -> Recognised:
        """Raises: UnknownFormat."""
        provider, dialect = detector.finish()
        assert self.detector is not None
        held = self.detector.held
        if not detector.sure:
            self._assumed_by, held = self.detector, [_undecoded(batch) for batch in held]
        self.detector, self.strange = None, False
        changed = self._guessed not in (None, dialect)
        self._guessed = None
        return Recognised(provider, dialect, held, changed)

    def reopen(self, dialect: Dialect | None) -> bool:
        """The log continues, or rests once more: an assumed dialect may be another one by now. Returns whether it was
        only assumed.
        """
        if self._assumed_by is None:
            return False
        self._guessed = dialect
        self.detector, self._assumed_by = self._assumed_by, None
        return True

    def confirm(self) -> None:
        """The log is certainly of the dialect."""
        self._assumed_by = None

    def known(self) -> None:
        """The dialect is in the cursor."""
        self.detector = None

    def restart(self) -> None:
        """Nothing is known: the log is read from its beginning."""
        self._assumed_by = None
        self.detector, self.strange, self.given_up = Detector(self._only), False, False


def _undecoded(batch: Batch) -> Batch:
    """A batch with the same records, which can be decoded although they will be again."""
    copy = Batch(batch.file, batch.arrived_ms, batch.end, batch.unterminated, batch.document)
    copy.records, copy.faults = [*batch.records], [*batch.faults]
    return copy
