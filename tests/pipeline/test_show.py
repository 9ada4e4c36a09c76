"""A session for people: turns, calls, what failed, shortened texts; nothing in it acts on the terminal."""

import json
from pathlib import Path

import pytest

from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import columns
from agentv_stream.discovery.places import find_roots
from agentv_stream.discovery.show import LINES_OF_TEXT, session_rows, show_session, wrapped
from agentv_stream.errors import NotALog, SourceError, UsageError
from agentv_stream.live.session import StreamSession
from agentv_stream.settings import Settings
from agentv_stream.sources.source import FileSource
from agentv_stream.summary import summarize
from support.consuming import SESSION, STREAM, run
from support.fake_agents import READ_EDIT, stream
from support.fixture_logs import LOGS
from support.growing_logs import claude_records
from support.schemas import fits

CLOSING = ("transcript_token_usage", "transcript_duration_ms", "transcript_cost_usd", "agentv_stream")
EXAMPLES = Path(__file__).parents[2] / "examples"


def shown(path: Path | str, width: int = 100, full: bool = False, roots: tuple[str, ...] = ()) -> list[str]:
    return list(show_session(str(path), None, find_roots(roots), width, full))


def test_head_turns_and_foot_tell_what_the_statistics_tell() -> None:
    lines = shown(EXAMPLES / "claude.jsonl", 160)
    assert lines[0].startswith("session 5d0c1f3a-6f0e-4b7b-9a53-2f6f1b8f8a10  claude  claude-sonnet-4-5-20250929")
    assert "status complete" in lines[1]
    assert [f"turn {n}" in "\n".join(lines) for n in (1, 8, 9)] == [True, True, False]
    assert lines[-2].startswith("turns 8, calls 11 (")
    assert "tokens in 200,080 out 1,312, cost $0.0930" in lines[-1]
    assert "first edit turn 5" in lines[-1]


