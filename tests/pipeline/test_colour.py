"""Colour: on a terminal, or where it is forced; it changes nothing else, and never comes with text of a log."""

import io
import sys
from pathlib import Path

import pytest

from agentv_stages.model.visible import columns
from agentv_stream.colour import Palette, markdown_in_colour, outline_in_colour, palette, verdicts_in_colour
from agentv_stream.reports.report_lines import fitted
from support.consuming import STREAM, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "on"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_when_there_is_colour(
    stream: io.StringIO, variables: dict[str, str], on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert palette(stream, variables).on is on


def test_only_the_first_word_of_a_line_is_a_verdict() -> None:
    text = "PASS  1.00  case\n  FAIL x PASS\nfailed FAIL\nERROR-like\nwarning: no\n"
    coloured = verdicts_in_colour(text, Palette(on=True))
    assert coloured == (
        "\x1b[32mPASS\x1b[0m  1.00  case\n  \x1b[31mFAIL\x1b[0m x PASS\nfailed FAIL\nERROR-like\n"
        "\x1b[33mwarning:\x1b[0m no\n"
    )
    assert verdicts_in_colour(text, Palette()) == text


COMMANDS = [
    ("sessions", "--root", f"claude={STREAM.parent}"),
    ("stats", STREAM),
    ("show", STREAM, "--no-pager"),
    ("search", "a", STREAM),
    ("consume", STREAM),
    ("show", "gone.jsonl"),
    ("tools", "--provider", "claude"),
    ("providers", "--provider", "claude"),
    ("validate", EXAMPLES / "spec.yaml"),
    ("schema",),
]
TABLES = [command for command in COMMANDS if command[0] not in ("consume", "validate") and "gone.jsonl" not in command]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are Unix")
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: " ".join(str(words[0]).split()))
def test_commands_have_colour_on_a_terminal_and_none_in_a_pipe(
    arguments: tuple[str | Path, ...], tmp_path: Path
) -> None:
    from support.terminal import in_terminal

    assert "\x1b[" in "".join(in_terminal(tmp_path, 100, *arguments, raw=True))
    assert "\x1b" not in "".join(in_terminal(tmp_path, 100, *arguments, raw=True, NO_COLOR="1", TERM="dumb"))
    piped = run(tmp_path, *arguments, NO_COLOR="", FORCE_COLOR="")
    assert b"\x1b" not in piped.out + piped.err.encode()
    forced = run(tmp_path, *arguments, NO_COLOR="", FORCE_COLOR="1")
    assert b"\x1b[" in forced.out + forced.err.encode()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are Unix")
@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("arguments", TABLES, ids=lambda words: " ".join(str(words[0]).split()))
def test_lines_fit_the_terminal(arguments: tuple[str | Path, ...], width: int, tmp_path: Path) -> None:
    from support.terminal import in_terminal

    shown = in_terminal(tmp_path, width, *arguments)
    lines = [line for line in shown if "agentv-stream show" not in line]  # a command to be copied is whole
    assert lines
    assert max(map(columns, lines)) <= width


def test_headings_are_bold_and_labels_dim() -> None:
    outline = outline_in_colour("Claude\n  stream\n    end: result: x\n", Palette(on=True))
    assert outline == "\x1b[1mClaude\x1b[0m\n  stream\n    \x1b[2mend:\x1b[0m result: x\n"
    assert markdown_in_colour("# Report\n- #1\n", Palette(on=True)) == "\x1b[1m# Report\x1b[0m\n- #1\n"
    assert markdown_in_colour("# Report\n", Palette()) == "# Report\n"


def test_tables_of_a_report_are_aligned_where_they_fit() -> None:
    report = "# R\n\nOne two three.\n\n| Name | Runs |\n|---|---:|\n| a\\|b | 1 |\n| 日本 | 1,000 |\n"
    lines = fitted(report, 20).splitlines()
    assert lines[4:] == ["| Name |  Runs |", "|------|------:|", "| a\\|b |     1 |", "| 日本 | 1,000 |"]
    assert fitted(report, 10).splitlines()[2:] == ["One two", "three.", "", *report.splitlines()[4:]]
