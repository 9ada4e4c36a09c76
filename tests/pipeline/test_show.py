"""A session for people: turns, calls, what failed, shortened texts; nothing in it acts on the terminal."""

import json
import re
import sys
from pathlib import Path

import pytest

from agentv_stages.model.text_query import TextQuery
from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import columns
from agentv_stream.colour import Palette
from agentv_stream.discovery.period import named_zone
from agentv_stream.discovery.places import find_roots
from agentv_stream.discovery.selection import Selection, turns_of
from agentv_stream.discovery.show import session_rows, show_session
from agentv_stream.discovery.show_lines import LINES_OF_TEXT, Look, wrapped
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


def shown(
    path: Path | str,
    width: int = 100,
    full: bool = False,
    roots: tuple[str, ...] = (),
    only: Selection = Selection(),  # noqa: B008 - frozen
    zone: str = "UTC",
    colour: bool = False,
) -> list[str]:
    look = Look(width, full, named_zone(zone), Palette(colour))
    return list(show_session(str(path), None, find_roots(roots), look, only))


def test_head_turns_and_foot_tell_what_the_statistics_tell() -> None:
    lines = shown(EXAMPLES / "claude.jsonl", 160)
    assert lines[0].startswith("session 5d0c1f3a-6f0e-4b7b-9a53-2f6f1b8f8a10  claude  claude-sonnet-4-5-20250929")
    assert lines[1:3] == ["started 2026-03-02 09:30:00 UTC", "status complete"]
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
    assert wrapped("it subtracted instead of adding", 24) == ["it subtracted instead of ", "adding"]


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


def log_of(folder: Path, *records: object) -> Path:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_only_what_failed_is_shown_with_its_output() -> None:
    lines = shown(EXAMPLES / "gemini.jsonl", only=Selection(failed=True))
    calls = [line.split()[1:3] for line in lines if line.startswith("  ✗")]
    assert calls == [["Bash", "error"], ["Edit", "error"]]
    assert "      Could not find the string to replace." in lines
    assert not [line for line in lines if line.startswith("  ✓")]
    assert lines[-1] == "2 of 8 messages shown"


def test_only_calls_of_a_tool_are_shown_by_either_name() -> None:
    for name in ("Read", "read_file", "READ"):
        lines = shown(EXAMPLES / "gemini.jsonl", only=Selection(tool=name))
        assert {line.split()[1] for line in lines if line.startswith(("  ✓", "  ✗"))} == {"Read"}
    with pytest.raises(UsageError, match="no call of 'Grp' in this session; did you mean 'Grep'"):
        shown(EXAMPLES / "gemini.jsonl", only=Selection(tool="Grp"))


def test_a_range_of_turns_holds_the_prompt_that_they_answer(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(b"\n".join(claude_records("aaaa-1", 4)) + b"\n")
    lines = shown(log, only=Selection(turns=(1, 2)))
    heads = [" ".join(line.split()[1:3]) for line in lines if line[2:3] == ":"]
    assert heads == ["user", "turn 1", "turn 2"]
    assert lines[-1] == "3 of 5 messages shown"


@pytest.mark.parametrize(
    ("text", "turns"), [("7", (7, 7)), ("3..5", (3, 5)), ("3..", (3, None)), ("..5", (None, 5)), ("3-5", (3, 5))]
)
def test_ranges_of_turns_have_these_forms(text: str, turns: tuple[int | None, int | None]) -> None:
    assert turns_of(text) == turns


@pytest.mark.parametrize("text", ["", "..", "x", "5..3", "1..2..3"])
def test_what_is_no_range_of_turns_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="is not a range of turns; use 7, "):
        turns_of(text)


def test_a_text_is_shown_where_it_stands_however_far_down(tmp_path: Path) -> None:
    record = json.loads(claude_records("aaaa-1", 1)[0])
    record["message"]["content"] = "\n".join([*(f"line {n}" for n in range(90)), "the Needle", "end"])
    log = log_of(tmp_path, record)
    lines = shown(log, only=Selection(query=TextQuery("needle")))
    at = lines.index("    the Needle")
    assert lines[at - 3 : at + 2] == ["    …", "    line 88", "    line 89", "    the Needle", "    end"]
    assert "\x1b[1;35mNeedle\x1b[0m" in "\n".join(shown(log, only=Selection(query=TextQuery("needle")), colour=True))
    assert shown(log, only=Selection(query=TextQuery("absent")))[-1] == "0 of 1 message shown"


