"""The tables of a report, for every output format. In: a comparison. Out: rows of plain texts, first the head."""

from collections.abc import Sequence

from agentv_stages.model.visible import counted, visible
from agentv_stream.reports.report import Comparison, Difference, Metric, mean
from agentv_stream.reports.report_runs import Run

WORDS = frozenset(("Approach", "Over", "Tools", "Status", "Verdict", "First failure", "Finding", "First"))
"""Columns of words; all others but the first hold figures, and are right-aligned."""
HISTORICAL = (
    "Figures as old results hold them, beside those of the same streams counted anew. The old first edit turn "
    "counts lines of `type: assistant` from 0, sub-agents included; the old bobbin commands are shell calls whose "
    "text holds the word, in a path too; the old tool calls include those of sub-agents, as the new ones do."
)
ABOUT_DIFFERENCES = (
    "Mean differences over pairs (one task with one model), with 95 % percentile bootstrap intervals. The interval is "
    "over the pairs; where there is only one, over its attempts, which says nothing about other tasks. No interval: "
    "one attempt on each side, or no variation at all. Bold: the interval leaves out 0, and an exact permutation test "
    "gives p of at most 5 %. Too few: with so few pairs or attempts no test can, whatever they show."
)


def sizes(comparison: Comparison) -> str:
    """How much is compared, as text."""
    counts = ((comparison.runs, "run"), (comparison.approaches, "approach"), (comparison.tasks, "task"))
    return ", ".join(counted(len(things), noun) for things, noun in counts)


def summary_rows(comparison: Comparison, metrics: Sequence[Metric]) -> list[list[str]]:
    """A row for each figure, a column for each approach."""
    rows = [["", *comparison.approaches]]
    rows.append(["Runs", *(str(len(comparison.of(a))) for a in comparison.approaches)])
    compared = [comparison.compared(approach) for approach in comparison.approaches]
    if comparison.apart and comparison.candidates:
        rows.append(["Of these in the differences", *("" if n is None else str(n) for n in compared)])
    for metric in metrics:
        values = (mean(map(metric.value, comparison.of(a))) for a in comparison.approaches)
        rows.append([metric.title, *(shown(metric, value) for value in values)])
    return rows


def apart_lists(comparison: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """Titles, and the runs below each with the reason; without those that have none."""
    lists: dict[str, list[tuple[str, str]]] = {
        "Set apart from every table": [],
        "Set apart from the differences, with no run to compare with": [],
    }
    nowhere, alone = lists.values()
    for path, reason in comparison.apart:
        (alone if comparison.counted(path) else nowhere).append((path, reason))
    return [(title, found) for title, found in lists.items() if found]


def difference_rows(comparison: Comparison) -> list[list[str]]:
    """A row for each difference, in the order of `differences`."""
    rows = [["Figure", "Approach", "Pairs", "Baseline", "This approach", "Difference", "95 % interval", "Over"]]
    for delta in comparison.differences:
        metric = next(m for m in comparison.metrics if m.key == delta.metric)
        figures = [
            shown(metric, delta.baseline),
            shown(metric, delta.candidate),
            shown(metric, delta.mean, True),
        ]
        rows.append(
            [
                metric.title,
                delta.approach,
                str(delta.pairs),
                *figures,
                interval(metric, delta),
                resampled(delta),
            ]
        )
    return rows


def task_rows(comparison: Comparison, metrics: Sequence[Metric]) -> list[list[str]]:
    """A row for each task and approach that has runs."""
    metrics = [m for m in metrics if m.key != "tool_calls"]
    rows = [["Task", "Approach", "Runs", *(m.title.removeprefix("Avg ") for m in metrics), "Tools"]]
    for task in comparison.tasks:
        for approach in comparison.approaches:
            runs = comparison.of(approach, task)
            if runs:
                figures = [shown(m, mean(map(m.value, runs))) for m in metrics]
                rows.append([task, approach, str(len(runs)), *figures, tools_used(runs)])
    return rows


def historical_rows(runs: Sequence[Run]) -> list[list[str]]:
    """A row for each run of which an old result holds figures; only the head if there is none."""
    rows = [["Run", "Tool calls, old", "new", "First edit, old (lines)", "new (turn)", "Bobbin commands, old", "new"]]
    for run in runs:
        if "tool_calls" in run.historical:
            old = run.historical
            figures = (
                old.get("tool_calls"),
                run.tool_calls,
                old.get("first_edit_turn_lines"),
                run.first_edit_turn,
                old.get("bobbin_commands"),
                run.watched.get("bobbin"),
            )
            rows.append([f"{run.path.parent.name}/{run.path.name}", *("" if f is None else f"{f:g}" for f in figures)])
    return rows


def shown(metric: Metric, value: float | None, signed: bool = False) -> str:
    """A figure as text; blank if unknown."""
    if value is None:
        return ""
    sign = "+" if signed else ""
    if metric.percent:
        points = " pp" if signed else " %"
        return f"{value * 100:{sign}z.{metric.digits}f}{points}"
    return f"{value:{sign}z,.{metric.digits}f}"


def interval(metric: Metric, difference: Difference) -> str:
    if difference.low is None or difference.high is None:
        return ""
    return f"{shown(metric, difference.low, True)} … {shown(metric, difference.high, True)}"


def resampled(difference: Difference) -> str:
    """The resampled units of the interval, and whether they are enough."""
    return ", ".join(([difference.over] if difference.over else []) + ["too few"] * difference.too_few)


def tools_used(runs: Sequence[Run]) -> str:
    """The mean number of tool calls and the three most used tools, as plain text."""
    calls = mean(run.tool_calls for run in runs)
    if calls is None:
        return ""
    sums: dict[str, int] = {}
    for run in runs:
        for name, number in run.by_tool.items():
            sums[name] = sums.get(name, 0) + number
    first = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:3]
    known = sum(run.tool_calls is not None for run in runs)
    most = ", ".join(f"{visible(name, 30)} {number / known:.1f}" for name, number in first)
    return f"{calls:.1f}" + (f" ({most})" if most else "")
