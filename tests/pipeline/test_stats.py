"""`stats` and `import` as commands: tables, JSON, plots, exit codes."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentv_stages.figures.merge import Figures, Summary
from agentv_stream import summarize, summarize_groups
from agentv_stream.bulk.grouping import DIMENSIONS
from agentv_stream.cli import build
from agentv_stream.cli.importing import megabytes
from support.consuming import SESSION
from support.made_sessions import claude_session, make_folder

EXAMPLES = Path(__file__).parents[2] / "examples"


GROUPS = {
    "all": 1,
    "machine": 1,
    "provider": 1,
    "model": 1,
    "tool": 4,
    "session": 12,
    "branch": 1,
    "week": 2,
    "month": 1,
}


def _run(*arguments: str | Path, given: str | None = None) -> Any:
    return CliRunner().invoke(build(["stats", "import"]), [str(a) for a in arguments], input=given)


@pytest.mark.parametrize("by", DIMENSIONS)
def test_every_grouping_comes_to_the_same_total(tmp_path: Path, by: str) -> None:
    paths = make_folder(tmp_path)
    told = _run("stats", tmp_path, "--by", by, "--json", "-", "--engine", "serial", "--machine", "build-7")
    assert told.exit_code == 0
    figures = json.loads(told.stdout)
    calls = sum(summarize(path).tool_use_summary["total_tool_calls"] for path in paths)
    assert figures["total"]["tool_calls"] == calls
    key = "calls" if by == "tool" else "tool_calls"
    assert sum(group[key] for group in figures["groups"].values()) == calls
    assert len(figures["groups"]) == GROUPS.get(by, 3)


def test_sums_are_those_of_the_single_sessions(tmp_path: Path) -> None:
    paths = make_folder(tmp_path)
    told = _run("stats", tmp_path, "--json", "-", "--engine", "serial")
    total = json.loads(told.stdout)["total"]
    results = [summarize(path) for path in paths]
    assert total["tokens"]["input"] == sum(result.tokens["input"] for result in results)
    assert total["turns"] == sum(result.tool_use_summary["turns"] for result in results)
    for outcome in ("ok", "error"):
        assert total["by_outcome"][outcome] == sum(r.tool_use_summary["by_outcome"][outcome] for r in results)
    assert total["by_status"] == dict(Counter(result.status for result in results))


def test_a_sum_over_sessions_that_do_not_all_tell_a_figure_is_marked(tmp_path: Path) -> None:
    """Of three agents one told its cost, and the total looked like the cost of all three."""
    told = _run("stats", EXAMPLES, "--engine", "serial", "--no-prices")
    rows = {line.split()[0]: line.split() for line in told.stdout.splitlines()}
    assert [rows[name][-1] for name in ("claude", "codex", "total")] == ["0.09", "?", "≥0.09"]
    assert not any("≥" in cell for cell in rows["total"][:-1])
    total = json.loads(_run("stats", EXAMPLES, "--engine", "serial", "--no-prices", "--json", "-").stdout)["total"]
    silent = {"cache_write_1h": 3, "cache_write": 2, "cost_usd": 2, "duration_ms": 1, "reasoning": 1}
    assert total["sessions_not_telling"] == silent
    without = (
        (EXAMPLES / "claude.jsonl").read_bytes().replace(b'"input_tokens"', b'"in"').replace(b"inputTokens", b"in")
    )
    (tmp_path / "silent.jsonl").write_bytes(without)
    for command in ("stats", "import"):
        told = _run(command, EXAMPLES, tmp_path / "silent.jsonl", "--engine", "serial", *_nowhere(command, tmp_path))
        assert " ≥200,080 " in told.output, told.output
        assert re.search(r"^total .* ≥308,600 ", told.output, re.MULTILINE), told.output
    assert re.search(r"^Bash .* <0\.1 .*<0\.1$", _run("stats", EXAMPLES, "--by", "tool").output, re.MULTILINE)


def _nowhere(command: str, folder: Path) -> list[Path | str]:
    return ["--jsonl", folder / "out.jsonl"] if command == "import" else []


def test_a_folder_counts_what_a_fork_copied_once(tmp_path: Path) -> None:
    """What the parent did stands in its log; the fork's log repeats it, marked, before what is its own."""
    whole = SESSION.read_bytes()
    (tmp_path / "parent.jsonl").write_bytes(whole)
    alone = summarize_groups([tmp_path], engine="serial").summary.groups["all"]
    mark = b'"forkedFrom":{"sessionId":"p","messageUuid":"m"},'
    copied = b"".join(b"{" + mark + line[1:] for line in whole.splitlines(keepends=True) if b'"uuid"' in line)
    message = {"id": "msg_own", "model": "m", "content": "new", "usage": {"input_tokens": 5, "output_tokens": 1}}
    own = {
        "type": "assistant",
        "uuid": "own",
        "sessionId": "fork",
        "timestamp": "2026-03-02T10:00:00Z",
        "message": message,
    }
    (tmp_path / "fork.jsonl").write_bytes(copied + json.dumps(own).encode() + b"\n")
    both = summarize_groups([tmp_path], engine="serial").summary.groups["all"]
    assert (both.sessions, both.turns, both.tool_calls) == (2, alone.turns + 1, alone.tool_calls)
    assert both.tokens.sums["input"] == alone.tokens.sums["input"] + 5


