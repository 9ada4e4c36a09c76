"""Seeded ids and times of a made-up session: unique however long it gets, and cheap (about 1 µs each)."""

from __future__ import annotations

import random
import string
from datetime import UTC, datetime

_BASE62 = string.digits + string.ascii_letters


class Ids:
    """Ids in the shapes that Claude Code writes. The random half comes from a pool, the unique half is a counter."""

    def __init__(self, rng: random.Random) -> None:
        self._bits = rng.getrandbits
        self._pool = ["".join(rng.choices(_BASE62, k=11)) for _ in range(512)]
        self._count = 0

    def uuid(self) -> bytes:
        h = f"{self._bits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}".encode()

    def _unique(self) -> str:
        self._count += 1
        return f"01{self._pool[self._bits(9)]}{self._count:011x}"

    def message(self) -> bytes:
        return b"msg_" + self._unique().encode()

    def request(self) -> bytes:
        return b"req_" + self._unique().encode()

    def call(self) -> bytes:
        return b"toolu_" + self._unique().encode()

    def agent(self) -> bytes:
        self._count += 1
        return f"a{self._bits(32):08x}{self._count:08x}".encode()


class Clock:
    """The time of a session: it only moves when told, so a seed gives the same bytes on every day."""

    def __init__(self, start: datetime) -> None:
        self.now_ms = int(start.timestamp() * 1000)
        self.start_ms = self.now_ms
        self._second = -1
        self._prefix = b""

    def advance(self, ms: int) -> None:
        self.now_ms += ms

    def iso(self) -> bytes:
        """As JavaScript's toISOString: milliseconds and Z."""
        second, ms = divmod(self.now_ms, 1000)
        if second != self._second:
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.").encode()
        return self._prefix + b"%03dZ" % ms
