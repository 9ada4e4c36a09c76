"""The rows of `stats`: a summary's groups and the groups within them, sorted and limited, as a table, JSON or CSV."""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from agentv_stages.figures.counters import ToolSums
from agentv_stages.figures.merge import UNKNOWN as UNKNOWN
from agentv_stages.figures.merge import Figures, Summary
from agentv_stages.model.times import parse_iso
from agentv_stages.model.tokens import FIELDS, PICO
from agentv_stages.model.visible import visible
from agentv_stream.bulk.grouping import TIMES, Dimension
from agentv_stream.cli.fitting import print_fitting
from agentv_stream.cli.importing import number, tokens_cell
from agentv_stream.discovery.period import Zone
from agentv_stream.errors import UsageError
from agentv_stream.names import suggestion

AnyFigures: TypeAlias = Figures | ToolSums
Groups: TypeAlias = Mapping[str, AnyFigures]
Cells: TypeAlias = list[str]
MOST_NAME, MOST_CELL = 60, 4096  # columns of a name in a terminal, in a pipe


class Row(NamedTuple):
    """A group (one name) or a group within one (two names)."""

    names: tuple[str, ...]
    figures: AnyFigures


class Order(NamedTuple):
    """How groups are sorted (None: times by name, others by calls), and how many are shown (0: all)."""

    column: str | None = None
    limit: int = 0


_TOOL_ORDERS: dict[str, Callable[[ToolSums], float]] = {"calls": lambda t: t.calls, "failed": lambda t: t.errors}
_ORDERS: dict[str, Callable[[Figures], float]] = {
    "sessions": lambda f: f.sessions,
    "turns": lambda f: f.turns,
    "calls": lambda f: f.tool_calls,
    "failed": lambda f: f.failed_calls,
    "edits": lambda f: f.edits,
    "input": lambda f: f.tokens.sums.get("input", 0),
    "output": lambda f: f.tokens.sums.get("output", 0),
    "cost": lambda f: f.cost_pico + f.filled_pico,
}


def check_order(order: Order, by: Sequence[Dimension]) -> None:
    """Raises: UsageError for a column that these rows do not have."""
    known = ["name", *(_TOOL_ORDERS if "tool" in by else _ORDERS)]
    if order.column is not None and order.column not in known:
        raise UsageError(f"--sort: unknown column {order.column!r}{suggestion(order.column, known, known)}")


def grouped(summary: Summary, by: Sequence[Dimension]) -> tuple[Groups, Mapping[str, Groups]]:
    """The groups, and the groups within each. Tools are found in the figures of the other grouping."""
    if by[0] == "tool" and len(by) == 1:
        return summary.total().tools, {}
    if "tool" not in by:
        return summary.groups, summary.below
    inner = {name: figures.tools for name, figures in summary.groups.items()}
    if by[0] == "tool":
        turned: dict[str, dict[str, ToolSums]] = {}
        for name, tools in inner.items():
            for tool, sums in tools.items():
                turned.setdefault(tool, {})[name] = sums
        inner = turned
    inner = {name: tools for name, tools in inner.items() if tools}
    return {name: _sum(tools.values()) for name, tools in inner.items()}, inner


def _sum(tools: Iterable[ToolSums]) -> ToolSums:
    out = ToolSums()
    for sums in tools:
        out.merge(sums)
    return out


def rows_of(summary: Summary, by: Sequence[Dimension], order: Order) -> tuple[list[Row], int]:
    """The rows in order, those of a group below it; and how many groups are left out."""
    groups, below = grouped(summary, by)
    shown = _ordered(groups, by[0], order)
    rows: list[Row] = []
    for name, figures in shown:
        rows.append(Row((name,), figures))
        inner = below.get(name)
        if inner is not None:
            rows += (Row((name, second), figures) for second, figures in _ordered(inner, by[1], order))
    return rows, len(groups) - len(shown)


def _ordered(groups: Groups, dimension: Dimension, order: Order) -> list[tuple[str, AnyFigures]]:
    named = sorted(groups.items(), key=lambda item: (item[0] == UNKNOWN, item[0]))
    if order.column == "name" or (order.column is None and dimension in TIMES):
        if not order.limit:
            return named
        return named[-order.limit :] if dimension in TIMES else named[: order.limit]
    named.sort(key=lambda item: -_value(item[1], order.column or "calls"))
    return named[: order.limit] if order.limit else named


def _value(figures: AnyFigures, column: str) -> float:
    return _TOOL_ORDERS[column](figures) if isinstance(figures, ToolSums) else _ORDERS[column](figures)


def label(dimension: Dimension, name: str, zone: Zone) -> str:
    """A group's name for people: hours in their zone."""
    time_ms = parse_iso(name) if dimension == "hour" and name != UNKNOWN else None
    return name if time_ms is None else zone.at(time_ms).isoformat(" ", timespec="minutes")[:16]


