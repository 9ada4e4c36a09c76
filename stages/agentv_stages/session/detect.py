"""Detects the dialect of an input from its first records, never from its path."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from agentv_stages.chain.foreign import OURS, foreign_agent
from agentv_stages.chain.objects import objects
from agentv_stages.chain.printed import Printed
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Reasoning, ToolCall, ToolResult, UserText
from agentv_stages.model.payload import to_raw
from agentv_stages.model.provider import REFUSED, DecodeContext, Dialect, Provider
from agentv_stages.model.visible import visible
from agentv_stages.providers import NAMES, get_provider, plugins

MOST_RECORDS = 64
MOST_NOISE = 8_192  # records without any JSON object that are examined (a wrapper's output before the agent's)
MOST_BYTES = 256 * 1024
MOST_GIANT = 256 * 1024 * 1024  # bytes of records over the cap that are held while the dialect is unknown
ENOUGH_RECORDS = 5
MOST_NAMED = 8  # dialects that a message names; the others are only counted
CERTAIN = 1.0
LIKELY = 0.5  # a weaker match loses against the log of an unsupported agent
SEVERAL_LINES = "; where records go over several lines, `jq -c .` puts each on one"
SPOKEN = (UserText, AssistantText, Reasoning, ToolCall, ToolResult)
EARLY_LOOKS = frozenset((4, 12))  # records after which a decision is tried, within one batch


class UnknownFormat(ValueError):
    """No dialect fits the input. `tried` names the dialects, `found` describes the input.

    `agent` names the log of an unsupported agent, if recognised ("a Droid session"); `looks` is the dialect that fits
    where it is not the requested provider's; `records` is how many JSON objects were examined.
    """

    def __init__(
        self, found: str, tried: Iterable[str], agent: str | None = None, looks: str | None = None, records: int = 0
    ) -> None:
        self.found = found
        self.tried = tuple(tried)
        self.agent = agent
        self.looks = looks
        self.records = records
        if agent is not None:
            super().__init__(OURS if agent == OURS else f"{agent}; not supported ({found})")
        elif looks is not None:
            super().__init__(f"looks like {looks}; tried only {', '.join(self.tried)}")
        elif len(self.tried) > MOST_NAMED:
            super().__init__(f"not a log of a known agent: {found}; tried all {len(self.tried)} known dialects")
        else:
            super().__init__(f"not a log of a known agent: {found}; tried only {', '.join(self.tried)}")


def rank(head: list[Mapping[str, Any]], only: Provider | None = None) -> list[tuple[float, Provider, Dialect]]:
    """The dialects that fit, the surest first. Providers are tried in order, and a certain match ends the search.

    None fits the log of an unsupported agent that only shares a few lines with them, such as its errors.
    """
    found: list[tuple[float, Provider, Dialect]] = []
    for provider in [only] if only else _providers():
        for dialect in provider.dialects:
            score = dialect.detect(head)
            if score > 0:
                found.append((score, provider, dialect))
                if score >= CERTAIN:
                    return [found[-1]]
    found.sort(key=lambda entry: -entry[0])
    if found and only is None and found[0][0] < LIKELY and foreign_agent(head) is not None:
        return []
    return found


def sure_dialect(head: list[Mapping[str, Any]]) -> Dialect | None:
    """The dialect that certainly has such records; None if there is none."""
    found = rank(head)
    return found[0][2] if found and found[0][0] >= CERTAIN else None


def named(head: list[Mapping[str, Any]], only: Provider | None) -> list[tuple[float, Provider, Dialect]]:
    """The dialect of a requested provider that understands most of a log in which no dialect's marks were found: its
    beginning may be missing, or fields were left out. The caller knows whose it is.
    """
    if only is None or any(score >= LIKELY for score, _, _ in rank(head)):
        return []
    found = [(float(understood(dialect, head).records), only, dialect) for dialect in only.dialects]
    return sorted((candidate for candidate in found if candidate[0]), key=lambda candidate: -candidate[0])[:1]


class Understood(NamedTuple):
    """The result of decoding first records with a dialect: the number of records that gave events, and whether the
    decoder knows all of them and some belong to the conversation."""

    records: int
    spoken: bool


def understood(dialect: Dialect, head: Sequence[Mapping[str, Any]]) -> Understood:
    """Decodes records with a decoder of their own."""
    decoder, batch, records, refused = dialect.decoder(DecodeContext()), Batch(), 0, 0
    for row, value in enumerate(head):
        before = len(batch.events)
        try:
            decoder.decode(Record(bytes(to_raw(value)), 0, row), batch)
        except REFUSED:
            del batch.events[before:]
            refused += 1
        records += len(batch.events) > before
    spoken = not refused and not batch.unknown and any(isinstance(event, SPOKEN) for event in batch.events)
    return Understood(records, spoken)


def _providers() -> Iterable[Provider]:
    for name in NAMES:
        yield get_provider(name)
    yield from plugins().values()


class NoRecords(UnknownFormat):
    """The input has no record that can be examined: it is empty, or every record is over the cap (`over_cap`)."""

    def __init__(self, over_cap: bool) -> None:
        super().__init__("every record is over the cap" if over_cap else "the input is empty", ())
        self.over_cap = over_cap


class Detector:
    """Holds the first batches until a dialect is decided. `only` limits the search to one provider's dialects."""

    def __init__(self, only: Provider | None = None) -> None:
        self.only = only
        self.held: list[Batch] = []
        self.provider: Provider | None = None
        self.dialect: Dialect | None = None
        self.sure = True  # more records would not change the decision
        self._head: list[Mapping[str, Any]] = []
        self._records = 0
        self._noise = 0
        self._bytes = 0
        self._first = b""
        self._giant = 0
        self._object: Printed | None = None  # an object that is printed on several lines

    def push(self, batch: Batch) -> bool:
        """Takes the next batch; True once the dialect is decided."""
        self.held.append(batch)
        self._giant += sum(fault.length for fault in batch.faults if fault.part != "whole")
        before = len(self._head)
        for record in batch.records:
            if self._records - self._noise >= MOST_RECORDS or self._noise >= MOST_NOISE:
                break
            self._records += 1
            self._first = self._first or record.data[:200]
            found_objects = objects(record) or self._printed(record.data)
            if not found_objects:
                self._noise += 1
                continue
            self._bytes += len(record.data)
            self._head.extend(found_objects)
            if len(self._head) in EARLY_LOOKS:  # untyped decoding of 64 records costs more than a small session
                early = rank(self._head, self.only)
                if early and early[0][0] >= CERTAIN:
                    self._decide(early)
                    return True
        if len(self._head) == before:
            return False
        found = rank(self._head[:MOST_RECORDS], self.only)
        enough = self._records - self._noise >= MOST_RECORDS or len(self._head) >= ENOUGH_RECORDS
        full = enough or self._bytes >= MOST_BYTES
        if found and (found[0][0] >= CERTAIN or full):
            self._decide(found)
            return True
        return False

    def settle(self) -> bool:
        """Decides while a live input is silent, if some of the records so far are of the conversation and the dialect
        that fits best knows all of them; True if it is decided.
        """
        if self.dialect is None and self._head:
            head = self._head[:MOST_RECORDS]
            found = rank(head, self.only)[:1] or named(head, self.only)
            if found and not found[0][2].answer_only and understood(found[0][2], head).spoken:
                self._decide(found)
        return self.dialect is not None

    def fork(self) -> "Detector":
        """A copy, to try what one more batch would decide."""
        other = Detector(self.only)
        other.held, other.provider, other.dialect = list(self.held), self.provider, self.dialect
        other._head, other._first = list(self._head), self._first
        other._records, other._noise, other._bytes = self._records, self._noise, self._bytes
        other._giant, other._object = self._giant, deepcopy(self._object)
        return other

    def _printed(self, line: bytes) -> list[Mapping[str, Any]]:
        """The object whose last line this is: among other lines, from a lone `{` to a lone `}`."""
        if line == b"{":
            self._object = Printed([line])
        elif self._object is not None and self._object.takes(line) and self._object.add(line):
            printed, self._object = Record(b"".join(self._object.lines), 0, 0), None
            return objects(printed)
        return []

    @property
    def given_up(self) -> bool:
        """Whether so much was seen without a clue that there is no point in reading on and holding it all."""
        searched = self._records - self._noise >= MOST_RECORDS or self._noise >= MOST_NOISE
        return self.dialect is None and (searched or self._giant >= MOST_GIANT)

    @property
    def seen_records(self) -> int:
        """How many records were examined."""
        return self._records

    def finish(self, last: Iterable[Batch] = ()) -> tuple[Provider, Dialect]:
        """Decides at the end of the input; `last` is looked at as well, but not held.

        Raises: UnknownFormat when nothing fits, NoRecords when there was nothing to look at.
        """
        held = [*self.held]
        for batch in last if self.dialect is None else ():
            self.push(batch)
        self.held = held
        if self.dialect is None:
            if not self._records:
                raise NoRecords(over_cap=self._giant > 0)
            head = self._head[:MOST_RECORDS]
            found = rank(head, self.only) or named(head, self.only)
            if not found:
                tried = [d.name for p in ([self.only] if self.only else _providers()) for d in p.dialects]
                others = rank(head) if self.only else []
                looks = others[0][2].name if others else None
                hint = "" if head else SEVERAL_LINES
                raise UnknownFormat(describe(self._first, hint), tried, foreign_agent(head), looks, len(head))
            self._decide(found)
            self.sure = found[0][0] >= CERTAIN
        assert self.provider is not None and self.dialect is not None
        return self.provider, self.dialect

    def _decide(self, found: list[tuple[float, Provider, Dialect]]) -> None:
        _, self.provider, self.dialect = found[0]


_BROKEN_JSON = re.compile(rb"\s*\{\s*\n\s*\"")
_SIGNS = (
    (b"\xff\xfe", "it is UTF-16 (as `>` of Windows PowerShell writes); convert it to UTF-8"),
    (b"\xfe\xff", "it is UTF-16; convert it to UTF-8"),
    (b"\x1f\x8b", "it is compressed with gzip; give the file itself, or unpack it in the pipe (`gzip -dc`)"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd; give the file itself, or unpack it in the pipe (`zstd -dc`)"),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it first"),
    (b"SQLite format 3\0", "it is an SQLite database"),
)


def describe(data: bytes, hint: str = "") -> str:
    """The beginning of an input as one short printable line; `hint` is appended to JSON with line ends."""
    if not data:
        return "no records"
    for sign, meaning in _SIGNS:
        if data.startswith(sign):
            return meaning
    text = data[:80].decode("utf-8", "replace")
    odd = sum(c == "\N{REPLACEMENT CHARACTER}" or not (c.isprintable() or c.isspace()) for c in text)
    if len(text) > 16 and odd * 4 > len(text):
        return "it is binary data"
    return f"it begins with '{visible(text)}'{hint if _BROKEN_JSON.match(data) else ''}"
