"""One stream of the events of many sessions, as JSON lines; each at least once, with a stable id.

A session's events wait until its id is known, because event ids depend on it, but for at most 64 records; a log without
an id then gets the hash of its first record, a document (whose only record changes) that of its path.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import repeat

from msgspec import Struct

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.sinks.event_lines import EventLines, Tips

PATIENCE = 64


class MergedState(Struct):
    """The session id used in the lines, and the last event of each stream."""

    session_id: str
    tips: Tips


class MergedEvents:
    """The events of one session. `emit` takes lines and hands them to the kernel before it returns."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self._emit = emit
        self._lines: EventLines | None = None
        self._held: list[tuple[AnyEvent, bool]] = []
        self._first = ""

    @property
    def ready(self) -> bool:
        """Whether everything received has been emitted."""
        return not self._held

    def write(
        self, batch: Batch, observer: Observer, new: Iterable[bool] = repeat(True), identity: bytes | None = None
    ) -> None:
        """Takes a batch that has passed all stages. An event that is not `new` is not emitted, but later ones know it.
        `identity` takes the place of the first record.

        Raises: OSError when no reader takes the lines.
        """
        if not self._first and batch.records:
            self._first = blake2b(identity or batch.records[0].data, digest_size=16).hexdigest()
        self._held += zip(batch.events, new, strict=False)
        facts = observer.facts
        if self._lines is None:
            if facts.session_id is None and facts.records < PATIENCE:
                return
            self._lines = EventLines(facts.session_id or self._first)
        self.release()

    def release(self, at_end: bool = False) -> None:
        """Emits waiting events; with `at_end` even if the session's id is still unknown."""
        if self._lines is None:
            if not at_end or not self._held:
                return
            self._lines = EventLines(self._first)
        if self._held:
            lines: list[bytes] = []
            for event, new in self._held:
                if new:
                    lines.append(self._lines.line(event))
                else:
                    self._lines.value(event)
            if lines:
                self._emit(b"".join(lines))
            self._held = []

    def snapshot(self) -> MergedState | None:
        return None if self._lines is None else MergedState(self._lines.session_id, self._lines.snapshot())

    def restore(self, state: MergedState) -> None:
        self._lines = EventLines(state.session_id)
        self._lines.restore(state.tips)
