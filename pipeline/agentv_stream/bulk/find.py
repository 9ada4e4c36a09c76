"""Resolves sources that a user names into units of work: files, folders, globs, URLs, lists, stores, session ids.

Sub-agents' files are left out here if their path shows which session's file they belong to, because they are read with
it; others are recognised when they are read (`run.py`).
"""

import glob
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.copies import without_copies
from agentv_stream.bulk.unit import Unit, printable
from agentv_stream.discovery.places import IN_STORES, LOG_SUFFIXES, expanded, store_patterns
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import first_unpacked, is_file, is_folder, is_store_folder, is_there, store_around
from agentv_stream.sources.packed_folder import unpacked_name

if TYPE_CHECKING:
    from agentv_stream.stores.store import StoredSession

Sources: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
Trouble = list[tuple[str, SourceError]]  # what cannot be read, and why
STORES = (".db", ".sqlite", ".sqlite3")
_MAGIC = re.compile(r"[*?[]")
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]+…?\Z")  # `…`: as `sessions` shortens it
# Files beside sessions that are not sessions: our own outputs, agents' notes on their sessions.
_NOT_SESSIONS = (
    ".meta.json",
    ".dead-letters.jsonl",
    "_dataset.json",
    "sessions-index.json",
    "settings.json",
    "package.json",
    "logs.json",
)
_SKIPPED_FOLDERS = frozenset((".git", "node_modules", "__pycache__", "_state", ".agentv"))
_AGENT_FILE = re.compile(r"agent-[^/]+\.jsonl\Z")
_SESSION_OF = re.compile(rb'"sessionId":"([^"\\]{1,200})"')


def looks_like_session(name: str) -> bool:
    """Whether the name of a file found in a folder suggests that it is worth opening."""
    name = unpacked_name(name)
    return name.endswith(LOG_SUFFIXES) and not name.endswith(_NOT_SESSIONS) and not name.startswith(".")


def listed(sources: Sources) -> list[str]:
    """Sources as a list of names; a single string is one source, not a sequence of characters.

    Raises: TypeError for a value that is no path.
    """
    return [_name(source) for source in ((sources,) if isinstance(sources, (str, bytes, PathLike)) else sources)]


def _name(source: str | PathLike[str]) -> str:
    name: str | bytes = os.fspath(source)
    if isinstance(name, bytes):  # an agent's output, as `summarize` takes it
        raise TypeError("expected paths or URLs as text, not bytes")
    return name


def find_units(
    sources: Iterable[str], provider: str | None = None, roots: Sequence[str] = (), trouble: Trouble | None = None
) -> list[Unit]:
    """The units of all sources, each once, sorted by name, positions set.

    A file given by name is a unit whatever its name; in a folder or glob, only those that look like sessions are.
    `roots` are the configured ones, for session ids. `trouble` collects what cannot be read as long as something else
    can: a source, or a folder within one; without it the first such source raises, and such folders are skipped.

    Raises: SourceError for a source that does not exist or cannot be listed, UsageError for an id of several sessions.
    """
    found: dict[str, Unit] = {}
    failed: Trouble = []
    for source in sources:
        try:
            for unit in _of_source(source, provider, roots, failed):
                found.setdefault(unit.name, unit)
        except SourceError as error:
            if trouble is None:
                raise
            failed.append((source, error))
    if failed and not found and trouble is not None:
        raise failed[0][1]
    if trouble is not None:
        trouble += [(printable(place)[0], error) for place, error in failed]
    return units_of(found)


def units_of(found: dict[str, Unit]) -> list[Unit]:
    """The found units, by name: without further names, copies and sub-agents' files, sorted, positions set."""
    kept = without_copies(_once(_without_links(found)))
    ordered = sorted(_without_companions(kept), key=lambda unit: unit.name)
    return [_at(unit, i) for i, unit in enumerate(ordered)]


def _at(unit: Unit, position: int) -> Unit:
    shown, raw = printable(unit.source)
    copies = tuple(printable(name)[0] for name in unit.copies)
    return replace(unit, source=shown, position=position, raw=raw, copies=copies)


def _of_source(source: str, provider: str | None, roots: Sequence[str], failed: Trouble) -> Iterator[Unit]:
    if not source:
        raise SourceError("cannot read '': the name of a source is empty")  # it does not mean the current folder
    place = object_store.plain(source)
    if object_store.is_url(place):
        yield from _of_url(place)
        return
    path = Path(os.path.abspath(expanded(place)))  # noqa: PTH100 - links are not followed
    if is_folder(path) and (around := store_around(path)) is not None:
        yield from _of_store(str(around[0]), failed, around[1])
    elif is_store_folder(path):
        databases = [str(entry) for entry in path.iterdir() if entry.name.endswith(STORES)]
        yield from stores_in(str(path), databases, True, failed)
    elif is_folder(path):
        yield from _of_folder(str(path), failed)
    elif is_there(path):
        yield from _of_file(str(path), failed)
    elif _MAGIC.search(place):
        matches = sorted(set(_matching("/", path.parts[1:])))
        if not matches:
            raise SourceError(f"nothing matches {source}")
        for match in matches:
            if is_folder(match):
                yield from _of_folder(match, failed)
            elif looks_like_session(match) or match.endswith(STORES):
                yield from _of_file(match, failed)
    else:
        yield from _of_session_id(source, provider, roots)


