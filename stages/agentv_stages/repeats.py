"""What a decoder told lately, by the identity of its records: a record that the log repeats is told once.

An agent that prints its session again, a relay that sends twice, a crash behind which a stretch is appended again: all
repeat whole records. Where a record has an id of its own, that is its identity; where it has a time but no id, its
time and its bytes are (`check`). Records with neither have none and are told as often as they come.
"""

from zlib import crc32

from msgspec import Struct

from agentv_stages.batch import Record

MOST = 256
_END = 128  # bytes of a record that are looked at beside its time and length: how the text ends


class Repeats(Struct, array_like=True):
    """Part of a decoder's state: the last `MOST` identities at least, at most twice as many.

    Two generations, as in `Recent`, in a form that is written down with the state. With each stands the length of its
    record, which keeps apart what bears one id because somebody took the ids out.
    """

    young: dict[str, int] = {}
    old: dict[str, int] = {}

    def known(self, key: str, length: int | None = None) -> bool:
        """Whether a record of this identity, and where it is given of this length, came before."""
        if length is None:
            return key in self.young or key in self.old
        return self.young.get(key) == length or self.old.get(key) == length

    def again(self, key: str | None, length: int = 0) -> bool:
        """Whether a record of this identity and length came before; remembers it. Without an identity it did not."""
        if not key:
            return False
        young = self.young
        if young.get(key) == length or self.old.get(key) == length:
            return True
        if len(young) >= MOST:
            self.old = young
            self.young = young = {}
        young[key] = length
        return False


def check(record: Record, time: str | int | None) -> str:
    """The identity of a record that has no id; none ("") where its time is none either, or a word in place of one."""
    if not time or (isinstance(time, str) and not time[0].isdigit()):
        return ""
    data = record.data
    return f"{time} {crc32(data[-_END:], len(data))}"
