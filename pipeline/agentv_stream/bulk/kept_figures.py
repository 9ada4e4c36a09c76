"""The figures of sessions as an earlier run read them, in a file: `stats` reads only new or changed sessions.

An entry holds as long as no file was added to its session and each one has the same size, inode, time of the last write
and time of the last change of any kind, which cannot be set back. A file that changed less than two seconds before a
run began is not kept: further changes might not show in its times.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stages.figures.merge import Summary
from agentv_stages.figures.session_figures import SessionFigures
from agentv_stages.model.provider import plain_context
from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.unit import Done, ReadFile, Report, Separate, Task, Unit, Work
from agentv_stream.costs.rates import Rates
from agentv_stream.discovery.kept_file import KeptFile, sealed, unsealed
from agentv_stream.discovery.kept_rates import load_rates, save_rates
from agentv_stream.release import reading_version
from agentv_stream.sources.folder import may_be_companions, parts_of

AT_REST_NS = 2_000_000_000
UNUSED_DAYS = 90
COUNTING = 9
"""Raised whenever the figures of an unchanged log change: what was counted by other rules is counted again."""
MOST_BYTES = 256 * 1024 * 1024
"""Of all entries; of more, those that were not used for the longest time are removed."""


class FileState(Struct, array_like=True, frozen=True):
    """A file of a session as it was when it was read; times in nanoseconds."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class KeptSession(Struct, array_like=True):
    """A session. `files` begin with its log; `left_out` are those of sub-agents that were not to be read. A file given
    by path (not found `in_folder`) is never checked for a running writer."""

    files: list[FileState]
    left_out: list[str]
    in_folder: bool
    provider: str
    session: SessionFigures


_encode = msgspec.json.Encoder().encode  # MessagePack cannot hold more than 64 bits: a log may claim any number
_decode = msgspec.json.Decoder(KeptSession).decode


class KeptFigures:
    """The kept figures, for one run with the options of `work`; and the list prices of `rates`."""

    def __init__(self, file: Path | None, work: Work, rates: Rates | None = None) -> None:
        self.kept = KeptFile(file)
        self._begun_ns = time.time_ns()
        self._day = self._begun_ns // (24 * 3600 * 1_000_000_000)
        self._mark = _mark(work)
        self._subagents = work.subagents
        self._rates = rates
        self._folder = ListedFolder()
        self.held = 0  # sessions that need not be read
        self.entries: dict[str, KeptSession] = {}  # the sessions that are kept, by the names of their units
        self._used: set[str] = set()
        self._stale: list[str] = []  # used, for the first time today
        self._read: list[tuple[Done, SessionFigures]] = []

    @property
    def notes(self) -> list[str]:
        """The figures that could not be kept, and the measures taken."""
        return [note for note in (self.kept.notice, self.kept.trouble) if note is not None]

    def take(self, units: Sequence[Unit]) -> tuple[list[tuple[Report, Task]], list[Unit]]:
        """The report of the kept sessions, with the task for which it stands; and the units that must be read."""
        entries = self._entries(units)
        self.entries |= entries
        report, known, waiting = Report(task=-1), list[Unit](), list[Unit]()
        for unit in units:
            entry = entries.get(unit.name)
            if entry is None or not self._holds(unit, entry):
                self.entries.pop(unit.name, None)
                waiting.append(unit)
                continue
            known.append(unit)
            companions = [ReadFile(state.path, state.size, state.mtime_ns) for state in entry.files[1:]]
            report.done.append(Done(unit=unit, companions=companions, left_out=entry.left_out, provider=entry.provider))
            certain = not may_be_companions(get_provider(entry.provider))
            report.separate.append(Separate(unit.name, Summary(), certain, entry.session))
        self._used = {unit.name for unit in known}
        self.held = len(known)
        return [(report, Task(-1, tuple(known)))] if known else [], waiting

    def note(self, report: Report) -> None:
        """Takes a worker's report; `save` writes it."""
        sessions = {separate.name: separate.session for separate in report.separate}
        for done in report.done:
            session = sessions.get(done.unit.name)
            if session is not None and done.whole and done.unit.name not in self._used and _can_be_kept(done.unit):
                if not any(seen.raw for seen in done.companions):
                    self._read.append((done, session))

    def save(self) -> None:
        """Writes the figures that were read, and forgets figures that were not used for 90 days."""
        new_entries = dict(self._new())
        self.entries |= new_entries
        self._read = []
        rows = [(self._mark, name, self._day, sealed(name, _encode(entry))) for name, entry in new_entries.items()]
        used = [(self._day, self._mark, name) for name in self._stale if name in self._used]
        new = self._rates.new if self._rates is not None else {}
        if not (rows or used or new):
            return
        with self.kept.opened() as database:
            if database is None:
                return
            database.execute("BEGIN IMMEDIATE")
            database.executemany("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", rows)
            database.executemany("UPDATE sessions SET day = ? WHERE mark = ? AND name = ?", used)
            database.execute("DELETE FROM sessions WHERE day < ?", (self._day - UNUSED_DAYS,))
            if self._rates is not None and new:
                save_rates(database, self._rates)
            removed = _keep_to_limit(database)
            database.execute("COMMIT")
            if removed:
                database.execute("VACUUM")

    def _new(self) -> Iterator[tuple[str, KeptSession]]:
        """Figures from files that did not change since before the run, by their times and as they were found:
        another machine's clock may be late."""
        latest = self._begun_ns - AT_REST_NS
        for done, session in self._read:
            if not done.provider or not done.alone or get_provider(done.provider).context is not plain_context:
                continue
            found = [(done.unit.source, done.unit.size, done.unit.mtime_ns)]
            found += [(seen.path, seen.size, seen.mtime_ns) for seen in done.companions]
            files = [state for path, _, _ in found for state in file_state(path)]
            if [(state.path, state.size, state.mtime_ns) for state in files] == found:
                if all(max(state.mtime_ns, state.ctime_ns) < latest for state in files):
                    yield done.unit.name, KeptSession(files, done.left_out, done.unit.in_folder, done.provider, session)

    def _entries(self, units: Sequence[Unit]) -> dict[str, KeptSession]:
        entries: dict[str, KeptSession] = {}
        with self.kept.opened() as database:
            if database is None:
                return entries
            for unit in filter(_can_be_kept, units):
                found = database.execute(
                    "SELECT entry, day FROM sessions WHERE mark = ? AND name = ?", (self._mark, unit.name)
                ).fetchone()
                entry, day = found if found is not None else (None, None)
                data = unsealed(unit.name, entry)
                if data is not None:
                    with suppress(msgspec.MsgspecError):
                        entries[unit.name] = _decode(data)
                        if day != self._day:
                            self._stale.append(unit.name)
            if self._rates is not None:
                load_rates(database, self._rates)
        return entries

    def _holds(self, unit: Unit, entry: KeptSession) -> bool:
        """Whether the session consists of the same files, and none of them changed."""
        if unit.in_folder and not entry.in_folder:
            return False
        return is_unchanged(unit.place, entry, self._folder, self._subagents)


