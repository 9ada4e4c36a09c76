"""Bulk work as a whole: sources in; outputs, one row per session and an outcome out. The public functions are here."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from agentv_stages.merge import By, Summary
from agentv_stages.result import Result
from agentv_stream.bulk import object_store
from agentv_stream.bulk.dataset import DataFile, Manifest, commit, first_manifest, make_shards, sweep, write_shard
from agentv_stream.bulk.engine import Crew, open_engine
from agentv_stream.bulk.find import find_units, listed
from agentv_stream.bulk.plan import make_tasks, one_by_one
from agentv_stream.bulk.relay import fits, relay
from agentv_stream.bulk.state import Entry, State, unchanged
from agentv_stream.bulk.unit import Done, Report, Task, Unit, Work
from agentv_stream.bulk.worker import do_task, key_of, read_report
from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SourceError, UsageError

DIED = "the worker that read it died (out of memory?)"


class Failure(msgspec.Struct):
    """A source that could not be read. `kind` is the exception's name."""

    source: str
    error: str
    kind: str


@dataclass
class Outcome:
    """What a bulk run came to. Counts are of sessions.

    `parts` are files that are a part of another one's session, `others` files met in folders that are no session.
    """

    found: int = 0
    done: int = 0
    skipped: int = 0
    parts: list[str] = field(default_factory=list[str])
    failures: list[Failure] = field(default_factory=list[Failure])
    others: list[str] = field(default_factory=list[str])
    bytes: int = 0
    seconds: float = 0.0
    records: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    summary: Summary = field(default_factory=Summary)
    outputs: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, done: Done) -> None:
        """Counts one unit."""
        if done.error is not None and done.unit.met and done.kind in ("NotALog", "EmptyInput"):
            self.others.append(done.unit.name)
            return
        if done.error is not None:
            self.failures.append(Failure(done.unit.name, done.error.partition("; tried ")[0], done.kind or ""))
            return
        self.done += 1
        self.bytes += done.unit.size
        self.records += done.records
        for reason, count in done.faults.items():
            self.faults[reason] = self.faults.get(reason, 0) + count


Watch = Callable[[Report, Task], None]


def import_sessions(
    sources: str | Path | Iterable[str | Path],
    *,
    transcripts: str | Path | None = None,
    jsonl: str | Path | None = None,
    parquet: str | Path | None = None,
    engine: str | Executor = "process",
    workers: int | None = None,
    resume: bool = False,
    provider: str | None = None,
    target: str | None = None,
    watch: tuple[str, ...] = (),
    subagents: bool = True,
    prices: bool = False,
    text_chars: int = 2000,
    roots: Sequence[str] = (),
    on_found: Callable[[int, int], None] | None = None,
    on_report: Watch | None = None,
) -> Outcome:
    """Reads many sessions on all cores, or on a cluster, and writes what is asked for.

    `transcripts` is a folder or URL (`{provider}` in it is replaced), `jsonl` a file of one result per line, `parquet`
    the place of a data set. Order and content do not depend on the engine. A source that cannot be read is a row of
    `failures`. `resume` leaves out what is done and unchanged, and keeps what earlier runs put into the outputs.
    `on_found` is told how many sessions and bytes are to be read, `on_report` of each task that is done. `roots` are
    places where sessions are looked for that `sources` name by their ids, as `PROVIDER=PATH`.

    Raises: UsageError, SourceError (a source that cannot be listed), SinkError.
    """
    begun = time.monotonic()
    if transcripts is None and jsonl is None and parquet is None:
        raise UsageError("nothing to write: give transcripts, jsonl or parquet")
    units = find_units(listed(sources), provider, roots)
    wanted = (("transcripts", transcripts), ("jsonl", jsonl), ("parquet", parquet))
    places = {name: _absolute(str(place)) for name, place in wanted if place is not None}
    work = Work(
        run=f"{time.time_ns() // 1_000_000:013d}{os.urandom(2).hex()}",
        transcripts=places.get("transcripts"),
        dataset=places.get("parquet"),
        state=_state_place(places),
        results=False,
        by="provider",
        provider=provider,
        target=target,
        watch=watch,
        subagents=subagents,
        prices=prices,
        text_chars=text_chars,
    )
    assert work.state is not None
    state = State(work.state)
    outcome = Outcome(found=len(units))
    manifest = first_manifest(work.dataset, resume) if work.dataset is not None else None
    going_on = state.begin(work, resume)
    known = state.entries() if going_on else {}
    waiting = [unit for unit in units if not _is_done(unit, known.get(unit.name), work, manifest)]
    outcome.skipped = len(units) - len(waiting)
    if on_found is not None:
        on_found(len(waiting), sum(unit.size for unit in waiting))
    with open_engine(_enough(engine, waiting, work), workers) as crew:
        _do_all(crew, work, waiting, outcome, on_report)
        entries = state.entries()
        parts = _parts(entries)
        outcome.parts = sorted(parts.intersection(unit.name for unit in units))
        whole = {name: entry for name, entry in entries.items() if entry.error is None and name not in parts}
        for name in parts:
            if entries[name].transcript is not None:
                object_store.remove(str(entries[name].transcript))
        if work.dataset is not None and manifest is not None:
            _publish(crew, work.dataset, manifest, whole, parts)
    outcome.done -= len([name for name in outcome.parts if name in {unit.name for unit in waiting}])
    if "jsonl" in places:
        object_store.put_lines(places["jsonl"], state.results(whole[name] for name in sorted(whole)))
    state.finish(entries, work.run)
    outcome.outputs = places
    outcome.seconds = time.monotonic() - begun
    return outcome


