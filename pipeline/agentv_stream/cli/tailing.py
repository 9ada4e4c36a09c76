"""The implementation of `tail`: resolves its targets, builds the follower, runs it, returns the exit code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anyio

from agentv_stages.model.visible import counted, visible
from agentv_stream.cli.exporting import check_export
from agentv_stream.cli.memory import tune_memory
from agentv_stream.cli.redacting import redacted_parts
from agentv_stream.cli.roots import told_roots
from agentv_stream.cli.telling import quiet_stdout, say, start_log
from agentv_stream.discovery.discover import (
    Session,
    find_sessions,
    in_project,
    only,
    pick,
    stored_header,
)
from agentv_stream.discovery.header import HeaderCache, read_header
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.discovery.places import LOG_SUFFIXES, Root, cache_file, find_roots, is_database
from agentv_stream.discovery.skipped import skipped_logs
from agentv_stream.errors import EXIT_FINE, EXIT_IO, AgentvStreamError, SourceError, UsageError
from agentv_stream.following.cursor_database import state_folder
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.folder_lock import HeldFolders
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.keep import keep_rule
from agentv_stream.following.running import Running
from agentv_stream.following.service_log import Say, StandardOutput, make_say
from agentv_stream.following.tail import tail
from agentv_stream.logs import Log
from agentv_stream.names import named_provider
from agentv_stream.otel.options import export_of
from agentv_stream.outputs.durable import SYNC
from agentv_stream.outputs.naming import DEFAULT_ROOT
from agentv_stream.settings import Settings, from_process, stream_log
from agentv_stream.sources.files import absolute, is_folder, is_there
from agentv_stream.stores.store import split_stored
from agentv_stream.units import seconds_of

if TYPE_CHECKING:
    from agentv_stream.bulk.judging import Loaded
    from agentv_stream.following.actions import Actions
    from agentv_stream.following.dataset_feed import DatasetFeed
    from agentv_stream.following.followed import Listener


@dataclass(frozen=True, kw_only=True)
class TailOptions:
    """The options of `tail`."""

    targets: list[str] = field(default_factory=list[str])
    every: bool = False
    latest: bool = False
    project: str | None = None
    provider: str | None = None
    roots: list[str] = field(default_factory=list[str])
    begin: str = "cursor"
    events: bool = False
    out: Path | None = None
    stream_log: str | None = None
    watch: tuple[str, ...] = ()
    checks: list[Path] = field(default_factory=list[Path])
    case: str | None = None
    on: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    once: bool = False
    until_idle: float | None = None
    keep: str | None = None
    forget: str = "30d"
    metrics: str | None = None
    state: Path | None = None
    name: str | None = None
    no_cursors: bool = False
    parquet: str | None = None
    log: str | None = None
    quiet: bool = False
    settle: float = 1.0
    redact: bool | None = None
    sync: bool | None = None
    exported: Mapping[str, object] = field(default_factory=dict[str, object])


def run_tail(options: TailOptions) -> int:
    """Follows; returns the exit code."""
    store: CursorStore | None = None
    follower: Follower | None = None
    actions: Actions | None = None
    running: Running | None = None
    folders = HeldFolders()
    try:
        settings = _settings(options)
        log = start_log(settings.log)
        SYNC.set(settings.sync)
        specs = _specs(options)
        plan = _plan(options, settings, specs)
        running = Running(
            once=options.once,
            until_idle=options.until_idle,
            metrics=address(options.metrics) if options.metrics else None,
            output=StandardOutput() if options.events else None,
        )
        keep = keep_rule(options.keep) if options.keep else None
        notify = make_say(log, options.quiet)
        if plan.files:
            folders.hold((settings.out or DEFAULT_ROOT).absolute())
            plan.folders = folders
        if not options.no_cursors:
            store = CursorStore(options.state or state_folder(), consumer(options, settings))
            if store.database.set_aside is not None:
                notify("the cursors are damaged and set aside; all is read again", path=store.database.set_aside)
        _export(options, settings, plan, running, notify)
        actions, standings = _actions(options, plan, notify), None
        if running.metrics is not None or (actions is not None and actions.on_stalled):
            from agentv_stream.following.standings import Standings

            standings = Standings()
        listeners = _measure(running)
        follower = Follower(
            plan, store, notify, running.output, actions=actions, standings=standings, listeners=listeners
        )
        running.keep = partial(keep, follower) if keep is not None else None
        running.feed = _feed(options, settings, specs, follower, notify)
        if running.metrics is not None:
            from agentv_stream.following.metrics_server import serve

            running.serve = partial(serve, follower, running, notify)
            if running.sessions is not None:
                running.sessions.in_use = partial(_in_use, follower)
        tune_memory()
        anyio.run(tail, follower, running, notify)
        if actions is not None:
            actions.close(follower.stopping)
        if running.broken_pipe:
            quiet_stdout()
        blocked = bool(follower.troubles or follower.store_trouble or follower.stores.troubles)
        blocked = blocked or (running.feed is not None and running.feed.trouble is not None)
        if options.once and options.project is None:  # otherwise it may become one; or it is one of another project
            whose = f"of {plan.only.name}" if plan.only is not None else "of a known agent"
            for path in follower.no_logs():
                say(f"{path}: not a log {whose}")
                blocked = True
        if log is not None:
            _tell_totals(follower, log)
        return EXIT_IO if blocked else EXIT_FINE
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    finally:
        if running is not None and running.feed is not None:
            running.feed.close()
        if actions is not None:
            actions.close(stopping=True)
        if follower is not None:
            follower.close()
        if store is not None:
            store.close()
        folders.close()


def _actions(options: TailOptions, plan: Plan, notify: Say) -> "Actions | None":
    """The commands of `--on`. Raises: UsageError."""
    if not options.on:
        return None
    if not plan.files:
        raise UsageError("--on goes with files: give --out DIR beside --events")
    from agentv_stream.following.actions import Actions, command_of

    commands = [command_of(event, text) for event, text in options.on]
    if not options.checks and any(event == "violation" for event, _ in commands):
        raise UsageError("--on violation needs --check SPEC")
    return Actions(commands, notify)


def _feed(
    options: TailOptions, settings: Settings, specs: "Loaded | None", follower: Follower, notify: Say
) -> "DatasetFeed | None":
    """The feed of the data set, if one is wanted. Raises: UsageError, SourceError."""
    if options.parquet is None:
        return None
    from agentv_stream.bulk.feeding import Order, check_dataset
    from agentv_stream.bulk.parquet import check_installed
    from agentv_stream.bulk.places import absolute as absolute_place
    from agentv_stream.following.dataset_feed import DatasetFeed
    from agentv_stream.redaction.redaction import redaction_of

    check_installed()
    order = Order(
        dataset=absolute_place(options.parquet), provider=options.provider, watch=settings.watch,
        machine=settings.machine, redaction=redaction_of(settings), sync=settings.sync,
        checks=specs.checks if specs is not None else None,
    )  # fmt: skip
    check_dataset(order)
    return DatasetFeed(follower, order, notify)


def _specs(options: TailOptions) -> "Loaded | None":
    """The specs of `--check`. Raises: SpecError, UsageError."""
    _check_together(options)
    if options.case is not None and not options.checks:
        raise UsageError("--case needs --check SPEC")
    if not options.checks:
        return None
    from agentv_stream.bulk.judging import loaded
    from agentv_stream.checks.spec import load_spec

    specs = loaded([load_spec(path) for path in options.checks], options.case)
    for warning in specs.warnings:
        say(f"warning: {warning}")
    return specs


def _tell_totals(follower: Follower, log: Log) -> None:
    """The last line."""
    counts = follower.counts
    log(
        "finished",
        sessions=follower.sessions_known,
        records=counts.records,
        events=counts.events,
        bytes=counts.bytes,
        faults=sum(counts.faults.values()),
        failures=counts.failures,
        blocked=len(follower.troubles),
    )


def _measure(running: Running) -> "list[Listener]":
    """Prepares the metrics of sessions, if metrics are served."""
    if running.metrics is None:
        return []
    from agentv_stream.costs.rates import rates_if
    from agentv_stream.following.session_metrics import SessionMetrics

    running.sessions = SessionMetrics(rates_if(None))
    return [running.sessions]


def _in_use(follower: Follower) -> set[int]:
    return {*follower.hot, *follower.troubles}


def _export(options: TailOptions, settings: Settings, plan: Plan, running: Running, notify: Say) -> None:
    """Prepares the export of spans, if it is wanted. Raises: UsageError, SinkError."""
    check_export(settings)
    check_own_files((("--otel-file", settings.otel_file),), ())
    export = export_of(settings)
    if export is None:
        return
    if not plan.files:
        raise UsageError("--otel and --otel-file go with files: give --out DIR beside --events")
    from agentv_stream.otel.follow import SpanFeed

    spool = None
    if export.endpoint is not None:
        from agentv_stream.otel.forward import Forwarder
        from agentv_stream.otel.live import make_sender
        from agentv_stream.otel.spool import Spool

        name = blake2b(consumer(options, settings).encode(errors="surrogateescape"), digest_size=8).hexdigest()
        spool = Spool((options.state or state_folder()) / "otel" / name)
        running.forwarder = partial(Forwarder, spool, make_sender(export.endpoint), notify)
    plan.feed = SpanFeed(export, spool)


def _settings(options: TailOptions) -> Settings:
    chosen: dict[str, object] = {"provider": options.provider, "out": options.out, "watch": options.watch or None}
    chosen |= {"log": options.log, "sync": options.sync, "redact": options.redact, **options.exported}
    if options.stream_log is not None:
        try:
            chosen["stream_log"] = stream_log(options.stream_log)
        except ValueError as error:
            raise UsageError(f"--stream-log: {error}") from error
    return from_process(chosen)


def consumer(options: TailOptions, settings: Settings) -> str:
    """The consumer that the cursors belong to: a name, or the output folder. Two folders are two consumers."""
    if options.name:
        return options.name
    if options.events and options.out is None:
        return "events"
    return f"files:{(settings.out or DEFAULT_ROOT).absolute()}"


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT` or `PORT`; the host is loopback if not given.

    Raises: UsageError.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise UsageError(f"--metrics {text!r}: expected PORT or HOST:PORT")
    return (host.strip("[]") or "127.0.0.1", int(port))


def _plan(options: TailOptions, settings: Settings, specs: "Loaded | None") -> Plan:
    if options.begin not in ("start", "end", "cursor"):
        raise UsageError(f"--from {options.begin!r}: expected start, end or cursor")
    begin: Literal["start", "end", "cursor"] = "end" if options.begin == "end" else "cursor"
    provider = named_provider(options.provider)
    files = not options.events or options.out is not None
    plan = Plan([], settings, begin, files, provider, settle_seconds=options.settle)
    try:
        plan.forget_ms = None if options.forget == "never" else int(seconds_of(options.forget) * 1000)
    except ValueError as error:
        raise UsageError(f"--forget {options.forget!r}: {error}, or never") from None
    if specs is not None:
        from agentv_stream.checks.check import cases_for

        chosen = [member for _, member in cases_for("", specs.specs, specs.case)]
        plan.cases = lambda: [case.build() for case in chosen]
        plan.specs = specs.digest
    plan.parts = redacted_parts(settings)
    if settings.redact:  # cursors that were written without it hold secrets: the sessions are read again
        plan.specs = f"{plan.specs} redacted"
    folders = [t for t in options.targets if is_folder(t) or is_database(t)]
    if folders:
        plan.roots = find_roots(folders, provider=options.provider)
        _tell_skipped([folder for folder in folders if is_folder(folder)])
    rest = [t for t in options.targets if t not in folders]
    there = [t for t in rest if is_there(split_stored(t)[0])]
    plan.paths = list(dict.fromkeys(str(absolute(t)) for t in there))
    names = [t for t in rest if not is_there(split_stored(t)[0])]
    for place in names:
        if "/" in place:  # no session's id; a mistyped folder must not be waited for
            raise SourceError(
                f"{place}: no such file or folder; a folder that an agent will fill is made first (mkdir -p)"
            )
    if names or not options.targets:
        roots = told_roots(options.roots, options.provider, settings.roots)
        if names:
            known = find_sessions(roots, HeaderCache(cache_file()))
            plan.paths += [pick(known, name).path for name in names]
        else:
            plan.roots = roots
            if not options.every and not options.project:
                plan.wanted = _latest(roots)
    if options.project:
        plan.wanted, plan.selects = _of_project(options.project, plan.wanted), _of_project(options.project)
    return plan


def _tell_skipped(folders: list[str]) -> None:
    """Warns of logs that are not followed because of their names."""
    found = [path for folder in folders for path in skipped_logs(folder)]
    if found:
        shown = ", ".join(visible(path, 200) for path in found[:3]) + (", …" if len(found) > 3 else "")
        why = f"their names do not end in {', '.join(LOG_SUFFIXES)}; give them by name to follow them"
        say(f"warning: {counted(len(found), 'log')} not followed: {why}: {shown}")


def _check_together(options: TailOptions) -> None:
    """Raises: UsageError for a combination in which one option would have no effect."""
    other = "--all" if options.every else "a target" if options.targets else None
    if options.latest and other is not None:
        raise UsageError(f"--latest and {other} contradict each other")


def _latest(roots: list[Root]) -> Callable[[str], bool]:
    """Selects the session that was updated last, and all that begin from now on."""
    found = [s for s in find_sessions(roots, HeaderCache(cache_file())) if only(None)(s)]
    old = {path for s in found for path in (s.path, *s.copies, *s.further, *s.subagents)}
    newest = found[0].path if found else None
    return lambda path: path == newest or path not in old


def _of_project(project: str, also: Callable[[str], bool] = lambda path: True) -> Callable[[str], bool]:
    def wanted(path: str) -> bool:
        try:
            header = stored_header(path) if split_stored(path)[1] else read_header(path)
        except (OSError, SourceError):
            return False
        return header is not None and also(path) and in_project(Session(path, header, 0, 0), project)

    return wanted
