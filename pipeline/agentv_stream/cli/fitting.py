"""Tables of figures that fit the terminal: numbers are never cut; if there is no room, columns are left out."""

import shutil
from collections.abc import Sequence
from typing import TextIO

from agentv_stages.model.visible import columns, padded
from agentv_stream.colour import palette

_PIPED = 160  # columns where there is no terminal
_LEAST = 8  # width of the first column
Row = Sequence[str]


def print_fitting(file: TextIO, titles: Row, rows: Sequence[Row], last: Row | None, spare: Row) -> None:
    """Prints rows below titles, the first column left-aligned. `last` is a row of sums.

    `spare` are titles of columns that can be left out, in that order; then the first column is cut. Raises: OSError.
    """
    room = shutil.get_terminal_size().columns if file.isatty() else _PIPED
    lines = [titles, *rows, *([last] if last is not None else [])]
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    shown, gap, left = [*range(len(titles))], 2, room
    for gap, missing in ((2, 0), *((1, n) for n in range(len(spare) + 1))):
        shown = [i for i, title in enumerate(titles) if title not in spare[:missing]]
        left = room - sum(widths[i] + gap for i in shown[1:])
        if widths[0] <= left:
            break
    first = max(min(widths[0], left), _LEAST)
    paint = palette(file)
    out: list[str] = []
    for line in lines:
        numbers = [" " * (widths[i] - columns(line[i]) + gap) + line[i] for i in shown[1:]]
        text = "".join([padded(line[0], first), *numbers])
        out.append((paint("bold", text) if line is titles or line is last else text) + "\n")
    file.write("".join(out))
