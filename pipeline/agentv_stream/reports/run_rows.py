"""The tables of single runs, of passes and of distributions. In: a comparison. Out: rows of plain texts, and links."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

from agentv_stream.reports.intervals import share_interval
from agentv_stream.reports.report import Comparison, Metric
from agentv_stream.reports.report_rows import shown
from agentv_stream.reports.report_runs import Run

MOST_RUNS = 1_000
ABOUT_SHARE = "The interval of a pass rate is Wilson's, with 95 %; runs that no spec judged are in neither number."


def run_rows(comparison: Comparison) -> tuple[list[list[str]], list[str | None]]:
    """A row for each run, those that failed first, and for each row the link to its page or transcript."""
    rows = [["Task", "Approach", "Attempt", "Status", "Verdict", "First failure", "Turns", "Calls", "Cost (USD)"]]
    ordered = sorted(comparison.runs, key=lambda r: (r.passed is not False, r.task, r.approach, r.attempt or 0))
    for run in ordered[:MOST_RUNS]:
        rows.append(
            [
                run.task,
                run.approach,
                "" if run.attempt is None else str(run.attempt),
                run.status or "",
                _verdict(run),
                run.first_failure or "",
                _whole(run.turns),
                _whole(run.tool_calls),
                "" if run.cost_usd is None else f"{run.cost_usd:.4f}",
            ]
        )
    return rows, [link_of(run, comparison.folder) for run in ordered[:MOST_RUNS]]


def _verdict(run: Run) -> str:
    return {True: "pass", False: "FAIL", None: "not judged"}[run.passed]


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def link_of(run: Run, folder: Path | None) -> str | None:
    """A relative link from a report in `folder` to the run's page, otherwise to its transcript; None if neither exists.

    A page is a file beside the result with the ending `.html`.
    """
    for place in (run.path.with_suffix(".html"), *places_of(run)):
        if "\0" not in str(place) and place.is_file():
            return quote(os.path.relpath(place, folder), safe="/-_.~", errors="surrogateescape")
    return None


def places_of(run: Run) -> list[Path]:
    """Possible places of its transcript: as the run saw it, and beside the result, because both may have been moved."""
    return [] if run.transcript is None else [Path(run.transcript), run.path.parent / Path(run.transcript).name]


def share_rows(comparison: Comparison) -> list[list[str]]:
    """Passes of judged runs for each approach, with the interval of the share; only the head if nothing was judged."""
    rows = [["Approach", "Judged runs", "Passed", "Pass rate", "95 % interval", "Not judged"]]
    for approach in comparison.approaches:
        runs = comparison.of(approach)
        judged = [run for run in runs if run.passed is not None]
        if judged:
            passed = sum(run.passed is True for run in judged)
            low, high = share_interval(passed, len(judged))
            share, bounds = f"{100 * passed / len(judged):.1f} %", f"{100 * low:.0f} … {100 * high:.0f} %"
            rows.append([approach, str(len(judged)), str(passed), share, bounds, str(len(runs) - len(judged))])
    return rows


def distribution_rows(comparison: Comparison, metrics: Sequence[Metric]) -> list[list[str]]:
    """Least, quartiles and most of each figure, for approaches with at least two known values."""
    rows = [["Figure", "Approach", "Runs", "Least", "Quarter", "Half", "Three quarters", "Most"]]
    for metric in metrics:
        for approach in comparison.approaches if metric.key != "passed" else ():
            values = sorted(v for run in comparison.of(approach) if (v := metric.value(run)) is not None)
            if len(values) > 1:
                cuts = (values[0], *quantiles(values, n=4, method="inclusive"), values[-1])
                title = metric.title.removeprefix("Avg ")
                rows.append([title, approach, str(len(values)), *(shown(metric, cut) for cut in cuts)])
    return rows
