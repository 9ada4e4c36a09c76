"""Writes the catalogue of known names: `python -m agentv_stream.drift.learn CATALOGUE FOLDER…`.

In: folders with logs, their dialects detected. Out: names of fields with their kinds, and words of the formats. Of logs
in a folder `wild`, which are other people's, a field that only one log of its dialect has is left out.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentv_stages.model.payload import decode_json
from agentv_stream.drift.known import Shapes
from agentv_stream.drift.shapes import dicts_of, fields_of, maps_in
from agentv_stream.errors import AgentvStreamError
from agentv_stream.summary import SessionReader, read_file

FEW = 3  # logs of a dialect, up to which a field of a single log is enough


class Learned(Struct):
    """In how many logs each field of a kind, and each word in a field, was seen."""

    logs: int = 0
    fields: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter[tuple[str, str]])
    words: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter[tuple[str, str]])


def learn(folders: list[Path]) -> dict[str, Shapes]:
    """The shapes of each dialect in the folders. Read again while there are new maps, whose members are then known."""
    maps: dict[str, frozenset[str]] = {}
    while True:
        found: dict[str, Learned] = {}
        for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
            try:
                _learn(path, found, maps)
            except AgentvStreamError:
                continue
        before, maps = maps, {name: maps_in({path for path, _ in shapes.fields}) for name, shapes in found.items()}
        if maps == before:
            return {name: _shapes(learned) for name, learned in sorted(found.items())}


def _learn(path: Path, found: dict[str, Learned], maps: dict[str, frozenset[str]]) -> None:
    fields: set[tuple[str, str]] = set()
    words: set[tuple[str, str]] = set()
    reader = SessionReader(read_file(str(path)), str(path))
    known = maps.get(reader.dialect.name, frozenset[str]())
    for batch in reader.batches(companions=False):
        for record in batch.records:
            try:
                value: Any = decode_json(record.data)
            except (ValueError, RecursionError):
                continue
            for place, kind, word in (field for one in dicts_of(value) for field in fields_of(one, known)):
                fields.add((place, kind))
                if word is not None:
                    words.add((place, word))
    learned = found.setdefault(reader.dialect.name, Learned())
    learned.logs += 1
    for _ in range(1 if "wild" in path.parts else 2):
        learned.fields.update(fields)
        learned.words.update(words)


def _shapes(learned: Learned) -> Shapes:
    fields: dict[str, str] = {}
    words: dict[str, str] = {}
    for counts, out in ((learned.fields, fields), (learned.words, words)):
        for (path, value), logs in sorted(counts.items()):
            if logs > 1 or learned.logs <= FEW:
                out[path] = f"{out[path]} {value}" if path in out else value
    return Shapes(fields, words)


def main() -> None:
    """Raises: SystemExit without a folder."""
    if len(sys.argv) < 3:
        raise SystemExit("expected the folder of the catalogue, and folders of logs")
    out = Path(sys.argv[1])
    for name, shapes in learn([Path(folder) for folder in sys.argv[2:]]).items():
        (out / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(shapes), indent=1) + b"\n")


if __name__ == "__main__":
    main()
