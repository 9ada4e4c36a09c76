"""What happens at the same time in a session, in some order; and the clock that its agent writes by."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from support.scenarios.scenario import Call

STARTED_MS = 1_772_443_800_000  # 2026-03-02T09:30:00Z


def in_some_order(seed: int, blocks: Iterator[int], works: Mapping[int, Iterator[Any]]) -> Iterator[None]:
    """Puts down an answer and what its calls do, a step at a time. `blocks` puts down a block with each step and gives
    the number of the call in it, or 0; the work of a call begins behind its block. With the seed 0 all blocks come
    first, and the works one behind the other."""
    if not seed:
        for one in (blocks, *works.values()):
            for _ in one:
                yield
        return
    random = Random(seed)
    running: list[Iterator[Any]] = [blocks]
    while running:
        one = random.choice(running)
        try:
            step = next(one)
        except StopIteration:
            running.remove(one)
            continue
        if one is blocks and step in works:
            running.append(works[step])
        yield


def run(steps: Iterator[Any]) -> None:
    """Does all of it."""
    for _ in steps:
        pass


class Clock:
    """Each tick is later, by differing times; with some seeds it is set back now and then, never to before the session.
    Its times are multiples of `unit` milliseconds.

    `asked`, `begun` and `ended` are, by a call's number, what the log says of when it was asked for, was begun and had
    ended; `known` is what the log itself says that it took. `last` is the time of the last record that says anything of
    the session; `session_ms` is there where the agent tells how long it took."""

    def __init__(self, seed: int, unit: int = 1) -> None:
        self.unit = unit
        self.set_back = 5 if seed % 4 == 3 else 0
        self.now = self.first = self.last = STARTED_MS
        self.ticks = 0
        self.asked: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.known: dict[int, int] = {}
        self.session_ms: int | None = None

    def tick(self, says: bool = True) -> str:
        """The time of the next record; whether it `says` anything."""
        if self.ticks:
            self.now += self.ticks * self.ticks * 37 % 2_903
        if self.set_back and self.ticks % self.set_back == 4:
            self.now -= (self.now - self.first) // 2
        self.now -= self.now % self.unit
        self.ticks += 1
        self.last = max(self.last, self.now) if says else self.last
        return iso_of(self.now)

    def took(self, call: Call) -> int | None:
        """How long a call took, as the log tells it."""
        if call.number in self.known:
            return self.known[call.number]
        ended = self.ended.get(call.number)
        since = [times[call.number] for times in (self.begun, self.asked) if call.number in times]
        return next((ended - time for time in since if time <= ended), None) if ended is not None else None

    @property
    def duration_ms(self) -> int | None:
        """How long the session took; a log with one time does not say."""
        return self.last - self.first or None if self.session_ms is None else self.session_ms


def iso_of(time_ms: int) -> str:
    """Milliseconds as agents write times; all of a session's are of one day."""
    seconds, ms = divmod(time_ms - STARTED_MS, 1000)
    minutes, second = divmod(seconds + 30 * 60, 60)
    return f"2026-03-02T{9 + minutes // 60:02d}:{minutes % 60:02d}:{second:02d}.{ms:03d}Z"