def is_unchanged(place: str, entry: KeptSession, folder: ListedFolder, subagents: bool = True) -> bool:
    """Whether the session at `place` still consists of the same files, and none of them changed."""
    if any([state] != file_state(state.path) for state in entry.files):
        return False
    read, left_out = parts_of(get_provider(entry.provider), place, subagents, folder)
    return read == [state.path for state in entry.files[1:]] and left_out == entry.left_out


def _mark(work: Work) -> str:
    """The release, the way of counting, and the options on which figures depend."""
    return msgspec.json.encode([COUNTING, reading_version(), work.provider, work.subagents]).decode()


def _can_be_kept(unit: Unit) -> bool:
    """Whether it is a local file of its own, with a name in UTF-8."""
    return unit.session is None and unit.raw is None and not object_store.is_url(unit.source)


def file_state(path: str) -> list[FileState]:
    """The state of a file; none where it is gone."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - the faster way
    except OSError:
        return []
    return [FileState(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)]


def _keep_to_limit(database: sqlite3.Connection) -> bool:
    """Removes the entries that were not used for the longest time if all are too large; whether there were any."""
    (size,) = database.execute("SELECT total(length(entry)) FROM sessions").fetchone()
    if size <= MOST_BYTES:
        return False
    for (day,) in database.execute("SELECT DISTINCT day FROM sessions ORDER BY day").fetchall():
        (part,) = database.execute("SELECT total(length(entry)) FROM sessions WHERE day = ?", (day,)).fetchone()
        if size - part <= MOST_BYTES:
            enough, names = size - MOST_BYTES, list[tuple[str, str]]()
            rows = database.execute("SELECT mark, name, length(entry) FROM sessions WHERE day = ?", (day,)).fetchall()
            for mark, name, length in rows:
                if enough > 0:
                    enough -= length
                    names.append((mark, name))
            database.executemany("DELETE FROM sessions WHERE mark = ? AND name = ?", names)
            return True
        database.execute("DELETE FROM sessions WHERE day = ?", (day,))
        size -= part
    return True
