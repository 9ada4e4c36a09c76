"""A search over sessions. In: a text and where to look. Out: the sessions that hold it, newest first, with places."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentv_stream.bulk.engine import Crew, open_engine
from agentv_stream.discovery.discover import Session, find_sessions, only, stored_header, updated_at
from agentv_stream.discovery.header import HeaderCache, read_header
from agentv_stream.discovery.period import Period
from agentv_stream.discovery.places import Root, cache_file, stores, walk
from agentv_stream.errors import SourceError
from agentv_stream.names import named_provider
from agentv_stream.redaction.redaction import Redaction
from agentv_stream.searching.scan import Candidate, Place, Read, Wanted, holding, read_places, tasks_of
from agentv_stream.sources.files import check_readable, is_store_folder
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.store import STORE_SIGN, split_stored, without_children

POOL_BYTES = 24 * 1024 * 1024  # from here on several processes are faster than one
TASK_BYTES = 8 * 1024 * 1024
STORED_BYTES = 64 * 1024  # taken for the size of a session in a store


@dataclass
class Hits:
    """A session with the places that hold the text."""

    session: Session
    places: tuple[Place, ...]


@dataclass
class Outcome:
    """`logs` is how many logs were examined. `unread` are sessions that were not read because `limit` was reached;
    `troubles` are messages about logs that cannot be read."""

    hits: list[Hits] = field(default_factory=list[Hits])
    logs: int = 0
    unread: int = 0
    troubles: list[str] = field(default_factory=list[str])


def search_sessions(
    text: str,
    roots: Sequence[Root],
    files: Sequence[str] = (),
    *,
    provider: str | None = None,
    period: Period | None = None,
    case_sensitive: bool = False,
    limit: int = 0,
    workers: int | None = None,
    redaction: Redaction | None = None,
) -> Outcome:
    """Looks for `text` in the sessions below `roots` and in `files`; of at most `limit` sessions (0: all) the places
    are returned. `redaction` replaces secrets by markers; then the markers are searched.

    Raises: SourceError for a file that cannot be read, UsageError.
    """
    period = period or Period()
    wanted = Wanted(text, case_sensitive, period.since_ms, period.until_ms, redaction)
    outcome = Outcome()
    named = [_named(path, provider) for path in files]
    logs = {session.path: session.size for session in named} | _logs(roots, period.since_ms, outcome)
    outcome.logs = len(logs)
    size = sum(logs.values())
    with open_engine("process" if size >= POOL_BYTES else "serial", workers) as crew:
        tasks = list(tasks_of(wanted, logs.items(), max(1, min(TASK_BYTES, size // (4 * crew.workers)))))
        held: set[str] = set()
        for task, found in crew.run(holding, tasks, lambda task: [task]):
            held.update(found[0] if found is not None else task.paths)
            outcome.troubles += found[1] if found is not None else []
        sessions = _sessions(roots, named, held, provider, period, outcome)
        if sessions:
            _read(crew, wanted, sessions, limit, outcome)
    return outcome


def _logs(roots: Sequence[Root], since_ms: int | None, outcome: Outcome) -> dict[str, int]:
    """Every log below the roots with its size in bytes. One that was last changed before the period holds nothing of
    it."""
    found: dict[str, int] = {}
    for root in roots:
        if not root.database:
            found |= {
                log.path: log.signature.size
                for log in walk(root)
                if since_ms is None or log.signature.mtime_ns >= since_ms * 1_000_000
            }
            continue
        for place in [*stores(root), *([Path(root.path)] if is_store_folder(root.path) else [])]:
            try:
                rows = without_children(list_sessions(place))
            except SourceError as error:
                outcome.troubles.append(str(error))
                continue
            found |= {f"{place}{STORE_SIGN}{row.id}": STORED_BYTES for row in rows}
    return found


def _sessions(
    roots: Sequence[Root], named: list[Session], held: set[str], provider: str | None, period: Period, outcome: Outcome
) -> list[Session]:
    """The sessions to read, the one updated last first."""
    if not held:
        return []
    wanted = only(provider)
    below = find_sessions(roots, HeaderCache(cache_file()), period.since_ms) if held - {s.path for s in named} else []
    every = {session.path: session for session in (*below, *named)}
    found = [
        session
        for session in every.values()
        if wanted(session)
        and not held.isdisjoint((session.path, *session.subagents, *session.further))
        and _overlaps(session, period)
    ]
    return sorted(found, key=lambda session: (-session.updated_ms, session.path))


def _overlaps(session: Session, period: Period) -> bool:
    started = session.header.started_ms
    if period.since_ms is not None and session.updated_ms < period.since_ms:
        return False
    return period.until_ms is None or started is None or started < period.until_ms


def _read(crew: Crew, wanted: Wanted, sessions: list[Session], limit: int, outcome: Outcome) -> None:
    """Reads sessions, newest first, until `limit` of them hold the text."""
    step = max(limit, 4 * crew.workers) if limit else len(sessions)
    read = 0
    while read < len(sessions) and (not limit or len(outcome.hits) < limit):
        part = sessions[read : read + step]
        tasks = [Candidate(wanted, n, s.path, s.header.provider) for n, s in enumerate(part)]
        for _, result in sorted(_run(crew, tasks), key=lambda done: done[0]):
            if result.trouble is not None:
                outcome.troubles.append(result.trouble)
            if result.places:
                outcome.hits.append(Hits(part[result.number], result.places))
        read += len(part)
    outcome.unread = len(sessions) - read
    if limit and len(outcome.hits) > limit:
        outcome.unread += len(outcome.hits) - limit
        del outcome.hits[limit:]


def _run(crew: Crew, tasks: list[Candidate]) -> Iterator[tuple[int, Read]]:
    for task, result in crew.run(read_places, tasks, lambda task: [task]):
        yield task.number, result if result is not None else Read(task.number, (), f"cannot read {task.path}: killed")


def _named(path: str, provider: str | None) -> Session:
    """A session given by its path. Raises: SourceError."""
    if split_stored(path)[1]:
        header, size = stored_header(path), STORED_BYTES
    else:
        check_readable(Path(path))
        size = Path(path).stat().st_size
        header = read_header(path, named_provider(provider))
    if header is None:
        raise SourceError(f"{path} is not a log of a known agent; `agentv-stream providers` lists which are read")
    return Session(path, header, int(updated_at(path) * 1000), size)
