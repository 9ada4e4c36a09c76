"""One import, after its sources were found: what earlier runs have done, what remains to read, and the outputs.

In: units, and the state left by earlier runs. Out: the units to be read; after they were read, the outputs.
"""

import os
from collections.abc import Callable, Iterator

import msgspec

from agentv_stages.figures.result import Result
from agentv_stages.model.visible import counted
from agentv_stream.bulk import object_store
from agentv_stream.bulk.blobs import remove_blobs
from agentv_stream.bulk.dataset import commit, sweep
from agentv_stream.bulk.engine import Crew
from agentv_stream.bulk.listing import ListedFolder
from agentv_stream.bulk.manifest import MANIFEST, DataFile, Manifest, first_manifest, set_aside
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.places import sweep_left
from agentv_stream.bulk.shards import Shard, make_groups, make_merges, make_shards, one_by_one, write_shards
from agentv_stream.bulk.state import Entry, Progress, unchanged
from agentv_stream.bulk.unit import Unit, Work
from agentv_stream.bulk.verifying import is_whole, without_damaged
from agentv_stream.bulk.worker import key_of, tail_of, unpacked_tail
from agentv_stream.errors import SourceError
from agentv_stream.sources.files import is_file, is_gone
from agentv_stream.sources.packed_folder import unpacked_name

MOST_ALIKE = 64  # files with the same beginning that are compared with a file that no longer exists


