"""The implementation of `stats`: reads and merges, then writes a table, JSON, a plot."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentv_stages.figures.merge import DIMENSIONS, ESTIMATE, By, Figures, Summary
from agentv_stages.model.visible import counted, visible
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.run import summarize_groups
from agentv_stream.cli.fitting import print_fitting
from agentv_stream.cli.importing import (
    exit_code,
    number,
    tell_failures,
    tokens_cell,
    with_listed,
    write_json,
)
from agentv_stream.cli.interrupting import exit_code as ended_by
from agentv_stream.cli.interrupting import interruptible
from agentv_stream.cli.progress import Progress
from agentv_stream.cli.telling import say, to_stdout
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import AgentvStreamError, UsageError
from agentv_stream.settings import from_process

SCHEMA = "agentv_stream.stats.v1"


def show_figures(
    sources: Sequence[str], by: str, *, json: Path | None, plot: Path | None, quiet: bool, options: dict[str, Any]
) -> int:
    """Reads the sources and shows their figures; returns the exit code."""
    try:
        dimension = named_dimension(by)
        if options["prices"]:
            from agentv_stream.prices import check_installed

            check_installed()
        if plot is not None:
            from agentv_stream.bulk.plots import check_plot

            check_plot(plot)
        names = with_listed(sources) if sources else []
        check_own_files((("--json", json), ("--plot", plot)), names)
        with interruptible(), Progress(quiet) as progress:
            outcome = summarize_groups(
                names if sources else None,
                by=dimension,
                roots=from_process({}).roots,
                on_found=progress.found,
                on_report=progress.report,
                **options,
            )
        if json is not None:
            write_json(json, stats_json(outcome, dimension))
        if plot is not None:
            from agentv_stream.bulk.plots import draw

            draw(plot, outcome.summary, dimension)
        if not quiet and json is None:
            with to_stdout():
                _table(outcome, dimension)
    except AgentvStreamError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        return ended_by(error)
    if not quiet:
        for note in outcome.notes:
            say(note)
        drifted = outcome.summary.total().drifted
        if drifted:
            say(
                f"{counted(drifted, 'session')} with more than 1 % of records of unknown types;"
                " `agentv-stream providers --drift LOG` lists them for a bug report"
            )
    tell_failures(outcome)
    if not outcome.done and not outcome.failures:
        where = f"in {', '.join(sources)}" if sources else "where agents keep them"
        say(f"no session was found {where}")
    return exit_code(outcome)


def named_dimension(name: str) -> By:
    """Raises: UsageError for an unknown grouping."""
    for dimension in DIMENSIONS:
        if dimension == name:
            return dimension
    raise UsageError(f"--by: expected {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}, not {name!r}")


def stats_json(outcome: Outcome, by: By) -> dict[str, Any]:
    """The figures: in total, and by group (by tool: per tool)."""
    summary = outcome.summary
    total = summary.total().as_json()
    groups: dict[str, Any]
    if by == "tool":
        groups = total["tools"]
    else:
        groups = {name: figures.as_json() for name, figures in ordered(summary, by)}
    return {
        "schema_version": SCHEMA,
        "by": by,
        "sources": outcome.found,
        "failures": outcome.failures,
        "others": len(outcome.others),
        "cached": outcome.cached,
        "seconds": round(outcome.seconds, 3),
        "groups": groups,
        "total": total,
    }


def ordered(summary: Summary, by: By) -> list[tuple[str, Figures]]:
    """Days in chronological order, other groups by number of calls, the largest first."""
    if by == "day":
        return sorted(summary.groups.items())
    return sorted(summary.groups.items(), key=lambda item: (-item[1].tool_calls, item[0]))


def _table(outcome: Outcome, by: By) -> None:
    summary = outcome.summary
    if not summary.groups:
        return
    total = summary.total()
    if by == "tool":
        titles: tuple[str, ...] = ("tool", "calls", "failed", "%", "p50 ms", "p95 ms", "MB in", "MB out")
        rows = [_tool_row(name, total) for name in sorted(total.tools, key=lambda n: (-total.tools[n].calls, n))]
        print_fitting(sys.stdout, titles, rows, None, ("MB in", "MB out", "p50 ms"))
        return
    titles = (by, "sessions", "turns", "calls", "failed", "edits", "tokens in", "cached", "tokens out", "cost $")
    rows = [_row(name, figures) for name, figures in ordered(summary, by)]
    last = _row("total", total) if len(summary.groups) > 1 else None
    print_fitting(sys.stdout, titles, rows, last, ("cached", "edits", "failed", "turns", "sessions"))


def _row(name: str, figures: Figures) -> list[str]:
    shown = "?"
    if figures.costed:
        shown = _money(figures, "cost_usd", figures.cost_pico)
    if figures.estimated:
        shown += f" (est. {_money(figures, ESTIMATE, figures.estimated_pico)})"
    counts = (figures.sessions, figures.turns, figures.tool_calls, figures.failed_calls, figures.edits)
    return [
        visible(name, 60),
        *(number(count) for count in counts),
        *(tokens_cell(figures, name) for name in ("input", "cached", "output")),
        shown,
    ]


def _money(figures: Figures, name: str, pico: int) -> str:
    return f"{'' if figures.whole(name) else '≥'}{pico / 1e12:,.2f}"


def _tool_row(name: str, total: Figures) -> list[str]:
    tool = total.tools[name]
    p50, p95 = tool.durations.quantile(0.5), tool.durations.quantile(0.95)
    return [
        visible(name, 60),
        number(tool.calls),
        number(tool.errors),
        f"{100 * tool.errors / tool.calls:.1f}" if tool.calls else "",
        "?" if p50 is None else f"{p50:,.0f}",
        "?" if p95 is None else f"{p95:,.0f}",
        _megabytes(tool.bytes_in),
        _megabytes(tool.bytes_out),
    ]


def _megabytes(number_of_bytes: int) -> str:
    return "<0.1" if 0 < number_of_bytes < 50_000 else f"{number_of_bytes / 1e6:,.1f}"