def test_a_text_in_the_output_of_a_good_call_and_in_an_input_is_shown(tmp_path: Path) -> None:
    lines = shown(EXAMPLES / "claude.jsonl", only=Selection(query=TextQuery("unicodedata.normalize")))
    assert [line for line in lines if line.startswith("  ✓ Edit")]
    assert [line for line in lines if line.startswith("      ") and "unicodedata.normalize" in line]


def side(record: dict[str, object], seconds: int) -> dict[str, object]:
    """A record as a sub-agent's, that many seconds after the session's first."""
    return record | {"isSidechain": True, "agentId": "a1", "timestamp": f"2026-01-01T00:00:{seconds:02d}.500Z"}


def test_a_sub_agent_is_shown_at_its_place_in_time(tmp_path: Path) -> None:
    records = [json.loads(record) for record in claude_records("aaaa-1", 3)]
    started = json.loads(claude_records("aaaa-1", 1)[0])
    started |= {"uuid": "side-1", "parentUuid": None}
    started["message"]["content"] = "look around"
    answer = json.loads(claude_records("aaaa-1", 3)[-2]) | {"uuid": "side-2", "parentUuid": "side-1"}
    answer["message"] |= {"id": "side", "content": [{"type": "text", "text": "found"}]}
    at = int(records[3]["timestamp"][17:19])
    log = log_of(tmp_path, *records, side(started, at), side(answer, at))
    texts = "\n".join(shown(log))
    assert texts.index("look around") < texts.index("found") < texts.index("turn 3")
    assert texts.index("turn 1") < texts.index("look around")


def test_a_compaction_is_marked_where_it_happened(tmp_path: Path) -> None:
    records = [json.loads(record) for record in claude_records("aaaa-1", 3)]
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 155_000},
        **{key: records[2][key] for key in ("sessionId", "timestamp", "cwd", "version")},
        "uuid": "compact-1",
    }
    log = log_of(tmp_path, *records[:3], boundary, *records[3:])
    lines = shown(log)
    (at,) = [n for n, line in enumerate(lines) if line.startswith("── the context was compacted")]
    assert "turn 1" in "\n".join(lines[:at])
    assert "turn 2" in "\n".join(lines[at:])
    assert "turn 2" not in "\n".join(lines[:at])
    assert not [line for line in shown(log, only=Selection(turns=(1, 1))) if line.startswith("──")]


def test_times_are_in_the_zone_that_is_named() -> None:
    assert shown(EXAMPLES / "gemini.jsonl", zone="Asia/Tokyo")[1] == "started 2026-03-02 20:00:00 Asia/Tokyo"
    assert any(line.startswith("20:00:05 turn 4") for line in shown(EXAMPLES / "gemini.jsonl", zone="Asia/Tokyo"))


def test_rows_are_selected_as_lines_are(tmp_path: Path) -> None:
    failed = run(tmp_path, "show", EXAMPLES / "gemini.jsonl", "--json", "--failed")
    rows = [json.loads(row) for row in failed.out.splitlines()]
    assert [row["tool_calls"][0]["tool"] for row in rows] == ["Bash", "Edit"]


def test_colour_changes_nothing_but_colour() -> None:
    for path in (EXAMPLES / "gemini.jsonl", STREAM):
        coloured = shown(path, colour=True)
        assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured] == shown(path)
        assert coloured != shown(path)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are Unix")
def test_a_long_session_is_shown_by_the_pager_a_short_one_is_not(tmp_path: Path) -> None:
    from support.terminal import in_terminal

    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\nexec sed "s/^/paged /"\n')
    pager.chmod(0o755)
    log = EXAMPLES / "claude.jsonl"
    paged = in_terminal(tmp_path, 80, "show", log, lines=20, PAGER=str(pager))
    plain = in_terminal(tmp_path, 80, "show", log, "--no-pager", lines=20, PAGER=str(pager))
    assert [line for line in paged if line != "paged "] == [f"paged {line}" for line in plain]
    assert in_terminal(tmp_path, 80, "show", log, lines=200, PAGER=str(pager)) == plain
    assert in_terminal(tmp_path, 80, "show", log, lines=20, PAGER=str(tmp_path / "gone"))[-len(plain) :] == plain
    assert in_terminal(tmp_path, 80, "show", log, lines=20, PAGER="cat") == plain