def test_an_output_that_is_only_a_lower_bound_is_told_as_the_closing_lines_do(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(stream(READ_EDIT, whole=False))
    assert f"out {output_text(summarize(tmp_path / 's.jsonl').tokens)}" in shown(tmp_path / "s.jsonl")[-1]
    assert "out ≥" in shown(tmp_path / "s.jsonl")[-1]


def test_a_session_without_a_call_ends_plainly(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(claude_records("aaaa-1", 1)[0] + b"\n")
    assert "turns 0, calls 0" in shown(log)


def test_figures_are_whole_in_a_narrow_terminal() -> None:
    lines = shown(EXAMPLES / "claude.jsonl", 50)
    assert max(len(line) for line in lines if not line.startswith("log ")) <= 50
    foot = " ".join(" ".join(lines[len(lines) - 1 - lines[::-1].index("") :]).split())
    assert foot.endswith("mcp__docs__lookup 1) tokens in 200,080 out 1,312, cost $0.0930, 21.5 s, first edit turn 5")
    assert not [line for line in lines if "context" in line and "…" in line]


def test_a_call_that_failed_shows_its_output_a_good_one_does_not() -> None:
    lines = shown(EXAMPLES / "gemini.jsonl", 200)
    (at,) = [n for n, line in enumerate(lines) if line.startswith("  ✗ Edit error")]
    assert lines[at + 1].startswith("      ")
    good = next(n for n, line in enumerate(lines) if line.startswith("  ✓ Read"))
    assert not lines[good + 1].startswith("      ")
    assert len(shown(EXAMPLES / "gemini.jsonl", 200, full=True)) > len(lines)


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("path", [EXAMPLES / "codex.jsonl", STREAM, SESSION], ids=["codex", "stream", "session"])
def test_no_line_is_wider_than_the_terminal_but_the_path_to_copy(path: Path, width: int) -> None:
    lines = shown(path, width)
    lines.remove(f"log {path}")
    assert max(map(len, lines)) <= width


def test_long_texts_are_cut_and_say_by_how_much(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    text = json.dumps("\n".join(f"line {n}" for n in range(LINES_OF_TEXT + 5)))[1:-1].encode()
    log.write_bytes(b"\n".join(r.replace(b"please work", text) for r in claude_records("aaaa-1", 1)) + b"\n")
    assert "    … 5 lines more" in shown(log)
    assert f"    line {LINES_OF_TEXT + 3}" in shown(log, full=True)


def test_the_first_line_of_a_text_keeps_its_indentation(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    text = json.dumps("\n \n    1→def f():\n    2→    pass\n\n")[1:-1].encode()
    log.write_bytes(claude_records("aaaa-1", 1)[0].replace(b"please work on aaaa-1", text) + b"\n")
    lines = shown(log)
    at = lines.index("        1→def f():")
    assert lines[at - 1].endswith("user")
    assert lines[at + 1 : at + 3] == ["        2→    pass", ""]


def test_a_call_without_a_result_is_asked_about(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(b"\n".join(claude_records("aaaa-1", 2)[:-1]) + b"\n")
    assert any(line.startswith("  ? Bash unpaired") for line in shown(log))


def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for session in ("aaaa-1", "aabb-2"):
        log = tmp_path / "logs" / f"{session}.jsonl"
        log.parent.mkdir(exist_ok=True)
        log.write_bytes(b"\n".join(claude_records(session, 1)) + b"\n")
    roots = (str(tmp_path / "logs"),)
    assert shown("aab", roots=roots)[0].startswith("session aabb-2")
    for name, error in (("aa", UsageError), ("zz", SourceError)):
        with pytest.raises(error):
            shown(name, roots=roots)


def test_what_is_no_log_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("buy apples\n")
    with pytest.raises(NotALog):
        shown(tmp_path / "notes")
    with pytest.raises(SourceError, match=f"it is a directory; `agentv-stream sessions --root {tmp_path}` lists"):
        shown(tmp_path)


def test_a_pipe_is_shown(tmp_path: Path) -> None:
    log = EXAMPLES / "claude.jsonl"
    piped = run(tmp_path, "show", "-", given=log.read_bytes())
    assert piped.code == 0
    assert piped.out == run(tmp_path, "show", log).out.replace(str(log).encode(), b"<stdin>")
    assert run(tmp_path, "show", "-", given=b"").code == 3


@pytest.mark.parametrize("width", [20, 21, 33])
def test_lines_are_broken_by_columns(width: int) -> None:
    for text in ("日本語のテキスト" * 9, "words and 日本語 of both kinds, " * 5, "é" * 90, "x " * 40 + "日", ""):
        lines = wrapped(text, width)
        assert "".join(lines) == text
        assert all(columns(line) <= width for line in lines)
    assert wrapped("a wordy line of words é", 12) == ["a wordy ", "line of ", "words é"]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
async def test_the_rows_are_those_of_the_transcript_in_order_and_the_totals_in_the_first(
    log: Path, tmp_path: Path
) -> None:
    rows = [json.loads(row) for row in session_rows(str(log), None, find_roots(()))]
    await StreamSession(FileSource(log), Settings(out=tmp_path)).run()
    (transcript,) = tmp_path.glob("*.transcript.jsonl")
    written = [json.loads(row) for row in transcript.read_bytes().splitlines()]
    closing = [{key: row.pop(key) for key in (*row,) if key in CLOSING} for row in (written[0], rows[0])]
    assert closing[0] == closing[1]
    assert rows == sorted(written, key=lambda row: row["message_index"])
    for row in (*rows, {**rows[0], **closing[1]}):
        fits("transcript", row)


def test_a_pipe_is_shown_as_json_too_and_what_is_no_log_leaves_standard_output_empty(tmp_path: Path) -> None:
    shown = run(tmp_path, "show", "-", "--json", given=STREAM.read_bytes())
    first, *_ = shown.out.splitlines()
    assert (shown.code, shown.err, "path" in json.loads(first)["source"]) == (0, "", False)
    refused = run(tmp_path, "show", "-", "--json", given=b"hello\n")
    assert (refused.code, refused.out) == (4, b"")
