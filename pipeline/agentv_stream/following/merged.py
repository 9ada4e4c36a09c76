"""One stream of the events of many sessions, as JSON lines; each at least once, with a stable id.

A session's events wait until its id is known, because event ids depend on it, but for at most 64 records; a log without
an id then gets the hash of its first record.
"""

from collections.abc import Callable
from hashlib import blake2b

from msgspec import Struct

from agentv_stages.batch import Batch
from agentv_stages.event import AnyEvent
from agentv_stages.result import Observer
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
        self._held: list[AnyEvent] = []
        self._first = ""

    @property
    def ready(self) -> bool:
        """Whether everything received has been emitted."""
        return not self._held

    def write(self, batch: Batch, observer: Observer) -> None:
        """Takes a batch that has passed all stages. Raises: OSError when nobody takes the lines."""
        if not self._first and batch.records:
            self._first = blake2b(batch.records[0].data, digest_size=16).hexdigest()
        self._held += batch.events
        facts = observer.facts
        if self._lines is None:
            if facts.session_id is None and facts.records < PATIENCE:
                return
            self._lines = EventLines(facts.session_id or self._first)
        self.release()

    def pass_over(self, batch: Batch, observer: Observer) -> None:
        """Takes a batch without emitting it, so that later events know their parents."""
        if self._lines is None and observer.facts.session_id is not None:
            self._lines = EventLines(observer.facts.session_id)
        if self._lines is not None:
            for event in batch.events:
                self._lines.value(event)

    def release(self, at_end: bool = False) -> None:
        """Emits waiting events; with `at_end` even if the session's id is still unknown."""
        if self._lines is None:
            if not at_end or not self._held:
                return
            self._lines = EventLines(self._first)
        if self._held:
            lines = self._lines
            self._emit(b"".join([lines.line(event) for event in self._held]))
            self._held = []

    def snapshot(self) -> MergedState | None:
        return None if self._lines is None else MergedState(self._lines.session_id, self._lines.snapshot())

    def restore(self, state: MergedState) -> None:
        self._lines = EventLines(state.session_id)
        self._lines.restore(state.tips)