def _matching(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """The paths below a folder that match a glob, given by its parts. As `glob.glob`, but `**` follows no links to
    folders, which may form cycles."""
    before = parts.index("**") if "**" in parts else len(parts)
    places = glob.glob("/".join(parts[:before]), root_dir=folder) if before else [""]  # noqa: PTH207 - root_dir
    for place in (posixpath.join(folder, name) for name in places):
        if before == len(parts):
            yield place
            continue
        for below, folders, files in os.walk(place):
            folders[:] = [name for name in folders if not name.startswith(".")]
            if before + 1 < len(parts):
                yield from _matching(below, parts[before + 1 :])
                continue
            yield below
            yield from (posixpath.join(below, name) for name in files if not name.startswith("."))


def _of_file(path: str, failed: Trouble) -> Iterator[Unit]:
    size, mtime_ns = object_store.stat(path)
    if path.endswith(STORES):
        yield from _of_store(path, failed)
        return
    around = store_around(path)
    if around is not None:
        yield from _of_store(str(around[0]), failed, around[1])
        return
    if not is_file(path):
        raise SourceError(f"cannot read {path}: it is not a file (`consume` reads a pipe)")
    yield Unit(path, 0, size, mtime_ns)


def _of_store(path: str, failed: Trouble, only: str | None = None) -> Iterator[Unit]:
    """The sessions of a store, or one of them, children with their parents. They have no size, but a modification
    time. Tables that are not read are added to `failed`."""
    from agentv_stream.stores.database import StoreError
    from agentv_stream.stores.opening import list_store
    from agentv_stream.stores.store import without_children

    sessions, unread = list_store(path)
    for session in without_children(sessions):
        if only in (None, session.id):
            yield _stored(path, session)
    if unread is not None:
        failed.append((path, StoreError(unread)))


def _stored(path: str, session: "StoredSession") -> Unit:
    return Unit(path, 0, 0, (session.updated_ms or 0) * 1_000_000, session.id)


def stores_in(folder: str, databases: list[str], older: bool, failed: Trouble) -> Iterator[Unit]:
    """The sessions of a folder's databases, and those that only the `older` form of a store contains.

    An agent's later version copies sessions into another database, or from files into one, and leaves them in place: of
    each the copy updated last counts. Databases of other programs are skipped. One that has the name of an agent's and
    cannot be read, or only in part, is added to `failed`.
    """
    places = (*sorted(databases), *((folder,) if older else ()))
    if not places:
        return
    from agentv_stream.stores.database import ForeignStore, StoreError
    from agentv_stream.stores.opening import list_store
    from agentv_stream.stores.store import without_children

    kept: dict[str, tuple[int, Unit]] = {}
    for place in places:
        try:
            sessions, unread = list_store(place)
        except SourceError as error:
            if not isinstance(error, ForeignStore) and store_patterns().fullmatch(posixpath.basename(place)):
                failed.append((place, error))
            continue
        if unread is not None:
            failed.append((place, StoreError(unread)))
        for session in without_children(sessions):
            if _has_log(place, session):
                continue
            known = kept.get(session.id)
            if known is None or (place != folder and (session.updated_ms or 0) > known[0]):
                kept[session.id] = (session.updated_ms or 0, _stored(place, session))
    yield from (unit for _, unit in kept.values())


def _has_log(place: str, session: "StoredSession") -> bool:
    """Whether the session is also in a log of its own, which counts instead."""
    logs = get_provider(session.provider).logs_of_database
    return logs is not None and any(map(is_file, logs(place)))


def _of_folder(folder: str, failed: Trouble) -> Iterator[Unit]:
    """Every session file and store at any depth. Links to folders are not followed, as they may form cycles.

    Raises: SourceError if the folder itself cannot be read; one below it is added to `failed`.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        databases: list[str] = []
        older = is_store_folder(place)
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if older and entry.name in IN_STORES:
                            continue
                        if entry.name not in _SKIPPED_FOLDERS and not entry.name.endswith(".jsonl.state"):
                            waiting.append(entry.path)
                    elif looks_like_session(entry.name):
                        yield from _of_entry(entry, failed)
                    elif entry.name.endswith(STORES):
                        databases.append(entry.path)
            yield from stores_in(place, databases, older, failed)
        except FileNotFoundError:
            if place == folder:
                raise SourceError(f"cannot read {folder}: no such file or folder") from None
            continue  # it was removed after it was listed
        except OSError as error:
            trouble = SourceError(f"cannot read {place}: {error.strerror or error}")
            if place == folder:
                raise trouble from error
            failed.append((place, trouble))


def _of_entry(entry: "os.DirEntry[str]", failed: Trouble) -> Iterator[Unit]:
    """The unit of a listed file, unless it was removed meanwhile or is a dangling link."""
    try:
        info = entry.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        failed.append((entry.path, SourceError(f"cannot read {entry.path}: {error.strerror or error}")))
        return
    if stat.S_ISREG(info.st_mode):
        yield Unit(entry.path, 0, info.st_size, info.st_mtime_ns, None, True)


def _of_url(url: str) -> Iterator[Unit]:
    system = object_store.of_url(url)
    scheme = url.partition("://")[0]
    skipped = _SKIPPED_FOLDERS.difference(url.split("/"))  # as for folders: a named folder is read
    try:
        if _MAGIC.search(url):
            found = system.glob(url, detail=True)
        elif system.isfile(url):
            found = {url.partition("://")[2]: system.info(url)}
            info = next(iter(found.values()))
            yield Unit(url, 0, int(info.get("size") or 0), object_store.changed_ns(info))
            return
        else:
            found = system.find(url, detail=True)
    except OSError as error:
        raise SourceError(f"cannot list {url}: {error}") from error
    if not found:
        raise SourceError(f"cannot read {url}: no such file or folder")
    for name, info in found.items():
        if info.get("type") == "file" and looks_like_session(posixpath.basename(name)):
            if not skipped.intersection(name.split("/")):
                size = int(info.get("size") or 0)
                yield Unit(f"{scheme}://{name}", 0, size, object_store.changed_ns(info), None, True)


def _of_session_id(source: str, provider: str | None, roots: Sequence[str]) -> Iterator[Unit]:
    if not _SESSION_ID.match(source):
        raise SourceError(f"cannot read {source}: no such file or folder")
    from agentv_stream.discovery.discover import named_session
    from agentv_stream.discovery.places import find_roots
    from agentv_stream.stores.opening import list_sessions
    from agentv_stream.stores.store import split_stored

    try:
        found = named_session(find_roots(provider=provider, configured=roots), source)
    except SourceError as error:
        raise SourceError(f"cannot read {source}: {error}") from error
    path, session = split_stored(found.path)
    size, mtime_ns = object_store.stat(path)
    if session:
        yield from (_stored(path, stored) for stored in list_sessions(path) if stored.id == session)
    else:
        yield Unit(path, 0, size, mtime_ns)


def _without_links(found: dict[str, Unit]) -> dict[str, Unit]:
    """Leaves out files found in a folder that are links to one of the others, like `latest.jsonl`."""
    kept: dict[str, Unit] = {}
    for name, unit in found.items():
        if unit.in_folder and not object_store.is_url(name) and os.path.islink(name):  # noqa: PTH114 - the faster way
            real = os.path.realpath(name)
            if real in found or real in kept:
                continue
        kept[name] = unit
    return kept


def _once(found: dict[str, Unit]) -> dict[str, Unit]:
    """Leaves out further names of one file: hard links, links to folders above it, links given by name.

    A given name is preferred to a found one, a file to a link to it, then the first in order.
    """
    alike: dict[tuple[int, int], list[Unit]] = {}
    for unit in found.values():
        if unit.session is None and not object_store.is_url(unit.source):
            alike.setdefault((unit.size, unit.mtime_ns), []).append(unit)
    left_out: set[str] = set()
    for units in alike.values():
        seen: set[tuple[int, int]] = set()
        if len(units) > 1:  # only then each has to be examined
            units.sort(key=lambda unit: (unit.in_folder, os.path.islink(unit.place), unit.name))  # noqa: PTH114
        for unit in units if len(units) > 1 else ():
            try:
                info = os.stat(unit.place)  # noqa: PTH116 - the faster way
            except OSError:
                continue  # reading it will show the error
            if (info.st_dev, info.st_ino) in seen:
                left_out.add(unit.name)
            seen.add((info.st_dev, info.st_ino))
    return {name: unit for name, unit in found.items() if name not in left_out} if left_out else found


def _without_companions(found: dict[str, Unit]) -> list[Unit]:
    """Leaves out Claude's sub-agents' files whose session is also among the units."""
    kept: list[Unit] = []
    names = set(map(unpacked_name, found))
    for name, unit in found.items():
        folder, _, last = name.rpartition("/")
        if _AGENT_FILE.match(unpacked_name(last)):
            main, below, _ = folder.partition("/subagents")
            parent = f"{main}.jsonl" if below else _parent_beside(unit, folder)
            if parent in names:
                continue
        kept.append(unit)
    return kept


def _parent_beside(unit: Unit, folder: str) -> str:
    try:
        with object_store.open_input(unit.source) as file:
            match = _SESSION_OF.search(first_unpacked(file, unit.source, 4096))
    except (OSError, SourceError):
        return ""
    return f"{folder}/{match[1].decode('utf-8', 'replace')}.jsonl" if match else ""
