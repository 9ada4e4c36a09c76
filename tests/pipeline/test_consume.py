"""`consume` end to end, as a process: outputs, messages, exit codes."""

import gzip
import json
import os
import select
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentv_stages.sinks.dead_letters import MOST_INLINE
from agentv_stream import open_stream
from support.consuming import LIMIT_SECONDS, SESSION, STREAM, consume, rows_of, run, start
from support.decoding import FIXTURES
from support.opencode_stores import child, export, make_database

LOG = STREAM.read_bytes()
ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False


def stats(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def test_a_stream_on_standard_input_gives_a_transcript_and_three_lines(tmp_path: Path) -> None:
    ran = consume(tmp_path, given=LOG)
    assert (ran.code, ran.out) == (0, b"")
    (path,) = ran.transcripts()
    assert path.parent == tmp_path / ".agentv" / "logs" / "claude"
    status, transcript, figures = ran.err.splitlines()
    assert status.startswith("status      complete")
    assert transcript.split()[-1] == str(path.relative_to(tmp_path))
    assert figures.startswith("turns 8, calls 9")
    assert "first edit turn 2" in figures


def test_the_first_row_holds_the_totals(tmp_path: Path) -> None:
    first, *others = consume(tmp_path, "-", "--stats", "s.json", given=LOG).rows()
    assert first["transcript_token_usage"] == {"input": 1170, "output": 500, "cached": 900}
    assert first["transcript_cost_usd"] == 0.0123
    assert first["transcript_duration_ms"] == 1200
    assert all("transcript_token_usage" not in row for row in others)
    tokens = stats(tmp_path / "s.json")["tokens"]
    assert (tokens["input"], tokens["output"], tokens["cached"]) == (1170, 500, 900)


def test_a_last_answer_alone_is_named_as_such(tmp_path: Path) -> None:
    ran = consume(tmp_path, given=(FIXTURES / "continue" / "output.jsonl").read_bytes())
    assert ran.code == 0
    said = "agentv-stream: the input is the last answer alone: calls and tokens are in the session on disk\n"
    assert ran.err.startswith(said + "`agentv-stream sessions` lists it\n")
    (row,) = ran.rows()
    assert row["content"] == "Done: slugs have a hyphen now ✅."


def test_a_closing_object_alone_gets_the_command_line_that_prints_the_rest(tmp_path: Path) -> None:
    """`--output-format json` was told as "turns 1, calls 0" and nothing more."""
    closing = json.loads(LOG.splitlines()[-1]) | {"num_turns": 17}
    ran = consume(tmp_path, given=json.dumps(closing).encode())
    assert ran.code == 0
    assert ran.err.startswith("agentv-stream: the input is the closing object alone, without the 17 turns before\n")
    assert "--output-format stream-json --verbose" in ran.err
    answered = consume(tmp_path, given=json.dumps(closing | {"num_turns": 1}).encode())
    assert answered.err.startswith("status ")


def test_elements_of_an_array_are_records(tmp_path: Path) -> None:
    """`claude -p --output-format json --verbose` prints one; it counted as one record, and as 39 in lines."""
    whole = b"[" + b",".join(line for line in LOG.splitlines() if line.strip()) + b"]"
    assert consume(tmp_path, "-q", "--stats", "lines.json", given=LOG).code == 0
    assert consume(tmp_path, "-q", "--stats", "array.json", given=whole).code == 0
    assert stats(tmp_path / "array.json")["records"] == stats(tmp_path / "lines.json")["records"] > 1
    assert consume(tmp_path, "-q", "--stats", "torn.json", given=whole[: len(whole) // 2]).code == 3
    assert stats(tmp_path / "torn.json")["records"] > 1


def test_a_message_is_one_row_and_a_row_has_its_calls(tmp_path: Path) -> None:
    rows = sorted(consume(tmp_path, given=LOG).rows(), key=lambda row: row["message_index"])
    assert [row["message_index"] for row in rows] == list(range(len(rows)))
    main = [r for r in rows if r["metadata"]["agentv_stream"]["stream"] == "main" and r["role"] == "assistant"]
    assert [r["metadata"]["agentv_stream"]["turn"] for r in main] == list(range(1, 9))
    assert [[c["tool"] for c in r.get("tool_calls", [])] for r in main] == [
        ["Read", "Bash"], ["Edit"], ["Edit"], ["Task"], ["Bash"], ["Bash"], ["mcp__notes__add"], []
    ]  # fmt: skip
    assert main[0]["content"] == "Looking — “now” ✅ 日本語 😀"
    assert main[0]["metadata"]["agentv_stream"]["thinking"] == ["hm"]
    outcomes = {k: v["outcome"] for r in main for k, v in r["metadata"]["agentv_stream"].get("calls", {}).items()}
    assert outcomes["t_rm"] == "denied"
    assert outcomes["t_edit"] == "error"
    assert outcomes["t_read"] == "ok"
    (denied,) = [c for r in main for c in r.get("tool_calls", []) if c["id"] == "t_rm"]
    assert denied["status"] == "error"


def test_a_session_takes_its_sub_agents_along_unless_told_not_to(tmp_path: Path) -> None:
    whole = consume(tmp_path, SESSION, "--out", "a").rows()
    assert {r["metadata"]["agentv_stream"]["stream"] for r in whole} == {"main", "sidechain:a1"}
    (sub,) = [r for r in whole if any(c["id"] == "t_s1" for c in r.get("tool_calls", []))]
    assert sub["metadata"]["agentv_stream"]["parent_call"] == "t_3"
    alone = run(tmp_path, "consume", SESSION, "--out", "b", "--no-subagents")
    assert {r["metadata"]["agentv_stream"]["stream"] for r in rows_of(sorted((tmp_path / "b").glob("*"))[0])} == {
        "main"
    }
    assert alone.code == 0


def test_a_stored_session_does_so_too(tmp_path: Path) -> None:
    make_database(tmp_path / "opencode.db", export(), child()).close()
    for option, streams in (("--subagents", {"main", "subagent:ses_2"}), ("--no-subagents", {"main"})):
        out = tmp_path / option
        assert run(tmp_path, "consume", "opencode.db", "--session", "ses_1", "--out", out, option).code == 0
        (transcript,) = out.glob("*.jsonl")
        assert {r["metadata"]["agentv_stream"]["stream"] for r in rows_of(transcript)} == streams


def test_a_prompt_that_the_stream_does_not_carry_becomes_row_zero(tmp_path: Path) -> None:
    first = min(consume(tmp_path, "--prompt", "fix “it”", given=LOG).rows(), key=lambda row: row["message_index"])
    assert (first["role"], first["content"], first["message_index"]) == ("user", "fix “it”", 0)


def test_a_prompt_that_the_log_carries_is_not_told_twice(tmp_path: Path) -> None:
    rows = consume(tmp_path, SESSION, "--prompt", "fix add").rows()
    assert [r["content"] for r in rows].count("fix add") == 1


def test_records_of_unknown_types_are_told_at_the_end(tmp_path: Path) -> None:
    first, rest = LOG.split(b"\n", 1)
    ran = consume(tmp_path, given=first + b'\n{"type":"brand_new"}\n{"type":"newer"}\n' + rest)
    assert "2 records of unknown types" in ran.err.splitlines()[0]
    assert "unknown types" not in consume(tmp_path, given=LOG).err


def test_two_agents_in_one_pipe_are_told_as_such(tmp_path: Path) -> None:
    """Not as records that a newer version of the first one writes."""
    other = (Path(__file__).parents[2] / "examples" / "codex.jsonl").read_bytes()
    status = consume(tmp_path, given=LOG + other).err.splitlines()[0]
    assert "1 fault in " in status
    assert "(more than one log in the input)" in status
    assert "more than one log" not in consume(tmp_path, given=LOG + b"noise\n").err


def test_reading_a_finished_session_again_replaces_its_own_file(tmp_path: Path) -> None:
    first = consume(tmp_path, SESSION)
    before = {p: p.read_bytes() for p in first.transcripts()}
    assert {p: p.read_bytes() for p in consume(tmp_path, SESSION).transcripts()} == before
    assert [p.name for p in (tmp_path / ".agentv/logs/claude").iterdir()] == [p.name for p in before]


def test_a_stream_never_replaces_a_file(tmp_path: Path) -> None:
    consume(tmp_path, given=LOG)
    names = sorted(p.name for p in consume(tmp_path, given=LOG).transcripts())
    assert len(names) == 2
    assert any("-2.transcript.jsonl" in name for name in names)


def test_a_foreign_file_of_the_same_name_is_left_alone(tmp_path: Path) -> None:
    (path,) = consume(tmp_path, SESSION).transcripts()
    path.write_bytes(b"precious\n")
    assert len(consume(tmp_path, SESSION).transcripts()) == 2
    assert path.read_bytes() == b"precious\n"


EVERYTHING = ("--stream-log", "summary", "--transcript-shape", "case", "--out", "o")


def test_what_stands_beside_another_sessions_transcript_is_left_alone(tmp_path: Path) -> None:
    """A stream that came twice got a transcript `-2`, but its log, case and dead letters replaced the first ones."""
    consume(tmp_path, *EVERYTHING, given=LOG + b"first noise\n")
    before = {path: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    consume(tmp_path, *EVERYTHING, given=LOG + b"second noise\n")
    assert {path: path.read_bytes() for path in before} == before
    new = sorted(path.name for path in (tmp_path / "o").iterdir() if path not in before)
    assert len(new) == len(before) == 4
    assert [name.partition("-2.")[2] for name in new] == [
        "case.jsonl",
        "dead-letters.jsonl",
        "stream.log",
        "transcript.jsonl",
    ]


def test_streams_that_come_at_once_take_no_name_twice(tmp_path: Path) -> None:
    running = [start(tmp_path, *EVERYTHING, "-q") for _ in range(6)]
    for n, process in enumerate(running):
        assert process.stdin is not None
        process.stdin.write(LOG + b"noise %d\n" % n)
    errors = [process.communicate(timeout=LIMIT_SECONDS)[1] for process in running]
    assert [(process.returncode, error) for process, error in zip(running, errors, strict=True)] == [(0, b"")] * 6
    out = tmp_path / "o"
    assert not list(out.glob(".*"))
    assert len({path.read_bytes() for path in out.glob("*.dead-letters.jsonl")}) == 6
    for suffix in ("transcript.jsonl", "case.jsonl", "stream.log"):
        found = [path.read_bytes() for path in out.glob(f"*.{suffix}")]
        assert len(found) == 6, suffix
        assert len({data.count(b"\n") for data in found}) == 1, suffix


async def test_two_streams_of_a_loop_may_write_the_same_transcript(tmp_path: Path) -> None:
    async def read() -> None:
        async with open_stream(SESSION, out=tmp_path) as stream:
            async for _ in stream.batches():
                pass

    await read()
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(read)
    assert [(one, one.read_bytes()) for one in tmp_path.iterdir()] == [(path, before)]


def test_a_session_without_a_message_leaves_no_rows_of_another_in_the_file_that_was_named(tmp_path: Path) -> None:
    header = LOG.splitlines(keepends=True)[0]
    (tmp_path / "header.jsonl").write_bytes(header)
    for finished in (False, True):
        consume(tmp_path, "--transcript", "t.jsonl", given=LOG)
        assert rows_of(tmp_path / "t.jsonl")
        source, given = ("header.jsonl", None) if finished else ("-", header)
        ran = consume(tmp_path, source, "--transcript", "t.jsonl", given=given)
        assert "transcript  none" in ran.err
        assert not (tmp_path / "t.jsonl").exists()


def test_a_file_that_was_there_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").touch(0o666)
    consume(tmp_path, "--transcript", "t.jsonl", given=LOG)
    assert stat.S_IMODE((tmp_path / "t.jsonl").stat().st_mode) == 0o600


def test_two_sessions_of_one_name_keep_their_dead_letters(tmp_path: Path) -> None:
    data = SESSION.read_bytes()
    for number in (b"1", b"2"):
        other = data.replace(b"0f3c2a10", b"0f3c2a1" + number)
        (tmp_path / f"{number.decode()}.jsonl").write_bytes(other + b"noise " + number + b"\n")
        consume(tmp_path, f"{number.decode()}.jsonl", *EVERYTHING, "--test-id", "t")
    names = [path.name for path in sorted((tmp_path / "o").glob("*.dead-letters.jsonl"))]
    assert len(names) == 2
    assert len({letter["text"] for name in names for letter in rows_of(tmp_path / "o" / name)}) == 2
    before = {path: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    consume(tmp_path, "1.jsonl", *EVERYTHING, "--test-id", "t")
    assert {path: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before  # its own are replaced


def test_outputs_are_private_and_ignored_by_git(tmp_path: Path) -> None:
    consume(tmp_path, "--stream-log", "raw", "--stats", "s.json", given=LOG + b"noise\n")
    assert (tmp_path / ".agentv" / ".gitignore").read_text() == "*\n"
    files = [p for p in (tmp_path / ".agentv" / "logs").rglob("*") if p.is_file()]
    assert len(files) == 3
    for path in (*files, tmp_path / "s.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_an_agentv_folder_that_was_there_gets_no_gitignore(tmp_path: Path) -> None:
    (tmp_path / ".agentv").mkdir()
    consume(tmp_path, given=LOG)
    assert not (tmp_path / ".agentv" / ".gitignore").exists()


def test_names_are_made_of_target_case_and_attempt(tmp_path: Path) -> None:
    ran = consume(tmp_path, SESSION, "--target", "a/b", "--test-id", "../x", "--attempt", "3")
    assert [p.name for p in ran.transcripts()] == ["2026-03-01T10-00-00-000Z_a-b_x_3.transcript.jsonl"]
    assert {(r["target"], r["test_id"]) for r in ran.rows()} == {("a/b", "../x")}


def test_dead_letters_of_an_earlier_reading_go_when_the_log_has_no_faults_any_more(tmp_path: Path) -> None:
    log = tmp_path / SESSION.name
    whole = SESSION.read_bytes()
    log.write_bytes(whole + b"\xff" * MOST_INLINE + b"\n" + whole[:200])  # its last line is being written
    consume(tmp_path, log, "--out", "out")
    assert sorted(path.name.partition(".")[2] for path in (tmp_path / "out").iterdir()) == [
        "dead", "dead-letters.jsonl", "transcript.jsonl",
    ]  # fmt: skip
    log.write_bytes(whole)
    assert consume(tmp_path, log, "--out", "out").code == 0
    assert [path.name.partition(".")[2] for path in (tmp_path / "out").iterdir()] == ["transcript.jsonl"]


def test_dead_letters_stand_beside_the_transcript_only_when_there_are_any(tmp_path: Path) -> None:
    consume(tmp_path, "--out", "clean", given=LOG)
    assert not list((tmp_path / "clean").glob("*dead*"))
    lines = LOG.splitlines(keepends=True)
    ran = consume(tmp_path, "--out", "o", "--stats", "s.json", given=b"".join([*lines[:9], b"npm warn\n", *lines[9:]]))
    assert ran.code == 0
    (path,) = (tmp_path / "o").glob("*.dead-letters.jsonl")
    (letter,) = rows_of(path)
    assert (letter["reason"], letter["text"], letter["file"]) == ("not-json", "npm warn", "<stdin>")
    assert letter["offset"] == sum(map(len, lines[:9]))
    assert stats(tmp_path / "s.json")["faults"] == {"not-json": 1}


def test_the_raw_log_holds_every_record_verbatim(tmp_path: Path) -> None:
    noisy = LOG + b"\xff\xfe no json\n"
    consume(tmp_path, "--stream-log", "raw", "--out", "o", given=noisy)
    (path,) = (tmp_path / "o").glob("*.stream.jsonl")
    *rows, last = rows_of(path)
    assert [row["record"] for row in rows] == [json.loads(line) for line in LOG.splitlines()]
    assert "record_base64" in last
    raw = path.read_bytes().splitlines()
    assert all(line in kept for line, kept in zip(LOG.splitlines(), raw, strict=False))
    assert all(row["arrived"].endswith("Z") and row["file"] == "<stdin>" for row in rows)


def test_the_one_line_form_of_a_case(tmp_path: Path) -> None:
    consume(tmp_path, "--transcript-shape", "case", "--out", "o", "--prompt", "go", given=LOG)
    (path,) = (tmp_path / "o").glob("*.case.jsonl")
    (line,) = path.read_bytes().splitlines()
    case = json.loads(line)
    assert case["input"] == "go"
    assert [m["role"] for m in case["output"]][:2] == ["user", "assistant"]
    assert case["token_usage"]["input"] == 1170
    (transcript,) = (tmp_path / "o").glob("*.transcript.jsonl")
    rows = sorted(rows_of(transcript), key=lambda row: row["message_index"])
    calls = [[call["id"] for call in row.get("tool_calls", ())] for row in rows]
    assert [[call["id"] for call in m.get("toolCalls", ())] for m in case["output"]] == calls
    assert calls != [[call["id"] for call in row.get("tool_calls", ())] for row in rows_of(transcript)]


def test_statistics_on_standard_output_are_one_json_object(tmp_path: Path) -> None:
    ran = consume(tmp_path, "--stats", "-", "--quiet", given=LOG)
    assert json.loads(ran.out)["schema_version"] == "agentv_stream.result.v1"
    assert ran.err == ""


def test_compressed_sessions_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "s.jsonl.gz"
    packed.write_bytes(gzip.compress(LOG))
    zipped = consume(tmp_path, packed, "--out", "a").rows()
    plain = [rows_of(p) for p in consume(tmp_path, STREAM, "--out", "b").transcripts() if p.parent.name == "b"]
    assert [[row["message_index"] for row in rows] for rows in plain] == [[row["message_index"] for row in zipped]]


# --- exit codes and messages


def one_line(err: str) -> str:
    (line,) = err.splitlines()
    assert line.startswith("agentv-stream: ")
    return line


@pytest.mark.parametrize("name", ["missing.jsonl", "folder"])
def test_an_input_that_cannot_be_read_is_one_line_and_four(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    ran = consume(tmp_path, name)
    assert ran.code == 4
    assert name in one_line(ran.err)
    assert not (tmp_path / ".agentv").exists()


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_an_input_without_permission_is_four(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(LOG)
    (tmp_path / "x.jsonl").chmod(0)
    ran = consume(tmp_path, "x.jsonl")
    assert ran.code == 4
    assert "permission" in one_line(ran.err)


@pytest.mark.parametrize("given", [b"", b"\n\n", b" \r\n", b"\xef\xbb\xbf"])
def test_an_empty_input_is_three_and_names_the_command_that_works(tmp_path: Path, given: bytes) -> None:
    ran = consume(tmp_path, given=given)
    assert ran.code == 3
    assert "empty" in ran.err
    assert "--output-format stream-json --verbose" in ran.err
    assert not (tmp_path / ".agentv").exists()


def test_plain_text_is_four_and_names_the_command_that_works(tmp_path: Path) -> None:
    ran = consume(tmp_path, given=b"I fixed the bug.\n\nAll tests pass.\n")
    assert ran.code == 4
    assert "I fixed the bug." in ran.err
    assert "--output-format stream-json --verbose" in ran.err


@pytest.mark.parametrize(
    ("source", "code", "told"),
    [
        ("5d0c1f3a", 4, "session ids are for `show`"),
        ("s3://bucket/x.jsonl", 2, "`agentv-stream import s3://bucket/x.jsonl`"),
    ],
)
def test_what_other_commands_take_is_told(tmp_path: Path, source: str, code: int, told: str) -> None:
    ran = consume(tmp_path, source)
    assert ran.code == code
    assert told in one_line(ran.err)


def test_help_is_a_word_too(tmp_path: Path) -> None:
    assert run(tmp_path, "help", "consume").out == run(tmp_path, "consume", "--help").out
    assert b"Commands:" in run(tmp_path, "help").out


def test_of_several_sources_the_commands_that_take_them_are_named(tmp_path: Path) -> None:
    ran = consume(tmp_path, "a.jsonl", "b.jsonl")
    assert ran.code == 2
    assert "agentv-stream import" in one_line(ran.err)


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n\x00\x01\x02", b'{"a":1}\n{"b":2}\n', b"a,b\n1,2\n", b"\x00" * 4096, b"[1,2,3]"]
)
def test_a_file_that_is_no_log_is_one_line_and_four(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.bin").write_bytes(data)
    ran = consume(tmp_path, "x.bin")
    assert ran.code == 4
    assert "x.bin" in one_line(ran.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tee", "--stats", "-"),
        ("--provider", "nobody"),
        ("--stream-log", "loud"),
        ("--transcript-shape", "round"),
        ("--no-such-option",),
        ("--attempt", "x"),
        ("--attempt", "-1"),
        ("--stats", ""),
        ("--transcript", ""),
        ("--provider", "claud"),
        ("--max-record", "0"),
    ],
)
def test_a_wrong_call_is_two(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = consume(tmp_path, *arguments, given=LOG)
    assert ran.code == 2
    assert ran.err
    assert not (tmp_path / ".agentv").exists()


@pytest.mark.parametrize("folder", [".", "..", "/"])
def test_a_folder_is_no_result(tmp_path: Path, folder: str) -> None:
    ran = consume(tmp_path, "--stats", folder, given=LOG)
    assert ran.code == 4
    assert f"cannot write {folder}: Is a directory" in ran.err
    assert ran.transcripts()


def test_who_forgets_the_command_is_told_which_one(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(LOG)
    (tmp_path / "sessions.d").mkdir()
    for arguments, given, hint in (
        (["log.jsonl"], None, "did you mean `agentv-stream consume log.jsonl`?"),
        ([], LOG, "did you mean `… | agentv-stream consume`?"),
        ([], None, ""),
        (["sessions.d"], None, ""),
    ):
        ran = run(tmp_path, *arguments, given=given)
        assert ran.code == 2
        assert "Usage:" in ran.out.decode() + ran.err
        assert (hint or "Usage") in ran.err + ran.out.decode()
        assert ("did you mean" in ran.err) is bool(hint)


def test_an_empty_name_is_no_folder(tmp_path: Path) -> None:
    """`consume "$LOG"` without LOG was told that `.` is a directory."""
    ran = consume(tmp_path, "")
    assert ran.code == 2
    assert "the name of the file is empty" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "log.jsonl", "--out", ""),
        ("consume", "log.jsonl", "--stats="),
        ("tail", "log.jsonl", "--once", "--out", "", "--state", "s"),
        ("tail", "log.jsonl", "--once", "--state="),
        ("import", "log.jsonl", "--parquet="),
        ("import", "log.jsonl", "--json="),
        ("stats", "log.jsonl", "--json", ""),
        ("report", ".", "-o", ""),
        ("run", "--out=", "--", "cat", "log.jsonl"),
        ("cursors", "list", "--state", ""),
    ],
)
def test_nor_is_an_empty_output(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """`--out "$DIR"` without DIR filled the current folder."""
    (tmp_path / "log.jsonl").write_bytes(LOG)
    ran = run(tmp_path, *arguments)
    assert ran.code == 2
    assert "and the one given is empty" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_an_input_whose_every_record_is_too_large_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(LOG)
    ran = consume(tmp_path, "x.jsonl", "--max-record", "10")
    assert ran.code == 4
    assert "no record is under the cap of 10 bytes" in one_line(ran.err)


def test_a_store_that_is_none_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(LOG)
    ran = consume(tmp_path, "x.jsonl", "--session", "s")
    assert ran.code == 2
    assert "--session names a session of a database, and x.jsonl is none" in one_line(ran.err)
    (tmp_path / "x.db").write_bytes(LOG)
    ran = consume(tmp_path, "x.db")
    assert ran.code == 4
    assert "x.db" in one_line(ran.err)


def test_a_file_where_the_outputs_folder_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    ran = consume(tmp_path, "--out", "out", given=LOG)
    assert ran.code == 4
    assert ran.err.splitlines()[0].endswith(": Not a directory")
    assert (tmp_path / "out").read_bytes() == b"mine"


def test_a_setting_that_is_no_setting_is_two(tmp_path: Path) -> None:
    assert consume(tmp_path, given=LOG, AGENTV_STREAM_MAX_RECORD="big").code == 2
    (tmp_path / "pyproject.toml").write_text("[tool.agentv-stream]\nvolume = 11\n")
    ran = consume(tmp_path, given=LOG)
    assert ran.code == 2
    assert "volume" in one_line(ran.err)


def test_an_agent_that_failed_is_three(tmp_path: Path) -> None:
    failed = LOG.replace(b'"is_error":false,"duration_ms"', b'"is_error":true,"duration_ms"')
    assert failed != LOG
    ran = consume(tmp_path, given=failed)
    assert ran.code == 3
    assert ran.err.startswith("status      error")


def test_a_stream_without_its_end_is_three(tmp_path: Path) -> None:
    ran = consume(tmp_path, "--stats", "s.json", given=LOG[: LOG.index(b'"t_mcp","content"')])
    assert ran.code == 3
    result = stats(tmp_path / "s.json")
    assert result["status"] == "incomplete"
    assert result["evidence"]["open_calls"] == ["t_mcp"]
    assert result["faults"] == {"torn": 1}
    assert ran.rows()


def test_an_unwritable_transcript_is_four_and_the_input_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = consume(tmp_path, "--out", "file/below", "--stats", "s.json", given=LOG * 20)
    assert ran.code == 4
    assert len([line for line in ran.err.splitlines() if "cannot write" in line]) == 1


def test_an_unwritable_result_is_four_and_the_transcript_is_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = consume(tmp_path, "--stats", "file/s.json", given=LOG)
    assert ran.code == 4
    assert "file/s.json" in ran.err
    assert len(ran.rows()) > 8


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is Linux")
def test_a_full_device_for_the_result_is_four(tmp_path: Path) -> None:
    ran = consume(tmp_path, "--stats", "/dev/full", given=LOG)
    assert ran.code == 4


def test_a_truncated_archive_is_four_and_keeps_what_came_before(tmp_path: Path) -> None:
    packed = gzip.compress(LOG * 50)
    (tmp_path / "s.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    ran = consume(tmp_path, "s.jsonl.gz")
    assert ran.code == 4
    assert ran.rows()


# --- hostile words

EVIL = "../../../tmp/\x1b]0;owned\x07\x1b[2J\u202egnp\x00|rm -rf /\n\rx"


def hostile() -> bytes:
    from_init: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": EVIL, "model": EVIL, "cwd": EVIL,
                 "claude_code_version": EVIL, "tools": []}  # fmt: skip
    call = {"type": "tool_use", "id": EVIL, "name": EVIL, "input": {"command": EVIL, EVIL: "<script>"}}
    message = {"id": EVIL, "model": EVIL, "content": [{"type": "text", "text": EVIL}, call]}
    said = {"type": "assistant", "message": message, "session_id": EVIL, "uuid": EVIL}
    back = {"type": "tool_result", "tool_use_id": EVIL, "content": EVIL, "is_error": True}
    told = {"type": "user", "message": {"content": [back]}}
    more = {"type": "system", "subtype": "informational", "content": EVIL}
    end = {"type": "result", "subtype": "success", "is_error": True, "result": EVIL, "terminal_reason": EVIL,
           "total_cost_usd": 0, "session_id": EVIL}  # fmt: skip
    return b"".join(json.dumps(v).encode() + b"\n" for v in (from_init, said, told, more, {"type": EVIL}, end))


def test_hostile_words_act_neither_on_paths_nor_on_the_terminal(tmp_path: Path) -> None:
    inner = tmp_path / "in" / "here"
    inner.mkdir(parents=True)
    ran = consume(
        inner, "--stream-log", "summary", "--stats", "s.json", "--live", given=hostile() + EVIL.encode() + b"\n"
    )
    assert ran.code == 3
    written = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert all(inner in p.parents for p in written)
    assert all(p.name.isprintable() for p in written)
    (log,) = inner.rglob("*.stream.log")
    for text in (log.read_text(), ran.err.replace("\r\x1b[K", "")):
        for line in text.splitlines():
            assert line.isprintable(), repr(line)
    assert ran.rows()[0]["source"]["session_id"] == EVIL
    assert stats(inner / "s.json")["unknown"] == {EVIL: 1}


def test_a_hostile_name_of_the_input_cannot_act(tmp_path: Path) -> None:
    name = "x\x1b[31m\n.jsonl"
    (tmp_path / name).write_text("plain text")
    ran = consume(tmp_path, name)
    assert ran.code == 4
    assert all(line.isprintable() for line in ran.err.splitlines())


# --- memory


@pytest.mark.skipif(sys.platform == "win32", reason="resource is Unix")
def test_memory_does_not_grow_with_the_session(tmp_path: Path) -> None:
    program = Path(__file__).parents[2] / "benchmarks" / "generate.py"
    watch = (
        "import resource,subprocess,sys;"
        "p=subprocess.run(sys.argv[1:],check=False,stderr=subprocess.DEVNULL);"
        "print(p.returncode,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    import subprocess

    from support.consuming import command, environment

    peaks: list[int] = []
    for size in ("4MB", "24MB"):
        log = tmp_path / f"{size}.jsonl"
        subprocess.run([sys.executable, program, "--size", size, "--long", "20KB", "-o", log], check=True, timeout=120)
        told = subprocess.run(
            [sys.executable, "-c", watch, *command("consume", log, "--out", tmp_path / size, "--stats", "s.json")],
            capture_output=True, cwd=tmp_path, env=environment(), check=True, timeout=120,
        )  # fmt: skip
        code, peak = told.stdout.split()
        assert code == b"0"
        peaks.append(int(peak))
    unit = 1024 if sys.platform == "darwin" else 1
    assert (peaks[1] - peaks[0]) / unit < 15_000, peaks  # buffers fill; all of it would be far more than 20 MB


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are Unix")
def test_a_pipe_for_the_statistics_gets_one_result_however_long_the_stream_runs(tmp_path: Path) -> None:
    """It got the first of those that are renewed while the stream runs, and the last one waited for ever."""
    pipe = tmp_path / "stats.pipe"
    os.mkfifo(pipe)
    quick = "import agentv_stream.cli.consuming as c; c.STATS_SECONDS = 0.01; import agentv_stream.cli as m; m.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", quick, "consume", "--tee", "--stats", str(pipe)],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines = LOG.splitlines(keepends=True)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        for line in lines:  # so many rounds of what is renewed
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
            assert select.select([reader], [], [], 0.02)[0] == []
        process.stdin.close()
        os.set_blocking(reader, True)
        select.select([reader], [], [], LIMIT_SECONDS)
        with os.fdopen(reader, "rb") as file:
            assert json.loads(file.read())["status"] == "complete"
        assert process.wait(LIMIT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
