"""Refused requests of a server: one line for each reason, and not more than one a minute, however many there are."""

import time
from collections.abc import Callable

SAY_SECONDS = 60


class Refusals:
    """`report` gets a reason, and how many requests were refused for it since its last report. There are few reasons:
    none of them contains what a client sent."""

    def __init__(self, report: Callable[[str, int], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._counts: dict[str, int] = {}
        self._next: dict[str, float] = {}

    def note(self, reason: str) -> None:
        """Counts a refused request; reports the number since the last report, if it is time to."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        now = self._clock()
        if now >= self._next.get(reason, now):
            self._next[reason] = now + SAY_SECONDS
            self._report(reason, self._counts.pop(reason))
