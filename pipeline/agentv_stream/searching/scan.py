"""The part of a search that one worker does. In: logs. Out: which of them may hold the text, and the places in
sessions.

Most logs do not hold it, so their raw bytes are examined first; only the others are decoded.
"""

import posixpath
from collections.abc import Iterable, Iterator

from msgspec import Struct

from agentv_stages.model.reading_order import Spot, reading_order, spot_of
from agentv_stages.model.text_matches import Match, matches_in
from agentv_stages.model.text_query import TextQuery, in_pieces
from agentv_stream.bulk.own_stages import stages_of
from agentv_stream.discovery.show import session_pieces
from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SourceError
from agentv_stream.redaction.redaction import Redaction
from agentv_stream.summary import SessionReader

HEAD_BYTES = 1 << 18  # in which a log shows whether it holds texts in pieces
SNIPPET_BEFORE, SNIPPET_AFTER = 80, 240  # characters


class Wanted(Struct, frozen=True):
    """The text to look for, and the period: UTC ms, None for no bound. `redaction` replaces secrets before the
    search.
    """

    text: str
    case_sensitive: bool = False
    since_ms: int | None = None
    until_ms: int | None = None
    redaction: Redaction | None = None

    def query(self) -> TextQuery:
        return TextQuery(self.text, self.case_sensitive)


class Look(Struct, frozen=True):
    """Logs to examine; a session of a store is `STORE::SESSION`."""

    wanted: Wanted
    paths: tuple[str, ...]


class Candidate(Struct, frozen=True):
    """A session to read; `number` orders them."""

    wanted: Wanted
    number: int
    path: str
    provider: str


class Place(Struct, frozen=True):
    """A place that holds the text. `where` is `text`, `thinking`, `input` or `output` (of a call of `tool`). `before`,
    `found` and `after` are one piece of the text, with line ends."""

    turn: int
    stream: str
    role: str
    time_ms: int | None
    where: str
    tool: str | None
    before: str
    found: str
    after: str


class Read(Struct, frozen=True):
    """The places of a session, in reading order; `trouble` says why it was not read to its end."""

    number: int
    places: tuple[Place, ...]
    trouble: str | None = None


def holding(look: Look) -> tuple[list[str], list[str]]:
    """The logs that may hold the text, and a message for each that cannot be read."""
    query = look.wanted.query()
    held: list[str] = []
    troubles: list[str] = []
    for path in look.paths:
        try:
            if _may_hold(session_pieces(path), query):
                held.append(path)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                troubles.append(str(error))
    return held, troubles


def _may_hold(pieces: Iterable[bytes], query: TextQuery) -> bool:
    rest, head = b"", 0
    for data in pieces:
        if query.may_hold(data) or (rest and query.may_hold(rest + data[: query.overlap])):
            return True
        if head < HEAD_BYTES and in_pieces(data):
            return True
        head += len(data)
        rest = (rest + data)[-query.overlap :] if len(data) < query.overlap else data[-query.overlap :]
    return False


def read_places(candidate: Candidate) -> Read:
    """The places of a session that hold the text."""
    wanted, spots, found = candidate.wanted, list[Spot](), dict[int, list[Match]]()
    query, trouble = wanted.query(), None
    try:
        parts = stages_of((), (), wanted.redaction)
        pieces = session_pieces(candidate.path)
        reader = SessionReader(pieces, candidate.path, candidate.provider, messages=True, parts=parts)
        for batch in reader.batches():
            for message in batch.messages:
                spots.append(spot_of(message))
                matches = list(matches_in(message, query))
                if matches:
                    found[message.index] = found.get(message.index, []) + matches
    except (NotALog, EmptyInput):
        return Read(candidate.number, ())
    except AgentvStreamError as error:
        trouble = str(error)
    places: list[Place] = []
    for spot in reading_order(spots):
        if spot.index in found and _dated(spot, wanted):
            places += [_place(spot, match) for match in found[spot.index]]
    return Read(candidate.number, tuple(places), trouble)


def _dated(spot: Spot, wanted: Wanted) -> bool:
    """Whether a message is of the period; one without a time is."""
    if spot.time_ms is None:
        return True
    after = wanted.since_ms is None or spot.time_ms >= wanted.since_ms
    return after and (wanted.until_ms is None or spot.time_ms < wanted.until_ms)


def _place(spot: Spot, match: Match) -> Place:
    text, start, end = match.text, match.start, match.end
    before, after = text[max(0, start - SNIPPET_BEFORE) : start], text[end : end + SNIPPET_AFTER]
    turn = spot.turn if spot.turn is not None else 1
    return Place(
        turn, spot.stream, spot.role, spot.time_ms, match.place, match.tool, before, text[start:end], after
    )  # fmt: skip


def tasks_of(wanted: Wanted, logs: Iterable[tuple[str, int]], most_bytes: int) -> Iterator[Look]:
    """The logs, each a path and a size, in tasks of about `most_bytes`; a large one is a task of its own."""
    paths: list[str] = []
    held = 0
    for path, size in sorted(logs, key=lambda log: (-log[1], posixpath.dirname(log[0]), log[0])):
        if paths and held + size > most_bytes:
            yield Look(wanted, tuple(paths))
            paths, held = [], 0
        paths.append(path)
        held += max(size, 4096)  # opening a file takes as long as reading some kilobytes
    if paths:
        yield Look(wanted, tuple(paths))
