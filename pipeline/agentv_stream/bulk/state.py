"""The progress of a bulk run, so that another can continue it: one file of JSON lines per task, each appearing at once.

Below the state's place: `recipe.json` (how outputs are made), `done/*.jsonl` (finished units), `rows/` (rows that are
not in the data set yet). A later line of a unit replaces an earlier one; files are read in order of their names.
"""

import hashlib
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
from msgspec import Struct

from agentv_stages.model.provider import Folder
from agentv_stages.providers import get_provider
from agentv_stream.bulk import object_store
from agentv_stream.bulk.unit import Finished, Unit, Work, printable
from agentv_stream.bulk.verifying import is_staged_whole
from agentv_stream.bulk.worker import tail_of
from agentv_stream.errors import AgentvStreamError, SinkError
from agentv_stream.outputs.locks import LockTaken, take_lock
from agentv_stream.outputs.naming import prepare_folder
from agentv_stream.sources.folder import parts_of

FORMAT = "agentv_stream.import_state.v2"
Begun = Literal["first", "anew", "on"]  # no earlier run; it does not count; it is continued
_MOST_FILES = 64  # of finished units, open at the same time


class Entry(Finished, kw_only=True):
    """A finished unit without its result, and the position of its line."""

    place: str = ""
    offset: int = 0
    length: int = 0

    @property
    def signature(self) -> str:
        """The state of the unit's files when they were read."""
        unit = self.unit
        files = [(s.path, s.size, s.mtime_ns, s.tail) for s in self.companions]
        text = repr((unit.size, unit.mtime_ns, self.tail, files))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _Recipe(Struct):
    """How outputs are made, and the last run of the program that did so."""

    format: str
    options: str
    run: str = ""


class _Line(Struct):
    result: msgspec.Raw


_decode_entry = msgspec.json.Decoder(Entry).decode
_decode_line = msgspec.json.Decoder(_Line).decode


def recipe(work: Work) -> str:
    """Those of a run's options that affect its outputs."""
    facts = (
        work.transcripts,
        work.trajectories,
        work.dataset,
        work.provider,
        work.target,
        sorted(work.watch),
        work.subagents,
        work.prices,
        work.text_chars,
        *(("machine", work.machine) if work.machine is not None else ()),
        *((work.records, work.stages) if work.records or work.stages else ()),
        *(("checks", work.checks.digest) if work.checks is not None else ()),
        *(("pages", work.pages) if work.pages is not None else ()),
        *(("redacted", work.redaction.rules, work.redaction.allow) if work.redaction is not None else ()),
        *((work.export.options, work.export.endpoint, work.export.file) if work.export is not None else ()),
    )
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