def test_the_table_shows_groups_and_a_total(tmp_path: Path) -> None:
    make_folder(tmp_path)
    told = _run("stats", tmp_path, "--by", "project", "--engine", "serial")
    assert told.exit_code == 0
    assert "/repo/p1" in told.stdout
    assert "total" in told.stdout


@pytest.mark.parametrize("kind", ["svg", "png"])
@pytest.mark.parametrize("by", ["provider", "tool"])
def test_a_plot_is_written(tmp_path: Path, kind: str, by: str) -> None:
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    make_folder(tmp_path / "in", 3)
    place = tmp_path / f"p.{kind}"
    told = _run("stats", tmp_path / "in", "--by", by, "--plot", place, "-q", "--engine", "serial")
    assert told.exit_code == 0, told.output
    assert place.read_bytes()[:5] in (b"<?xml", b"\x89PNG\r")


def test_a_plot_names_each_figure_and_says_where_it_is_a_lower_bound(tmp_path: Path) -> None:
    """A short bar showed nothing, and one of a sum that some sessions do not tell looked whole."""
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    log = EXAMPLES / "claude.jsonl"
    (tmp_path / "silent.jsonl").write_bytes(
        log.read_bytes().replace(b'"input_tokens"', b'"in"').replace(b"inputTokens", b"in")
    )
    place = tmp_path / "p.svg"
    told = _run("stats", EXAMPLES, tmp_path / "silent.jsonl", "--plot", place, "-q", "--engine", "serial")
    assert told.exit_code == 0, told.output
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", place.read_text(encoding="utf-8"))
    assert {"22", "≥200k", "2.6k", "5", "48.2k", "903"} <= set(texts), texts


