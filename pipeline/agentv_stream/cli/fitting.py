"""Tables of figures that fit the terminal: numbers are never cut; if there is no room, columns are left out."""

from collections.abc import Sequence
from typing import TextIO


def print_fitting(
    file: TextIO, titles: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[str] | None, spare: Sequence[str]
) -> None:
    """Prints rows below titles, the first column left-aligned. `last` is a row of sums.

    `spare` are titles of columns that can be left out, in that order. Raises: OSError.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file, highlight=False, width=None if file.isatty() else 160)
    table = Table()
    for gap, missing in ((2, 0), *((1, n) for n in range(len(spare) + 1))):
        table = Table(
            box=None,
            pad_edge=False,
            header_style="bold",
            show_footer=last is not None,
            padding=(0, gap - 1, 0, 1),
        )
        shown = [i for i, title in enumerate(titles) if title not in spare[:missing]]
        for i in shown:
            footer = last[i] if last is not None else ""
            table.add_column(
                titles[i], footer, justify="right" if i else "left", no_wrap=i > 0, min_width=0 if i else 8
            )
        for row in rows:
            table.add_row(*(Text(row[i]) for i in shown))
        if Console(width=10_000, height=1).measure(table).maximum <= console.width:
            break
    console.print(table)
