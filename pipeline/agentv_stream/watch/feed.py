"""Supplies the live view: follows sessions without writing anything, and keeps one `SessionView` for each."""

import threading
import time

from agentv_stages.model.batch import Batch
from agentv_stages.session.chain import SessionChain
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Followed
from agentv_stream.outputs.session_name import changed_ms
from agentv_stream.watch.model import Look, SessionView

MOST_SHOWN = 100
FORGET_MS = 3_600_000  # how long a removed log is shown; the follower checks once an hour


class Feed:
    """`round` reads the files, `looks` returns the rows. The plan's `wanted` excludes logs that are too old to show."""

    def __init__(self, plan: Plan) -> None:
        plan.files = False
        plan.forget_ms = FORGET_MS
        self.views: dict[int, SessionView] = {}
        self.troubles = ""
        self.caught_up = False  # set by the caller once a round has found nothing to read
        self.follower = Follower(plan, None, self._note)
        self.follower.observers.append(self._observe)
        self._next_scan = 0.0
        self._lock = threading.Lock()  # rounds run in one thread, rows are requested from another

    def round(self) -> bool:
        """Returns whether anything was read; must be called from one thread at a time."""
        now = time.monotonic()
        scan = now >= self._next_scan
        read = self.follower.round(scan)
        if scan:
            self._next_scan = now + max(1.0, 50 * (time.monotonic() - now))
            with self._lock:
                for number in self.views.keys() - self.follower.hot.keys():  # forgotten, or read under a new number
                    del self.views[number]
        return read

    def finish(self) -> None:
        """All is read, and there will be no other round: documents, last lines without an end and answers that are not
        complete are taken as they are."""
        self.follower.finish(True)
        self.follower.end_partials()
        for session in self.follower.hot.values():
            if session.reached is not None and not session.reached.ended:
                chain = session.reached.fork()
                batches = chain.flush()
                if chain.observer.ran:
                    self._view(session, chain).finish(batches, _now_ms(session))

    @property
    def session_count(self) -> int:
        """How many sessions there are, those that `looks` leaves out included."""
        with self._lock:
            return len(self.views)

    def looks(self, now_ms: int, most: int | None = MOST_SHOWN) -> list[Look]:
        """The rows: sessions that hang, sessions at work, the others, each by the last event."""
        with self._lock:
            every = self.views.values()
            views = sorted(every, key=lambda v: (not v.stalled(now_ms), -(v.last_event_ms or 0)))[:most]
            looks = [view.look(now_ms) for view in views]
        return sorted(looks, key=lambda look: (not look.stalled, not look.live))

    def events(self, number: int, now_ms: int) -> tuple[Look, int, list[str]] | None:
        """A session's row, how many lines its events have had, and the latest of them; None if it is gone."""
        with self._lock:
            view = self.views.get(number)
            return (view.look(now_ms), view.lines_made, list(view.lines)) if view is not None else None

    def close(self) -> None:
        self.follower.close()

    def _observe(self, session: Followed, batch: Batch) -> None:
        chain = session.reached
        assert chain is not None  # the batch has passed it
        if not chain.observer.ran:  # only its header: an agent that was opened, or a file that belongs to another log
            return
        with self._lock:
            self._view(session, chain).observe(batch, _now_ms(session))

    def _view(self, session: Followed, chain: SessionChain) -> SessionView:
        view = self.views.get(session.number)
        if view is None or view.reading != session.tellings:
            view = self.views[session.number] = SessionView(session, chain, session.tellings)
        view.chain = chain
        return view

    def _note(self, event: str, **facts: object) -> None:
        if "blocked" in event or "failed" in event or "cannot be read" in event:
            self.troubles = f"{event}: {facts.get('error', '')}"


def _now_ms(session: Followed) -> int:
    """For a log without times: the file's time, not that of reading it."""
    return changed_ms(session.main, time.time_ns() // 1_000_000)
