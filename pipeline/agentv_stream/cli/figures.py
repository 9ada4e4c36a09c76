"""The implementation of `stats`: reads and merges, then writes a table, JSON, CSV, a plot."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from agentv_stages.model.times import iso
from agentv_stages.model.visible import counted
from agentv_stream.bulk.grouping import TIMES, Dimension, dimensions_of
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.bulk.summarizing import summarize_groups
from agentv_stream.cli.figure_rows import Order, check_order, groups_json, print_table, rows_csv
from agentv_stream.cli.importing import exit_code, tell_failures, with_listed, write_json
from agentv_stream.cli.interrupting import exit_code as ended_by
from agentv_stream.cli.interrupting import interruptible
from agentv_stream.cli.periods import When, chosen_period
from agentv_stream.cli.progress import Progress
from agentv_stream.cli.telling import print_bytes, say, to_stdout
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.discovery.period import Period, Zone
from agentv_stream.errors import EXIT_FINE, AgentvStreamError, UsageError
from agentv_stream.outputs.publish import publish_now
from agentv_stream.settings import from_process

SCHEMA = "agentv_stream.stats.v1"


class Report(Struct, frozen=True):
    """The figures to show, and the place to write them to."""

    by: str
    when: When
    sort: str | None = None
    limit: int = 0
    json: Path | None = None
    csv: Path | None = None
    plot: Path | None = None
    quiet: bool = False


def show_figures(
    sources: Sequence[str], report: Report, *, prices: bool | None, machine: str | None, options: dict[str, Any]
) -> int:
    """Reads the sources and shows their figures; returns the exit code. `prices` None: if they are installed."""
    json, csv, plot, quiet = report.json, report.csv, report.plot, report.quiet
    try:
        by = dimensions_of(report.by)
        order = Order(report.sort, report.limit)
        check_order(order, by)
        period, zone = chosen_period(*report.when)
        if [str(place) for place in (json, csv)] == ["-", "-"]:
            raise UsageError("--json and --csv cannot both be written to standard output")
        if plot is not None:
            from agentv_stream.bulk.plots import check_plot

            check_plot(plot, by)
        settings = from_process({"machine": machine})
        if "machine" in by and settings.machine is None:
            raise UsageError("--by machine needs the name of this machine: --machine NAME, or auto for its host name")
        names = with_listed(sources) if sources else None
        check_own_files((("--json", json), ("--csv", csv), ("--plot", plot)), names or ())
        with interruptible(), Progress(quiet) as progress:
            outcome = summarize_groups(
                names,
                by=by,
                zone=zone,
                period=period,
                prices=prices,
                roots=settings.roots,
                machine=settings.machine,
                on_found=progress.found,
                on_report=progress.report,
                **options,
            )
        _write(outcome, report, by, order, period, zone)
    except AgentvStreamError as error:
        say(error)
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
        say(f"no session was found {where}{_bounds(period, zone)}")
    return exit_code(outcome)


def _write(
    outcome: Outcome, report: Report, by: tuple[Dimension, ...], order: Order, period: Period, zone: Zone
) -> None:
    """Raises: SinkError."""
    if report.json is not None:
        write_json(report.json, stats_json(outcome, by, order, period, zone))
    if report.csv is not None:
        rows = rows_csv(outcome.summary, by, order)
        if str(report.csv) == "-":
            print_bytes(rows)
        else:
            publish_now(report.csv, rows)
    if report.plot is not None:
        from agentv_stream.bulk.plots import draw

        draw(report.plot, outcome.summary, by[0])
    if not report.quiet and report.json is None and report.csv is None:
        with to_stdout():
            dated = f"times in {zone.name}" if any(name in TIMES for name in by) else ""
            if outcome.done and (head := _bounds(period, zone).strip() or dated):
                sys.stdout.write(f"{head}\n")
            print_table(outcome.summary, by, order, zone)
            if "tool" not in by and outcome.summary.total().filled_pico:
                sys.stdout.write(f"~ estimated at list prices, {outcome.price_table}\n")


def _bounds(period: Period, zone: Zone) -> str:
    """` since 2026-11-28 00:00 until … (Europe/Berlin)`; nothing without a period."""
    bounds = [
        f" {word} {zone.at(ms):%Y-%m-%d %H:%M}"
        for word, ms in (("since", period.since_ms), ("until", period.until_ms))
        if ms is not None
    ]
    return f"{''.join(bounds)} ({zone.name})" if bounds else ""


def stats_json(outcome: Outcome, by: tuple[Dimension, ...], order: Order, period: Period, zone: Zone) -> dict[str, Any]:
    """The figures: in total, and by group (by tool: per tool). Bounds are in UTC, days and the like in `timezone`."""
    return {
        "schema_version": SCHEMA,
        "by": ",".join(by),
        "timezone": zone.name,
        "since": None if period.since_ms is None else iso(period.since_ms),
        "until": None if period.until_ms is None else iso(period.until_ms),
        "price_table_date": outcome.price_table,
        "sources": outcome.found,
        "failures": outcome.failures,
        "others": len(outcome.others),
        "cached": outcome.cached,
        "seconds": round(outcome.seconds, 3),
        "groups": groups_json(outcome.summary, by, order),
        "total": outcome.summary.total().as_json(),
    }


def clear_kept() -> int:
    """Removes the kept figures; returns the exit code."""
    from agentv_stream.discovery.kept_file import clear
    from agentv_stream.discovery.places import cache_file

    try:
        size = clear(cache_file())
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    say("no figures are kept" if size is None else f"removed {cache_file()} ({size / 1e6:,.1f} MB)")
    return EXIT_FINE
