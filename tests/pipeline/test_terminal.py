"""Commands in a terminal: nothing that counts is cut, however narrow it is."""

import re
import sys
from pathlib import Path

import pytest

from agentv_stream.cli import ABOUT, COMMANDS
from support.consuming import SESSION, STREAM, run
from support.decoding import FIXTURES

if sys.platform == "win32":
    pytest.skip("terminals are Unix", allow_module_level=True)

from support.terminal import in_terminal

EXAMPLES = sorted((FIXTURES.parents[1] / "examples").glob("*.jsonl"))


@pytest.mark.parametrize("columns", [60, 70, 80, 120])
def test_figures_are_never_cut(tmp_path: Path, columns: int) -> None:
    lines = in_terminal(tmp_path, columns, "stats", *EXAMPLES)
    table = [line for line in lines if line.startswith(("provider", "claude", "codex", "gemini", "total"))]
    assert len(table) == 5
    assert not [line for line in lines if "…" in line]
    assert max(map(len, table)) <= columns
    for name in ("calls", "tokens in", "tokens out", "cost $"):
        assert name in table[0]
    assert "308,600" in table[-1]
    assert ("cached" in table[0]) is (columns >= 120)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_list_of_commands_says_what_each_does_in_whole_sentences(tmp_path: Path, columns: int) -> None:
    lines = in_terminal(tmp_path, columns, "--help")
    listed = lines[lines.index("Commands:") + 1 : lines.index("  First steps:")]
    assert {line.split()[0]: line.split(maxsplit=1)[1] for line in listed} == ABOUT
    assert max(map(len, lines)) <= columns
    assert set(ABOUT) == set(COMMANDS)
    assert not [line for line in lines if "..." in line.replace("[ARGS]...", "")]


@pytest.mark.parametrize("command", ["faults", "cursors"])
def test_what_subcommands_do_is_told_in_whole_sentences(tmp_path: Path, command: str) -> None:
    assert not [line for line in in_terminal(tmp_path, 80, command, "--help") if "..." in line.replace("[ARGS]...", "")]


@pytest.mark.parametrize("columns", [60, 80])
def test_a_narrow_list_of_sessions_shows_the_prompt(tmp_path: Path, columns: int) -> None:
    lines = in_terminal(tmp_path, columns, "sessions", "--root", f"claude={SESSION.parent}")
    assert lines[0].split() == ["session", "agent", "age", "cost", "$", "project", "prompt"]
    assert all(re.search(r" \d+\w ✓ +(~?\d+\.\d\d|\?) ", line) for line in lines[1:] if "claude" in line)
    assert any(line.endswith("fix add") for line in lines)
    assert max(map(len, lines)) <= columns  # the titles, too


def test_a_narrow_table_of_tools_leaves_out_where_they_were_seen(tmp_path: Path) -> None:
    narrow, wide = (in_terminal(tmp_path, columns, "tools", "--provider", "pi") for columns in (90, 200))
    assert "seen in" in wide[1]
    assert "seen in" not in narrow[1]
    assert len(narrow) == len(wide)


def test_texts_are_broken_between_words(tmp_path: Path) -> None:
    lines = in_terminal(tmp_path, 60, "show", next(path for path in EXAMPLES if path.name == "codex.jsonl"))
    assert "    `slug()` dropped letters with accents. It keeps them" in lines
    assert max(len(line) for line in lines if not line.startswith("log ")) <= 60  # the log's path stays whole


def test_hints_of_an_empty_terminal_are_lines_to_copy(tmp_path: Path) -> None:
    lines = in_terminal(tmp_path, 80, "consume")
    assert lines[0] == "agentv-stream: no input: standard input is a terminal"
    assert [line for line in lines if line.startswith("  ")] == [
        '  claude -p "…" --output-format stream-json --verbose | agentv-stream consume',
        '  codex exec --json "…" | agentv-stream consume',
        '  gemini -p "…" -o stream-json | agentv-stream consume',
    ]


def test_figures_of_nothing_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("words\n")
    lines = in_terminal(tmp_path, 120, "stats", "plain.txt")
    assert lines[-1].startswith("agentv-stream: ")
    assert not [line for line in lines if "tokens in" in line]


@pytest.mark.parametrize("how", ["run", "consume"])
def test_a_verdict_that_falls_while_the_agent_works_takes_the_place_of_the_live_line(tmp_path: Path, how: str) -> None:
    log = next(path for path in EXAMPLES if path.name == "codex.jsonl")
    spec = tmp_path / "spec.yaml"
    spec.write_text('assertions: [{type: forbid, calls: ["Read(*)"]}]\n')
    source = [log] if how == "consume" else ["--", sys.executable, EXAMPLES[0].parent / "replay.py", log]
    lines = in_terminal(tmp_path, 120, how, "--live", "--check", spec, *source)
    assert [line for line in lines if line.startswith("agentv-stream: check spec: VIOLATED, decided")]


def test_the_live_line_of_run_is_gone_at_the_end(tmp_path: Path) -> None:
    lines = in_terminal(tmp_path, 120, "run", "--", sys.executable, EXAMPLES[0].parent / "replay.py", EXAMPLES[0])
    assert [line.split()[0] for line in lines] == ["status", "transcript", "turns", "agentv-stream:"]


@pytest.mark.parametrize(("columns", "named"), [(80, 0), (100, 2), (120, 4)])
def test_the_last_line_of_consume_names_as_many_tools_as_fit(tmp_path: Path, columns: int, named: int) -> None:
    line = in_terminal(tmp_path, columns, "consume", EXAMPLES[0], "--out", "o")[-1]
    assert line.startswith("turns 8, calls 11")
    assert line.endswith("first edit turn 5, tokens in 200,080 out 1,312, $0.0930")
    assert len(line) <= columns
    assert line.partition("(")[2].partition(")")[0].count(" 2") == named


def test_no_number_of_the_last_lines_is_broken(tmp_path: Path) -> None:
    *_, first, second = in_terminal(tmp_path, 60, "consume", EXAMPLES[0], "--out", "o")
    assert f"{first} {second}" == "turns 8, calls 11, first edit turn 5, tokens in 200,080 out 1,312, $0.0930"
    assert max(len(first), len(second)) <= 60


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats", "log.jsonl", "--by", "tool", "--json"),
        ("consume", "log.jsonl", "-q", "--stats", "-"),
        ("consume", "log.jsonl", "-q", "--transcript", "-"),
        ("tail", "log.jsonl", "--once", "--events", "--no-cursors", "-q"),
        ("sessions", "--root", ".", "--json"),
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_json_in_a_terminal_cannot_act_either(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """U+009B begins a sequence as ESC [ does, and JSON may hold it as it is."""
    acting = "\x9b31m\u202e"
    log = STREAM.read_text(encoding="utf-8").replace('"name":"Read"', f'"name":"Read{acting}"')
    log = log.replace('"model":"', f'"model":"{acting}').replace('"cwd":"', f'"cwd":"{acting}')
    (tmp_path / "log.jsonl").write_text(log, encoding="utf-8")
    shown = "\n".join(in_terminal(tmp_path, 200, *arguments))
    assert "\\u009b31m\\u202e" in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert "\x9b31m" in run(tmp_path, *arguments).out.decode()  # a program gets what there is
