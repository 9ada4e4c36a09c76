"""A plot of the figures of many sessions, with matplotlib (an extra): calls and failures by group, and tokens."""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from agentv_stages.figures.merge import Summary
from agentv_stages.model.visible import visible
from agentv_stream.bulk.grouping import TIMES, Dimension
from agentv_stream.errors import SinkError, UsageError
from agentv_stream.extras import extra
from agentv_stream.outputs.publish import publish_now
from agentv_stream.units import count_text

FORMATS = (".svg", ".png", ".pdf")
MOST_BARS = 30
_GOOD, _BAD, _IN, _OUT = "#4878a8", "#c8553d", "#8fb8a8", "#e0a458"


def check_plot(path: Path, by: Sequence[Dimension]) -> None:
    """Raises: UsageError for a file type that is no picture, for two groupings, or if the extra is missing."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--plot: expected a file ending in {', '.join(FORMATS)}, not {path.name}")
    if len(by) > 1:
        raise UsageError(f"--plot: a plot shows one grouping, not {','.join(by)}")
    extra("matplotlib", "plot", "a plot")


def draw(path: Path, summary: Summary, by: Dimension) -> None:
    """Writes the picture; no text from a log is interpreted as markup.

    Raises: SinkError.
    """
    mpl = extra("matplotlib", "plot", "a plot")
    figures = extra("matplotlib.figure", "plot", "a plot")
    labels, good, bad, tokens, total = _bars(summary, by)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "agentv-stream", "text.parse_math": False}):
        height = max(2.5, 0.28 * len(labels) + 1.4)
        figure: Any = figures.Figure(figsize=(11 if tokens else 7, height), layout="constrained")
        widths = [2, *(1 for _ in tokens)]
        grid = figure.subplots(1, len(widths), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})
        calls, *rest = grid[0]
        places = range(len(labels))
        calls.barh(places, good, color=_GOOD, label="ended well, or open")
        ends = calls.barh(places, bad, left=good, color=_BAD, label="failed")
        _name_ends(calls, ends, [f"{well + failed:,}" for well, failed in zip(good, bad, strict=True)])
        calls.set_yticks(list(places), labels)
        calls.set_ylim(len(labels) - 0.4, -0.6)  # the first group on top, no empty rows
        calls.set_xlabel(("tool calls" if by == "all" else f"tool calls by {by}") + _left_out(len(labels), total, by))
        for axes, (label, cells), color in zip(rest, tokens, (_IN, _OUT), strict=False):
            ends = axes.barh(places, [value or 0 for value, _ in cells], color=color)
            _name_ends(axes, ends, [_figure_text(value, whole) for value, whole in cells])
            axes.set_xlabel(f"{label} tokens")
        figure.legend(*calls.get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize="small")
        buffer = io.BytesIO()
        kind = path.suffix.lower()[1:]
        metadata = {"Date": None} if kind == "svg" else None
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph .* missing from font")  # it is drawn as a box
                figure.savefig(buffer, format=kind, metadata=metadata)
        except OSError as error:
            raise SinkError(str(path), error) from error
    publish_now(path, buffer.getvalue())


def _name_ends(axes: Any, bars: Any, texts: list[str]) -> None:
    """Writes each bar's figure at its end: a short bar has no room for it."""
    axes.bar_label(bars, texts, padding=3, fontsize="small")
    axes.margins(x=0.22)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(_tick)
    axes.xaxis.get_major_locator().set_params(integer=True)


def _tick(value: float, place: int) -> str:
    return count_text(int(value))


def _figure_text(value: int | None, whole: bool) -> str:
    """A sum of tokens; `≥` if it is unknown for some sessions, `?` if for all."""
    return ("" if whole or value is None else "≥") + count_text(value)


def _left_out(shown: int, total: int, by: Dimension) -> str:
    """A note on the groups that the plot leaves out."""
    if shown == total:
        return ""
    return f" (the last {shown} of {total})" if by in TIMES else f" (the first {shown} of {total:,})"


Cells: TypeAlias = list[tuple[int | None, bool]]
"""For each group the sum of tokens, and whether it is complete."""


def _bars(summary: Summary, by: Dimension) -> tuple[list[str], list[int], list[int], list[tuple[str, Cells]], int]:
    """Labels, calls that did not fail, failed ones, tokens in and out (none by tool); the number of groups."""
    if by == "tool":
        tools = summary.total().tools
        names = sorted(tools, key=lambda name: (-tools[name].calls, name))[:MOST_BARS]
        good = [tools[name].calls - tools[name].errors for name in names]
        labels = [visible(name, 40) for name in names]
        return labels, good, [tools[name].errors for name in names], [], len(tools)
    if by in TIMES:
        groups = sorted(summary.groups.items())[-MOST_BARS:]  # a day without sessions has no bar
    else:
        groups = sorted(summary.groups.items(), key=lambda item: (-item[1].tool_calls, item[0]))[:MOST_BARS]
    bad = [figures.failed_calls for _, figures in groups]
    return (
        [visible(name, 40) for name, _ in groups],
        [figures.tool_calls - failed for (_, figures), failed in zip(groups, bad, strict=True)],
        bad,
        [(member, [figures.tokens_told(member) for _, figures in groups]) for member in ("input", "output")],
        len(summary.groups),
    )
