"""Measures all dialects on recorded sessions, with Claude's two as the yardstick: decoders, and the way to statistics.

    AGENTV_STREAM_CORPUS=… python benchmarks/dialects.py   # a table and benchmarks/out/dialects.json
    python benchmarks/dialects.py CORPUS --only codex-rollout,acp   # some dialects, the yardstick always with them
    python benchmarks/dialects.py CORPUS --below clients/           # files whose path holds this text

One round reads every file of every dialect once. Of each file the best round counts and the best of all files are
added up, because the machine is not ours alone: a small piece of work meets a quiet moment sooner than a large one.
What is measured is CPU time, of records that stand in memory; the collector is off, as it is in bulk workers. Files
where more than a twentieth of the lines is noise are left out: noise costs the same in all dialects. `decode` is the
dialect's decoder alone, `calls` the decoder, `Normalize` and `Pair`, `statistics` the whole way of a session's bytes
to its figures, as `stats` goes it; `skip` is what msgspec takes to go through the same records without making anything
of them (`Decoder(Raw)`): the floor of every decoder that reads whole records.

Claude's streams that print answers in pieces (`--include-partial-messages`) are a row of their own: a line for each
piece tells nothing new, so that dialects which always print such lines are also compared with them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.session.detect import Detector, UnknownFormat
from harness.table import markdown

OUT = Path(__file__).parent / "out"
YARDSTICK = ("claude-stream", "claude-session")
IN_PIECES = "claude-stream, in pieces"
PIECE = b'"type":"stream_event"'
SUFFIXES = frozenset((".jsonl", ".json", ".log", ".ndjson", ".traj", ".txt"))
CHUNK = 256 * 1024
_skip = msgspec.json.Decoder(msgspec.Raw)
MOST_BYTES = 8_000_000  # of one file
NOISE = 0.05
SMALL = 400_000  # bytes below which a file is read again and again: else its caches would be measured, not the decoder


@dataclass
class Input:
    """One recorded session, cut into records; they are read again in every round."""

    path: str
    data: bytes
    batches: list[Batch]
    size: int
    records: int
    events: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


@dataclass
class Case:
    """One dialect with its files, and what its rounds took."""

    name: str
    provider: Provider
    dialect: Dialect
    inputs: list[Input] = field(default_factory=list[Input])

    @property
    def size(self) -> int:
        return sum(one.size for one in self.inputs)

    @property
    def records(self) -> int:
        return sum(one.records for one in self.inputs)

    @property
    def events(self) -> int:
        return sum(one.events for one in self.inputs)

    def seconds(self, way: str) -> float:
        """CPU seconds for all files, each in its best round."""
        return sum(min(one.seconds[way]) for one in self.inputs)

    def sums(self, ways: Iterable[str]) -> dict[str, object]:
        """The files together."""
        seconds = {way: round(self.seconds(way), 6) for way in ways}
        counts = {"bytes": self.size, "records": self.records, "events": self.events}
        return {"files": len(self.inputs), **counts, "seconds": seconds}


def cut(data: bytes) -> Iterator[Batch]:
    """The records of a file, as one that is read in chunks gives them."""
    reader = LineReader()
    for i in range(0, len(data), CHUNK):
        yield from reader.push(Chunk(data[i : i + CHUNK]))
    yield from reader.flush()


def read(data: bytes) -> tuple[Provider, Dialect, list[Batch]] | None:
    """The file's dialect and records; None for what is no agent's log."""
    detector = Detector()
    batches = list(cut(data))
    for batch in batches:
        if detector.dialect is None:
            detector.push(batch)
    try:
        provider, dialect = detector.finish()
    except UnknownFormat:
        return None
    return provider, dialect, batches


def cases(corpus: Path, below: str, only: set[str]) -> list[Case]:
    """The dialects that were found, with their files in order of path."""
    found: dict[str, Case] = {}
    for path in sorted(corpus.rglob("*")):
        name = str(path.relative_to(corpus))
        if path.suffix not in SUFFIXES or below not in name or not path.is_file() or path.stat().st_size > MOST_BYTES:
            continue
        data = path.read_bytes()
        made = read(data)
        if made is None or (only and made[1].name not in only and made[1].name not in YARDSTICK):
            continue
        in_pieces = made[1].name == "claude-stream" and data.count(PIECE) > data.count(b"\n") / 4
        row = IN_PIECES if in_pieces else made[1].name
        case = found.setdefault(row, Case(row, made[0], made[1]))
        size = sum(len(r.data) + 1 for b in made[2] for r in b.records)
        one = Input(name, data, made[2], size, sum(len(b.records) for b in made[2]))
        if not noisy(case, one):
            case.inputs.append(one)
    return [case for case in found.values() if case.inputs]


def noisy(case: Case, one: Input) -> bool:
    """Whether more than a twentieth of the lines cannot be used."""
    stage, faults = Decode(case.dialect, DecodeContext("f")), 0
    for batch in one.batches:
        fresh = again(batch)
        stage.push(fresh)
        faults += len(fresh.faults)
    return faults > one.records * NOISE


def again(batch: Batch) -> Batch:
    """The records of a batch, for a decoder that has not seen them."""
    return Batch("f", unterminated=batch.unterminated, document=batch.document, records=batch.records)


def decode(case: Case, one: Input) -> int:
    """The decoder alone; gives the number of events."""
    stage, events = Decode(case.dialect, DecodeContext("f")), 0
    for batch in one.batches:
        fresh = again(batch)
        stage.push(fresh)
        events += len(fresh.events)
    return events + sum(len(batch.events) for batch in stage.flush())


def calls(case: Case, one: Input) -> int:
    """The decoder, the canonical names, and results joined with their calls."""
    stage, normalize, pair = Decode(case.dialect, DecodeContext("f")), Normalize(case.provider.tools), Pair()
    events = 0
    for batch in one.batches:
        for out in stage.push(again(batch)):
            events += len(out.events)
            for named in normalize.push(out):
                pair.push(named)
    for out in stage.flush():
        events += len(out.events)
        for named in normalize.push(out):
            pair.push(named)
    return events


def statistics(case: Case, one: Input) -> int:
    """From bytes to figures: lines, decoder, names, pairs, and all that is counted."""
    stage, normalize, pair = Decode(case.dialect, DecodeContext("f")), Normalize(case.provider.tools), Pair()
    observer = Observer(case.provider, case.dialect)
    events = 0
    for batch in chain(map(stage.push, cut(one.data)), (stage.flush(),)):
        for out in batch:
            events += len(out.events)
            normalize.push(out)
            pair.push(out)
            observer.observe(out)
    for out in pair.flush():
        observer.observe(out)
    return events


def skip(case: Case, one: Input) -> int:
    """The parser alone: each record is checked and gone through, nothing is made of it."""
    read = _skip.decode
    for batch in one.batches:
        for record in batch.records:
            try:  # noqa: SIM105 - `suppress` takes 0.25 µs, as much as the parser for a short record
                read(record.data)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                pass
    return one.events


WAYS: dict[str, Callable[[Case, Input], int]] = {
    "decode": decode,
    "calls": calls,
    "statistics": statistics,
    "skip": skip,
}


def measure(case: Case, one: Input, way: str) -> None:
    """Reads one file once; a small one several times in a row, and takes the mean."""
    run, times = WAYS[way], max(1, SMALL // one.size)
    begun = time.thread_time()
    for _ in range(times):
        one.events = run(case, one)
    one.seconds.setdefault(way, []).append((time.thread_time() - begun) / times)


def rows(measured: list[Case], way: str) -> list[list[str]]:
    """One row per dialect: live dialects against claude-stream, logs on disk against claude-session."""
    marks = [case for case in measured if case.name in YARDSTICK]
    rate: dict[str, Callable[[Case], float]] = {
        "events": lambda case: case.events / case.seconds(way),
        "records": lambda case: case.records / case.seconds(way),
        "bytes": lambda case: case.size / case.seconds(way),
    }
    of = {unit: {c.name: f(c) for c in measured} for unit, f in rate.items()}
    made: list[list[str]] = []
    for case in measured:
        name = case.name
        mark = "claude-stream" if case.dialect.live else "claude-session"
        mark = mark if any(c.name == mark for c in marks) else marks[0].name
        pieces = of["events"].get(IN_PIECES) if case.dialect.live else None
        events, records, size = (of[unit][name] for unit in ("events", "records", "bytes"))
        made.append(
            [
                name,
                f"{case.size / 1e6:.1f}",
                f"{case.size / case.records:,.0f}",
                f"{case.events / case.records:.2f}",
                f"{events / 1000:,.0f}",
                f"{events / of['events'][mark]:.2f}",
                f"{events / pieces:.2f}" if pieces else "",
                f"{records / 1000:,.0f}",
                f"{records / of['records'][mark]:.2f}",
                f"{size / 1e6:,.0f}",
                f"{size / of['bytes'][mark]:.2f}",
                f"{case.size / case.events:,.0f}" if case.events else "",
                f"{case.seconds(way) / case.records * 1e6:.2f}",
                f"{case.seconds('skip') / case.records * 1e6:.2f}",
                f"{case.seconds(way) / case.seconds('skip'):.1f}",
            ]
        )
    return made


HEAD = (
    *("dialect", "MB", "bytes a record", "events a record", "1,000 events/s", "to Claude's", "to those in pieces"),
    *("1,000 records/s", "to Claude's", "MB/s", "to Claude's", "bytes an event"),
    *("µs a record", "µs to skip it", "times"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default=os.environ.get("AGENTV_STREAM_CORPUS"))
    parser.add_argument("--only", default="", help="names of dialects, with commas between")
    parser.add_argument("--below", default="", help="only files whose path holds this text")
    parser.add_argument("--ways", default="decode,calls,statistics")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=OUT / "dialects.json")
    parser.add_argument("--sums", type=Path, help="writes one row a dialect here, as docs/performance-dialects.json is")
    options = parser.parse_args()
    if not options.corpus:
        parser.error("no corpus: name its folder, or set AGENTV_STREAM_CORPUS")
    ways: list[str] = options.ways.split(",")
    measured = cases(Path(options.corpus), options.below, set(filter(None, options.only.split(","))))
    if not any(case.name in YARDSTICK for case in measured):
        parser.error("no session of Claude's among the files, so there is nothing to compare with")
    gc.collect()
    gc.disable()
    for _ in range(options.rounds):
        for case in measured:
            for one in case.inputs:
                for way in (*ways, "skip"):
                    measure(case, one, way)
    for way in ways:
        print(f"\n## {way}\n\n{markdown(HEAD, rows(measured, way))}")
    raw = [
        {
            "dialect": case.name,
            "files": [
                {
                    "path": one.path,
                    "bytes": one.size,
                    "records": one.records,
                    "events": one.events,
                    "seconds": one.seconds,
                }
                for one in case.inputs
            ],
        }
        for case in measured
    ]
    if options.sums:
        sums = {case.name: case.sums((*ways, "skip")) for case in measured}
        rounds = f"{options.rounds} rounds; of each file the best"
        options.sums.write_text(
            json.dumps({"python": sys.version, "rounds": rounds, "dialects": sums}, indent=1) + "\n"
        )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"python": sys.version, "rounds": options.rounds, "dialects": raw}, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
