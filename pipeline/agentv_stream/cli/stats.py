"""`agentv-stream stats`: figures over many sessions, as a table, as JSON, as CSV, as a plot."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import (
    AnySources,
    Csv,
    EngineName,
    Machine,
    NoCache,
    NoPrices,
    ProviderOfLogs,
    QuietBulk,
    Since,
    Subagents,
    TimeZone,
    Until,
    Utc,
    Workers,
)
from agentv_stream.cli.parameters import Option

GROUPS = "all, machine, provider, project, branch, session, model, tool, hour, day, week, month"


def stats(
    sources: AnySources = None,
    by: Annotated[str, Option(metavar="GROUP[,GROUP]", help=f"One or two of {GROUPS}, as in day,model.")] = "provider",
    since: Since = None,
    until: Until = None,
    utc: Utc = False,
    timezone: TimeZone = None,
    sort: Annotated[
        str | None,
        Option(metavar="COLUMN", help="name, sessions, turns, calls, failed, edits, input, output or cost."),
    ] = None,
    limit: Annotated[
        int, Option(min=0, metavar="N", help="At most this many groups; of days and the like the latest.")
    ] = 0,
    json: Annotated[
        Path | None,
        Option(metavar="[FILE]", help="File for the figures as JSON; standard output for - or nothing."),
    ] = None,
    csv: Csv = None,
    plot: Annotated[Path | None, Option(metavar="FILE", help="File for a plot, .svg, .png or .pdf.")] = None,
    machine: Machine = None,
    provider: ProviderOfLogs = None,
    engine: EngineName = "process",
    workers: Workers = None,
    subagents: Subagents = True,
    prices: NoPrices = None,
    cache: NoCache = True,
    clear_cache: Annotated[bool, Option("--clear-cache", help="Remove the kept figures, and read nothing.")] = False,
    quiet: QuietBulk = False,
) -> None:
    """Read sessions and add up their figures; each session's are kept, and only new or changed sessions are read."""
    from agentv_stream.cli.figures import Report, clear_kept, show_figures

    if clear_cache:
        raise SystemExit(clear_kept())
    raise SystemExit(
        show_figures(
            sources or (),
            Report(by, (since, until, timezone, utc), sort, limit, json, csv, plot, quiet),
            prices=prices,
            machine=machine,
            options={
                "provider": provider,
                "engine": engine,
                "workers": workers,
                "subagents": subagents,
                "cache": cache,
            },
        )
    )