def summarize_many(
    paths: str | Path | Iterable[str | Path],
    executor: Executor | None = None,
    *,
    engine: str = "process",
    workers: int | None = None,
    provider: str | None = None,
    watch: tuple[str, ...] = (),
    subagents: bool = True,
    prices: bool = False,
    errors: Literal["raise", "skip"] = "raise",
) -> Iterator[Result]:
    """The results of many finished sessions, in the order of the paths; nothing is written.

    Raises: as `summarize`, at the place of the file that cannot be read; with `errors="skip"` it is left out.
    """
    units: list[Unit] = []
    for i, path in enumerate(listed(paths)):
        place = object_store.plain(path)
        try:
            size = object_store.stat(place)[0]
        except SourceError:
            size = 0  # reading it will tell
        units.append(Unit(place, i, size))
    work = Work(provider=provider, watch=watch, subagents=subagents, prices=prices)
    decode = msgspec.json.Decoder(Result).decode
    with open_engine(executor or _enough(engine, units, work), workers) as crew:
        for done in _in_order(crew, work, units):
            if done.error is None:
                yield decode(bytes(done.result))
            elif errors == "raise":
                raise error_of(done)


def summarize_groups(
    sources: str | Path | Iterable[str | Path],
    *,
    by: By = "all",
    engine: str | Executor = "process",
    workers: int | None = None,
    provider: str | None = None,
    subagents: bool = True,
    prices: bool = False,
    sequences: bool = False,
    roots: Sequence[str] = (),
    on_found: Callable[[int, int], None] | None = None,
    on_report: Watch | None = None,
) -> Outcome:
    """The figures of many sessions, merged by group, in `summary`; nothing is written.

    Raises: UsageError, SourceError (a source that cannot be listed).
    """
    begun = time.monotonic()
    units = find_units(listed(sources), provider, roots)
    work = Work(results=False, by=by, sequences=sequences, provider=provider, subagents=subagents, prices=prices)
    outcome = Outcome(found=len(units))
    if on_found is not None:
        on_found(len(units), sum(unit.size for unit in units))
    with open_engine(_enough(engine, units, work), workers) as crew:
        _do_all(crew, work, units, outcome, on_report)
    outcome.seconds = time.monotonic() - begun
    return outcome


def _enough(engine: str | Executor, units: Sequence[Unit], work: Work) -> str | Executor:
    """One session needs no pool, unless it is a large one: starting it takes longer than most sessions."""
    alone = engine == "process" and len(units) <= 1 and not any(fits(work, unit) for unit in units)
    return "serial" if alone else engine


def error_of(done: Done) -> AgentvStreamError:
    """The exception that a unit ended with."""
    known: dict[str, type[AgentvStreamError]] = {
        "NotALog": NotALog,
        "EmptyInput": EmptyInput,
        "UsageError": UsageError,
    }
    return known.get(done.kind or "", SourceError)(done.error or "")


