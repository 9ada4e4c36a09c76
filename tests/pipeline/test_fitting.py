"""Tables of figures in terminals of any width: no number is cut; large ones are rounded before a name is cut."""

import io
import re

import pytest

from agentv_stages.model.visible import columns
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


def test_where_nothing_else_helps_the_first_column_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = Terminal()
    name = "日本語-a-project-with-a-very-long-name"
    print_fitting(out, TITLES, [[name, *ROWS[0][1:]]], None, ("turns", "sessions", "calls"))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert lines[1] == "日本語-a-project-with-a-very-…      3.8G"
    assert [columns(line) for line in lines] == [40, 40]


def test_counts_are_rounded_before_a_name_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    titles = ("hour", "calls", "tokens in", "cost $")
    monkeypatch.setenv("COLUMNS", "44")
    out = Terminal()
    print_fitting(out, titles, [["2026-11-27 20:00", "1,234", "≥105,050,470", "~1,234.56"]], None, ())
    assert out.getvalue().splitlines()[1] == "2026-11-27 20:00 1,234     ≥105M ~1,234.56"


def test_a_pipe_gets_whole_names_and_counts() -> None:
    out = io.StringIO()
    print_fitting(out, TITLES, [["p" * 300, *ROWS[0][1:]]], None, ("turns", "sessions", "calls"))
    assert out.getvalue().splitlines()[1].split() == ["p" * 300, *ROWS[0][1:]]


def test_columns_stand_below_each_other_whatever_their_characters_take() -> None:
    out = io.StringIO()
    print_fitting(out, TITLES, [["日本語", *ROWS[0][1:]], ["e\u0301", *ROWS[1][1:]]], None, ())
    assert len({columns(line) for line in out.getvalue().splitlines()}) == 1
    assert "\x1b" not in out.getvalue()
