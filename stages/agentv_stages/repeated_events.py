"""Knows the events that earlier records told: said again by a later record, they are dropped and count once.

A session that is resumed, a log that is put together of two that overlap, a relay that sends twice: all repeat whole
records. The same id, part and kind of event in another record of the same length is a repetition. Calls and results
are not looked at here: `Pair` knows theirs.
"""

from agentv_stages.event import (
    MAIN,
    SUFFIXES,
    AnyEvent,
    AssistantText,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    UserText,
)
from agentv_stages.recent import Recent

MOST_KNOWN = 256
_TEXTS = frozenset((UserText, AssistantText, Reasoning))
ONCE = _TEXTS | {SlashCommand, SessionInfo, SessionEnd, Retract}
"""Kinds of events that would count, or stand in the transcript, twice."""


class RepeatedEvents:
    """Remembers the last 256 events of these kinds at least, at most twice as many."""

    def __init__(self) -> None:
        self._rows = Recent[int](MOST_KNOWN)

    def has(self, event: AnyEvent, kind: type[AnyEvent]) -> bool:
        """Whether an earlier record said this; remembers it. `kind`, one of `ONCE`, is the event's type."""
        source = event.source
        if not source.base_id:
            return False
        if kind in _TEXTS:
            if event.delta:  # type: ignore[union-attr]  # narrowed by `kind`, which mypy does not follow
                return False  # what is told in pieces may be told under one id
        elif kind is SessionInfo and not (event.begins or event.another):  # type: ignore[union-attr]  # as above
            return False
        key = f"{source.base_id}{event.part}:{SUFFIXES[kind]} {source.length}"
        if source.stream != MAIN:
            key = f"{source.stream} {key}"
        row = self._rows.get(key)
        if row is None:
            self._rows.put(key, source.row)
            return False
        return row != source.row

    def snapshot(self) -> dict[str, int]:
        """What is remembered: the row of each event."""
        return self._rows.items()

    def restore(self, rows: dict[str, int]) -> None:
        """Goes on from a snapshot."""
        self._rows.load(rows)
