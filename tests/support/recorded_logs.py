"""Runs recordings of any agent through the whole chain with their known dialect; random numbers to damage them.

AGENTV_STREAM_ROUNDS sets the number of rounds over files of any size (a long run by hand); without it there is one
round over small files.
"""

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import AnyEvent, ToolCall
from agentv_stages.model.fault import Fault
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.session.detect import sure_dialect
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader
from support.decoding import corpus, read

ROUNDS = int(os.environ.get("AGENTV_STREAM_ROUNDS", "0"))
LARGEST = 160_000  # bytes; larger files only in a long run
QUICKLY_READ = 250_000  # bytes; the largest folders have many recordings below it, the one of Bobbin's runs has five
FOLDERS = ("clients", "samples", "wild", "bobbin", "agtrace/samples", "agentv")


class Log(NamedTuple):
    name: str
    data: bytes
    provider: Provider
    dialect: Dialect


class Outcome(NamedTuple):
    """The output for an input. `pushed` are the events before the flush, `result` is the result as JSON."""

    pushed: list[AnyEvent]
    events: list[AnyEvent]
    faults: list[Fault]
    result: bytes

    def calls(self, known: Callable[[str], bool] = bool) -> Counter[tuple[str, str]]:
        """Calls by name and input; those whose ids are `known`."""
        found = [event for event in self.events if isinstance(event, ToolCall) and known(event.call_id)]
        return Counter((e.name, json.dumps(e.input, sort_keys=True)) for e in found)


def run(log: Log, pieces: Sequence[bytes]) -> Outcome:
    """Runs the whole chain over an input in pieces; the dialect is that of the undamaged log."""
    reader = LineReader("log")
    decode = Decode(log.dialect, DecodeContext("log"), sure_dialect)
    normalize, pair = Normalize(log.provider.tools), Pair()
    observer = Observer(log.provider, log.dialect)
    events: list[AnyEvent] = []
    faults: list[Fault] = []

    def through(batches: Iterator[Batch] | Sequence[Batch], decoded: bool = False) -> None:
        for batch in batches:
            if not decoded:
                decode.push(batch)
            normalize.push(batch)
            pair.push(batch)
            take(batch)

    def take(batch: Batch) -> None:
        observer.observe(batch)
        events.extend(batch.events)
        faults.extend(batch.faults)

    for piece in pieces:
        through(list(reader.push(Chunk(piece))))
    pushed = list(events)
    through(list(reader.flush()))
    through(decode.flush(), decoded=True)
    for batch in pair.flush():
        take(batch)
    return Outcome(pushed, events, faults, observer.result(pair.left).to_json())


def recordings(folder: str) -> Iterator[Path]:
    """The JSON files in a folder of the corpus that are quickly read, sorted; in a long run those of any size."""
    for path in sorted(corpus(folder).rglob("*.json*")):
        if path.is_file() and path.name != "truth.json" and (ROUNDS or path.stat().st_size <= QUICKLY_READ):
            yield path


def logs(most: int, folders: Sequence[str] = FOLDERS) -> Iterator[Log]:
    root = corpus("clients").parent
    for folder in folders:
        for path in sorted(p for p in (root / folder).rglob("*") if p.is_file() and p.name != "truth.json"):
            if path.stat().st_size <= most and path.suffix not in (".md", ".csv", ".err"):
                log = opened(path, root)
                if log is not None:
                    yield log


def opened(path: Path, root: Path) -> Log | None:
    data = read(path)
    try:
        reader = SessionReader([data], str(path))
    except (NotALog, EmptyInput):
        return None
    return Log(str(path.relative_to(root)), data, reader.provider, reader.dialect)


def chances(log: Log, what: str) -> Iterator[Random]:
    """A random generator for each round, seeded by the name of the file."""
    for number in range(max(ROUNDS, 1)):
        yield Random(zlib.crc32(f"{what}:{log.name}:{number}".encode()))


def cuts(data: bytes, dice: Random, most: int) -> list[bytes]:
    places = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randint(1, most)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
