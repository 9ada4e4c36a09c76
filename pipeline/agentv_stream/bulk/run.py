"""Bulk work as a whole: sources in; outputs, one row per session and an outcome out. The public functions are here."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
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
from agentv_stream.bulk.find import Trouble, find_units, listed
from agentv_stream.bulk.plan import make_tasks, one_by_one
from agentv_stream.bulk.relay import fits, relay
from agentv_stream.bulk.state import Entry, State, unchanged
from agentv_stream.bulk.transcripts import remove_outputs
from agentv_stream.bulk.unit import Done, Report, Task, Unit, Work, told
from agentv_stream.bulk.worker import do_task, key_of, read_report
from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SinkError, SourceError, UsageError
from agentv_stream.files import is_file, is_folder, is_there
from agentv_stream.naming import TRANSCRIPT, prepare_folder

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
    `waiting` is what a dry run would read. `notes` say what a person should know of the run.
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
    notes: list[str] = field(default_factory=list[str])
    waiting: list[Unit] = field(default_factory=list[Unit])

    def take(self, done: Done) -> None:
        """Counts one unit."""
        if done.error is not None and done.unit.met and done.kind in ("NotALog", "EmptyInput"):
            self.others.append(done.unit.name)
            return
        if done.error is not None:
            self.failures.append(Failure(done.unit.name, done.error.partition("; tried ")[0], done.kind or ""))
            return
        self.done += 1
        self.bytes += done.unit.size + sum(companion.size for companion in done.companions)
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
    dry_run: bool = False,
    on_found: Callable[[int, int], None] | None = None,
    on_report: Watch | None = None,
) -> Outcome:
    """Reads many sessions on all cores, or on a cluster, and writes what is asked for.

    `transcripts` is a folder or URL (`{provider}` in it is replaced), `jsonl` a file of one result per line, `parquet`
    the place of a data set. Order and content do not depend on the engine. A source that cannot be read is a row of
    `failures`. `resume` leaves out what is done and unchanged, and keeps what earlier runs put into the outputs.
    `on_found` is told how many sessions and bytes are to be read, `on_report` of each task that is done. `roots` are
    places where sessions are looked for that `sources` name by their ids, as `PROVIDER=PATH`. With `dry_run` nothing
    is read or written; `waiting` of the outcome is what would be read.

    Raises: UsageError, SourceError (a source that cannot be listed), SinkError.
    """
    begun_at = time.monotonic()
    if transcripts is None and jsonl is None and parquet is None:
        raise UsageError("nothing to write: give transcripts, jsonl or parquet")
    trouble: Trouble = []
    units = find_units(listed(sources), provider, roots, trouble)
    wanted = (("transcripts", transcripts), ("jsonl", jsonl), ("parquet", parquet))
    if str(jsonl) == "-":
        raise UsageError("--jsonl: results need a file, beside which the state is kept; - is none")
    places = {name: _absolute(str(place)) for name, place in wanted if place is not None}
    if units and not dry_run:
        _check_places(places)
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
    units = [unit for unit in units if not _is_output(unit, places)]
    outcome = Outcome(found=len(units), outputs=places, failures=_failures(trouble))
    if not units:  # a folder that is not mounted, a search that found nothing: what earlier runs wrote is not given up
        outcome.notes.append("nothing was found to read; the outputs are as they were")
        outcome.outputs = {}
        return outcome
    with nullcontext() if dry_run else state.held():
        manifest = first_manifest(work.dataset, resume) if work.dataset is not None else None
        begun = state.before(work, resume) if dry_run else state.begin(work, resume)
        if resume and begun == "anew":
            outcome.notes.append("--resume: the options are others than before, so everything is read anew")
            manifest = Manifest(generation=manifest.generation) if manifest is not None else None
        known = state.entries() if begun == "on" else {}
        staged = state.staged() if known else frozenset[str]()
        waiting = [unit for unit in units if not _is_done(unit, known.get(unit.name), work, manifest, staged)]
        outcome.skipped = len(units) - len(waiting)
        if dry_run:
            outcome.waiting = waiting
            return outcome
        if on_found is not None:
            on_found(len(waiting), sum(unit.size for unit in waiting))
        with open_engine(_enough(engine, waiting, work), workers) as crew:
            _do_all(crew, work, waiting, outcome, on_report)
            entries = state.entries()
            parts = _parts(entries)
            outcome.parts = sorted(parts.intersection(unit.name for unit in units))
            whole = {name: entry for name, entry in entries.items() if entry.error is None and name not in parts}
            state.check(work.run)
            _remove_stale(known, entries, parts)
            if work.dataset is not None and manifest is not None:
                _publish(crew, work.dataset, manifest, whole, parts, state.staged())
        outcome.done -= len([name for name in outcome.parts if name in {unit.name for unit in waiting}])
        if "jsonl" in places:
            object_store.put_lines(places["jsonl"], state.results(whole[name] for name in sorted(whole)))
        state.finish(entries, work.run)
    outcome.seconds = time.monotonic() - begun_at
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
        shown, raw = told(place)
        units.append(Unit(shown, i, size, raw=raw))
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
    trouble: Trouble = []
    units = find_units(listed(sources), provider, roots, trouble)
    work = Work(results=False, by=by, sequences=sequences, provider=provider, subagents=subagents, prices=prices)
    outcome = Outcome(found=len(units), failures=_failures(trouble))
    if on_found is not None:
        on_found(len(units), sum(unit.size for unit in units))
    with open_engine(_enough(engine, units, work), workers) as crew:
        _do_all(crew, work, units, outcome, on_report)
    outcome.seconds = time.monotonic() - begun
    return outcome


def _failures(trouble: Trouble) -> list[Failure]:
    return [Failure(place, told(str(error))[0], type(error).__name__) for place, error in trouble]


def _is_output(unit: Unit, places: dict[str, str]) -> bool:
    """Whether a file that was met is what an earlier run of this import wrote into the folder that it reads."""
    if not unit.met:
        return False
    jsonl, folder = places.get("jsonl"), places.get("transcripts", "").partition("{provider}")[0]
    if jsonl is not None and (unit.source == jsonl or unit.source.startswith(f"{jsonl}.state/")):
        return True
    return bool(folder) and unit.source.endswith(TRANSCRIPT) and unit.source.startswith(f"{folder.rstrip('/')}/")


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


def _check_places(places: dict[str, str]) -> None:
    """What would fail when all is read fails now. Raises: UsageError, SinkError."""
    for name, place in places.items():
        if object_store.is_url(place):
            continue
        path = Path(place)
        folder = path.parent if name == "jsonl" else Path(place.partition("{provider}")[0])
        if name == "jsonl" and is_there(path) and not is_file(path):
            raise UsageError(f"--jsonl: {place} is no file; the results need one, beside which the state is kept")
        if name != "jsonl" and is_there(folder) and not is_folder(folder):
            raise UsageError(f"--{'out' if name == 'transcripts' else name}: {place} is no folder")
        try:
            prepare_folder(folder)
            with tempfile.NamedTemporaryFile(prefix=".", suffix=".tmp", dir=folder):
                pass
        except OSError as error:
            raise SinkError(place, error) from error


def _state_place(places: dict[str, str]) -> str:
    """Where a run keeps what it has finished: in the data set, else the transcripts' folder, else beside the JSONL."""
    if "parquet" in places:
        return object_store.join(places["parquet"], "_state")
    if "transcripts" in places:
        head, varies, _ = places["transcripts"].partition("{provider}")
        return object_store.join(head.rpartition("/")[0] if varies else head, "_state")
    return places["jsonl"] + ".state"


