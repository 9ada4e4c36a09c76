"""Finds the sessions on this machine. In: roots. Out: one `Session` per session, newest first.

A sub-agent's file belongs to the session that started it, at any depth. A log that exists twice (live and archived,
plain and compressed) is one session. Only the header of each file is read, and of an unchanged one not even that.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import Kept
from agentv_stages.model.times import iso, nearest_date_ms
from agentv_stages.providers import get_provider, store_owner
from agentv_stream.discovery.header import (
    Header,
    HeaderCache,
    first_bytes,
    header_json,
    read_header,
    redacted_header,
)
from agentv_stream.discovery.places import Found, Root, cache_file, expanded, logical_name, stores, walk
from agentv_stream.discovery.project import normal_folder, project_root
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.names import named_provider
from agentv_stream.sources.files import content_size, is_store_folder
from agentv_stream.sources.folder import LocalFolder, companions_of
from agentv_stream.stores.opening import list_sessions, list_store
from agentv_stream.stores.store import STORE_SIGN, StoredSession, split_stored

if TYPE_CHECKING:  # its rules take 40 ms
    from agentv_stages.redaction.redactor import Redactor

HEAD = 4096
MOST_COMPARED = 16
"""Files of one id and name, or size, with which another one is compared."""
MOST_TITLES = 16 * 1024 * 1024
MOST_ASKED = 4
"""Number of further files searched for the prompt: OpenHands writes one for each event."""


@dataclass
class Session:
    """One session: its main log, the logs of its sub-agents, its header. `updated_ms`: when any of its files last
    changed.

    `path` is `STORE::SESSION` for a session in a database. `agents` has the files of each sub-agent by its stream.
    `further` are files in which its log continues, `beside` those that only describe it, `copies` other places of the
    same log. `log_size` and `log_mtime_ns` are those of the main log alone.
    """

    path: str
    header: Header
    updated_ms: int
    size: int
    agents: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    further: list[str] = field(default_factory=list[str])
    beside: list[str] = field(default_factory=list[str])
    copies: list[str] = field(default_factory=list[str])
    children: "list[Session]" = field(default_factory=lambda: list[Session]())
    log_size: int = 0
    log_mtime_ns: int = 0

    @property
    def id(self) -> str:
        """The native session id; if the log has none, the name of its file."""
        return self.header.session_id or Path(logical_name(self.path)).stem

    @property
    def subagents(self) -> list[str]:
        """The files of all sub-agents."""
        return [path for files in self.agents.values() for path in files]

    def read_texts(self, redactor: "Redactor | None" = None) -> None:
        """Reads the first prompt and the title where the header came from the cache, which keeps no texts. With
        `redactor` they have markers for secrets."""
        if self.header.lean:
            self._read_texts()
        if redactor is not None:
            self.header = redacted_header(self.header, redactor)

    def _read_texts(self) -> None:
        header, provider = replace(self.header, lean=False), get_provider(self.header.provider)
        for path in (self.path, *self.further[:MOST_ASKED]):
            try:
                more = read_header(path, provider) if header.prompt is None else None
            except OSError:
                continue
            if more is not None:
                header = replace(header, prompt=more.prompt, title=header.title or more.title)
        self.header = header

    def to_json(self) -> dict[str, object]:
        self.read_texts()
        return {
            **header_json(self.header),
            "session_id": printable_path(self.id),
            "updated_at": iso(nearest_date_ms(self.updated_ms)),
            "size_bytes": self.size,
            "path": printable_path(self.path),
            "subagents": [printable_path(path) for path in self.subagents],
            "further": [printable_path(path) for path in self.further],
            "copies": [printable_path(path) for path in self.copies],
        }


class RememberingFolder(LocalFolder):
    """The file system as providers see it, with listings and heads cached; for one pass over many sessions."""

    MOST_KEPT = 65_536

    def __init__(self) -> None:
        self._globs: dict[str, list[str]] = {}
        self._heads: dict[tuple[str, int], bytes] = {}
        self._made: dict[str, object] = {}

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        if key not in self._made:
            self._made[key] = make()
        return cast("Kept", self._made[key])  # a key stands for one type

    def glob(self, pattern: str) -> list[str]:
        found = self._globs.get(pattern)
        if found is None:
            found = self._globs[pattern] = super().glob(pattern)
        return list(found)

    def read(self, path: str, limit: int) -> bytes:
        if limit > self.MOST_KEPT:
            return super().read(path, limit)
        known = self._heads.get((path, limit))
        if known is None:
            known = self._heads[path, limit] = super().read(path, limit)
        return known


def find_sessions(
    roots: Iterable[Root],
    cache: HeaderCache | None = None,
    since_ms: int | None = None,
    unread: Callable[[str], object] | None = None,
) -> list[Session]:
    """Every session below the roots, the one updated last first. Files older than `since_ms` are not read.

    `unread` is called with a message for each log that may not be read, and each store that cannot be read, or only in
    part.
    """
    cache = cache or HeaderCache(None)
    files: list[Found] = []
    in_stores: dict[str, Session] = {}
    for root in roots:
        if root.database:
            in_stores |= {session.path: session for session in _stored(root, unread)}
        else:
            files += walk(root)
    folder = RememberingFolder()
    mains: dict[str, Session] = {}
    for found in files:
        if not found.main or found.path in mains or not found.signature.size:
            continue
        if since_ms is not None and found.signature.mtime_ns < since_ms * 1_000_000:
            continue
        session = _session(found, cache, unread)
        if session is not None:
            mains[found.path] = session
    cache.save({found.path for found in files})
    mains = {session.path: session for session in _without_copies(mains.values())}
    _attach(mains, folder)
    _entitle(mains.values(), folder)
    return sorted((*in_stores.values(), *mains.values()), key=lambda s: (-s.updated_ms, s.path))


def _session(found: Found, cache: HeaderCache, unread: Callable[[str], object] | None) -> Session | None:
    try:
        header = cache.get(found.path, Path(found.path).stat(), found.root.provider)
    except PermissionError as error:
        if unread is not None:
            unread(f"cannot read {printable_path(found.path)}: {error.strerror}")
        return None
    except OSError:  # gone meanwhile, or damaged
        return None
    if header is None or not header.ran:
        return None
    at = found.signature
    return Session(found.path, header, at.mtime_ns // 1_000_000, at.size, log_size=at.size, log_mtime_ns=at.mtime_ns)


def _attach(mains: dict[str, Session], folder: RememberingFolder) -> None:
    """Assigns files that belong to a session, mostly those of sub-agents, to it; they are not sessions themselves."""
    same = {copy: session.path for session in mains.values() for copy in session.copies}
    for path in list(mains):
        session = mains.get(path)
        if session is None:
            continue  # it turned out to be a sub-agent's
        for companion in companions_of(get_provider(session.header.provider), path, folder=folder):
            stream = companion.context.stream
            if companion.path in session.agents.get(stream, ()) or companion.path == path:
                continue
            if companion.context.further:
                session.further.append(companion.path)
                if not session.header.lean and session.header.prompt is None and len(session.further) <= MOST_ASKED:
                    session.header = _completed(session.header, companion.path)
            elif stream != MAIN:
                session.agents.setdefault(stream, []).append(companion.path)
            else:
                session.beside.append(companion.path)
                if not session.header.cwd:
                    session.header = _completed(session.header, companion.path)
            mains.pop(same.get(companion.path, companion.path), None)
            try:
                stat = Path(companion.path).stat()
            except OSError:
                continue
            session.size += stat.st_size
            session.updated_ms = max(session.updated_ms, stat.st_mtime_ns // 1_000_000)


def _entitle(sessions: Iterable[Session], folder: LocalFolder) -> None:
    """Sets the titles that an agent keeps in a file of their own; each such file is read once."""
    known: dict[str, dict[str, str]] = {}
    for session in sessions:
        index = get_provider(session.header.provider).titles
        place = index.place(session.path) if index is not None else None
        if index is None or place is None:
            continue
        if place not in known:
            known[place] = index.read(folder.read(place, MOST_TITLES))
        title = known[place].get(session.id)
        if title is not None:
            session.header = replace(session.header, title=title)


def _completed(header: Header, path: str) -> Header:
    """The header completed from another file of the session, such as Cline's manifest or OpenHands' second event."""
    try:
        more = read_header(path, get_provider(header.provider))
    except OSError:
        more = None
    if more is None:
        return header
    missing = [name for name in header.__struct_fields__ if getattr(header, name) is None]
    return replace(header, **{name: getattr(more, name) for name in missing})


def _without_copies(sessions: Iterable[Session]) -> list[Session]:
    """One session per log: of several files with one id and one logical name the plainest and newest is read.

    In different folders they must begin alike as well, except documents, which change from the beginning: each run of
    an evaluation may be a `stream.jsonl`. The same holds for files with the same id, unpacked size and beginning,
    whatever their names; the log has the shortest name.
    """
    kept: list[Session] = []
    alike: dict[tuple[str, str, str | int], list[Session]] = {}
    for session in sorted(sessions, key=_plainest):
        provider, session_id = session.header.provider, session.header.session_id
        if session_id is None:
            kept.append(session)
            continue
        folder, name = os.path.split(logical_name(session.path))
        named = alike.setdefault((provider, session_id, name), [])
        sized = alike.setdefault((provider, session_id, content_size(session.path, session.size)), [])
        same = next(
            (other for other in named if name.endswith(".json") or os.path.split(other.path)[0] == folder),
            None,
        )
        near = (*named[-MOST_COMPARED:], *sized[-MOST_COMPARED:])
        first = same or next((other for other in near if _begin_alike(other.path, session.path)), None)
        if first is not None:
            first.copies.append(session.path)
            if not named:
                named.append(first)
            continue
        named.append(session)
        sized.append(session)
        kept.append(session)
    return kept


def _plainest(session: Session) -> tuple[bool, int, int]:
    return session.path != logical_name(session.path), len(Path(session.path).name), -session.updated_ms


def _begin_alike(path: str, other: str) -> bool:
    first, second = first_bytes(path, HEAD), first_bytes(other, HEAD)
    return bool(first and second) and (first.startswith(second) or second.startswith(first))


def _stored(root: Root, unread: Callable[[str], object] | None) -> list[Session]:
    """The sessions in databases and folders of agents; children are recognised by their parent's id. If a session is in
    several stores (an agent's later version copies them) the copy that was updated last counts."""
    found: dict[str, Session] = {}
    places = stores(root)
    if is_store_folder(root.path):
        places.append(Path(root.path))
    for place in places:
        try:
            rows, missing = list_store(place)
        except SourceError as error:
            rows, missing = [], str(error)
        if missing is not None and unread is not None:
            unread(missing)
        for row in rows:
            updated = row.updated_ms or row.created_ms or 0
            known = found.get(row.id)
            if known is not None and (str(place) == root.path or known.updated_ms >= updated):
                continue
            found[row.id] = Session(f"{place}{STORE_SIGN}{row.id}", _header_of(row), updated, 0)
    return list(found.values())


def _header_of(row: StoredSession) -> Header:
    provider, dialect = store_owner(row.provider, row.version)
    header = Header(provider.name, dialect.name, row.id, row.directory, row.created_ms, row.model, row.version)
    header.title, header.parent = row.title, row.parent_id
    return header


def stored_header(path: str) -> Header | None:
    """The header of `STORE::SESSION`; None when the session no longer exists. Raises: SourceError."""
    store, _, name = path.partition(STORE_SIGN)
    return next((_header_of(row) for row in list_sessions(store) if row.id == name), None)


def updated_at(path: str) -> float:
    """When a log, or a session in a store, was last written to, in seconds. Raises: OSError, SourceError."""
    store, name = split_stored(path)
    if not name:
        return Path(path).stat().st_mtime
    return max((r.updated_ms or r.created_ms or 0 for r in list_sessions(store) if r.id == name), default=0) / 1000


def tree(sessions: Sequence[Session]) -> list[Session]:
    """The sessions without a parent in the list, with the others as `children`: forks, resumes, child sessions."""
    by_id = {session.id: session for session in sessions}
    above: dict[int, Session] = {}
    tops: list[Session] = []
    for session in sessions:
        parent = by_id.get(session.header.parent or "")
        if parent is None or _reaches(parent, session, above):
            tops.append(session)
        else:
            above[id(session)] = parent
            parent.children.append(session)
    return tops


def _reaches(start: Session, goal: Session, above: dict[int, Session]) -> bool:
    """Whether `goal` is `start` or one of its ancestors; logs may name each other as parents."""
    at: Session | None = start
    while at is not None:
        if at is goal:
            return True
        at = above.get(id(at))
    return False


def project_of(folder: str | None) -> str:
    """The last part of an agent's working folder, also for Windows paths; the folder itself if there is none."""
    if not folder:
        return "?"
    windows = PureWindowsPath(folder)
    return (windows if windows.drive else Path(folder)).name or folder


def in_project(session: Session, project: str) -> bool:
    """Whether the session ran in the folder `project`, below it, or in a worktree of its repository. A bare name is
    that of the folder or of its repository."""
    if session.header.cwd is None:
        return False
    cwd = normal_folder(session.header.cwd)
    if "/" not in project and "\\" not in project and project not in (".", "..", "~"):
        return project in (project_of(cwd), project_of(project_root(cwd)))
    windows = PureWindowsPath(project)
    wanted = normal_folder(project if windows.drive else str(expanded(project).absolute().resolve()))
    return f"{cwd}/".startswith(f"{wanted.rstrip('/')}/") or project_root(cwd) == wanted


def pick(sessions: Sequence[Session], name: str) -> Session:
    """The session whose id (or file name) begins with `name`, from which a trailing `…` of a shortened id is removed.
    If several files have one id (Codex begins another file when a thread is rewound) it is the first in `sessions`.

    Raises: SourceError when none does, UsageError when several do: a longer name is needed.
    """
    name = name.removesuffix("…")
    if not name:
        raise UsageError("expected a file, or the beginning of a session's id, not an empty name")
    exact = [s for s in sessions if s.id == name]
    found = exact[:1] or [s for s in sessions if s.id.startswith(name) or Path(s.path).name.startswith(name)]
    if not found:
        raise SourceError(
            f"no such file or folder, and no session begins with {name!r}; `agentv-stream sessions` lists them"
        )
    if len({(s.header.provider, s.id) for s in found}) > 1:
        shown = ", ".join(s.id for s in found[:5]) + (", …" if len(found) > 5 else "")
        raise UsageError(f"{len(found)} sessions begin with {name!r}: {shown}")
    return found[0]


def named_session(roots: Iterable[Root], name: str) -> Session:
    """As `pick`, among the sessions below the roots. Raises: as `pick`; the message names stores that are not read."""
    unread: list[str] = []
    sessions = find_sessions(roots, HeaderCache(cache_file()), unread=unread.append)
    try:
        return pick(sessions, name)
    except SourceError as error:
        raise SourceError("; ".join((str(error), *unread))) from error


def only(provider: str | None) -> Callable[[Session], bool]:
    """A function that says whether a session is of a provider; aliases count. Raises: UsageError."""
    if provider is None:
        return lambda session: True
    chosen = named_provider(provider)
    return lambda session: session.header.provider == chosen.name
