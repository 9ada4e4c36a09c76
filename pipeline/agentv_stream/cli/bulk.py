"""`agentv-stream import`: many sessions in; transcripts, summaries and a Parquet data set out."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import (
    CaseId,
    DumpTraces,
    EngineName,
    IncludeTrace,
    LogChoice,
    Machine,
    Otel,
    OtelContent,
    OtelFile,
    OtelOldNames,
    Prices,
    ProviderOfLogs,
    QuietBulk,
    Redact,
    Since,
    Sources,
    Subagents,
    Sync,
    TargetName,
    TimeZone,
    Until,
    Utc,
    WatchedPrograms,
    Workers,
)
from agentv_stream.cli.parameters import Option


def import_(
    sources: Sources,
    out: Annotated[
        str | None,
        Option(metavar="DIR|URL", help="Folder or URL for transcripts. Without any output: .agentv/logs/PROVIDER."),
    ] = None,
    atif: Annotated[
        str | None, Option(metavar="DIR|URL", help="Folder or URL for ATIF trajectories, as Harbor reads them.")
    ] = None,
    pages: Annotated[
        str | None, Option(metavar="DIR|URL", help="Folder or URL for HTML pages, redacted, with an index.")
    ] = None,
    jsonl: Annotated[
        str | None,
        Option(metavar="FILE|URL", help="File or URL for results, one line per session; - to print."),
    ] = None,
    parquet: Annotated[str | None, Option(metavar="DIR|URL", help="Folder or URL of a Parquet data set.")] = None,
    provider: ProviderOfLogs = None,
    since: Since = None,
    until: Until = None,
    utc: Utc = False,
    timezone: TimeZone = None,
    target: TargetName = None,
    engine: EngineName = "process",
    workers: Workers = None,
    resume: Annotated[
        bool, Option("--resume", help="Leave out finished and unchanged sessions, and add to the outputs.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="List what would be read, and read nothing.")] = False,
    subagents: Subagents = True,
    watch: WatchedPrograms = None,
    prices: Prices = False,
    text_chars: Annotated[int, Option(min=0, metavar="N", help="How much of a text the data set keeps.")] = 2000,
    dump_traces: DumpTraces = False,
    include_trace: IncludeTrace = False,
    check: Annotated[
        list[Path] | None,
        Option(metavar="SPEC", help="A spec to check the sessions against, for data set and results; repeatable."),
    ] = None,
    case: CaseId = None,
    json: Annotated[
        Path | None,
        Option(metavar="[FILE]", help="File for the report as JSON; standard output for - or nothing."),
    ] = None,
    quiet: QuietBulk = False,
    log: LogChoice = None,
    redact: Redact = None,
    otel: Otel = None,
    otel_file: OtelFile = None,
    otel_content: OtelContent = None,
    otel_old_names: OtelOldNames = None,
    machine: Machine = None,
    sync: Sync = None,
) -> None:
    """Read many sessions on all cores, or on a cluster; write transcripts, results, a data set.

    --since and --until choose logs by when they last changed.
    """
    from agentv_stream.cli.importing import Wanted, import_all

    wanted = Wanted(
        transcripts=out,
        trajectories=atif,
        pages=pages,
        jsonl=jsonl,
        parquet=parquet,
        provider=provider,
        target=target,
        engine=engine,
        workers=workers,
        resume=resume,
        subagents=subagents,
        watch=tuple(watch or ()),
        prices=prices,
        text_chars=text_chars,
        sync=sync,
        redact=redact,
        dump_traces=dump_traces,
        include_trace=include_trace,
        specs=tuple(check or ()),
        case=case,
    )
    exported = {
        "otel": otel,
        "otel_file": otel_file,
        "otel_content": otel_content,
        "otel_old_names": otel_old_names,
        "machine": machine,
        "log": log,
    }
    when = (since, until, timezone, utc)
    raise SystemExit(import_all(sources, wanted, when, exported, dry_run=dry_run, json=json, quiet=quiet))
