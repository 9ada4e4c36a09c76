"""Supplies the live view: follows sessions without writing anything, and keeps one view for each.

Logs of sessions at rest are not followed: their rows come from kept figures (`AtRest`).
"""

import threading
import time
from typing import TYPE_CHECKING

from agentv_stages.figures.session_figures import session_figures
from agentv_stages.model.batch import Batch
from agentv_stages.model.tokens import PICO
from agentv_stages.session.chain import SessionChain
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.outputs.session_name import changed_ms
from agentv_stream.watch.at_rest import AtRest
from agentv_stream.watch.model import Look, RestingView, SessionView

if TYPE_CHECKING:
    from agentv_stream.costs.rates import Rates

MOST_SHOWN = 100
SCAN_SECONDS = 1.0  # at least, between two listings of all files
FORGET_MS = 3_600_000  # how long a removed log is shown; the follower checks once an hour


class Feed(Listener):
    """`round` reads the files, `looks` returns the rows. The plan's `wanted` excludes logs that are too old to show.

    Without `at_rest` all logs are read. `rates` estimate costs that agents do not report.
    """

    def __init__(self, plan: Plan, at_rest: AtRest | None = None, rates: "Rates | None" = None) -> None:
        plan.files = False
        plan.forget_ms = FORGET_MS
        plan.dated = rates is not None
        self._at_rest, self._rates = at_rest, rates
        self._begun = at_rest is None
        self._grown: set[int] = set()  # views whose costs are to be estimated again
        self._keys: dict[str, int] = {}
        self._wanted: str | None = None  # the session at rest whose events are to be read
        self.views: dict[int, SessionView] = {}
        self.troubles = ""
        self.caught_up = False  # set by the caller once a round has found nothing to read
        self.follower = Follower(plan, None, self._note)
        self.follower.listeners.append(self)
        self._next_scan = 0.0
        self._lock = threading.Lock()  # rounds run in one thread, rows are requested from another

    def round(self) -> bool:
        """Returns whether anything was read; must be called from one thread at a time."""
        now = time.monotonic()
        scan = now >= self._next_scan
        more = self._at_rest is not None and self._rest(self._at_rest, scan)
        read = self.follower.round(scan or more)
        if scan:
            self._next_scan = now + SCAN_SECONDS * max(1.0, 50 * (time.monotonic() - now))
            with self._lock:
                for number in self.views.keys() - self.follower.hot.keys():  # forgotten, or read under a new number
                    del self.views[number]
        self._estimate()
        return read or more

    def _rest(self, at_rest: AtRest, scan: bool) -> bool:
        """Looks after the sessions at rest; returns whether any of them were read."""
        now_ms = time.time_ns() // 1_000_000
        if not self._begun:
            self._begun = True
            self.follower.pass_over(at_rest.begin(now_ms))
            return at_rest.pending
        if self._wanted is not None:
            self.follower.take_up(at_rest.wake(self._wanted))
            self._wanted = None
            return True
        if at_rest.pending:
            self.follower.take_up(at_rest.go_on(now_ms))
            return True
        if scan:
            self.follower.take_up(at_rest.changed())
        return False

    def read_texts(self) -> bool:
        """Reads the first prompts of some more sessions at rest; returns whether there were any. In the thread of
        `round`."""
        return self._at_rest is not None and self._at_rest.read_texts()

    def wake(self, key: int) -> None:
        """The next round reads the events of this session, if it is at rest."""
        with self._lock:
            view = self._view_of(key)
            if isinstance(view, RestingView):
                self._wanted = view.path

    def _estimate(self) -> None:
        """Estimates the costs of the sessions that grew, and finds the windows of their models."""
        if self._rates is None:
            return
        for number in self._grown:
            view = self.views.get(number)
            if view is None:
                continue
            costs: list[int] | None = None
            if view.known.cost is None:
                session = session_figures(view.chain.observer, len(view.progress.open_calls))
                costs = self._rates.estimate(session, session.spans())
            window = self._rates.window(view.known.model) if view.known.context is None else None
            with self._lock:
                view.estimated(None if costs is None else sum(costs) / PICO, window)
        self._grown.clear()

    def finish(self) -> None:
        """All is read, and there will be no other round: documents, last lines without an end and answers that are not
        complete are taken as they are."""
        self.follower.finish(True)
        self.follower.end_partials()
        for session in self.follower.hot.values():
            chain = session.reached
            if chain is not None and not (chain.ended and session.number in self.views):
                batches: list[Batch] = []
                if not chain.ended:  # a document is read to its end whenever it rests
                    chain = chain.fork()
                    batches = chain.flush()
                if chain.observer.ran:
                    self._view(session, chain).finish(batches, _now_ms(session))
        self._estimate()

    @property
    def notes(self) -> list[str]:
        """The figures that could not be kept."""
        return self._at_rest.notes if self._at_rest is not None else []

    @property
    def session_count(self) -> int:
        """How many sessions there are, those that `looks` leaves out included."""
        with self._lock:
            return len(self._every())

    def looks(self, now_ms: int, most: int | None = MOST_SHOWN) -> list[Look]:
        """The rows: sessions that hang, sessions at work, the others, each by the last event."""
        with self._lock:
            every = self._every()
            views = sorted(every, key=lambda v: (not v.stalled(now_ms), -(v.last_event_ms or 0), v.path))[:most]
            looks = [view.look(now_ms, self._key(view.path)) for view in views]
        return sorted(looks, key=lambda look: (not look.stalled, not look.live))

    def events(self, key: int, now_ms: int) -> tuple[Look, int, list[str]] | None:
        """A session's row, how many lines its events have had, and the latest of them; None if it is gone."""
        with self._lock:
            view = self._view_of(key)
            return (view.look(now_ms, key), view.lines_made, list(view.lines)) if view is not None else None

    def close(self) -> None:
        self.follower.close()

    def _every(self) -> list[SessionView | RestingView]:
        resting = self._at_rest.views if self._at_rest is not None else {}
        read = {view.path for view in self.views.values()}
        return [*self.views.values(), *(view for path, view in resting.items() if path not in read)]

    def _key(self, path: str) -> int:
        return self._keys.setdefault(path, len(self._keys) + 1)

    def _view_of(self, key: int) -> SessionView | RestingView | None:
        return next((view for view in self._every() if self._keys.get(view.path) == key), None)

    def observe(self, session: Followed, batch: Batch) -> None:
        chain = session.reached
        assert chain is not None  # the batch has passed it
        if not chain.observer.ran:  # only its header: an agent that was opened, or a file that belongs to another log
            return
        with self._lock:
            self._view(session, chain).observe(batch, _now_ms(session))

    def _view(self, session: Followed, chain: SessionChain) -> SessionView:
        view = self.views.get(session.number)
        if view is None or view.reading != session.delivery.again:
            view = self.views[session.number] = SessionView(session, chain, session.delivery.again)
        view.chain = chain
        self._grown.add(session.number)
        if self._at_rest is not None:
            self._at_rest.followed(view.path)
        return view

    def _note(self, event: str, **facts: object) -> None:
        if "blocked" in event or "failed" in event or "cannot be read" in event:
            self.troubles = f"{event}: {facts.get('error', '')}"


def _now_ms(session: Followed) -> int:
    """For a log without times: the file's time, not that of reading it."""
    return changed_ms(session.main, time.time_ns() // 1_000_000)
