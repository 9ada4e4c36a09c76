"""A report for a terminal. In: its Markdown. Out: the same Markdown, its columns aligned, its paragraphs wrapped."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from agentv_stages.model.visible import columns, padded

_CELL_END = re.compile(r"(?<!\\)\|")


def fitted(text: str, width: int) -> str:
    """Markdown for a terminal of `width` columns. A table that would be wider stays as it is."""
    out: list[str] = []
    for is_table, group in groupby(text.splitlines(), lambda line: line.startswith("|")):
        lines = list(group)
        out += _table(lines, width) if is_table else _paragraphs(lines, width)
    return "\n".join(out) + "\n"


def _paragraphs(lines: Sequence[str], width: int) -> Iterator[str]:
    for line in lines:
        yield from textwrap.wrap(line, width, break_on_hyphens=False, break_long_words=False) or [""]


def _table(lines: Sequence[str], width: int) -> Sequence[str]:
    rows = [[cell.strip() for cell in _CELL_END.split(line)[1:-1]] for line in lines]
    if len({len(row) for row in rows}) != 1:
        return lines
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 3 * len(widths) + 1 > width:
        return lines
    right = [cell.endswith("-:") for cell in rows[1]]
    out = ["| " + " | ".join(map(padded, row, widths, right)) + " |" for row in rows]
    out[1] = (
        "|" + "|".join("-" * (most + 1) + (":" if at else "-") for most, at in zip(widths, right, strict=True)) + "|"
    )
    return out
