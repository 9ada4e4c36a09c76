"""Shards of a data set: the rows of one table, provider and day, written as Parquet files by the workers."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentv_stages.figures.merge import UNKNOWN
from agentv_stream.bulk import leaving, object_store
from agentv_stream.bulk.manifest import DataFile, Manifest
from agentv_stream.bulk.state import Entry
from agentv_stream.bulk.tables import arrow_schema
from agentv_stream.bulk.unit import Rows
from agentv_stream.bulk.worker import key_of
from agentv_stream.errors import SinkError
from agentv_stream.extras import arrow
from agentv_stream.outputs.durable import SYNC, together
from agentv_stream.outputs.naming import prepare_folder, safe_part

GROUP_ROWS = 131_072
TOGETHER_ROWS = 16_384  # of small shards that are written by one task
GROUP_BYTES = 32 * 1024 * 1024
FILE_BYTES = 256 * 1024 * 1024


MERGED_FILES = 8
"""So many files of one partition that are about as large become one."""
SMALL_BYTES = 64 * 1024
GROWTH = 8  # from one class of sizes to the next


class Shard(Struct, frozen=True):
    """The rows of one table, provider and day to be written; `old`: a file to be rewritten without `dropped`;
    `merged`: files that become one."""

    root: str
    generation: int
    table: str
    provider: str
    day: str
    rows: tuple[tuple[str, Rows], ...] = ()
    old: DataFile | None = None
    dropped: frozenset[str] = frozenset()
    merged: tuple[DataFile, ...] = ()
    sync: bool = True

    @property
    def replaced(self) -> tuple[DataFile, ...]:
        """The files whose rows it takes over."""
        return self.merged if self.old is None else (self.old,)

    @property
    def folder(self) -> str:
        return f"{self.table}/provider={safe_part(self.provider)}/day={safe_part(self.day)}"


def make_shards(root: str, manifest: Manifest, entries: Iterable[Entry], removed: frozenset[str]) -> list[Shard]:
    """The shards to write, big ones first. `entries` are new sessions, `gone` the keys whose old rows are removed."""
    generation, sync = manifest.generation + 1, SYNC.get()
    groups: dict[tuple[str, str, str], list[tuple[str, Rows]]] = {}
    for entry in sorted(entries, key=lambda entry: entry.unit.name):
        for table, rows in entry.rows.items():
            groups.setdefault((table, entry.provider, entry.day), []).append((key_of(entry.unit.name), rows))
    shards = [Shard(root, generation, *where, tuple(rows), sync=sync) for where, rows in groups.items()]
    for file in manifest.files:
        dropped = removed.intersection(file.keys)
        if dropped:
            shards.append(
                Shard(root, generation, file.table, file.provider, file.day, old=file, dropped=dropped, sync=sync)
            )
    return sorted(shards, key=lambda s: (-sum(rows.rows for _, rows in s.rows), s.folder, s.old is not None))


def make_merges(root: str, manifest: Manifest) -> list[Shard]:
    """The shards that make one file of many small ones. Each row is copied once for each class of sizes."""
    alike: dict[tuple[str, str, str, int], list[DataFile]] = {}
    for file in manifest.files:
        if file.size < FILE_BYTES // GROWTH:
            alike.setdefault((file.table, file.provider, file.day, _size_class(file.size)), []).append(file)
    generation, sync = manifest.generation + 1, SYNC.get()
    return [
        Shard(root, generation, table, provider, day, merged=tuple(files), sync=sync)
        for (table, provider, day, _), files in alike.items()
        if len(files) >= MERGED_FILES
    ]


def _size_class(size: int) -> int:
    number, limit = 0, SMALL_BYTES
    while size > limit:
        number, limit = number + 1, limit * GROWTH
    return number


def make_groups(shards: Iterable[Shard]) -> list[tuple[Shard, ...]]:
    """The shards, the small ones of a table together. Their order within a table is kept."""
    groups: list[list[Shard]] = []
    last: dict[str, list[Shard]] = {}  # by table: the group that may still have room
    rows: Counter[str] = Counter()  # in that group
    for shard in shards:
        more = sum(part.rows for _, part in shard.rows)
        if shard.replaced:
            groups.append([shard])
        elif shard.table in last and rows[shard.table] + more <= TOGETHER_ROWS:
            last[shard.table].append(shard)
            rows[shard.table] += more
        else:
            last[shard.table], rows[shard.table] = [shard], more
            groups.append(last[shard.table])
    return [tuple(group) for group in groups]


def one_by_one(group: tuple[Shard, ...]) -> list[tuple[Shard, ...]]:
    """The group divided into one for each shard."""
    return [(shard,) for shard in group]


def write_shards(group: Sequence[Shard]) -> bytes:
    """Writes the files of some shards; returns a list of `DataFile` as JSON. Raises: SinkError, SourceError."""
    gathered = _gathered(group) if len(group) > 1 else None
    files: list[DataFile] = []
    SYNC.set(group[0].sync)
    with together() as batch:
        for n, shard in enumerate(group):
            files += _write(shard, _batches(shard.rows) if gathered is None else gathered[n])
    for path, error in batch.failed.items():
        raise SinkError(str(path), error) from error
    return msgspec.json.encode(files)


def _write(shard: Shard, batches: Iterable[tuple[str, Any, int]]) -> list[DataFile]:
    writer = _Writer(shard)
    try:
        if shard.replaced:
            for old in shard.replaced:
                _copy_old(shard, old, writer)
            writer.keys = [key for key in _keys(shard.replaced) if key not in shard.dropped]
        else:
            for key, batch, size in batches:
                writer.add(key, batch, size)
        writer.close()
    except OSError as error:
        raise SinkError(object_store.join(shard.root, shard.folder), error) from error
    finally:
        writer.abandon()
    return writer.files


def _gathered(group: Sequence[Shard]) -> list[list[tuple[str, Any, int]]] | None:
    """The staged rows of several shards, of each in the order of its units; None if they are too large to be held.

    They are read in the order in which they are stored: one batch has sessions of many days, and unpacking it for each
    of them costs more than all the rest.
    """
    pa = arrow()
    found: list[list[Any]] = [[None for _ in shard.rows] for shard in group]
    parts = [(part, n, i) for n, shard in enumerate(group) for i, (_, part) in enumerate(shard.rows)]
    parts.sort(key=lambda part: (part[0].path, part[0].batch, part[0].offset))
    held = 0
    for path, inside in groupby(parts, key=lambda part: part[0].path):
        ours = list(inside)
        with closing(_Staged(path)) as staged:
            pieces = [piece for part, _, _ in ours for piece in staged.take(part)]
        # Joined to an empty one: pieces alone would be views, and hold the whole batches.
        (rows,) = pa.Table.from_batches([pieces[0].slice(0, 0), *pieces]).combine_chunks().to_batches()
        held += rows.nbytes
        if held > GROUP_BYTES:
            return None
        offset = 0
        for part, n, i in ours:
            found[n][i] = rows.slice(offset, part.rows)
            offset += part.rows
    return [[(key, found[n][i], 0) for i, (key, _) in enumerate(shard.rows)] for n, shard in enumerate(group)]


def _batches(rows: Iterable[tuple[str, Rows]]) -> Iterator[tuple[str, Any, int]]:
    """The staged rows, unit by unit, as record batches with their sizes in bytes; only a few staging files are open at
    a time."""
    opened: dict[str, _Staged] = {}
    try:
        for key, part in rows:
            if part.path not in opened:
                if len(opened) >= 16:
                    opened.pop(next(iter(opened))).close()
                opened[part.path] = _Staged(part.path)
            staged = opened[part.path]
            for batch in staged.take(part):
                yield key, batch, int(batch.num_rows * staged.row_bytes)
    finally:
        for staged in opened.values():
            staged.close()


class _Staged:
    """A staging file; the last batch read is kept, because small units share one."""

    def __init__(self, path: str) -> None:
        pa = arrow()
        self._file = object_store.open_input(path) if object_store.is_url(path) else pa.OSFile(path)
        options = pa.ipc.IpcReadOptions(use_threads=False)  # each core has a worker
        self._reader = pa.ipc.open_file(self._file, options=options)
        self._number = -1
        self._batch: Any = None
        self.row_bytes = 0.0  # on average, in the last batch: to ask each slice costs as much as writing it

    def take(self, part: Rows) -> Iterator[Any]:
        """The rows of a unit, as slices of the batches that contain them."""
        number, offset, left = part.batch, part.offset, part.rows
        while left:
            if number != self._number:
                self._batch, self._number = self._reader.get_batch(number), number
                self.row_bytes = self._batch.nbytes / max(self._batch.num_rows, 1)
            piece = self._batch.slice(offset, left)
            yield piece
            left -= piece.num_rows
            number, offset = number + 1, 0

    def close(self) -> None:
        self._file.close()


def _copy_old(shard: Shard, old: DataFile, writer: "_Writer") -> None:
    """The rows of an old file without those of sessions that were read again or are gone."""
    pa, pc, pq = arrow(), arrow("pyarrow.compute"), arrow("pyarrow.parquet")
    dropped = pa.array(sorted(shard.dropped), type=pa.string())
    with object_store.open_input(object_store.join(shard.root, old.path)) as file, pq.ParquetFile(file) as source:
        for batch in source.iter_batches(batch_size=GROUP_ROWS):
            kept = batch.filter(pc.invert(pc.is_in(batch.column("session_key"), value_set=dropped)))
            if kept.num_rows:
                writer.add(None, kept, kept.nbytes)


def _keys(files: Iterable[DataFile]) -> list[str]:
    """The keys of the sessions with rows in some files, each once."""
    return list(dict.fromkeys(key for file in files for key in file.keys))


class _Writer:
    """Writes record batches as Parquet files of reasonable size; each file appears at once."""

    def __init__(self, shard: Shard) -> None:
        self.files: list[DataFile] = []
        self.keys: list[str] = []
        self._shard = shard
        self._schema = arrow_schema(shard.table)
        self._held: list[Any] = []
        self._rows = 0
        self._bytes = 0
        self._file_rows = 0
        self._writer: Any = None
        self._local = Path()

    def add(self, key: str | None, batch: Any, size: int) -> None:
        if key is not None and (not self.keys or self.keys[-1] != key):
            if self._writer is not None and self._local.stat().st_size >= FILE_BYTES:
                self._finish()
            self.keys.append(key)
        self._held.append(batch)
        self._rows += batch.num_rows
        self._bytes += size
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._group()

    def close(self) -> None:
        if self._held or self._writer is not None:
            self._finish()

    def abandon(self) -> None:
        """Removes the unfinished file."""
        if self._writer is not None:
            with suppress(OSError):  # the disk is full, which was already reported
                self._writer.close()
            self._writer = None
        if self._local.name.startswith("."):
            self._local.unlink(missing_ok=True)
            leaving.settled(self._local)

    def _group(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            pq = arrow("pyarrow.parquet")
            shard = self._shard
            folder = None
            if not object_store.is_url(shard.root):
                folder = Path(shard.root) / shard.folder
                prepare_folder(folder)
            self._local, descriptor = leaving.make_temporary(folder, f"g{shard.generation:04d}")
            os.close(descriptor)
            self._writer = pq.ParquetWriter(str(self._local), self._schema, compression="zstd")
        table = arrow().Table.from_batches(self._held, schema=self._schema).combine_chunks()
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._file_rows += self._rows
        self._held, self._rows, self._bytes = [], 0, 0

    def _finish(self) -> None:
        self._group()
        self._writer.close()
        self._writer = None
        shard = self._shard
        kind = f"m{_size_class(shard.merged[0].size)}-" if shard.merged else ""
        name = f"g{shard.generation:04d}-{kind}{len(self.files):04d}.parquet"
        if shard.old is not None:
            name = f"g{shard.generation:04d}-of-{shard.old.path.rpartition('/')[2].rpartition('-of-')[2]}"
        path = f"{shard.folder}/{name}"
        size = self._local.stat().st_size
        object_store.put_file(self._local, object_store.join(shard.root, path))
        self._local = Path()
        self.files.append(
            DataFile(shard.table, path, shard.provider or UNKNOWN, shard.day, self._file_rows, size, self.keys)
        )
        self.keys, self._file_rows = [], 0
