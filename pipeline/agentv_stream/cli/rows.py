"""Rows of a query to standard output: a table, JSON lines, CSV."""

import csv
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from agentv_stages.visible import visible

Rows = Sequence[tuple[Any, ...]]


def as_json(names: Sequence[str], rows: Rows) -> None:
    """One object per row; of columns of one name the second becomes `name_2`."""
    encode = msgspec.json.Encoder(enc_hook=str, decimal_format="number").encode
    write = sys.stdout.buffer.write
    keys = _apart(names)
    for row in rows:
        write(encode(dict(zip(keys, row, strict=True))) + b"\n")
    sys.stdout.flush()


def as_csv(names: Sequence[str], rows: Rows) -> None:
    """With a header; lists as JSON."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_plain(value) for value in row])
    sys.stdout.flush()


def as_table(names: Sequence[str], rows: Rows, limit: int) -> None:
    """For people; what was cut is told. Text from logs cannot act on the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(names):
        numbers = any(isinstance(row[i], (int, float)) and not isinstance(row[i], bool) for row in rows[:50])
        table.add_column(visible(name, 60), justify="right" if numbers else "left")
    shown = rows[:limit] if limit else rows
    for row in shown:
        table.add_row(*(Text(visible(_shown(value), 200)) for value in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(table)
    if len(shown) < len(rows):
        sys.stderr.write(f"{len(shown):,} of {len(rows):,} rows; --limit 0 shows all\n")


def _apart(names: Sequence[str]) -> list[str]:
    """The names, each once."""
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
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.1f}"
    return str(_plain(value))