def _do_all(crew: Crew, work: Work, units: Sequence[Unit], outcome: Outcome, on_report: Watch | None) -> None:
    """All units through the workers; what comes back is counted and merged."""
    taken: set[str] = set()
    separate: dict[str, Summary] = {}
    for report, task in _reports(crew, work, units):
        for done in report.done:
            outcome.take(done)
            taken.update(seen.path for seen in done.companions)
        if report.summary is not None:
            outcome.summary.merge(report.summary)
        for one in report.separate:
            separate[one.name] = one.summary
        if on_report is not None:
            on_report(report, task)
    for name, summary in separate.items():
        if name not in taken:
            outcome.summary.merge(summary)
    outcome.parts = sorted(taken.intersection(unit.name for unit in units))
    outcome.others.sort()
    outcome.failures.sort(key=lambda failure: failure.source)
    outcome.faults = dict(sorted(outcome.faults.items()))


def _reports(crew: Crew, work: Work, units: Sequence[Unit]) -> Iterator[tuple[Report, Task]]:
    together, apart = _large(crew, work, units)
    for number, unit in enumerate(together):
        task = Task(number, (unit,))
        report = relay(work, task, crew.context, crew.workers) if crew.context is not None else None
        if report is None:
            apart.append(unit)
        else:
            yield report, task
    tasks = make_tasks(sorted(apart, key=lambda unit: unit.position), crew.workers, len(together))
    for task, data in crew.run(partial(do_task, work), tasks, one_by_one):
        if data is None:
            done = [Done(unit=unit, error=f"{unit.name}: {DIED}", kind="SourceError") for unit in task.units]
            yield Report(task=task.number, done=done), task
        else:
            yield read_report(data), task


def _large(crew: Crew, work: Work, units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    """Units that one core would still be reading when the others have done all the rest, and the others."""
    share = sum(unit.size for unit in units) / crew.workers
    together = [unit for unit in units if crew.workers > 1 and unit.size > share and fits(work, unit)]
    return together, [unit for unit in units if unit not in together] if together else list(units)


def _in_order(crew: Crew, work: Work, units: Sequence[Unit]) -> Iterator[Done]:
    """Outcomes in the order of the units, each as soon as those before it are there."""
    held: dict[int, Done] = {}
    following = 0
    for report, _ in _reports(crew, work, units):
        for done in report.done:
            held[done.unit.position] = done
        while following in held:
            yield held.pop(following)
            following += 1


def _absolute(place: str) -> str:
    """URLs as they are; paths so that a worker elsewhere means the same."""
    if object_store.is_url(place):
        return place
    return str(Path(object_store.plain(place)).absolute())


def _state_place(places: dict[str, str]) -> str:
    """Where a run keeps what it has finished: in the data set, else the transcripts' folder, else beside the JSONL."""
    if "parquet" in places:
        return object_store.join(places["parquet"], "_state")
    if "transcripts" in places:
        return object_store.join(places["transcripts"].partition("/{provider}")[0], "_state")
    return places["jsonl"] + ".state"


def _is_done(unit: Unit, entry: Entry | None, work: Work, manifest: Manifest | None) -> bool:
    if entry is None or not unchanged(unit, entry):
        return False
    if work.transcripts is not None and entry.transcript is not None:
        try:
            object_store.stat(entry.transcript)
        except SourceError:
            return False
    if manifest is not None and not entry.rows:
        return manifest.signatures.get(key_of(unit.name)) == entry.signature
    return True


def _parts(entries: dict[str, Entry]) -> set[str]:
    """Units that turned out to be a part of another unit's session."""
    taken = {seen.path for entry in entries.values() if entry.error is None for seen in entry.companions}
    return taken.intersection(entries)


def _publish(crew: Crew, root: str, manifest: Manifest, whole: dict[str, Entry], parts: set[str]) -> None:
    """What the data set lacks goes in: new rows by table and partition, on all workers, then the manifest."""
    signatures: dict[str, str] = {}
    new: list[Entry] = []
    for name, entry in whole.items():
        key = key_of(name)
        if manifest.signatures.get(key) != entry.signature:
            signatures[key] = entry.signature
            new.append(entry)
    gone = frozenset(key for key in (*signatures, *map(key_of, parts)) if key in manifest.signatures)
    if not new and not gone and manifest.generation:
        sweep(root, manifest)
        return
    shards = make_shards(root, manifest, new, gone)
    files: list[DataFile] = []
    for _, data in crew.run(write_shard, shards, lambda shard: [shard]):
        if data is None:
            raise SourceError(f"{root}: the worker that wrote a file of the data set died")
        files += msgspec.json.decode(data, type=list[DataFile])
    commit(root, manifest, shards, files, signatures, gone)
