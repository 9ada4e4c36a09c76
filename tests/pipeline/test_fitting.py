"""Tables of figures in terminals of any width: no number is cut."""

import io
import re

import pytest

from agentv_stream.cli.fitting import print_fitting

TITLES = ("provider", "sessions", "turns", "calls", "tokens in")
ROWS = [["claude", "1,234", "34,567", "120,004", "3,819,665,344"], ["codex", "1", "2", "3", "?"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (100, TITLES),
        (56, TITLES),
        (44, ("provider", "sessions", "calls", "tokens in")),
        (32, ("provider", "calls", "tokens in")),
    ],
)
def test_columns_go_before_numbers_are_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int, shown: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Terminal()
    print_fitting(out, TITLES, ROWS, None, ("turns", "sessions"))
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert all(len(line) <= columns for line in text.splitlines())
    assert "…" not in text
    for title, cell in zip(TITLES, ROWS[0], strict=True):
        assert (title in text) == (title in shown)
        assert (cell in text) == (title in shown)


def test_a_row_of_sums_stands_last() -> None:
    out = io.StringIO()
    print_fitting(out, TITLES, ROWS, ["total", "1,235", "34,569", "120,007", "3,819,665,344"], ())
    assert out.getvalue().splitlines()[-1].split() == ["total", "1,235", "34,569", "120,007", "3,819,665,344"]
