"""Recent records of a decoder, by identity, so that a record that the log repeats is decoded only once.

Agents that print their session again, relays that send twice, and crashes after which a stretch is appended again all
repeat whole records. The identity of a record is its id or, if it has only a time, its time and bytes (`check`).
Records with neither have no identity and are decoded as often as they come.
"""

from zlib import crc32

from msgspec import Raw, Struct

from agentv_stages.model.batch import Record
from agentv_stages.model.times import Time

MOST = 256
_END = 128  # bytes at the end of a record that are compared besides its time and length


class Repeats(Struct, array_like=True):
    """Part of a decoder's state: at least the last `MOST` identities, at most twice as many.

    Two generations, as in `Recent`, in a form that is saved with the state. Each identity has a `mark` of its record to
    distinguish records whose real ids were replaced by a common one: its length or, where nothing else would
    distinguish them, a checksum, for of a few hundred records some are equally long.
    """

    young: dict[str, int] = {}
    old: dict[str, int] = {}

    def known(self, key: str, mark: int | None = None) -> bool:
        """Whether a record of this identity (and with this mark, if given) came before."""
        if mark is None:
            return key in self.young or key in self.old
        return self.young.get(key) == mark or self.old.get(key) == mark

    def again(self, key: str | None, mark: int = 0) -> bool:
        """Whether a record of this identity and mark came before; remembers it. False without an identity."""
        if not key:
            return False
        young = self.young
        if young.get(key) == mark or self.old.get(key) == mark:
            return True
        if len(young) >= MOST:
            self.old = young
            self.young = young = {}
        young[key] = mark
        return False


def checksum(data: bytes | Raw) -> int:
    """The mark of a record by all that it says."""
    return crc32(data)


def check(record: Record, time: Time) -> str:
    """The identity of a record without an id; "" if it has no time either, or a word in its place."""
    if not time or (isinstance(time, str) and not time[0].isdigit()):
        return ""
    data = record.data
    return f"{time} {crc32(data[-_END:], len(data))}"