def _is_done(unit: Unit, entry: Entry | None, work: Work, manifest: Manifest | None, staged: frozenset[str]) -> bool:
    if entry is None or not unchanged(unit, entry):
        return False
    if work.transcripts is not None and entry.transcript is not None:
        try:
            object_store.stat(entry.transcript)
        except SourceError:
            return False
    return manifest is None or _counts(entry, manifest) or _is_staged(entry, staged)


def _counts(entry: Entry, manifest: Manifest) -> bool:
    """Whether the data set has the rows of a unit as it was read."""
    return manifest.signatures.get(key_of(entry.unit.name)) == entry.signature


def _is_staged(entry: Entry, staged: frozenset[str]) -> bool:
    """Whether the rows of a unit wait to go into the data set."""
    return bool(entry.rows) and all(rows.path in staged for rows in entry.rows.values())


def _remove_stale(known: dict[str, Entry], entries: dict[str, Entry], parts: set[str]) -> None:
    """Transcripts of files that are parts, and those that have another name now: the session's id or time changed."""
    for name in parts:
        if entries[name].transcript is not None:
            remove_outputs(str(entries[name].transcript))
    for name, before in known.items():
        now = entries.get(name)
        if before.transcript is not None and now is not None and now.transcript not in (None, before.transcript):
            remove_outputs(before.transcript)


def _parts(entries: dict[str, Entry]) -> set[str]:
    """Units that turned out to be a part of another unit's session."""
    taken = {seen.path for entry in entries.values() if entry.error is None for seen in entry.companions}
    return taken.intersection(entries)


def _publish(
    crew: Crew, root: str, manifest: Manifest, whole: dict[str, Entry], parts: set[str], staged: frozenset[str]
) -> None:
    """What the data set lacks goes in: new rows by table and partition, on all workers, then the manifest."""
    signatures: dict[str, str] = {}
    new: list[Entry] = []
    for name, entry in whole.items():
        key = key_of(name)
        if not _counts(entry, manifest) and _is_staged(entry, staged):
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
