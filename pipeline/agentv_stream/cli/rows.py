"""Writes rows of a query to standard output: as a table, JSON lines, CSV."""

import csv
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from agentv_stages.model.visible import visible

READABLE = 12  # minimum width of a long value in a table

Rows = Sequence[tuple[Any, ...]]


def as_json(names: Sequence[str], rows: Rows) -> None:
    """One object per row; of columns with the same name the second becomes `name_2`."""
    encode = msgspec.json.Encoder(enc_hook=str, decimal_format="number").encode
    write = sys.stdout.buffer.write
    keys = _distinct(names)
    for row in rows:
        write(encode(dict(zip(keys, row, strict=True))) + b"\n")
    sys.stdout.flush()


def as_csv(names: Sequence[str], rows: Rows) -> None:
    """With a header; lists as JSON. Values are unchanged, except that none can affect a terminal."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    seen = sys.stdout.isatty()
    for row in (names, *rows):
        values = [_plain(value) for value in row]
        writer.writerow([visible(v) if seen and isinstance(v, str) else v for v in values])
    sys.stdout.flush()


def as_table(names: Sequence[str], rows: Rows, limit: int) -> None:
    """For people: a table, or, if its columns would become indistinguishable, a line per value; notes omissions. Text
    from logs cannot affect the terminal."""
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    chosen = rows[:limit] if limit else rows
    titles = [visible(name, 60) for name in names]
    shown = [[visible(_shown(value), 200) for value in row] for row in chosen]
    widest = [max(len(title), *(len(row[i]) for row in shown), 0) for i, title in enumerate(titles)]
    if sum(min(width, READABLE) + 1 for width in widest) > console.width:
        _print_records(console, titles, shown)
    else:
        numbers = [
            any(isinstance(row[i], (int, float)) and not isinstance(row[i], bool) for row in rows[:50])
            for i in range(len(names))
        ]
        _print_table(console, titles, numbers, shown)
    if not rows:
        sys.stderr.write("no rows\n")
    elif len(shown) < len(rows):
        sys.stderr.write(f"{len(shown):,} of {len(rows):,} rows; --limit 0 shows all\n")


def _print_table(console: Any, titles: Sequence[str], numbers: Sequence[bool], shown: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, number in zip(titles, numbers, strict=True):
        table.add_column(Text(title), justify="right" if number else "left")
    for row in shown:
        table.add_row(*map(Text, row))
    console.print(table)


def _print_records(console: Any, titles: Sequence[str], shown: Sequence[Sequence[str]]) -> None:
    """For wide rows, as of `SELECT *`: name and value on a line, an empty line between rows, nulls left out."""
    from rich.text import Text

    width = max(map(len, titles), default=0) + 2
    for i, row in enumerate(shown):
        if i:
            console.print()
        for title, value in zip(titles, row, strict=True):
            if value:
                console.print(Text.assemble((title.ljust(width), "bold"), value), soft_wrap=True)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, made unique."""
    keys: dict[str, None] = {}
    for name in names:
        key, number = name, 2
        while key in keys or (key != name and key in names):
            key, number = f"{name}_{number}", number + 1
        keys[key] = None
    return list(keys)


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple, dict)):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return value


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.1f}".removesuffix(".0")
    return str(_plain(value))
