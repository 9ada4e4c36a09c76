"""Bulk work as a whole. In: sources. Out: outputs, one row per session, and an outcome; or results in order."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, nullcontext
from os import PathLike
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import msgspec

from agentv_stages.figures.result import Result
from agentv_stages.model.payload import printable_path
from agentv_stages.session.parts import MakeStage
from agentv_stream.bulk import object_store
from agentv_stream.bulk.collecting import Watch, collect
from agentv_stream.bulk.dispatch import enough, in_order, reports
from agentv_stream.bulk.engine import Crew, open_engine
from agentv_stream.bulk.find import Sources, Trouble, find_units, listed
from agentv_stream.bulk.import_run import ImportRun
from agentv_stream.bulk.outcome import Outcome, error_of, failures_of, note_copies
from agentv_stream.bulk.own_stages import names_of
from agentv_stream.bulk.places import absolute, check_places, dataset_place, is_output, state_place
from agentv_stream.bulk.state import Progress
from agentv_stream.bulk.unit import Unit, Work, printable
from agentv_stream.discovery.period import ALWAYS, Period
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.names import named_provider
from agentv_stream.otel.options import Export
from agentv_stream.outputs.durable import SYNC
from agentv_stream.redaction.redaction import Redaction, redaction_by

if TYPE_CHECKING:
    from agentv_stream.bulk.judging import Loaded


def import_sessions(
    sources: Sources,
    *,
    transcripts: str | PathLike[str] | None = None,
    trajectories: str | PathLike[str] | None = None,
    pages: str | PathLike[str] | None = None,
    jsonl: str | PathLike[str] | None = None,
    parquet: str | PathLike[str] | None = None,
    engine: str | Executor = "process",
    workers: int | None = None,
    resume: bool = False,
    provider: str | None = None,
    target: str | None = None,
    watch: tuple[str, ...] = (),
    subagents: bool = True,
    prices: bool = False,
    text_chars: int = 2000,
    records: Iterable[MakeStage] = (),
    stages: Iterable[MakeStage] = (),
    redact: bool | Redaction = False,
    export: Export | None = None,
    dump_traces: bool = False,
    include_trace: bool = False,
    machine: str | None = None,
    specs: Sequence[str | PathLike[str]] = (),
    case: str | None = None,
    roots: Sequence[str] = (),
    period: Period = ALWAYS,
    dry_run: bool = False,
    sync: bool = True,
    only: Callable[[str], bool] | None = None,
    on_found: Callable[[int, int], None] | None = None,
    on_report: Watch | None = None,
    on_result: Callable[[bytes], None] | None = None,
) -> Outcome:
    """Reads many sessions on all cores, or on a cluster, and writes the requested outputs.

    `sources` are files, folders, globs, URLs or session ids; a folder stands for every log below it. `transcripts`
    is a folder or URL (`{provider}` in it is replaced), `trajectories` one for ATIF documents, `pages` one for HTML
    pages and their index (secrets in them are always redacted), `jsonl` a file of one result per line, `parquet`
    the place of a data set, whose texts are cut at `text_chars`. `engine` is `process`, `thread`, `serial`,
    `dask://HOST:PORT` or your own executor, with that many `workers` (default: all cores); order and content do not
    depend on it. `provider` overrides detection, `target` is used in the names of transcripts, `watch` names
    programs whose runs are listed, `subagents` includes their files, `prices` adds estimated costs (extra
    `prices`).

    A source that cannot be read is a row of `failures`. `resume` leaves out finished and unchanged sessions, and keeps
    their parts of the outputs. `on_found` is called with the number of sessions and bytes to be read,
    `on_report` for each task done, both in this thread. `roots` are places to look up sessions that `sources` name by
    their ids, as `PROVIDER=PATH`. Logs that last changed outside of `period` are not read. With `dry_run`
    nothing is read or written; `waiting` of the outcome are the sessions that would be read. `sync` waits until the
    outputs are on the disk. `records` and `stages` are your own: classes or functions of a module, called for each
    session, that make a stage over the records of a log, or over its events and messages (docs/api.md). `redact`
    replaces secrets by markers in all outputs. `export` writes and sends spans.
    `dump_traces` writes the generic trace events of each session beside its transcript, `include_trace` puts them
    into its result, at most 10,000.
    `only` is called with the path of each session found (`PATH::ID` in a store) and says whether it is read; with
    `resume` the rows of the others stay as they are.
    `specs` are files of specs: the verdict of each case that applies to a session (as in `check`; `case` chooses one)
    is in its result and in table `verdicts` of the data set. Their warnings are notes of the outcome.
    `machine` is put into the results; each machine has its own part of the data set, below `machine=NAME`.
    `on_result` is called with each result as JSON, in the order of `jsonl`, after all is written.

    Raises: UsageError, SourceError (none of the sources exists), SinkError.
    """
    begun = time.monotonic()
    named_provider(provider)
    loaded = _loaded(specs, case)
    own_records, own_stages = names_of("records", records), names_of("stages", stages)
    outputs = (
        ("transcripts", transcripts),
        ("trajectories", trajectories),
        ("pages", pages),
        ("jsonl", jsonl),
        ("parquet", parquet),
        ("otel-file", export.file if export is not None else None),
    )
    places = {name: absolute(os.fspath(place)) for name, place in outputs if place is not None}
    if "parquet" in places:
        places["parquet"] = dataset_place(places["parquet"], machine)
    if not places and on_result is None and export is None:
        raise UsageError("nothing to write: give transcripts, trajectories, pages, jsonl or parquet")
    if not places and resume:
        raise UsageError("--resume needs an output in a file or folder, beside which the state is kept")
    trouble: Trouble = []
    units = find_units(listed(sources), provider, roots, trouble)
    if jsonl is not None and os.fspath(jsonl) == "-":
        raise UsageError("jsonl: results need a file, beside which the state is kept; `on_result` gets each of them")
    with ExitStack() as temporary, ExitStack() as stack:
        opened: Crew | None = None
        if units and not dry_run:
            if engine != "process":  # first: a missing engine leaves nothing behind
                opened = stack.enter_context(open_engine(engine, workers))
            check_places(places)
        work = Work(
            run=f"{time.time_ns() // 1_000_000:013d}{os.urandom(2).hex()}",
            transcripts=places.get("transcripts"),
            trajectories=places.get("trajectories"),
            dataset=places.get("parquet"),
            state=state_place(places) if places else temporary.enter_context(TemporaryDirectory()),
            results=False,
            by="provider",
            provider=provider,
            target=target if target is None else printable_path(target),
            watch=watch,
            subagents=subagents,
            prices=prices,
            text_chars=text_chars,
            records=own_records,
            stages=own_stages,
            sync=sync,
            redaction=redaction_by(redact),
            pages=places.get("pages"),
            page_redaction=redaction_by(True) if pages is not None and not redact else None,
            export=export,
            dump_traces=dump_traces,
            include_trace=include_trace,
            machine=machine,
            checks=None if loaded is None else loaded.checks,
        )
        SYNC.set(sync)
        assert work.state is not None
        state = Progress(work.state)
        units = [unit for unit in units if not is_output(unit, places) and period.holds(unit.mtime_ns // 1_000_000)]
        if only is not None:
            units = [unit for unit in units if only(unit.path)]
        outcome = Outcome(found=len(units), outputs=places, failures=failures_of(trouble))
        outcome.notes += [] if loaded is None else [f"warning: {warning}" for warning in loaded.warnings]
        note_copies(units, outcome)
        if not units:  # a folder that is not mounted, a search without results: keep what earlier runs wrote
            outcome.notes.append("nothing was found to read; the outputs are unchanged")
            outcome.outputs = {}
            return outcome
        with nullcontext() if dry_run else state.held():
            run = ImportRun(work, units, places, state, outcome)
            waiting = run.begin(resume, dry_run)
            if dry_run:
                outcome.waiting = waiting
                return outcome
            if on_found is not None:
                on_found(len(waiting), sum(unit.size for unit in waiting))
            with ExitStack() as engines:  # ended before the state is free for others
                engines.push(stack.pop_all())
                crew = opened or engines.enter_context(open_engine(enough(engine, waiting, work), workers))
                collect(reports(crew, work, waiting), waiting, outcome, on_report, run.claimed)
                run.settle(crew)
            run.finish(on_result)
            if export is not None and export.endpoint is not None:
                run.send_spans(export.endpoint)
        outcome.seconds = time.monotonic() - begun
        return outcome


def summarize_many(
    paths: Sources,
    executor: Executor | None = None,
    *,
    engine: str | Executor = "process",
    workers: int | None = None,
    provider: str | None = None,
    watch: tuple[str, ...] = (),
    subagents: bool = True,
    prices: bool = False,
    records: Iterable[MakeStage] = (),
    stages: Iterable[MakeStage] = (),
    errors: Literal["raise", "skip"] = "raise",
) -> Generator[Result]:
    """The results of many finished sessions, in the order of the paths, each as soon as all before it are done; nothing
    is written.

    `paths` are files or URLs of files. `executor` (or `engine`) may be any `concurrent.futures.Executor`, which is not
    closed; else `engine` is `process`, `thread`, `serial` or `dask://HOST:PORT`, with that many `workers`. The workers
    start with the first result; closing the generator (`contextlib.closing`) ends them. `records` and `stages` are as
    for `import_sessions`.

    Raises: UsageError at once, but for `engine` and `workers` with the first result; as `summarize` when the file that
    cannot be read is reached, with `errors="skip"` it is left out.
    """
    if errors not in ("raise", "skip"):
        raise UsageError(f"errors={errors!r}: expected raise or skip")
    named_provider(provider)
    work = Work(
        provider=provider, watch=watch, subagents=subagents, prices=prices,
        records=names_of("records", records), stages=names_of("stages", stages),
    )  # fmt: skip
    return _results(listed(paths), executor or engine, workers, work, errors == "skip")


def _results(
    paths: Sequence[str], engine: str | Executor, workers: int | None, work: Work, skip: bool
) -> Generator[Result]:
    units: list[Unit] = []
    for i, path in enumerate(paths):
        place = object_store.plain(path)
        try:
            size = object_store.stat(place)[0]
        except SourceError:
            size = 0  # reading it will report that
        shown, raw = printable(place)
        units.append(Unit(shown, i, size, raw=raw))
    decode = msgspec.json.Decoder(Result).decode
    with open_engine(enough(engine, units, work), workers) as crew:
        for done in in_order(crew, work, units):
            if done.whole:
                yield decode(bytes(done.result))
            elif not skip:
                raise error_of(done)


def _loaded(specs: Sequence[str | PathLike[str]], case: str | None) -> "Loaded | None":
    """Raises: UsageError."""
    if not specs:
        if case is not None:
            raise UsageError("--case needs --check SPEC")
        return None
    from agentv_stream.bulk.judging import load_specs  # with the evaluators

    return load_specs(specs, case)
