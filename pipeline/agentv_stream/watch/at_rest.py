"""The sessions of the live view whose logs need not be read: their figures are kept, or are read once, and kept.

In: the sessions below some roots. Out: a `RestingView` for each one that has ended or was left. All others are for the
follower to read: those at work, and those that changed since.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING

from agentv_stream.bulk.collecting import reports_of
from agentv_stream.bulk.kept_figures import FileState, KeptFigures, KeptSession, file_state, is_unchanged
from agentv_stream.bulk.listed_figures import unit_of, whole_figures
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.unit import Report, Unit, Work
from agentv_stream.discovery.discover import Session, find_sessions
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.places import Root, cache_file
from agentv_stream.live.stall import SILENT_SECONDS
from agentv_stream.sources.files import is_gone
from agentv_stream.watch.model import RestingView

if TYPE_CHECKING:
    from agentv_stream.costs.rates import Rates

AT_ONCE = 64
"""Sessions that are read between two looks at those at work."""
TEXTS = 20
"""Sessions whose first prompts are read between two such looks."""


class AtRest:
    """See the module. `wanted` says whether to show a log, `engine` reads those whose figures are not kept.

    `views` is by path; another thread may go through it, so it is replaced, never changed. `rates` estimate costs. All
    methods are for one thread.
    """

    def __init__(
        self,
        roots: Iterable[Root],
        wanted: Callable[[str], bool],
        rates: "Rates | None" = None,
        engine: str = "serial",
        cache: bool = True,
    ) -> None:
        self.views: dict[str, RestingView] = {}
        self._roots = [root for root in roots if not root.database]
        self._wanted, self._rates, self._engine = wanted, rates, engine
        self._kept = KeptFigures(cache_file() if cache else None, Work(results=False, apart=True), rates)
        self._sessions: dict[str, Session] = {}
        self._entries: dict[str, KeptSession] = {}
        self._too_old: dict[str, list[FileState]] = {}  # the files of sessions that are not to be shown
        self._leaving: list[str] = []  # their rows stay until the follower has read them
        self._pending: list[Unit] = []
        self._without_texts: list[str] = []
        self._unsorted = False

    def begin(self, now_ms: int) -> list[str]:
        """Finds the sessions, and takes those whose figures are kept. Returns the files that the follower must not
        read."""
        found = find_sessions(self._roots, HeaderCache(cache_file()))
        times = Counter(map(_identity, found))
        units: list[Unit] = []
        taken: list[str] = []
        for session in found:
            unit = unit_of(session)
            if unit.raw is not None or times[_identity(session)] > 1:
                continue  # the follower joins the parts of a session
            taken += _files(session)
            self._sessions[unit.name] = session
            if self._wanted(session.path):
                units.append(unit)
            else:
                self._too_old[unit.name] = _states(session)
        known, waiting = self._kept.take(units)
        at_work = {unit.name for unit in waiting if self._is_new(unit.name, now_ms)}
        self._pending = [unit for unit in waiting if unit.name not in at_work]
        others = {path for report, _ in known for path in self._add(report, now_ms)}
        others.update(self._released(at_work))
        return [path for path in taken if path not in others]

    def _is_new(self, name: str, now_ms: int) -> bool:
        """Whether a session changed so lately that it may be at work."""
        return (now_ms - self._sessions[name].updated_ms) / 1000 < SILENT_SECONDS

    @property
    def notes(self) -> list[str]:
        """The figures that could not be kept."""
        return self._kept.notes

    @property
    def pending(self) -> bool:
        """Whether sessions are to be read."""
        return bool(self._pending)

    def go_on(self, now_ms: int) -> list[str]:
        """Reads some more sessions, the latest first. Returns the files that the follower must read after all."""
        count = len(self._pending) if self._engine == "process" else AT_ONCE
        part, self._pending = self._pending[:count], self._pending[count:]
        work, left = Work(results=False, apart=True), {unit.name for unit in part}
        read: list[Report] = []
        with reports_of(work, part, self._engine) as reports:
            for report, _ in reports:
                self._kept.note(report)
                read.append(report)
        self._kept.save()
        released = list(chain.from_iterable(self._add(report, now_ms) for report in read))
        left -= {separate.name for report in read for separate in report.separate}
        return released + self._released(left)

    def changed(self) -> list[str]:
        """Notices the sessions that changed. Returns the files that the follower must read now."""
        self._drop(self._leaving)  # the follower found no session in them
        folder = ListedFolder()
        self._leaving = [name for name, entry in self._entries.items() if not is_unchanged(name, entry, folder)]
        old = [name for name, states in self._too_old.items() if states != _states(self._sessions[name])]
        return self._released([*self._leaving, *old])

    def wake(self, path: str) -> list[str]:
        """Returns the files that the follower must read, so that the session's events can be shown."""
        return self._released([path])

    def followed(self, path: str) -> None:
        """The follower has read the session."""
        self._drop([path])

    def read_texts(self) -> bool:
        """Reads the first prompts of some more sessions: texts are in no store. Returns whether there were any."""
        if self._unsorted:
            last = {path: view.last_event_ms or 0 for path, view in self.views.items()}
            self._without_texts.sort(key=lambda path: -last.get(path, 0))
            self._unsorted = False
        part, self._without_texts = self._without_texts[:TEXTS], self._without_texts[TEXTS:]
        for path in part:
            view, session = self.views.get(path), self._sessions.get(path)
            if view is not None and session is not None:
                session.read_texts()
                view.prompted(session.header.prompt or "")
        return bool(part)

    def _add(self, report: Report, now_ms: int) -> list[str]:
        """Adds the sessions of a report that are at rest; returns the files of the others."""
        others: list[str] = []
        found: dict[str, RestingView] = {}
        for separate in report.separate:
            session, figures = self._sessions.get(separate.name), separate.session
            entry = self._kept.entries.get(separate.name)
            if session is None or figures is None:
                continue
            stated = figures.latest.context_window is not None or figures.latest.context_tokens is None
            window = self._rates.window(figures.model) if self._rates is not None and not stated else None
            filled = whole_figures(figures, self._rates)
            view = RestingView.of(session.path, figures, filled, _changed_ms(session), window)
            if entry is None or not view.is_at_rest(now_ms):
                others.append(separate.name)
                continue
            found[session.path] = view
            self._entries[separate.name] = entry
            self._without_texts.append(session.path)
            self._unsorted = True
        self.views = self.views | found
        return self._released(others)

    def _drop(self, paths: Iterable[str]) -> None:
        gone = set(paths) & self.views.keys()
        if gone:
            self.views = {path: view for path, view in self.views.items() if path not in gone}

    def _released(self, names: Iterable[str]) -> list[str]:
        files: list[str] = []
        for name in names:
            self._entries.pop(name, None)
            self._too_old.pop(name, None)
            session = self._sessions.get(name)
            if session is not None:
                files += _files(session)
                if is_gone(session.path):
                    self._drop([session.path])
        return files


def _identity(session: Session) -> tuple[str, str, str]:
    return session.header.provider, session.path.rpartition("/")[0], session.id


def _changed_ms(session: Session) -> int:
    return session.log_mtime_ns // 1_000_000


def _states(session: Session) -> list[FileState]:
    return [state for path in _files(session) for state in file_state(path)]


def _files(session: Session) -> list[str]:
    return [session.path, *session.subagents, *session.further, *session.beside, *session.copies]
