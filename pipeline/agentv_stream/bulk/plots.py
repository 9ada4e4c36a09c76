"""A plot of the figures of many sessions, with matplotlib (an extra): calls and failures by group, and tokens."""

import io
import warnings
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from agentv_stages.figures.merge import Figures, Summary
from agentv_stages.model.tokens import PICO
from agentv_stages.model.visible import counted, visible
from agentv_stream.bulk.grouping import TIMES, Dimension, dated_name
from agentv_stream.errors import SinkError, UsageError
from agentv_stream.extras import extra
from agentv_stream.outputs.publish import publish_now
from agentv_stream.units import count_text

FORMATS = (".svg", ".png", ".pdf")
MOST_BARS = 30
MOST_DAYS = 31 * MOST_BARS  # as many months
_GOOD, _BAD, _IN, _OUT, _COST = "#4878a8", "#c8553d", "#8fb8a8", "#e0a458", "#8c6bb1"
_DATES = ("day", "week", "month")


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
    bars = _bars(summary, by)
    labels = bars.labels
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "agentv-stream", "text.parse_math": False}):
        height = max(2.9, 0.28 * len(labels) + 1.8)
        figure: Any = figures.Figure(figsize=(7 + 2.2 * len(bars.further), height), layout="constrained")
        figure.suptitle(_title(summary, by), x=0.01, ha="left", fontsize="medium", fontweight="bold")
        widths = [2, *(1 for _ in bars.further)]
        grid = figure.subplots(1, len(widths), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})
        calls, *rest = grid[0]
        places = range(len(labels))
        calls.barh(places, bars.good, color=_GOOD, label="ended well, or open")
        ends = calls.barh(places, bars.bad, left=bars.good, color=_BAD, label="failed")
        _name_ends(calls, ends, bars.calls, _tick)
        calls.set_yticks(list(places), labels)
        calls.set_ylim(len(labels) - 0.4, -0.6)  # the first group on top, no empty rows
        calls.set_xlabel("tool calls" + _left_out(bars.shown, bars.total, by))
        for axes, further in zip(rest, bars.further, strict=True):
            ends = axes.barh(places, further.values, color=further.color)
            _name_ends(axes, ends, further.texts, _dollars if further.name == "cost" else _tick)
            axes.set_xlabel(further.name)
        figure.legend(*calls.get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize="small")
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


def _title(summary: Summary, by: Dimension) -> str:
    total = summary.total()
    grouped = "" if by == "all" else f" by {by}"
    return f"Coding agents{grouped}: {counted(total.sessions, 'session')}, {counted(total.tool_calls, 'tool call')}"


def _name_ends(axes: Any, bars: Any, texts: list[str], tick: Callable[[float, int], str]) -> None:
    """Writes each bar's figure at its end: a short bar has no room for it."""
    axes.bar_label(bars, texts, padding=3, fontsize="small")
    axes.margins(x=0.22)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(tick)
    axes.xaxis.get_major_locator().set_params(integer=tick is _tick)


def _tick(value: float, place: int) -> str:
    return count_text(int(value))


def _dollars(value: float, place: int) -> str:
    return f"${value:,.2f}" if value < 100 else f"${count_text(round(value))}"


def _figure_text(value: int | None, whole: bool) -> str:
    """A sum of tokens; `≥` if it is unknown for some sessions, `?` if for all."""
    return ("" if whole or value is None else "≥") + count_text(value)


def _left_out(shown: int, total: int, by: Dimension) -> str:
    """A note on the groups that the plot leaves out."""
    if shown == total:
        return ""
    return f" (the last {shown} of {total})" if by in TIMES else f" (the first {shown} of {total:,})"


class _Further(NamedTuple):
    """Bars of another figure; a group for which it is unknown has `?`."""

    name: str
    color: str
    values: list[float]
    texts: list[str]


class _Bars(NamedTuple):
    """Bars by group, the first on top: calls that did not fail, failed ones, and (none by tool) tokens and costs.

    A day without sessions has no bars and no texts. `shown` of `total` groups are there.
    """

    labels: list[str]
    good: list[int]
    bad: list[int]
    calls: list[str]
    further: list[_Further]
    shown: int
    total: int


def _bars(summary: Summary, by: Dimension) -> _Bars:
    if by == "tool":
        tools = summary.total().tools
        names = sorted(tools, key=lambda name: (-tools[name].calls, name))[:MOST_BARS]
        good = [tools[name].calls - tools[name].errors for name in names]
        labels = [visible(name, 40) for name in names]
        calls = [f"{tools[name].calls:,}" for name in names]
        return _Bars(labels, good, [tools[name].errors for name in names], calls, [], len(names), len(tools))
    groups: Sequence[tuple[str, Figures | None]]
    if by in TIMES:
        groups = _with_gaps(sorted(summary.groups.items()), by)[-MOST_BARS:]
    else:
        groups = sorted(summary.groups.items(), key=lambda item: (-item[1].tool_calls, item[0]))[:MOST_BARS]
    known = [figures for _, figures in groups]
    further = [_tokens(known, "input", _IN), _tokens(known, "output", _OUT)]
    if any(f is not None and (f.costed or f.filled_pico) for f in known):
        further.append(_costs(known))
    return _Bars(
        [visible(name, 40) for name, _ in groups],
        [f.tool_calls - f.failed_calls if f is not None else 0 for f in known],
        [f.failed_calls if f is not None else 0 for f in known],
        [f"{f.tool_calls:,}" if f is not None else "" for f in known],
        further,
        sum(f is not None for f in known),
        len(summary.groups),
    )


def _tokens(known: Sequence[Figures | None], name: str, color: str) -> _Further:
    cells = [f.tokens_told(name) if f is not None else None for f in known]
    values = [float(cell[0] or 0) if cell is not None else 0.0 for cell in cells]
    return _Further(
        f"{name} tokens", color, values, [_figure_text(*cell) if cell is not None else "" for cell in cells]
    )


def _costs(known: Sequence[Figures | None]) -> _Further:
    """Reported costs, and estimates where the agent reported none. `~` marks a sum with estimates, `≥` one in which
    some sessions have neither."""
    values = [(f.cost_pico + f.filled_pico) / PICO if f is not None else 0.0 for f in known]
    texts = ["" if f is None else _cost_text(f, value) for f, value in zip(known, values, strict=True)]
    return _Further("cost", _COST, values, texts)


def _cost_text(figures: Figures, cost: float) -> str:
    if not figures.costed and not figures.filled_pico:
        return "?"
    bound = "≥" if figures.silent.get("cost_usd", 0) > figures.filled else ""
    return f"{bound}{'~' if figures.filled_pico else ''}{_dollars(cost, 0)}"


def _with_gaps(groups: Sequence[tuple[str, Figures]], by: Dimension) -> Sequence[tuple[str, Figures | None]]:
    """Groups by time, with the days, weeks or months between them that have no session."""
    known = dict(groups)
    days = sorted(day for name in known if (day := _day_of(name)) is not None) if by in _DATES else []
    if len(days) < 2:
        return groups
    first = max(days[0], days[-1] - timedelta(days=MOST_DAYS))
    every = (first + timedelta(days=n) for n in range((days[-1] - first).days + 1))
    names = dict.fromkeys([*(name for name in known if _day_of(name) is None), *(dated_name(by, day) for day in every)])
    return [(name, known.get(name)) for name in names]


def _day_of(name: str) -> date | None:
    """The first day of a group; None for a group that is no day, week or month."""
    for text in (name, f"{name}-01", f"{name}-1"):
        try:
            return date.fromisoformat(text)
        except ValueError:
            continue
    return None
