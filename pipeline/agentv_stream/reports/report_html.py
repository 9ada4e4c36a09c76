"""The report as one HTML page: no scripts, nothing loaded from elsewhere, plots as inline SVG.

Every text from files and agents is escaped by `esc`; a content policy in the page is a second line of defence.
"""

import re
from collections.abc import Sequence
from html import escape as html_escape

from agentv_stages.model.visible import visible
from agentv_stream.reports.report import Comparison, Difference, Metric, mean
from agentv_stream.reports.report_rows import (
    ABOUT_DIFFERENCES,
    HISTORICAL,
    WORDS,
    apart_lists,
    difference_rows,
    historical_rows,
    shown,
    sizes,
    summary_rows,
    task_rows,
)
from agentv_stream.reports.run_findings import ABOUT_FINDINGS, finding_rows
from agentv_stream.reports.run_rows import ABOUT_SHARE, distribution_rows, run_rows, share_rows

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;color:#1c2733;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .55rem;border-bottom:1px solid #d5dce3;text-align:right;vertical-align:top}
th:first-child,.text{text-align:left}tbody th{font-weight:400}thead th,thead td{border-bottom:2px solid #8895a3}
td,tbody th{white-space:nowrap}.long{white-space:normal;overflow-wrap:anywhere;min-width:10rem;max-width:18rem}
tr>:first-child{position:sticky;left:0;background:#fff}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr));gap:1rem 1.5rem}
.plots{margin-bottom:2rem}figure{margin:0}svg{max-width:100%;height:auto;vertical-align:top}
.axis{stroke:#d5dce3}svg .within{fill:#fff}
h1,h2,p,li{overflow-wrap:anywhere}figcaption{font-size:.85rem;color:#46525e}
a{color:#1a5fb4}svg text{font:11px system-ui,sans-serif;fill:#46525e}.scroll{overflow-x:auto}
@media(prefers-color-scheme:dark){a{color:#7db4ff}body{background:#14191f;color:#dfe6ec}th,td{border-color:#33404c}
tr>:first-child{background:#14191f}.axis{stroke:#33404c}
svg circle,svg rect,svg path:not(.axis){filter:brightness(1.5)}
svg text,figcaption{fill:#aab6c1;color:#aab6c1}svg .within{fill:#14191f}}
"""
COLOURS = ("#3268a8", "#c2571a", "#2f7d4f", "#8a3f8f", "#8a6d1a", "#a33a4a")
LONG_CELL = 24
JOINT = re.compile(r"(?<=[+=_/:-])(?=[^\W\d])")
WIDTH = 430
LEFT = 160
LABEL = 22
ROW = 26
MOST_DOTS = 2_000


ABOUT_RUNS = "A dot is a run, a bar the mean."
ABOUT_POINTS = "A dot is a mean difference, the line its interval; the dot is filled where the difference is bold."


def esc(text: str, width: int = 300) -> str:
    return html_escape(visible(text, width), quote=True)


def html(comparison: Comparison, generated: str | None = None) -> str:
    """The whole page."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>Agent comparison</title><style>{STYLE}</style></head><body>",
        "<h1>Agent comparison</h1>",
    ]
    about = sizes(comparison)
    # leaves out empty columns
    metrics = [m for m in comparison.metrics if any(m.value(run) is not None for run in comparison.runs)]
    parts.append(f"<p>{about}{f', generated {esc(generated)}' if generated else ''}.</p>")
    parts += [f"<p><b>Note:</b> {esc(note)}.</p>" for note in comparison.notes]
    parts.append("<h2>Approaches</h2>")
    parts.append(_table(summary_rows(comparison, metrics), "Approaches"))
    shares = share_rows(comparison)
    if len(shares) > 1:
        parts += ["<h2>Passes</h2>", f"<p>{esc(ABOUT_SHARE)}</p>", _table(shares, "Passes")]
    rows, links = run_rows(comparison)
    parts += ["<h2>Runs</h2>", _table(rows, "Runs", links=links)]
    parts.append(f'<h2>Distributions</h2><p>{ABOUT_RUNS}</p><div class="plots">')
    parts += [plot for metric in comparison.metrics if (plot := strip_plot(comparison, metric))]
    parts.append("</div>")
    distribution = distribution_rows(comparison, metrics)
    if len(distribution) > 1:
        parts.append(_table(distribution, "Distributions"))
    if comparison.differences:
        parts.append(f"<h2>Differences from {esc(comparison.baseline or '')}</h2>")
        parts.append(f'<p>{esc(ABOUT_DIFFERENCES, 2000)} {ABOUT_POINTS}</p><div class="plots">')
        for metric in comparison.metrics:
            found = [d for d in comparison.differences if d.metric == metric.key]
            if found:
                parts.append(difference_plot(metric, found, comparison.approaches))
        parts.append("</div>")
        bold = [(5, 6) if difference.clear else () for difference in comparison.differences]
        parts.append(_table(difference_rows(comparison), "Differences", bold))
    parts.append("<h2>Tasks</h2>")
    parts.append(_table(task_rows(comparison, metrics), "Tasks"))
    findings = finding_rows(comparison)
    if len(findings) > 1:
        parts += ["<h2>Findings</h2>", f"<p>{esc(ABOUT_FINDINGS)}</p>", _table(findings, "Findings")]
    old = historical_rows(comparison.runs)
    if len(old) > 1:
        parts += ["<h2>Historical figures</h2>", f"<p>{esc(HISTORICAL, 2000)}</p>", _table(old, "Historical figures")]
    excluded = ((title, [f"{path}: {reason}" for path, reason in found]) for title, found in apart_lists(comparison))
    for title, lines in (*excluded, ("Warnings", comparison.warnings)):
        if lines:
            items = "".join(f"<li>{esc(line, 1000)}</li>" for line in lines)
            parts.append(f"<h2>{title}</h2><ul>{items}</ul>")
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _table(
    rows: Sequence[Sequence[str]],
    label: str,
    marked: Sequence[Sequence[int]] = (),
    links: Sequence[str | None] = (),
) -> str:
    """Rows of plain texts, the first one the head; each row is labelled by its first cell, the table by `label`.

    `marked`: for each row but the head, which of its cells are bold. `links`: the target of its first cell.
    """
    words = [title in WORDS for title in rows[0]]
    head = "".join(_cell(cell, "col", text) if cell else "<td></td>" for cell, text in zip(rows[0], words, strict=True))
    body = "".join(
        "<tr>"
        + _cell(row[0], "row", link=link)
        + "".join(_cell(c, text=w, bold=i in bold) for i, (c, w) in enumerate(zip(row[1:], words[1:], strict=True), 1))
        + "</tr>"
        for row, bold, link in zip(rows[1:], marked or [()] * len(rows), links or [None] * len(rows), strict=False)
    )
    # A scrolling region must be reachable by keyboard and have a label.
    around = f'<div class="scroll" role="region" tabindex="0" aria-label="{esc(label)}">'
    return f"{around}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(cell: str, names: str = "", text: bool = False, bold: bool = False, link: str | None = None) -> str:
    """One cell; with `names` it is the head of its `row` or `col`. Long texts may be broken anywhere, preferably
    between the parts of a name; figures never."""
    tag, scope = ("th", f' scope="{names}"') if names else ("td", "")
    long = len(cell) > LONG_CELL
    classes = " ".join(["text"] * text + ["long"] * long)
    content = "<wbr>".join(map(esc, JOINT.split(visible(cell, 300)))) if long else esc(cell)
    if link is not None:
        content = f'<a href="{html_escape(link, quote=True)}">{content or "run"}</a>'
    marked = f' class="{classes}"' if classes else ""
    return f"<{tag}{scope}{marked}>{f'<b>{content}</b>' if bold and content else content}</{tag}>"


def _label(approach: str) -> str:
    """A name beside a plot; a long one is shortened in the middle, because approaches differ at their ends."""
    whole = visible(approach, 300)
    return esc(whole if len(whole) <= LABEL else f"{whole[:8]}…{whole[9 - LABEL :]}", LABEL)


def strip_plot(comparison: Comparison, metric: Metric) -> str:
    """A dot for each run, a bar for the mean of each approach; "" if nothing is known.

    For yes/no values dots would cover each other: there a bar shows the share, with the counts beside it.
    """
    groups = [(a, [v for r in comparison.of(a) if (v := metric.value(r)) is not None]) for a in comparison.approaches]
    every = [value for _, values in groups for value in values]
    if not every:
        return ""
    low, high = min(0.0, *every), max(every)
    high = high if high > low else low + 1
    height = ROW * len(groups) + 24
    marks: list[str] = []
    for i, (approach, values) in enumerate(groups):
        y = ROW * i + ROW / 2 + 4
        colour = COLOURS[i % len(COLOURS)]
        marks.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_label(approach)}</text>')
        middle = mean(values)
        if middle is not None and metric.key == "passed":
            width = _x(middle, low, high) - LEFT
            marks.append(f'<rect x="{LEFT}" y="{y - 7:.1f}" width="{width:.1f}" height="14" fill="{colour}"/>')
            label = f"{sum(values):.0f} of {len(values)}"
            inside = width > 60
            x = LEFT + width + (-6 if inside else 6)
            where = ' text-anchor="end" class="within"' * inside
            marks.append(f'<text x="{x:.1f}" y="{y + 4:.1f}"{where}>{label}</text>')
            continue
        for value in values[:MOST_DOTS]:
            x = _x(value, low, high)
            marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity=".45"/>')
        if middle is not None:
            x = _x(middle, low, high)
            marks.append(f'<path d="M{x:.1f} {y - 9:.1f}v18" stroke="{colour}" stroke-width="3"/>')
    return _figure(metric, marks, height, low, high)


def difference_plot(metric: Metric, differences: Sequence[Difference], approaches: Sequence[str]) -> str:
    """A point for each mean difference, a line for its interval, and a mark at zero."""
    bounds = [v for d in differences for v in (d.mean, d.low, d.high) if v is not None]
    low, high = min(0.0, *bounds), max(0.0, *bounds)
    if low == high:
        low, high = low - 1, high + 1
    height = ROW * len(differences) + 24
    zero = _x(0.0, low, high)
    marks = [f'<path d="M{zero:.1f} 0v{height - 20}" stroke="#8895a3" stroke-dasharray="3 3"/>']
    for i, difference in enumerate(differences):
        y = ROW * i + ROW / 2 + 4
        colour = COLOURS[approaches.index(difference.approach) % len(COLOURS)]
        marks.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_label(difference.approach)}</text>')
        if difference.low is not None and difference.high is not None:
            left, right = _x(difference.low, low, high), _x(difference.high, low, high)
            marks.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{colour}" stroke-width="3"/>')
        fill = f'fill="{colour}"' if difference.clear else 'style="fill:Canvas"'
        x = _x(difference.mean, low, high)
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {fill} stroke="{colour}" stroke-width="2"/>')
    return _figure(metric, marks, height, low, high, signed=True)


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - 30)


def _figure(metric: Metric, marks: Sequence[str], height: int, low: float, high: float, signed: bool = False) -> str:
    least, most = (esc(shown(metric, end, signed and end != 0)) for end in (low, high))
    axis = [
        f'<path class="axis" d="M{LEFT} {height - 17}H{WIDTH - 30}"/>',
        f'<text x="{LEFT}" y="{height - 4}">{least}</text>',
        f'<text x="{WIDTH - 30}" y="{height - 4}" text-anchor="end">{most}</text>',
    ]
    label = esc(metric.title)
    inner = "".join((*marks, *axis))
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    drawn = f'<svg {size} role="img" aria-label="{label}; the figures stand in the tables">{inner}</svg>'
    return f"<figure><figcaption>{label}</figcaption>{drawn}</figure>"
