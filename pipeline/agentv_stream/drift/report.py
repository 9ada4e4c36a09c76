"""The drift of logs: sources in; record types, fields and words that are new to this version out, with counts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentv_stages.model.payload import decode_json
from agentv_stages.model.provider import Dialect
from agentv_stages.model.visible import counted, visible
from agentv_stream.bulk.find import Trouble, find_units
from agentv_stream.bulk.unit import Unit
from agentv_stream.drift.known import NOTHING, names_read, shapes_of
from agentv_stream.drift.shapes import dicts_of, fields_of, label_of, maps_in
from agentv_stream.errors import AgentvStreamError
from agentv_stream.release import running_version
from agentv_stream.stores.rows import read_session
from agentv_stream.summary import SessionReader, read_file

MOST = 1_000  # entries of each list
SCHEMA = "agentv_stream.drift.v1"
TYPES = ("type", "subtype", "kind", "method")
"""Words at the beginning of a record, of which the decoder knows more than the recordings have: it counts those that it
does not know."""


class NewField(Struct):
    """A field that no recording has, or with a kind that it never had; `seen_in` is a type of record that has it."""

    kinds: list[str]
    seen_in: str
    count: int = 0


class Drift(Struct):
    """The new names in the logs of one dialect. Counts are records. `fields` and `words` are by path."""

    logs: int = 0
    records: int = 0
    catalogued: bool = True
    record_types: dict[str, int] = {}
    fields: dict[str, NewField] = {}
    words: dict[str, dict[str, int]] = {}

    @property
    def any(self) -> bool:
        return bool(self.record_types or self.fields or self.words)


def drift_of(sources: Iterable[str], provider: str | None = None, trouble: Trouble | None = None) -> dict[str, Drift]:
    """The drift of each dialect. `trouble` collects what cannot be read. Raises: SourceError, UsageError."""
    found: dict[str, Drift] = {}
    trouble = [] if trouble is None else trouble
    for unit in find_units(list(sources), provider, trouble=trouble):
        try:
            _read(unit, provider, found)
        except AgentvStreamError as error:
            if not unit.in_folder:
                trouble.append((unit.name, error))  # type: ignore[arg-type]  # any error that names the log
    return found


def _read(unit: Unit, provider: str | None, found: dict[str, Drift]) -> None:
    pieces = _lines(unit.place, unit.session) if unit.session is not None else read_file(unit.place)
    reader = SessionReader(pieces, unit.place, provider)
    drift = found.setdefault(reader.dialect.name, Drift())
    comparison = _Comparison(reader.dialect, drift)
    drift.logs += 1
    for batch in reader.batches():
        for record in batch.records:
            comparison.add(record.data)
        for name, count in batch.unknown.items():
            if len(drift.record_types) < MOST or name in drift.record_types:
                drift.record_types[name] = drift.record_types.get(name, 0) + count


def _lines(store: str, session: str) -> Iterator[bytes]:
    return (line + b"\n" for line in read_session(Path(store), session))


class _Comparison:
    """Compares records with the known names of their dialect."""

    def __init__(self, dialect: Dialect, drift: Drift) -> None:
        shapes = shapes_of(dialect.name)
        drift.catalogued = shapes is not NOTHING
        self.drift = drift
        self.fields = {path: frozenset(kinds.split()) for path, kinds in shapes.fields.items()}
        self.words = {path: frozenset(words.split()) for path, words in shapes.words.items()}
        self.maps = maps_in(self.fields)
        self.read = names_read(dialect)

    def add(self, data: bytes) -> None:
        try:
            value: Any = decode_json(data)
        except (ValueError, RecursionError):
            return  # the decoder counts it as a fault
        for one in dicts_of(value):
            self._add_one(one)

    def _add_one(self, value: dict[str, Any]) -> None:
        drift = self.drift
        drift.records += 1
        if not drift.catalogued:
            return
        fields = set(fields_of(value, self.maps))
        for path, kind in {(path, kind) for path, kind, _ in fields}:
            known = self.fields.get(path)
            if kind in known if known is not None else path.rpartition(".")[2] in self.read:
                continue
            entry = drift.fields.get(path)
            if entry is None:
                if len(drift.fields) >= MOST:
                    continue
                entry = drift.fields[path] = NewField([], label_of(value))
            if kind not in entry.kinds:
                entry.kinds.append(kind)
            entry.count += 1
        for path, word in {(path, word) for path, _, word in fields if word is not None}:
            known_words = self.words.get(path) if path not in TYPES else None
            if known_words is not None and word not in known_words:
                counts = drift.words.setdefault(path, {})
                if len(counts) < MOST:
                    counts[word] = counts.get(word, 0) + 1


def drift_text(found: dict[str, Drift]) -> str:
    """The report as text that can be pasted into a bug report: no paths of files, no contents."""
    lines: list[str] = []
    for name, drift in sorted(found.items()):
        unknown = sum(drift.record_types.values())
        of_unknown = f", {unknown:,} of unknown types" if unknown else ""
        size = f"{counted(drift.logs, 'log')}, {drift.records:,} records{of_unknown}"
        lines.append(f"agentv-stream {running_version()}, {name}: {size}")
        if not drift.catalogued:
            lines.append("  no recordings of this dialect are at hand; only types of records are compared")
        if not drift.any:
            lines.append("  nothing new")
        lines += _part("new types of records", [(n, "", c) for n, c in drift.record_types.items()])
        lines += _part("new fields", [(n, _kinds(f), f.count) for n, f in drift.fields.items()])
        words = [(f"{path} = {word}", "", n) for path, counts in drift.words.items() for word, n in counts.items()]
        lines += _part("new words", words)
    return "\n".join(lines) + "\n"


def _kinds(field: NewField) -> str:
    return ", ".join(field.kinds) + (f", in {field.seen_in}" if field.seen_in else "")


def _part(title: str, entries: list[tuple[str, str, int]]) -> list[str]:
    if not entries:
        return []
    entries.sort(key=lambda entry: (-entry[2], entry[0]))
    return [f"  {title}", *(f"    {count:>8,}  {visible(name, 200)}  {more}".rstrip() for name, more, count in entries)]


def drift_json(found: dict[str, Drift]) -> dict[str, object]:
    """The report as plain values."""
    dialects = {name: msgspec.to_builtins(drift) for name, drift in sorted(found.items())}
    return {"schema_version": SCHEMA, "version": running_version(), "dialects": dialects}
