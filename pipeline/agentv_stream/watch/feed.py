"""Feeds the live view: follows sessions without writing anything, and keeps one `SessionView` for each."""

import threading
import time

from agentv_stages.batch import Batch
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Followed
from agentv_stream.outputs.naming import stand_in_start
from agentv_stream.watch.model import Look, SessionView

MOST_SHOWN = 100
FORGET_MS = 3_600_000  # a log that is gone is shown for so long; the follower looks once an hour


class Feed:
    """`round` looks at the files, `looks` gives the rows. The plan's `wanted` leaves out what is too old to show."""

    def __init__(self, plan: Plan) -> None:
        plan.files = False
        plan.forget_ms = FORGET_MS
        self.views: dict[int, SessionView] = {}
        self.troubles = ""
        self.follower = Follower(plan, None, self._say)
        self.follower.observers.append(self._observe)
        self._next_scan = 0.0
        self._lock = threading.Lock()  # rounds run in a thread, rows are asked for in another
        self._last: dict[int, Look] = {}

    def round(self) -> bool:
        """True when something was read; called from one thread at a time."""
        now = time.monotonic()
        scan = now >= self._next_scan
        read = self.follower.round(scan)
        if scan:
            self._next_scan = now + max(1.0, 50 * (time.monotonic() - now))
            with self._lock:
                for number in self.views.keys() - self.follower.hot.keys():  # forgotten, or read again as another
                    del self.views[number]
                    self._last.pop(number, None)
        return read

    def looks(self, now_ms: int, most: int | None = MOST_SHOWN) -> list[Look]:
        """The rows: running sessions first, then by the last event."""
        with self._lock:
            views = sorted(self.views.values(), key=lambda v: -(v.last_event_ms or 0))[:most]
            for view in views:
                try:
                    look = view.look(now_ms)
                except RuntimeError:  # a table of its statistics grew while it was read: the row before is as good
                    continue
                if look is not None:
                    self._last[view.session.number] = look
            looks = [self._last[v.session.number] for v in views if v.session.number in self._last]
        return sorted(looks, key=lambda look: not look.live)

    def close(self) -> None:
        self.follower.close()

    def _observe(self, session: Followed, batch: Batch) -> None:
        with self._lock:
            view = self.views.get(session.number)
            if view is None:
                view = self.views[session.number] = SessionView(session)
            # Of a log without times: it was written by then, whenever it is read.
            view.observe(batch, stand_in_start(session.main, time.time_ns() // 1_000_000))

    def _say(self, event: str, **facts: object) -> None:
        if "blocked" in event or "failed" in event:
            self.troubles = f"{event}: {facts.get('error', '')}"
