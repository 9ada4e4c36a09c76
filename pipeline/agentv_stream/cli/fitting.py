"""Tables of figures that fit the terminal: if there is no room, columns are left out, then large counts are rounded."""

import re
import shutil
from collections.abc import Sequence
from typing import TextIO

from agentv_stages.model.visible import columns, padded
from agentv_stream.colour import palette
from agentv_stream.units import count_text

_LEAST = 8  # width of the first column
_LARGE = re.compile(r"\b(?:\d{1,3}(?:,\d{3}){2,}|\d{2,3},\d{3})\b(?!\.)")  # from 10,000 on; no amounts of money
Row = Sequence[str]


def print_fitting(file: TextIO, titles: Row, rows: Sequence[Row], last: Row | None, spare: Row) -> None:
    """Prints rows below titles, the first column left-aligned. `last` is a row of sums.

    `spare` are titles of columns that can be left out, in that order. If that does not help, large counts are rounded;
    then the first column is cut. A pipe gets everything as it is. Raises: OSError.
    """
    room = shutil.get_terminal_size().columns if file.isatty() else None
    exact = [titles, *rows, *([last] if last is not None else [])]
    rounded = [titles, *([line[0], *map(_rounded, line[1:])] for line in exact[1:])]
    lines, widths, shown, gap, left = exact, _widths(exact), [*range(len(titles))], 2, 0
    every = range(len(spare) + 1)
    for lines, gap, missing in ((exact, 2, 0), *((exact, 1, n) for n in every), *((rounded, 1, n) for n in every)):
        widths = _widths(lines)
        shown = [i for i, title in enumerate(titles) if title not in spare[:missing]]
        left = widths[0] if room is None else room - sum(widths[i] + gap for i in shown[1:])
        if widths[0] <= left:
            break
    first = max(min(widths[0], left), _LEAST)
    paint = palette(file)
    out: list[str] = []
    for n, line in enumerate(lines):
        numbers = [padded(line[i], widths[i] + gap, right=True) for i in shown[1:]]
        text = "".join([padded(line[0], first), *numbers])
        whole = not n or (last is not None and n == len(lines) - 1)
        out.append((paint("bold", text) if whole else text) + "\n")
    file.write("".join(out))


def _widths(lines: Sequence[Row]) -> list[int]:
    return [max(map(columns, column)) for column in zip(*lines, strict=True)]


def _rounded(cell: str) -> str:
    return _LARGE.sub(lambda found: count_text(int(found[0].replace(",", ""))), cell)