class ImportRun:
    """Call `begin`, let workers read all waiting units, then `settle` and `finish`; the caller holds the state.

    Messages for people are added to `outcome`.
    """

    def __init__(
        self, work: Work, units: list[Unit], places: dict[str, str], state: Progress, outcome: Outcome
    ) -> None:
        self._work = work
        self._units = units
        self._places = places
        self._state = state
        self._outcome = outcome
        self._first = True  # no import wrote to these places before
        self._manifest: Manifest | None = None
        self._known: dict[str, Entry] = {}  # what earlier runs have read
        self._left: set[str] = set()  # units that need not be read again
        self._entries: dict[str, Entry] = {}  # what this run or an earlier one has read
        self._moved: set[str] = set()
        self._whole: dict[str, Entry] = {}

    def begin(self, resume: bool, dry_run: bool) -> list[Unit]:
        """Continues an earlier run, or starts over; returns the units to be read.

        Raises: SourceError, SinkError, UsageError when a data set of another version is to be extended.
        """
        work, state, outcome = self._work, self._state, self._outcome
        manifest = self._first_manifest(work.dataset, resume, dry_run) if work.dataset is not None else None
        if not dry_run:
            sweep_left(state.last_run(), state.place, self._places)
        begun = state.before(work, resume) if dry_run else state.begin(work, resume)
        if resume and begun == "anew":
            why = "the state cannot be read" if state.damaged else "the options differ from before"
            outcome.notes.append(f"--resume: {why}, so everything is read again")
            manifest = Manifest(generation=manifest.generation) if manifest is not None else None
        self._first = begun == "first"
        self._manifest = manifest
        known = self._known = state.entries() if begun == "on" else {}
        if begun == "on" and state.damaged:
            outcome.notes.append(f"--resume: the state is damaged in {counted(state.damaged, 'place')}; read again")
        staged = state.staged() if known else frozenset[str]()
        listed = ListedFolder()
        waiting: list[Unit] = []
        for unit in self._units:
            entry = known.get(unit.name)
            if entry is None or not unchanged(unit, entry, work.subagents, listed) or _lacks(entry, manifest, staged):
                waiting.append(unit)
        self._left = {unit.name for unit in self._units}.difference(unit.name for unit in waiting)
        outcome.skipped = len(self._left.intersection(_sessions(known, _parts(known, self._units))))
        read_before = {name for name, entry in known.items() if entry.whole}
        return [msgspec.structs.replace(unit, read_before=unit.name in read_before) for unit in waiting]

    def _first_manifest(self, root: str, resume: bool, dry_run: bool) -> Manifest:
        """The manifest that the run starts from, without its damaged parts. Raises: SourceError, UsageError."""
        notes = self._outcome.notes
        try:
            manifest = first_manifest(root, resume)
        except SourceError as error:
            if not is_file(object_store.join(root, MANIFEST)):
                raise
            notes.append(f"--resume: {error}; it is set aside, and everything is read again")
            return Manifest() if dry_run else set_aside(root)
        manifest, damaged = without_damaged(root, manifest)
        if damaged:
            notes.append(f"--resume: {counted(damaged, 'damaged file')} of {root}; their sessions are read again")
        return manifest

    @property
    def claimed(self) -> set[str]:
        """Files of sessions that an earlier run has read."""
        return {part for name in self._left for part in self._known[name].parts}

    def settle(self, crew: Crew) -> None:
        """After all was read: removes from the outputs what turned out to be part of another session, or has moved.

        Raises: SourceError, SinkError.
        """
        work, outcome, units = self._work, self._outcome, self._units
        entries = self._entries = self._state.entries()
        for name, entry in self._known.items():
            if entry.whole and entries.get(name, entry).error is not None:
                entries[name] = entry  # the earlier result is kept
        moved = self._moved = _moved(entries, units, self._state.parts) | _copies(units).intersection(entries)
        parts = _parts(entries, units) | moved
        whole = self._whole = _sessions(entries, parts)
        outcome.parts = sorted(parts.intersection(unit.name for unit in units))
        outcome.skipped = len(self._left.intersection(whole))
        self._state.check(work.run)
        _remove_stale(self._known, entries, parts)
        if not whole and not self._known:  # the wrong folder, or an unreadable one: keep the outputs of earlier runs
            if not self._first:
                outcome.notes.append("no session could be read; the outputs are unchanged")
            outcome.outputs = {}
        elif work.dataset is not None and self._manifest is not None:
            _publish(crew, work.dataset, self._manifest, whole, parts, self._state.staged())

    def finish(self, on_result: Callable[[bytes], None] | None = None) -> None:
        """Writes the results and the state for the next run. Raises: SourceError, SinkError."""
        whole, state, run = self._whole, self._state, self._work.run
        if "jsonl" in self._outcome.outputs:
            object_store.put_lines(self._places["jsonl"], self.results(), run)
        if "pages" in self._outcome.outputs:
            self._write_index(self._places["pages"], run)
        if on_result is not None:
            for line in self.results():
                on_result(line)
        if "otel-file" in self._outcome.outputs:
            spans = (whole[name].spans for name in sorted(whole))
            lines = (line for place in spans if place is not None for line in object_store.lines(place))
            object_store.put_pieces(self._places["otel-file"], lines, run)
        kept = {name: entry for name, entry in self._entries.items() if name not in self._moved}
        state.finish(kept, run, bool(self._moved))
        sweep_left(run, state.place, self._places)  # left by workers that were killed

    def _write_index(self, place: str, run: str) -> None:
        """The index of all pages, in the folder that holds them. Raises: SourceError, SinkError."""
        from agentv_stream.pages.index import INDEX, index_page, row_of

        folder = place.partition("{provider}")[0].rstrip("/")
        decode = msgspec.json.Decoder(Result).decode
        entries = [
            row_of(result, result.outputs.page.removeprefix(folder).lstrip("/"), self._whole[name].page_title)
            for name, result in zip(sorted(self._whole), map(decode, self.results()), strict=True)
            if isinstance(result.outputs.page, str)
        ]
        object_store.put_pieces(object_store.join(folder, INDEX), index_page(entries), run)

    def results(self) -> Iterator[bytes]:
        """The results as JSON, in their order. Raises: SourceError."""
        whole = self._whole
        return self._state.results(whole[name] for name in sorted(whole))

    def send_spans(self, endpoint: str) -> None:
        """Sends the spans of the sessions that were not sent before. Raises: SourceError, SinkError."""
        from agentv_stream.otel.bulk import send_files

        sent_place = object_store.join(self._state.place, "sent.txt")
        before = (object_store.read_all(sent_place) or b"").decode().splitlines() if self._known else []
        sent = {name for name in before if name in self._left}
        new = [name for name in sorted(self._whole) if name not in sent]
        places = [place for name in new if (place := self._whole[name].spans) is not None]
        self._outcome.notes += send_files(endpoint, places)
        object_store.put(sent_place, "\n".join((*sent, *new)).encode("utf-8", "backslashreplace"))


def _lacks(entry: Entry, manifest: Manifest | None, staged: frozenset[str]) -> bool:
    """Whether an output of a finished unit is missing or damaged."""
    if not all(is_whole(place, entry.sizes.get(place)) for place in entry.outputs):
        return True
    return manifest is not None and not _counts(entry, manifest) and not _is_staged(entry, staged)


def _counts(entry: Entry, manifest: Manifest) -> bool:
    """Whether the data set has the rows of a unit in its present state."""
    return manifest.signatures.get(key_of(entry.unit.name)) == entry.signature


def _is_staged(entry: Entry, staged: frozenset[str]) -> bool:
    """Whether the rows of a unit are staged for the data set."""
    return bool(entry.rows) and all(rows.path in staged for rows in entry.rows.values())


