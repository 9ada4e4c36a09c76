"""The report as Markdown. Names and reasons come from files and agents: nothing of them may be markup."""

import re
from collections.abc import Iterable, Sequence

from agentv_stages.visible import counted, visible
from agentv_stream.reports.report import Comparison, Difference, Metric, mean
from agentv_stream.reports.report_runs import Run

SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
WORDS = frozenset(("Approach", "Over", "Tools"))
"""Columns of words; all others but the first hold figures, and stand to the right."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(comparison: Comparison, generated: str | None = None) -> str:
    """The whole report; `generated` is the time that it names."""
    parts = ["# Agent comparison", ""]
    if generated is not None:
        parts += [f"Generated {generated}.", ""]
    parts += [
        f"{sizes(comparison)}.",
        "",
    ]
    parts += ["## Approaches", "", *table(summary_rows(comparison)), ""]
    if comparison.differences:
        parts += [f"## Differences from {escape(comparison.baseline or '')}", "", ABOUT_DIFFERENCES, ""]
        parts += [*table(difference_rows(comparison)), ""]
    parts += ["## Tasks", "", *table(task_rows(comparison)), ""]
    historical = historical_rows(comparison.runs)
    if len(historical) > 1:
        parts += ["## Historical figures", "", HISTORICAL, "", *table(historical), ""]
    if comparison.apart:
        parts += ["## Set apart", "", "Not compared with other runs:", ""]
        parts += [f"- {escape(path)}: {escape(reason)}" for path, reason in comparison.apart] + [""]
    if comparison.warnings:
        parts += ["## Warnings", ""] + [f"- {escape(text)}" for text in comparison.warnings] + [""]
    return "\n".join(parts)


HISTORICAL = (
    "Figures as old results hold them, beside those of the same streams counted anew. The old first edit turn "
    "counts lines of `type: assistant` from 0, sub-agents included; the old bobbin commands are shell calls whose "
    "text holds the word, in a path too; the old tool calls include those of sub-agents, as the new ones do."
)
ABOUT_DIFFERENCES = (
    "Mean differences over pairs of one task and one model, with 95 % percentile bootstrap intervals over the "
    "pairs; where there is one pair only, over its attempts, which says nothing about other tasks. There is no "
    "interval where neither is there twice. In bold: the interval leaves out 0."
)


def sizes(comparison: Comparison) -> str:
    """How much is compared, in words."""
    counts = ((comparison.runs, "run"), (comparison.approaches, "approach"), (comparison.tasks, "task"))
    return ", ".join(counted(len(what), noun) for what, noun in counts)


def escape(text: str) -> str:
    """Text of others as plain Markdown text, on one line."""
    plain = "".join(ENTITIES.get(c, c) for c in visible(text, 300))
    return SPECIAL.sub(r"\\\1", plain)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells that are escaped already, the first one the head; the first column and words to the left."""
    if not rows:
        return []
    head = "| " + " | ".join(rows[0]) + " |"
    line = "|" + "|".join(["---", *("---" if title in WORDS else "---:" for title in rows[0][1:])]) + "|"
    return [head, line, *("| " + " | ".join(row) + " |" for row in rows[1:])]


def shown(metric: Metric, value: float | None, signed: bool = False) -> str:
    """A figure as text; what is not known is blank."""
    if value is None:
        return ""
    sign = "+" if signed else ""
    if metric.percent:
        points = " pp" if signed else " %"
        return f"{value * 100:{sign}.{metric.digits}f}{points}"
    return f"{value:{sign},.{metric.digits}f}"


def summary_rows(comparison: Comparison) -> list[list[str]]:
    rows = [["", *map(escape, comparison.approaches)]]
    rows.append(["Runs", *(str(len(comparison.of(a))) for a in comparison.approaches)])
    for metric in comparison.metrics:
        values = [mean(map(metric.value, comparison.of(a))) for a in comparison.approaches]
        rows.append([escape(metric.title), *(shown(metric, value) for value in values)])
    return rows


def difference_rows(comparison: Comparison) -> list[list[str]]:
    rows = [["Figure", "Approach", "Pairs", "Baseline", "Approach's", "Difference", "95 % interval", "Over"]]
    for one in comparison.differences:
        metric = next(m for m in comparison.metrics if m.key == one.metric)
        rows.append(
            [
                escape(metric.title),
                escape(one.approach),
                str(one.pairs),
                shown(metric, one.baseline),
                shown(metric, one.candidate),
                shown(metric, one.mean, True),
                f"**{interval(metric, one)}**" if clear(one) else interval(metric, one),
                one.over or "",
            ]
        )
    return rows


def interval(metric: Metric, one: Difference) -> str:
    if one.low is None or one.high is None:
        return ""
    return f"{shown(metric, one.low, True)} … {shown(metric, one.high, True)}"


def clear(one: Difference) -> bool:
    """Whether the interval leaves out 0: by these runs the approaches differ."""
    return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)


def task_rows(comparison: Comparison) -> list[list[str]]:
    metrics = [m for m in comparison.metrics if m.key != "tool_calls"]
    rows = [["Task", "Approach", "Runs", *(escape(m.title.removeprefix("Avg ")) for m in metrics), "Tools"]]
    for task in comparison.tasks:
        for approach in comparison.approaches:
            runs = comparison.of(approach, task)
            if runs:
                figures = [shown(m, mean(map(m.value, runs))) for m in metrics]
                rows.append([escape(task), escape(approach), str(len(runs)), *figures, escape(tools_used(runs))])
    return rows


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


def historical_rows(runs: Iterable[Run]) -> list[list[str]]:
    rows = [["Run", "Tool calls, old", "new", "First edit, old (lines)", "new (turn)", "Bobbin commands, old", "new"]]
    for run in runs:
        old = run.historical
        if "tool_calls" not in old:
            continue
        rows.append(
            [
                escape(f"{run.path.parent.name}/{run.path.name}"),
                _figure(old.get("tool_calls")),
                _figure(run.tool_calls),
                _figure(old.get("first_edit_turn_lines")),
                _figure(run.first_edit_turn),
                _figure(old.get("bobbin_commands")),
                _figure(run.watched.get("bobbin")),
            ]
        )
    return rows


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
