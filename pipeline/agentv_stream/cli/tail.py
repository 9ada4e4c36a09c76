"""`agentv-stream tail`: follow sessions while they grow, over restarts, rotations and crashes."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import (
    CaseId,
    LogChoice,
    Machine,
    OnlyProvider,
    Otel,
    OtelContent,
    OtelFile,
    OtelOldNames,
    Redact,
    Roots,
    StreamLogChoice,
    Sync,
    WatchedPrograms,
    duration,
)
from agentv_stream.cli.parameters import PAIR, Argument, Option


def tail(
    targets: Annotated[
        list[str] | None, Argument(metavar="TARGETS...", help="Sessions (id or its beginning), files, folders.")
    ] = None,
    every: Annotated[bool, Option("--all", help="All sessions of all agents.")] = False,
    latest: Annotated[bool, Option("--latest", help="The session updated last, and new ones. The default.")] = False,
    project: Annotated[
        str | None, Option(metavar="DIR|NAME", help="Sessions of this folder only (a path or a name).")
    ] = None,
    provider: OnlyProvider = None,
    root: Roots = None,
    begin: Annotated[
        str,
        Option(
            "--from",
            metavar="start|end|cursor",
            help="Where logs without a cursor begin: start or end (cursor is the same as start).",
        ),
    ] = "cursor",
    events: Annotated[bool, Option("--events", help="One merged stream of events on standard output.")] = False,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="Folder for transcripts; default: .agentv/logs/PROVIDER.")
    ] = None,
    stream_log: StreamLogChoice = None,
    watch: WatchedPrograms = None,
    check: Annotated[
        list[Path] | None,
        Option(metavar="SPEC", help="A spec to check the sessions against, for the results; repeatable."),
    ] = None,
    case: CaseId = None,
    on: Annotated[
        list[str] | None,
        Option(
            metavar=PAIR,
            help="Run a command when a session has ended, failed, stalled or violates a spec; repeatable.",
        ),
    ] = None,
    once: Annotated[bool, Option("--once", help="Catch up and exit.")] = False,
    until_idle: Annotated[
        float | None,
        Option(parser=duration, metavar="TIME", help="Exit when nothing has grown for this long, like 10m."),
    ] = None,
    keep: Annotated[
        str | None,
        Option(metavar="AGE|SIZE", help="Remove outputs of sessions at rest: older than 30d, or above 5G."),
    ] = None,
    forget: Annotated[
        str,
        Option(
            metavar="AGE|never", help="Forget sessions whose logs have been gone for this long, or never; outputs stay."
        ),
    ] = "30d",
    parquet: Annotated[
        str | None,
        Option(metavar="DIR|URL", help="Keep a Parquet data set current with the sessions that rest."),
    ] = None,
    metrics: Annotated[
        str | None, Option(metavar="[HOST:]PORT", help="Serve metrics and health on HOST:PORT or PORT.")
    ] = None,
    state: Annotated[
        Path | None, Option(metavar="DIR", help="Folder of the cursors; default: ~/.local/state/agentv-stream.")
    ] = None,
    name: Annotated[str | None, Option(metavar="NAME", help="Name of this follower, for cursors of its own.")] = None,
    no_cursors: Annotated[bool, Option("--no-cursors", help="Remember nothing between runs.")] = False,
    log: LogChoice = None,
    log_json: Annotated[bool, Option("--log-json", hidden=True, help="As --log json.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Do not report what happens.")] = False,
    redact: Redact = None,
    otel: Otel = None,
    otel_file: OtelFile = None,
    otel_content: OtelContent = None,
    otel_old_names: OtelOldNames = None,
    machine: Machine = None,
    sync: Sync = None,
    poll_settle: Annotated[float, Option("--settle", hidden=True)] = 1.0,
) -> None:
    """Follow sessions: outputs as `consume` writes them, kept current, exactly once across restarts."""
    from agentv_stream.cli.tailing import TailOptions, run_tail

    options = TailOptions(
        targets=targets or [],
        every=every,
        latest=latest,
        project=project,
        provider=provider,
        roots=root or [],
        begin=begin,
        events=events,
        out=out,
        stream_log=stream_log,
        watch=tuple(watch or ()),
        checks=check or [],
        case=case,
        on=[(pair[0], pair[1]) for pair in on or ()],
        once=once,
        until_idle=until_idle,
        keep=keep,
        forget=forget,
        parquet=parquet,
        metrics=metrics,
        state=state,
        name=name,
        no_cursors=no_cursors,
        log="json" if log_json else log,
        quiet=quiet,
        settle=poll_settle,
        redact=redact,
        sync=sync,
        exported={
            "otel": otel,
            "otel_file": otel_file,
            "otel_content": otel_content,
            "otel_old_names": otel_old_names,
            "machine": machine,
        },
    )
    raise SystemExit(run_tail(options))
