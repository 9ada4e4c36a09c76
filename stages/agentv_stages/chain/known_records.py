"""A compact memory of the records of a stream: whether a record is a copy of an earlier one, however far back.

A record with a time becomes one number of 64 bits: its time in the upper 42 bits, a checksum of its id or contents in
the lower 22. Logs are written in the order of time, so nearly every record is the newest so far: it is new, and its
number is made later, with many others. Only an older one is searched for. Records without a time are numbers by hash,
in 256 sorted tables. A million records take 9 MB, and the latest up to 5 MB.
"""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from zlib import crc32

from msgspec import Struct

from agentv_stages.model.event import Source

MOST_NOTED = 8_192
MOST_NAMES = 16_384
_TIME_BITS = 42  # milliseconds until the year 2109
_SUM_BITS = 64 - _TIME_BITS
_TIMES = (1 << _TIME_BITS) - 1
_SUMS = (1 << _SUM_BITS) - 1
_TABLE_SHIFT = 56


class KnownState(Struct, array_like=True):
    """The numbers of the records, 8 bytes each, and the latest time."""

    timed: bytes = b""
    timeless: bytes = b""
    newest_ms: int = -1


class KnownRecords:
    """The records of one stream. `noted` are the latest ones with a time, oldest first, whose numbers are not made yet;
    `names` are the latest ones without.
    """

    __slots__ = ("_timed", "_timeless", "names", "newest_ms", "noted")

    def __init__(self) -> None:
        self.newest_ms = -1
        self.noted: list[Source] = []
        self.names: set[str] = set()
        self._timed: array[int] = array("Q")
        self._timeless: dict[int, array[int]] = {}

    @property
    def few(self) -> int:
        """How many names there may be while they are all that is known of records without a time."""
        return 0 if self._timeless else MOST_NAMES - 1

    def has(self, record_id: str, time_ms: int | None, contents: int = 0) -> bool:
        """Whether a record came before; remembers it. `contents`: a checksum of its content, 0 where id and time
        identify it.
        """
        if time_ms is None:
            return self._has_timeless(f"{record_id} {contents}" if contents else record_id)
        if self.noted:
            self.compress()
        if time_ms > self.newest_ms:
            self.newest_ms = time_ms
        return _insert(self._timed, _number(record_id, time_ms, contents))

    def _has_timeless(self, name: str) -> bool:
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
        for number in map(_hashed, self.names):
            _insert(self._timeless.setdefault(number >> _TABLE_SHIFT, array("Q")), number)
        self.names.clear()

    def compress(self) -> None:
        """Makes the numbers of the noted records."""
        for_long = not self.noted or (self.noted[-1].time_ms or 0) <= _TIMES
        self._timed.extend([_number(source.base_id, source.time_ms or 0, 0) for source in self.noted])
        self.noted.clear()
        if not for_long:  # a clock ahead of 2109: larger times are no larger numbers
            self._timed = array("Q", sorted(self._timed))

    def snapshot(self) -> KnownState:
        self.compress()
        self._take_names()
        timeless = b"".join(self._timeless[key].tobytes() for key in sorted(self._timeless))
        return KnownState(self._timed.tobytes(), timeless, self.newest_ms)

    def restore(self, snapshot: KnownState, /) -> None:
        self.newest_ms, self.noted, self.names = snapshot.newest_ms, [], set()
        self._timed, self._timeless = array("Q", snapshot.timed), {}
        for number in array("Q", snapshot.timeless):
            _insert(self._timeless.setdefault(number >> _TABLE_SHIFT, array("Q")), number)


def _number(record_id: str, time_ms: int, contents: int) -> int:
    """The number of a record with a time: larger for a later one."""
    return (time_ms & _TIMES) << _SUM_BITS | crc32(
        record_id.encode("utf-8", "surrogatepass"), contents & 0xFFFFFFFF
    ) & _SUMS


def _hashed(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _insert(table: "array[int]", number: int) -> bool:
    """Whether a sorted table contains a number; inserts it otherwise."""
    at = bisect_left(table, number)
    if at < len(table) and table[at] == number:
        return True
    table.insert(at, number)
    return False
