"""How all sessions of a follower stand: their status, and which are stalled. In: batches and cursors.

A session's `Standing` is saved with its outputs. Sessions that have ended or were left have no other state here.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from agentv_stages.figures.result import Outputs
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Status
from agentv_stages.providers import get_provider
from agentv_stages.session.chain import SessionChain
from agentv_stream.following.cursors import SessionRow
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.live.stall import OpenCall, Progress, Stall, Standing
from agentv_stream.outputs.session_name import changed_ms

LOOK_MS = 1_000  # between looks for stalled sessions


class _Session:
    """A session that may go on. `reading` changes when its log is read from its beginning again."""

    def __init__(self, provider: str, has_end: bool, standing: Standing, reading: int = 0) -> None:
        self.provider, self.has_end, self.standing, self.reading = provider, has_end, standing, reading


class Standings(Listener):
    """See the module. Rounds run in one thread; other threads may call `by_status` and `stalled`.

    `wall_ms` returns UTC milliseconds.
    """

    def __init__(self, wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._wall_ms = wall_ms
        self._going_on: dict[int, _Session] = {}
        self._over: dict[int, tuple[str, Status]] = {}
        self._kinds: dict[tuple[str, Status], tuple[str, Status]] = {}  # one object for all sessions of a kind
        self._turn = threading.Lock()
        self._next_look = 0

    def begin(self, row: SessionRow) -> None:
        """Takes a session in the cursors."""
        if row.provider is not None and row.dialect is not None and row.outputs is not None:
            has_end = next(d.has_end for d in get_provider(row.provider).dialects if d.name == row.dialect)
            self._going_on[row.id] = _Session(row.provider, has_end, row.outputs.standing)

    def restored(self, session: Followed) -> None:
        if session.outputs is not None:
            with self._turn:
                self._going_on.pop(session.number, None)  # it may have been ahead of the commit
                if session.chain is not None:
                    self._take(session, session.chain)

    def observe(self, session: Followed, batch: Batch) -> None:
        chain = session.reached
        assert chain is not None  # the batch has passed it
        if not chain.observer.ran:  # only its header
            return
        with self._turn:
            standing = self._take(session, chain)
            assert standing.progress is not None
            now_ms = changed_ms(session.main, self._wall_ms())
            for event in batch.events:
                standing.progress.take(event, now_ms)
            standing.status = chain.observer.status(len(standing.progress.open_calls))
            standing.ended = chain.observer.over

    def settled(self, session: Followed, after: SessionChain, outputs: Outputs) -> None:
        with self._turn:
            self._take(session, after)

    def _take(self, session: Followed, chain: SessionChain) -> Standing:
        """The standing of a session in memory, which its outputs share."""
        known = self._going_on.get(session.number)
        if known is None or known.reading != session.delivery.again:
            standing = session.outputs.standing if session.outputs is not None else Standing()
            if known is not None:
                standing.progress = None
            known = _Session(chain.provider.name, chain.dialect.has_end, standing, session.delivery.again)
            self._going_on[session.number] = known
            self._over.pop(session.number, None)
        standing = known.standing
        if session.outputs is not None:
            session.outputs.standing = standing
        if standing.progress is None:
            standing.progress = Progress()
            if session.saved and session.reached is None:  # it was read by a follower that kept no progress
                now_ms = self._wall_ms()
                standing.progress.open_calls = {
                    key: OpenCall(call.tool or call.name, call.source.time_ms or now_ms)
                    for key, call in chain.pair.open_calls.items()
                }
        return standing

    def _retire(self, now_ms: int, hot: Iterable[int]) -> None:
        """Keeps only the status of sessions that are not in memory, and from which nothing is expected."""
        for number in self._going_on.keys() - set(hot):
            session = self._going_on[number]
            standing, progress = session.standing, session.standing.progress
            if progress is None or (
                standing.stall(now_ms, session.has_end) is None
                and (standing.ended or progress.left(now_ms, session.has_end))
            ):
                kind = (session.provider, standing.status)
                self._over[number] = self._kinds.setdefault(kind, kind)
                del self._going_on[number]

    def look(self, hot: Iterable[int]) -> list[tuple[int, Stall]]:
        """The sessions that have stalled and are not marked as reported; nothing if the last look was just now."""
        now_ms = self._wall_ms()
        if now_ms < self._next_look:
            return []
        self._next_look = now_ms + LOOK_MS
        new: list[tuple[int, Stall]] = []
        with self._turn:
            for number, session in self._going_on.items():
                stall = session.standing.stall(now_ms, session.has_end)
                if stall is None:
                    session.standing.reported = ""
                elif stall.reason != session.standing.reported:
                    new.append((number, stall))
            self._retire(now_ms, hot)
        return new

    def keep_only(self, known: set[int]) -> None:
        """Forgets sessions that the follower no longer knows."""
        with self._turn:
            for sessions in (self._going_on, self._over):
                for number in sessions.keys() - known:
                    del sessions[number]

    def by_status(self) -> Counter[tuple[str, Status]]:
        """The number of sessions by provider and status."""
        now_ms = self._wall_ms()
        with self._turn:
            counts = Counter(self._over.values())
            counts.update((s.provider, s.standing.status_now(now_ms, s.has_end)) for s in self._going_on.values())
        return counts

    def stalled(self) -> Counter[str]:
        """The number of stalled sessions by reason."""
        now_ms = self._wall_ms()
        with self._turn:
            stalls = [s.standing.stall(now_ms, s.has_end) for s in self._going_on.values()]
        return Counter(stall.reason for stall in stalls if stall is not None)
