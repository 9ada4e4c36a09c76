"""A compact memory of the records of a stream: whether a record is a copy of an earlier one, however far back.

A record with a time becomes one number of 64 bits: its time in the upper 42 bits, a checksum of its id in the lower 22.
Logs are written in the order of time, so nearly every record is the newest so far: it is new, and its number is made
later, with many others. Only an older one is searched for. A record that needs its contents to be recognised has a
number in a table of its own. Records without a time are numbers by hash, in 256 sorted tables. A million records take
9 MB, and the names of the latest without a time up to 2 MB.
"""

from array import array
from bisect import bisect_left, bisect_right
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from zlib import crc32

from msgspec import Struct

from agentv_stages.model.event import Source

MOST_NOTED = 256  # with 8,192, the sources in memory made all other stages slower: 6 % of a large session
MOST_NAMES = 16_384
_TIME_BITS = 42  # milliseconds until the year 2109
_SUM_BITS = 64 - _TIME_BITS
_TIMES = (1 << _TIME_BITS) - 1
_SUMS = (1 << _SUM_BITS) - 1
_TABLE_SHIFT = 56
_time_of = attrgetter("time_ms")


class KnownState(Struct, array_like=True):
    """The numbers of the records, 8 bytes each, and the latest time. `marked` are those made of contents."""

    timed: bytes = b""
    timeless: bytes = b""
    newest_ms: int = -1
    marked: bytes = b""


class KnownRecords:
    """The records of one stream. `noted` are the latest ones with a time, in order of time, whose numbers are not made
    yet: all are later than those with a number. `names` are the latest records without a time.
    """

    __slots__ = ("_marked", "_timed", "_timeless", "names", "newest_ms", "noted")

    def __init__(self) -> None:
        self.newest_ms = -1
        self.noted: list[Source] = []
        self.names: set[str] = set()
        self._timed: array[int] = array("Q")
        self._marked: array[int] = array("Q")
        self._timeless: dict[int, array[int]] = {}

    @property
    def few(self) -> int:
        """How many names there may be while they are all that is known of records without a time."""
        return 0 if self._timeless else MOST_NAMES - 1

    def has(self, source: Source) -> bool:
        """Whether a record with this id and time came before; remembers it."""
        time_ms, noted = source.time_ms, self.noted
        if time_ms is None:
            return self._has_name(source.base_id)
        if time_ms > self.newest_ms:
            self.newest_ms = time_ms
            noted.append(source)
            return False
        at = after = bisect_right(noted, time_ms, key=_time_of)
        while at and noted[at - 1].time_ms == time_ms:
            at -= 1
            if noted[at].base_id == source.base_id:
                return True
        if not at:  # a record with a number may have this time
            return _insert(self._timed, _number(source.base_id, time_ms))
        noted.insert(after, source)
        return False

    def has_contents(self, record_id: str, time_ms: int | None, contents: int) -> bool:
        """Whether a record with this id, time and checksum of contents came before; remembers it."""
        if time_ms is None:
            return self._has_name(f"{record_id} {contents}")
        return _insert(self._marked, _number(record_id, time_ms, contents))

    def _has_name(self, name: str) -> bool:
        names = self.names
        if name in names:
            return True
        if self._timeless:
            number = _hashed(name)
            table = self._timeless.get(number >> _TABLE_SHIFT, ())
            at = bisect_left(table, number)
            if at < len(table) and table[at] == number:
                return True
        names.add(name)
        if len(names) >= MOST_NAMES:
            self._take_names()
        return False

    def _take_names(self) -> None:
        numbers = sorted(map(_hashed, self.names))
        self.names.clear()
        for key, fresh in groupby(numbers, _table_of):
            self._timeless[key] = array("Q", sorted((*self._timeless.get(key, ()), *fresh)))

    def compress(self) -> None:
        """Makes the numbers of the noted records."""
        timed = self._timed
        numbers: list[int] = [
            (source.time_ms & _TIMES) << _SUM_BITS | crc32(source.base_id.encode("utf-8", "surrogatepass")) & _SUMS  # type: ignore[operator]  # noted records have a time
            for source in self.noted
        ]
        self.noted.clear()
        numbers.sort()  # those of one time are in the order of the log
        later = bisect_right(numbers, timed[-1]) if timed else 0  # after 2109, larger times are no larger numbers
        for number in numbers[:later]:
            _insert(timed, number)
        timed.extend(numbers[later:])

    def snapshot(self) -> KnownState:
        self.compress()
        self._take_names()
        timeless = b"".join(self._timeless[key].tobytes() for key in sorted(self._timeless))
        return KnownState(self._timed.tobytes(), timeless, self.newest_ms, self._marked.tobytes())

    def restore(self, snapshot: KnownState, /) -> None:
        self.newest_ms, self.noted, self.names = snapshot.newest_ms, [], set()
        self._timed, self._marked = array("Q", snapshot.timed), array("Q", snapshot.marked)
        self._timeless = {}
        for number in array("Q", snapshot.timeless):
            self._timeless.setdefault(number >> _TABLE_SHIFT, array("Q")).append(number)


def _number(record_id: str, time_ms: int, contents: int = 0) -> int:
    """The number of a record with a time: larger for a later one."""
    return (time_ms & _TIMES) << _SUM_BITS | crc32(
        record_id.encode("utf-8", "surrogatepass"), contents & 0xFFFFFFFF
    ) & _SUMS


def _hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _table_of(number: int) -> int:
    return number >> _TABLE_SHIFT


def _insert(table: "array[int]", number: int) -> bool:
    """Whether a sorted table contains a number; inserts it otherwise."""
    at = bisect_left(table, number)
    if at < len(table) and table[at] == number:
        return True
    table.insert(at, number)
    return False
