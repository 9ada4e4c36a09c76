"""The report as Markdown. Names and reasons come from files and agents: none of them may act as markup."""

import re
from collections.abc import Iterable, Sequence

from agentv_stages.model.visible import visible
from agentv_stream.reports.report import Comparison
from agentv_stream.reports.report_rows import (
    ABOUT_DIFFERENCES,
    HISTORICAL,
    WORDS,
    apart_lists,
    difference_rows,
    historical_rows,
    sizes,
    summary_rows,
    task_rows,
)
from agentv_stream.reports.run_findings import ABOUT_FINDINGS, finding_rows
from agentv_stream.reports.run_rows import ABOUT_SHARE, distribution_rows, run_rows, share_rows

SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
REACHING = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
"""Where a forge would find a person to notify, an issue to mention, or an address to link."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def markdown(comparison: Comparison, generated: str | None = None) -> str:
    """The whole report; `generated` is the time shown in it."""
    parts = ["# Agent comparison", ""]
    if generated is not None:
        parts += [f"Generated {generated}.", ""]
    parts += [f"{sizes(comparison)}.", ""]
    parts += [text for note in comparison.notes for text in (f"**Note:** {escape(note)}.", "")]
    parts += ["## Approaches", "", *table(summary_rows(comparison, comparison.metrics)), ""]
    shares = share_rows(comparison)
    if len(shares) > 1:
        parts += ["## Passes", "", ABOUT_SHARE, "", *table(shares), ""]
    if comparison.differences:
        parts += [f"## Differences from {escape(comparison.baseline or '')}", "", ABOUT_DIFFERENCES, ""]
        bold = [(5, 6) if difference.clear else () for difference in comparison.differences]
        parts += [*table(difference_rows(comparison), bold), ""]
    parts += ["## Tasks", "", *table(task_rows(comparison, comparison.metrics)), ""]
    rows, links = run_rows(comparison)
    parts += ["## Runs", "", *table(rows, links=links), ""]
    distribution = distribution_rows(comparison, comparison.metrics)
    if len(distribution) > 1:
        parts += ["## Distributions", "", *table(distribution), ""]
    found = finding_rows(comparison)
    if len(found) > 1:
        parts += ["## Findings", "", ABOUT_FINDINGS, "", *table(found), ""]
    historical = historical_rows(comparison.runs)
    if len(historical) > 1:
        parts += ["## Historical figures", "", HISTORICAL, "", *table(historical), ""]
    for title, lines in apart_lists(comparison):
        parts += [f"## {title}", ""] + [f"- {escape(path)}: {escape(reason)}" for path, reason in lines] + [""]
    if comparison.warnings:
        parts += ["## Warnings", ""] + [f"- {escape(text)}" for text in comparison.warnings] + [""]
    return "\n".join(parts)


def escape(text: str) -> str:
    """Untrusted text as plain Markdown text, on one line; also where a report is posted on a forge."""
    plain = "".join(ENTITIES.get(c, c) for c in visible(text, 300))
    return REACHING.sub("<!-- -->", SPECIAL.sub(r"\\\1", plain))


def table(
    rows: Sequence[Sequence[str]], marked: Sequence[Sequence[int]] = (), links: Sequence[str | None] = ()
) -> list[str]:
    """Rows of plain texts, the first one the head; the first column and words are left-aligned.

    `marked`: for each row but the head, which of its cells are bold. `links`: the target of its first cell.
    """
    head, *body = rows
    line = "|" + "|".join(["---", *("---" if title in WORDS else "---:" for title in head[1:])]) + "|"
    out = [_row(map(escape, head)), line]
    every = zip(body, marked or [()] * len(body), links or [None] * len(body), strict=True)
    for row, bold, link in every:
        cells = [f"**{escape(cell)}**" if i in bold and cell else escape(cell) for i, cell in enumerate(row)]
        if link is not None:
            cells[0] = f"[{cells[0] or 'run'}]({link})"
        out.append(_row(cells))
    return out


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