def test_a_plot_has_a_title_costs_and_gaps_for_days_without_sessions(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    log = (EXAMPLES / "gemini.jsonl").read_text(encoding="utf-8")
    for day in ("02", "05"):
        (tmp_path / f"{day}.jsonl").write_text(log.replace("2026-03-02T", f"2026-03-{day}T"), encoding="utf-8")
    place = tmp_path / "p.svg"
    options = ("--by", "day", "--plot", place, "-q", "--engine", "serial", "--utc", "--no-cache")
    told = _run("stats", tmp_path, EXAMPLES / "claude.jsonl", *options)
    assert told.exit_code == 0, told.output
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", place.read_text(encoding="utf-8"))
    assert [text for text in texts if text.startswith("2026-")] == [f"2026-03-0{n}" for n in (2, 3, 4, 5)]
    assert "Coding agents by day: 3 sessions, 23 tool calls" in texts
    assert {"tool calls", "input tokens", "output tokens", "cost"} <= set(texts)
    assert any(text.startswith(("$0.09", "~$")) for text in texts), texts
    _run("stats", tmp_path, EXAMPLES / "claude.jsonl", *options, "--by", "all", "--no-prices")
    assert "≥$0.09" in re.findall(r"<text[^>]*>([^<]*)</text>", place.read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("error")
def test_letters_that_the_font_does_not_have_are_no_warnings_of_a_library(tmp_path: Path) -> None:
    """Each was told with the line of our code that drew it."""
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    log = (EXAMPLES / "claude.jsonl").read_text(encoding="utf-8").replace("claude-sonnet-4-5-20250929", "日本語👍")
    (tmp_path / "log.jsonl").write_text(log, encoding="utf-8")
    told = _run("stats", tmp_path, "--by", "model", "--plot", tmp_path / "p.png", "-q", "--engine", "serial")
    assert told.exit_code == 0, told.output


def test_the_figures_of_several_machines_add_up(tmp_path: Path) -> None:
    whole = Summary(whole=Figures())
    sessions = {"build-7": make_folder(tmp_path / "a", 3), "build-8": make_folder(tmp_path / "b", 2)}
    for machine, paths in sessions.items():
        found = summarize_groups(list(map(str, paths)), by="machine,provider", machine=machine, engine="serial")
        assert found.summary.groups.keys() == {machine}
        whole.merge(found.summary)
    assert {name: figures.sessions for name, figures in whole.groups.items()} == {"build-7": 3, "build-8": 2}
    assert whole.below["build-8"].keys() == {"claude"} and whole.total().sessions == 5
    nameless = _run("stats", tmp_path / "a", "--by", "machine")
    assert nameless.exit_code == 2 and "--machine NAME" in nameless.output


def test_wrong_words_are_usage_errors(tmp_path: Path) -> None:
    assert _run("stats", tmp_path, "--by", "moon").exit_code == 2
    assert _run("stats", tmp_path, "--plot", "x.bmp").exit_code == 2
    assert _run("stats", tmp_path, "--engine", "quantum").exit_code == 2
    assert _run("import", tmp_path / "nowhere").exit_code == 4


def test_an_empty_folder_is_nothing_to_read(tmp_path: Path) -> None:
    assert _run("stats", tmp_path, "--engine", "serial").exit_code == 3


def test_a_list_on_standard_input_names_sources(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 4)
    given = "\n".join(map(str, paths[:2])) + "\n"
    told = _run("import", "-", "--jsonl", tmp_path / "s.jsonl", "--engine", "serial", "-q", "--json", "-", given=given)
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["done"] == 2
    assert (tmp_path / "s.jsonl").read_bytes().count(b"\n") == 2


def test_a_dry_run_lists_and_writes_nothing(tmp_path: Path) -> None:
    make_folder(tmp_path / "in", 4)
    told = _run("import", tmp_path / "in", "--parquet", tmp_path / "d", "--dry-run")
    assert told.exit_code == 0
    assert told.stdout.count(".jsonl") == 4
    assert not (tmp_path / "d").exists()


def test_a_dry_run_says_what_the_run_then_does(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 4)
    gone = tmp_path / "gone.jsonl"
    command = (
        "import",
        tmp_path / "in",
        gone,
        "--jsonl",
        tmp_path / "in" / "s.jsonl",
        "--engine",
        "serial",
        "--resume",
    )
    for grown in (None, paths[2], None):
        if grown is not None:
            grown.write_bytes(grown.read_bytes() * 2)
        plan, report = tmp_path / "plan.json", tmp_path / "report.json"
        assert _run(*command, "--dry-run", "--json", plan).exit_code == 4
        assert _run(*command, "--json", report).exit_code == 4
        planned, done = json.loads(plan.read_bytes()), json.loads(report.read_bytes())
        assert (planned["found"], len(planned["sources"])) == (done["found"], done["done"])
    told = _run(*command, "--dry-run")
    assert "0 sources, 0 KB, 4 unchanged; nothing was read" in told.stderr
    assert str(gone) in told.stderr
    told = _run(*command, "--dry-run", "--target", "other")
    assert "4 sources" in told.stderr
    assert "the options differ from before" in told.stderr


def test_a_source_that_cannot_be_read_gives_exit_code_4_and_the_rest_is_done(tmp_path: Path) -> None:
    paths = make_folder(tmp_path / "in", 3)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no log\n")
    report = tmp_path / "r.json"
    told = _run("import", *paths, bad, "--jsonl", tmp_path / "s.jsonl", "--json", report, "--engine", "serial")
    assert told.exit_code == 4
    found = json.loads(report.read_bytes())
    assert (found["done"], len(found["failures"])) == (3, 1)
    assert found["by_provider"]["claude"]["sessions"] == 3


def test_without_an_output_transcripts_go_where_consume_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(tmp_path / "in", 2)
    monkeypatch.chdir(tmp_path)
    assert _run("import", tmp_path / "in", "--engine", "serial", "-q").exit_code == 0
    assert len(list((tmp_path / ".agentv" / "logs" / "claude").glob("*.transcript.jsonl"))) == 2


def test_where_nothing_was_found_that_is_told(tmp_path: Path) -> None:
    told = CliRunner().invoke(build(["stats"]), ["stats", str(tmp_path)])
    assert (told.exit_code, told.stdout) == (3, "")
    assert told.stderr == f"agentv-stream: no session was found in {tmp_path}\n"


@pytest.mark.parametrize("command", ["stats", "import"])
def test_why_a_command_fails_is_told_though_it_is_to_be_quiet(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code alone said that something was wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.jsonl").write_bytes(b"hello\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "good.jsonl").write_bytes(claude_session(1, 3))
    for name, code, told in (
        ("x.jsonl", 4, "not a log of a known agent"),
        ("empty", 3, "found"),
        ("good.jsonl", 0, ""),
    ):
        done = _run(command, name, "--engine", "serial", "-q")
        assert (done.exit_code, done.stdout) == (code, "")
        assert told in done.stderr and len(done.stderr.splitlines()) == bool(code)


@pytest.mark.parametrize("command", [("stats",), ("import", "--dry-run")])
@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ("", 3, "the list on standard input is empty"),
        ("\n", 3, "the list on standard input is empty"),
        (SESSION.read_text(encoding="utf-8"), 2, "`agentv-stream consume --stats -` reads one"),
    ],
)
def test_a_list_that_is_none_is_told_once(command: tuple[str, ...], given: str, code: int, told: str) -> None:
    ran = _run(*command, "-", given=given)
    assert (ran.exit_code, ran.stdout) == (code, "")
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_what_was_read_and_where_it_went_are_words_apart(tmp_path: Path) -> None:
    make_folder(tmp_path / "in")
    told = _run(
        "import", tmp_path / "in", "--atif", tmp_path / "a", "--jsonl", tmp_path / "s.jsonl", "--engine", "serial"
    )
    assert f"\ntrajectories {tmp_path / 'a'}\njsonl        {tmp_path / 's.jsonl'}\n" in told.stderr
    assert re.search(r"\d sessions read in \d+\.\d s \([1-9]\d* KB\)", told.stderr)


@pytest.mark.parametrize(
    ("size", "told"), [(0, "0 KB"), (1, "1 KB"), (43_210, "44 KB"), (1_000_000, "1.0 MB"), (12_345_678, "12 MB")]
)
def test_a_size_is_told_in_a_unit_that_fits(size: int, told: str) -> None:
    assert megabytes(size) == told