def _remove_stale(known: dict[str, Entry], entries: dict[str, Entry], parts: set[str]) -> None:
    """Removes outputs of files that are parts, and those under an old name (the session's id or time changed) or that
    a session no longer has. Blobs have no such name: who reads a session again removes those that it no longer has."""
    for name in parts:
        letters = entries[name].letters
        if letters is not None:
            remove_blobs(letters)
        for place in entries[name].outputs:
            object_store.remove(place)
    for name, before in known.items():
        now = entries.get(name)
        if now is not None and now.error is None:
            for place in before.outputs - now.outputs:
                object_store.remove(place)


def _sessions(entries: dict[str, Entry], parts: set[str]) -> dict[str, Entry]:
    """Those entries that are a session each."""
    return {name: entry for name, entry in entries.items() if entry.error is None and name not in parts}


def _parts(entries: dict[str, Entry], units: list[Unit]) -> set[str]:
    """Units that turned out to be a part of another unit's session, or a copy."""
    covered = {part for entry in entries.values() if entry.error is None for part in entry.parts}
    of_copies = {unit.name for unit in units if not covered.isdisjoint(unit.copies)}
    return (covered | _copies(units) | of_copies).intersection(entries)


def _copies(units: list[Unit]) -> set[str]:
    return {copy for unit in units for copy in unit.copies}


def _moved(entries: dict[str, Entry], units: list[Unit], parts: set[str]) -> set[str]:
    """Files of earlier runs that no longer exist, but were found elsewhere with the same size and last bytes, or with
    these bytes and more, or packed, or were part of a session (which may have been read again without them), and those
    that were read now by another of their names."""
    here = {unit.name for unit in units}
    read = [entry for name, entry in entries.items() if name in here and entry.tail]
    now = {(entry.unit.size, entry.tail) for entry in read}
    others = [entry for name, entry in entries.items() if name not in here and _is_local(entry)]
    files = {_file_of(entry) for entry in read if others and _is_local(entry)} - {None}
    alike: dict[str, list[Entry]] = {}
    for entry in read if others else ():
        alike.setdefault(entry.head, []).append(entry)
    return {
        entry.unit.name
        for entry in others
        if _file_of(entry) in files
        or (
            is_gone(entry.unit.place)
            and (
                entry.unit.name in parts
                or (entry.unit.size, entry.tail) in now
                or any(_continues(other, entry) for other in alike.get(entry.head, ())[:MOST_ALIKE])
            )
        )
    }


def _continues(entry: Entry, earlier: Entry) -> bool:
    """Whether a file that begins as an earlier one has the last bytes of that at the same place. If it is packed, what
    it contains is compared."""
    size = earlier.unit.size
    if not earlier.head or not earlier.tail or not size or not _is_local(entry):
        return False
    try:
        if _is_packed(entry):
            return not _is_packed(earlier) and unpacked_tail(entry.unit.place, size) == earlier.tail
        return size < entry.unit.size and tail_of(entry.unit.place, size) == earlier.tail
    except (SourceError, OSError):
        return False


def _is_packed(entry: Entry) -> bool:
    return unpacked_name(entry.unit.source) != entry.unit.source


def _is_local(entry: Entry) -> bool:
    return entry.unit.session is None and not object_store.is_url(entry.unit.source)


def _file_of(entry: Entry) -> tuple[int, int] | None:
    """The device and inode, common to all names of a file; None if it is gone."""
    try:
        info = os.stat(entry.unit.place)  # noqa: PTH116 - the faster way
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _publish(
    crew: Crew, root: str, manifest: Manifest, whole: dict[str, Entry], parts: set[str], staged: frozenset[str]
) -> None:
    """Adds the missing parts to the data set: new rows by table and partition, on all workers, then the manifest."""
    signatures: dict[str, str] = {}
    new: list[Entry] = []
    for name, entry in whole.items():
        key = key_of(name)
        if not _counts(entry, manifest) and _is_staged(entry, staged):
            signatures[key] = entry.signature
            new.append(entry)
    removed = frozenset(key for key in (*signatures, *map(key_of, parts)) if key in manifest.signatures)
    if not new and not removed and manifest.generation:
        sweep(root, manifest)
        return
    shards = make_shards(root, manifest, new, removed)
    manifest = commit(root, manifest, shards, _write(crew, root, shards), signatures, removed)
    while merges := make_merges(root, manifest):
        manifest = commit(root, manifest, merges, _write(crew, root, merges), {}, frozenset())


def _write(crew: Crew, root: str, shards: list[Shard]) -> list[DataFile]:
    """Writes shards on all workers. Raises: SourceError, SinkError."""
    files: list[DataFile] = []
    for _, data in crew.run(write_shards, make_groups(shards), one_by_one):
        if data is None:
            raise SourceError(f"{root}: the worker that wrote a file of the data set died")
        files += msgspec.json.decode(data, type=list[DataFile])
    return files
