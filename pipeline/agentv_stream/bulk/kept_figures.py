"""The figures of sessions as an earlier run read them, in a file: `stats --cache` reads only what is new or changed.

An entry holds as long as no file was added to its session and each one has the same size, inode, time of the last write
and time of the last change of any kind, which nobody can set back. What changed less than two seconds before a run
began is not kept: further changes might not show in its times.
"""

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from agentv_stages.figures.merge import Summary
from agentv_stages.model.provider import plain_context
from agentv_stages.providers import NAMES, get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.unit import Done, Report, Seen, Separate, Task, Unit, Work
from agentv_stream.discovery.places import own_folder
from agentv_stream.outputs.naming import prepare_folder
from agentv_stream.release import running_version
from agentv_stream.sources.folder import may_be_companions, parts_of

FILE = "figures.db"
AT_REST_NS = 2_000_000_000
UNUSED_DAYS = 90
COUNTING = 3
"""Raised whenever the figures of an unchanged log change: what was counted by other rules is counted again."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS figures (
    mark TEXT NOT NULL, name TEXT NOT NULL, day INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (mark, name)
)
"""


class State(Struct, array_like=True, frozen=True):
    """A file of a session as it was when it was read; times in nanoseconds."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Entry(Struct, array_like=True):
    """A session. `files` begin with its log; `left_out` are those of sub-agents that were not to be read. Of one that
    was not `met` in a folder, but named, nobody examined whether it ran."""

    files: list[State]
    left_out: list[str]
    met: bool
    provider: str
    summary: Summary


_encode = msgspec.json.Encoder().encode  # MessagePack cannot hold more than 64 bits: a log may claim any number
_decode = msgspec.json.Decoder(Entry).decode


def cache_file() -> Path | None:
    """The default place; None if there is no home folder."""
    home = own_folder("XDG_CACHE_HOME", "~/.cache")
    return home / "agentv-stream" / FILE if home is not None else None


class KeptFigures:
    """The file, for one run with the options of `work`. One that cannot be used is no error: `trouble` says why."""

    def __init__(self, file: Path | None, work: Work) -> None:
        self.trouble: str | None = None
        self.notice: str | None = None  # what was done about a damaged file
        self._file = file
        self._begun_ns = time.time_ns()
        self._day = self._begun_ns // (24 * 3600 * 1_000_000_000)
        self._mark = _mark(work)
        self._subagents = work.subagents
        self._folder = ListedFolder()
        self.held = 0  # sessions that need not be read
        self._used: set[str] = set()
        self._read: list[tuple[Done, Summary]] = []

    def take(self, units: Sequence[Unit]) -> tuple[list[tuple[Report, Task]], list[Unit]]:
        """The report of the kept sessions, with the task for which it stands; and the units that must be read."""
        entries = self._entries(units)
        report, known, waiting = Report(task=-1), list[Unit](), list[Unit]()
        for unit in units:
            entry = entries.get(unit.name)
            if entry is None or not self._holds(unit, entry):
                waiting.append(unit)
                continue
            known.append(unit)
            companions = [Seen(state.path, state.size, state.mtime_ns) for state in entry.files[1:]]
            report.done.append(Done(unit=unit, companions=companions, left_out=entry.left_out, provider=entry.provider))
            certain = not may_be_companions(get_provider(entry.provider))
            report.separate.append(Separate(unit.name, entry.summary, certain))
        self._used = {unit.name for unit in known}
        self.held = len(known)
        return [(report, Task(-1, tuple(known)))] if known else [], waiting

    def note(self, report: Report) -> None:
        """Takes what a worker read; `save` writes it."""
        summaries = {one.name: one.summary for one in report.separate}
        for done in report.done:
            summary = summaries.get(done.unit.name)
            if summary is not None and done.whole and done.unit.name not in self._used and _can_be_kept(done.unit):
                if not any(seen.raw for seen in done.companions):
                    self._read.append((done, summary))

    def save(self) -> None:
        """Writes what was read, and forgets what was not used for 90 days."""
        rows = [(self._mark, name, self._day, _encode(entry)) for name, entry in self._new()]
        used = [(self._day, self._mark, name, self._day) for name in self._used]
        with self._database() as database:
            if database is None:
                return
            with database:
                database.executemany("INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?)", rows)
                database.executemany("UPDATE figures SET day = ? WHERE mark = ? AND name = ? AND day < ?", used)
                database.execute("DELETE FROM figures WHERE day < ?", (self._day - UNUSED_DAYS,))

    def _new(self) -> Iterator[tuple[str, Entry]]:
        """What was read from files that did not change since before the run, by their times and as they were found:
        another machine's clock may be late."""
        latest = self._begun_ns - AT_REST_NS
        for done, summary in self._read:
            if done.provider not in NAMES:
                continue
            if not done.alone or get_provider(done.provider).context is not plain_context:
                continue
            found = [(done.unit.source, done.unit.size, done.unit.mtime_ns)]
            found += [(seen.path, seen.size, seen.mtime_ns) for seen in done.companions]
            files = [state for path, _, _ in found for state in _state(path)]
            if [(state.path, state.size, state.mtime_ns) for state in files] == found:
                if all(max(state.mtime_ns, state.ctime_ns) < latest for state in files):
                    yield done.unit.name, Entry(files, done.left_out, done.unit.met, done.provider, summary)

    def _entries(self, units: Sequence[Unit]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        with self._database() as database:
            if database is None:
                return entries
            for unit in filter(_can_be_kept, units):
                found = database.execute(
                    "SELECT entry FROM figures WHERE mark = ? AND name = ?", (self._mark, unit.name)
                ).fetchone()
                if found is not None:
                    with suppress(msgspec.MsgspecError):
                        entries[unit.name] = _decode(found[0])
        return entries

    def _holds(self, unit: Unit, entry: Entry) -> bool:
        """Whether the session consists of the same files, and none of them changed."""
        if (unit.met and not entry.met) or any([state] != _state(state.path) for state in entry.files):
            return False
        provider = get_provider(entry.provider)
        read, left_out = parts_of(provider, unit.place, self._subagents, self._folder)
        return read == [state.path for state in entry.files[1:]] and left_out == entry.left_out

    @contextmanager
    def _database(self) -> Generator[sqlite3.Connection | None]:
        """The open file, a new one in place of a damaged one; None where it cannot be used. Failures within end it."""
        if self._file is None:
            self.trouble = "no home folder is known for the cache"
        if self._file is None or self.trouble is not None:
            yield None
            return
        database: sqlite3.Connection | None = None
        try:
            try:
                database = _open(self._file)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:  # no database, or a damaged one
                aside = self._file.with_name(f"{self._file.name}.damaged")
                self._file.replace(aside)
                self.notice = f"the cache was damaged; it is kept as {aside}, and all is read again"
                database = _open(self._file)
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
        try:
            yield database
        except sqlite3.Error as error:
            self._fail(error)
        finally:
            if database is not None:
                database.close()

    def _fail(self, error: Exception) -> None:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        self.trouble = f"cannot use the cache {self._file}: {why}"


def _open(file: Path) -> sqlite3.Connection:
    """Raises: sqlite3.Error, OSError."""
    prepare_folder(file.parent)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))  # sqlite3 would let everybody read it
    database = sqlite3.connect(file, timeout=10)
    try:
        database.execute(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database


def _mark(work: Work) -> str:
    """The release, the way of counting, and the options on which figures depend."""
    prices = ""
    if work.prices:
        from importlib.metadata import version

        prices = version("genai-prices")
    return msgspec.json.encode([COUNTING, running_version(), work.by, work.provider, work.subagents, prices]).decode()


def _can_be_kept(unit: Unit) -> bool:
    """Whether it is a local file of its own, with a name in UTF-8."""
    return unit.session is None and unit.raw is None and not object_store.is_url(unit.source)


def _state(path: str) -> list[State]:
    """The state of a file; none where it is gone."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - the faster way
    except OSError:
        return []
    return [State(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)]
