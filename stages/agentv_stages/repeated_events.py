"""Knows the events that earlier records told: said again by a later record, they are dropped and count once.

A session that is resumed, a log that is put together of two that overlap, a relay that sends twice: all repeat whole
records. The same id, part and kind of event in another record of the same length is a repetition. Calls and results
are not looked at here: `Pair` knows theirs.
"""

from typing import TypeAlias

from agentv_stages.event import (
    AnyEvent,
    AssistantText,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    UserText,
)

MOST_KNOWN = 256
ONCE: dict[type[AnyEvent], int] = {
    UserText: 0,
    AssistantText: 1,
    Reasoning: 2,
    SlashCommand: 3,
    SessionInfo: 4,
    SessionEnd: 5,
    Retract: 6,
}
"""Kinds of events that would count, or stand in the transcript, twice."""
_LAST_TEXT = 2

Identity: TypeAlias = tuple[str, str, str, int, int]
"""Id, part, stream, kind (as in `ONCE`), length of the record."""


class RepeatedEvents:
    """Remembers the last 256 events of these kinds at least, at most twice as many, as `Recent` does."""

    def __init__(self) -> None:
        self._young: dict[Identity, int] = {}
        self._old: dict[Identity, int] = {}

    def has(self, event: AnyEvent, kind: int) -> bool:
        """Whether an earlier record said this; remembers it."""
        source = event.source
        if not source.base_id:
            return False
        if kind <= _LAST_TEXT:
            if event.delta:  # type: ignore[union-attr]  # narrowed by `kind`
                return False  # what is told in pieces may be told under one id
        elif type(event) is SessionInfo and not (event.begins or event.another):
            return False
        key = (source.base_id, event.part, source.stream, kind, source.length)
        young = self._young
        row = young.get(key)
        if row is None:
            row = self._old.get(key)
            if row is None:
                if len(young) >= MOST_KNOWN:
                    self._old = young
                    self._young = young = {}
                young[key] = source.row
                return False
        return row != source.row

    def snapshot(self) -> list[tuple[Identity, int]]:
        """What is remembered, each event with the row of its record."""
        return [*self._old.items(), *self._young.items()]

    def restore(self, rows: list[tuple[Identity, int]]) -> None:
        """Goes on from a snapshot."""
        self._old, self._young = dict(rows[:-MOST_KNOWN]), dict(rows[-MOST_KNOWN:])