class Progress:
    """The state of a bulk output at `place`, a folder or a URL."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._done = object_store.join(place, "done")
        self._recipe = object_store.join(place, "recipe.json")
        self._read: set[str] = set()
        self._entries: dict[str, Entry] = {}
        self.damaged = 0  # its files and lines that cannot be read, maybe after a power cut
        self.parts: set[str] = set()  # files that belonged to a session, by any line that was read

    @contextmanager
    def held(self) -> Generator[None]:
        """Keeps other imports on this machine out while it is open. Raises: SinkError."""
        lock = None if object_store.is_url(self.place) else _lock(Path(self.place))
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def last_run(self) -> str:
        """The last run that used this state; "" if none. Raises: SourceError."""
        try:
            return msgspec.json.decode(object_store.read_all(self._recipe) or b"", type=_Recipe).run
        except msgspec.MsgspecError:
            return ""

    def before(self, work: Work, resume: bool) -> "Begun":
        """As `begin`, but without changing anything. Raises: SourceError."""
        known = object_store.read_all(self._recipe)
        if known is None:
            return "first"
        try:
            earlier = msgspec.json.decode(known, type=_Recipe)
        except msgspec.MsgspecError:
            self.damaged += 1
            return "anew"
        return "on" if resume and (earlier.format, earlier.options) == (FORMAT, recipe(work)) else "anew"

    def begin(self, work: Work, resume: bool) -> "Begun":
        """Prepares the state; returns what becomes of an earlier one (`Begun`). Raises: SourceError, SinkError."""
        begun = self.before(work, resume)
        if begun != "on":
            for name in ("done", "rows", "spans"):
                object_store.remove_tree(object_store.join(self.place, name))
            self._read, self._entries, self.parts = set(), {}, set()
        object_store.put(self._recipe, msgspec.json.encode(_Recipe(FORMAT, recipe(work), work.run)))
        return begun

    def check(self, run: str) -> None:
        """Raises: SinkError if another import has taken over, on another machine or in a bucket without locks."""
        if self.last_run() != run:
            raise SinkError(self.place, OSError("another import has begun there"))

    def entries(self) -> dict[str, Entry]:
        """The finished units, by name; each file is read once. Raises: SourceError."""
        found = self._entries
        for name in object_store.names_below(self._done):
            if name in self._read or not name.endswith(".jsonl") or name.rpartition("/")[2].startswith("."):
                continue
            self._read.add(name)
            offset = 0
            for line in object_store.lines(name):
                try:
                    entry = _decode_entry(line)
                except msgspec.MsgspecError:
                    entry = None  # its unit is read again
                    self.damaged += 1
                if entry is not None:
                    entry.place, entry.offset, entry.length = name, offset, len(line.rstrip(b"\n"))
                    found[entry.unit.name] = entry
                    self.parts |= entry.parts
                offset += len(line)
            self.damaged += not offset
        return found.copy()

    def staged(self) -> frozenset[str]:
        """The whole files of rows that are not in the data set yet."""
        return frozenset(filter(is_staged_whole, object_store.names_below(object_store.join(self.place, "rows"))))

    def lines(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
        """The complete lines of entries, in the given order. Raises: SourceError."""
        files: dict[str, BinaryIO] = {}
        try:
            for entry in entries:
                file = files.get(entry.place)
                if file is None:
                    if len(files) >= _MOST_FILES:
                        files.pop(next(iter(files))).close()
                    file = files[entry.place] = object_store.open_input(entry.place)
                file.seek(entry.offset)
                yield entry, file.read(entry.length)
        finally:
            for file in files.values():
                file.close()

    def results(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """The results of entries as JSON, in the given order. Raises: SourceError."""
        for _, line in self.lines(entries):
            yield bytes(_decode_line(line).result)

    def finish(self, entries: dict[str, Entry], run: str, fewer: bool = False) -> None:
        """After all is published: replaces the many files of finished units by one, and removes staged rows.

        `fewer` says that there were more entries before.

        Raises: SourceError, SinkError.
        """
        names = object_store.names_below(self._done)
        ordered = [entries[name] for name in sorted(entries)]
        target = object_store.join(self._done, f"{run}-all.jsonl")
        if len(names) > 1 or fewer:
            object_store.put_lines(target, (line for _, line in self.lines(ordered)))
            for name in names:
                if name != target:
                    object_store.remove(name)
        object_store.remove_tree(object_store.join(self.place, "rows"))


def _lock(place: Path) -> int | None:
    """The descriptor that holds the lock; None if the system has no locks. Raises: SinkError."""
    try:
        prepare_folder(place)
        return take_lock(place / "lock")
    except LockTaken as error:
        raise SinkError(str(place), OSError("another import is at work there")) from error
    except OSError as error:
        raise SinkError(str(place), error) from error


def unchanged(unit: Unit, entry: Entry, subagents: bool, folder: Folder) -> bool:
    """Whether a unit is still as it was when it was finished: size, time and last bytes of each file, and no file
    more or less."""
    if not entry.whole:
        return False
    if (unit.size, unit.mtime_ns) != (entry.unit.size, entry.unit.mtime_ns):
        return False
    try:
        if any((s.size, s.mtime_ns) != object_store.stat(s.place) for s in entry.companions):
            return False
        if unit.session is not None:
            return True
        read, left_out = parts_of(get_provider(entry.provider), unit.place, subagents, folder)
        known = [seen.place for seen in entry.companions]
        if read != known or [printable(path)[0] for path in left_out] != entry.left_out:
            return False
        return tail_of(unit.place, unit.size) == entry.tail and all(
            tail_of(seen.place, seen.size) == seen.tail for seen in entry.companions
        )
    except (AgentvStreamError, OSError, KeyError):  # the last one: a plug-in that is gone
        return False
