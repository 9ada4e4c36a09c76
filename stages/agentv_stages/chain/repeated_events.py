"""Recognises events that an earlier record already reported, so that `Pair` can drop them and they count once.

Resumed sessions, logs merged from two that overlap, and relays that send twice all repeat whole records. An event with
the same id, part, stream and kind in another record is a repetition if its text, or for events without one its time, is
the same, too, and the record as long: somebody may have put one word in the place of all ids. Calls and results are not
handled here: `Pair` does that itself.
"""

from typing import TypeAlias
from zlib import crc32

from agentv_stages.model.event import (
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
"""Kinds of events that would otherwise count, or appear in the transcript, twice."""
_LAST_TEXT = 2
_ROW_BITS = 32
_LARGEST = (1 << 63) - 1  # what JSON readers take

Identity: TypeAlias = tuple[str, str, str, int, int]
"""Id, part, stream, kind (as in `ONCE`), a checksum of the rest."""


class RepeatedEvents:
    """Remembers at least the last 256 events of these kinds, at most twice as many, as `Recent` does."""

    def __init__(self) -> None:
        self._young: dict[Identity, int] = {}
        self._old: dict[Identity, int] = {}
        self._file = ""
        self._mark = 0  # of `_file`, above the bits of a row

    def has(self, event: AnyEvent, kind: int) -> bool:
        """Whether an earlier record reported this event; remembers it."""
        source = event.source
        if not source.base_id:
            return False
        if kind <= _LAST_TEXT:
            assert isinstance(event, (UserText, AssistantText, Reasoning))
            if event.delta:
                return False  # the pieces of one text may share an id
            body = event.body if isinstance(event, UserText) else event.text_json
            rest = crc32(body, source.length)
        elif type(event) is SessionInfo and not (event.begins or event.another):
            return False
        else:
            rest = source.length + (source.time_ms or 0)
        if source.file is not self._file:
            self._file = source.file
            self._mark = crc32(source.file.encode("utf-8", "surrogatepass")) << _ROW_BITS & _LARGEST
        place = self._mark ^ source.row
        key = (source.base_id, event.part, source.stream, kind, rest)
        young = self._young
        known = young.get(key)
        if known is None:
            known = self._old.get(key)
            if known is None:
                if len(young) >= MOST_KNOWN:
                    self._old = young
                    self._young = young = {}
                young[key] = place
                return False
        return known != place

    def snapshot(self) -> list[tuple[Identity, int]]:
        """The remembered events, each with the place of its record: its row, and above that a mark of its file."""
        return [*self._old.items(), *self._young.items()]

    def restore(self, rows: list[tuple[Identity, int]]) -> None:
        """Restores a snapshot: the old generation, if there is one, was full when the young one began."""
        old = rows[:MOST_KNOWN] if len(rows) > MOST_KNOWN else []
        self._old, self._young = dict(old), dict(rows[len(old) :])