def print_table(summary: Summary, by: Sequence[Dimension], order: Order, zone: Zone) -> None:
    """Writes the table to standard output. Raises: OSError."""
    rows, left_out = rows_of(summary, by, order)
    if not rows:
        return
    cells = cast("Callable[[Any], Cells]", _tool_cells if "tool" in by else _cells)
    most = MOST_NAME if sys.stdout.isatty() else MOST_CELL
    lines = [["  " * (len(row.names) - 1) + visible(label(by[len(row.names) - 1], row.names[-1], zone), most),
              *cells(row.figures)] for row in rows]  # fmt: skip
    groups = sum(len(row.names) == 1 for row in rows) + left_out
    head = ", ".join(by)
    if "tool" in by:
        titles: tuple[str, ...] = (head, "calls", "failed", "%", "p50 ms", "p95 ms", "MB in", "MB out")
        last = ["total", *_tool_cells(_sum(summary.total().tools.values()))] if len(by) > 1 and groups > 1 else None
        print_fitting(sys.stdout, titles, lines, last, ("MB in", "MB out", "p50 ms"))
    else:
        titles = (head, "sessions", "turns", "calls", "failed", "edits", "tokens in", "cached", "tokens out", "cost $")
        last = ["total", *_cells(summary.total())] if groups > 1 else None
        print_fitting(sys.stdout, titles, lines, last, ("cached", "edits", "failed", "turns", "sessions"))
    if left_out:
        sys.stdout.write(f"… {left_out:,} more; the total is of all\n")


def _cells(figures: Figures) -> Cells:
    counts = (figures.sessions, figures.turns, figures.tool_calls, figures.failed_calls, figures.edits)
    tokens = (tokens_cell(figures, name) for name in ("input", "cached", "output"))
    return [*(number(count) for count in counts), *tokens, cost_cell(figures)]


def cost_cell(figures: Figures) -> str:
    """The cost: what agents reported, and `~` with an estimate; `≥` if some sessions have neither."""
    if not figures.costed and not figures.filled and not figures.filled_pico:
        return "?"
    estimated = f"~{_dollars(figures.filled_pico)}"
    if not figures.costed:
        return f"{_bound(figures)}{estimated}"
    total = _dollars(figures.cost_pico + figures.filled_pico)
    return f"{_bound(figures)}{total} ({estimated})" if figures.filled_pico else f"{_bound(figures)}{total}"


def _dollars(cost_pico: int) -> str:
    return f"{cost_pico / PICO:,.2f}" if not 0 < cost_pico < PICO // 200 else "<0.01"


def _bound(figures: Figures) -> str:
    """`≥` where some sessions neither report a cost nor have an estimate."""
    return "≥" if figures.silent.get("cost_usd", 0) > figures.filled else ""


def _tool_cells(tool: ToolSums) -> Cells:
    p50, p95 = tool.durations.quantile(0.5), tool.durations.quantile(0.95)
    return [
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


def groups_json(summary: Summary, by: Sequence[Dimension], order: Order) -> dict[str, Any]:
    """The groups as JSON; with two groupings each has `groups` of its own."""
    out: dict[str, Any] = {}
    for row in rows_of(summary, by, order)[0]:
        if len(row.names) == 1:
            out[row.names[0]] = row.figures.as_json() | ({"groups": {}} if len(by) > 1 else {})
        else:
            out[row.names[0]]["groups"][row.names[1]] = row.figures.as_json()
    return out


_COLUMNS = ("sessions", "turns", "tool_calls", "failed_calls", "edits")
_MONEY = ("web_searches", "cost_usd", "unreported_cost_usd")


def rows_csv(summary: Summary, by: Sequence[Dimension], order: Order) -> bytes:
    """The rows as CSV, those of the smallest groups alone: so the columns add up. Unknown figures are empty."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    titles: list[str] = []
    for row in rows_of(summary, by, order)[0]:
        if len(row.names) == len(by):
            values = _values(row.figures)
            if not titles:
                titles = [*by, *values]
                lines.writerow(titles)
            lines.writerow([*map(safe_cell, row.names), *("" if v is None else v for v in values.values())])
    return out.getvalue().encode()


def _values(figures: AnyFigures) -> dict[str, Any]:
    shown = figures.as_json()
    if isinstance(figures, ToolSums):
        return shown
    shown["failed_calls"] = figures.failed_calls
    tokens = {f"{name}_tokens": shown["tokens"].get(name) for name in (*FIELDS, "output_at_least")}
    return {name: shown.get(name) for name in _COLUMNS} | tokens | {name: shown.get(name) for name in _MONEY}


def safe_cell(text: str) -> str:
    """A text from a log as a cell: spreadsheets run what begins like a formula."""
    shown = visible(text, MOST_CELL)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown
