"""Search: what is found, where it is said to be, and that the command which is printed shows it."""

import gzip
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.discovery.period import Period
from agentv_stream.discovery.places import find_roots
from agentv_stream.searching.search import Outcome, search_sessions
from support.consuming import run
from support.growing_logs import claude_records

START = 1_767_225_600_000  # 2026-01-01, when the records of growing_logs begin


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three sessions of three turns; the second has a sub-agent, the last one asks for something else."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for n, session in enumerate(("aaaa-1", "bbbb-2", "cccc-3")):
        path = folder / f"{session}.jsonl"
        path.write_bytes(b"\n".join(claude_records(session, 3)) + b"\n")
        os.utime(path, (START / 1000 + n, START / 1000 + n))
    agents = folder / "bbbb-2" / "subagents"
    agents.mkdir(parents=True)
    record = json.loads(claude_records("bbbb-2", 1)[0]) | {"isSidechain": True, "agentId": "x1", "uuid": "side"}
    record["message"]["content"] = 'look for the "Größe" of 日本\nplease'
    (agents / "agent-x1.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    os.utime(agents / "agent-x1.jsonl", (START / 1000, START / 1000))
    return folder


def search(folder: Path, text: str, **options: Any) -> Outcome:
    return search_sessions(text, find_roots([str(folder)]), **options)


def found(outcome: Outcome) -> list[tuple[str, int, str, str]]:
    return [(hits.session.id, p.turn, p.where, p.found) for hits in outcome.hits for p in hits.places]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_prompts_inputs_and_outputs_are_found_newest_session_first(logs: Path) -> None:
    assert found(search(logs, "PLEASE WORK ON BBBB")) == [("bbbb-2", 1, "text", "please work on bbbb")]
    assert [hit[:3] for hit in found(search(logs, "ls 1"))] == [(s, 2, "input") for s in ("cccc-3", "bbbb-2", "aaaa-1")]
    assert search(logs, "absent words").hits == []
    assert search(logs, "PLEASE", case_sensitive=True).hits == []


@pytest.mark.parametrize("text", ['the "größe" of', "日本", "日本\nplease"])
def test_what_json_escapes_is_found_in_a_sub_agents_log(logs: Path, text: str) -> None:
    ((session, turn, where, _),) = found(search(logs, text))
    assert (session, turn, where) == ("bbbb-2", 1, "text")
    (hits,) = search(logs, text).hits
    assert hits.places[0].stream == "sidechain:x1"


def test_packed_logs_and_one_process_or_several_find_the_same(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = logs / "aaaa-1.jsonl"
    (logs / "aaaa-1.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    alone = found(search(logs, "ls 1"))
    assert len(alone) == 3
    monkeypatch.setattr("agentv_stream.searching.search.POOL_BYTES", 0)
    assert found(search(logs, "ls 1", workers=2)) == alone


def test_a_text_in_pieces_is_found(tmp_path: Path) -> None:
    """As streams with deltas hold it: no record has the whole of it."""
    pieces = [
        {"type": "init", "timestamp": "2026-01-01T00:00:00.000Z", "session_id": "g-1", "model": "gemini-2.5-pro"},
        {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "role": "user", "content": "hello"},
        *(
            {
                "type": "message",
                "timestamp": "2026-01-01T00:00:02.000Z",
                "role": "assistant",
                "content": c,
                "delta": True,
            }
            for c in ("the nee", "dle is here")
        ),
    ]
    log = tmp_path / "stream.jsonl"
    log.write_text("".join(json.dumps(piece) + "\n" for piece in pieces), encoding="utf-8")
    assert [hit[1:] for hit in found(search_sessions("needle", (), [str(log)]))] == [(1, "text", "needle")]


def test_a_period_is_that_of_the_messages(logs: Path) -> None:
    before, after = Period(until_ms=START), Period(since_ms=START + 3_600_000)
    assert found(search(logs, "ls 1", period=before)) == []
    assert found(search(logs, "ls 1", period=after)) == []
    first = Period(START, START + 2_000)
    assert len(found(search(logs, "please work", period=first))) == 3
    assert found(search(logs, "ls 1", period=first)) == []


def test_a_limit_reads_the_newest_sessions_and_says_how_many_are_left(logs: Path) -> None:
    outcome = search(logs, "ls 1", limit=1)
    assert [hits.session.id for hits in outcome.hits] == ["cccc-3"]
    assert outcome.unread == 2
    only = search(logs, "ls 1", limit=1, provider="codex")
    assert (only.hits, only.unread) == ([], 0)


def test_a_log_that_cannot_be_read_is_told_and_the_others_are_searched(logs: Path) -> None:
    (logs / "dddd-4.jsonl.gz").write_bytes(gzip.compress(os.urandom(5000))[:400])
    outcome = search(logs, "ls 1")
    assert len(outcome.hits) == 3
    assert len(outcome.troubles) == 1
    assert "dddd-4.jsonl.gz" in outcome.troubles[0]


def test_the_command_that_is_printed_shows_the_place(logs: Path, tmp_path: Path) -> None:
    for text in ("ls 1", '"Größe"'):
        ran = run(tmp_path, "search", text, logs)
        assert ran.code == 0
        commands = [shlex.split(line) for line in ran.out.decode().splitlines() if line.startswith("  agentv-stream ")]
        assert commands
        for command in commands:
            shown = run(tmp_path, *command[1:])
            assert shown.code == 0
            assert text in shown.out.decode()


def test_lines_of_json_have_the_place_and_its_command(logs: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, "search", "ls 1", "--json", "--root", f"claude={logs}")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [(row["session_id"], row["turn"], row["place"], row["tool"]) for row in rows] == [
        (session, 2, "input", "Bash") for session in ("cccc-3", "bbbb-2", "aaaa-1")
    ]
    assert rows[0]["before"] + rows[0]["found"] + rows[0]["after"] == "ls 1"
    assert shlex.split(rows[0]["command"])[1:] == ["show", rows[0]["path"], "--turn", "2", "--grep", "ls 1"]


def test_a_session_of_this_machine_is_named_by_its_id(logs: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, "search", "work on aaaa", AGENTV_STREAM_ROOTS=f"claude={logs}")
    assert "  agentv-stream show aaaa-1 --grep 'work on aaaa'\n" in ran.out.decode()
    assert ran.err == ""


def test_hostile_text_does_not_act(tmp_path: Path) -> None:
    record = json.loads(claude_records("aaaa-1", 1)[0])
    record["message"]["content"] = "\x1b[2J\u202e needle \x9b\x07 \r\n::error::x"
    log = tmp_path / "a.jsonl"
    log.write_text(json.dumps(record) + "\n", encoding="utf-8")
    out = run(tmp_path, "search", "needle", log).out.decode()
    assert "needle" in out
    assert not {"\x1b", "\u202e", "\x9b", "\x07", "\r"} & set(out)
    assert not [line for line in out.splitlines() if line.startswith("::")]


def test_nothing_is_found_plainly_and_wrong_usage_is_one_line(logs: Path, tmp_path: Path) -> None:
    nothing = run(tmp_path, "search", "absent words", logs)
    assert (nothing.code, nothing.out.decode()) == (1, "no session holds 'absent words'; 4 logs searched\n")
    for arguments in (("search", ""), ("search", "x", "--since", "soon"), ("search", "x", logs, "--timezone", "Mars")):
        wrong = run(tmp_path, *arguments)
        assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, b"", 1)
    gone = run(tmp_path, "search", "x", tmp_path / "gone.jsonl")
    assert (gone.code, gone.err.count("\n")) == (4, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are Unix")
@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_lines_fit_the_terminal_but_for_the_command(logs: Path, tmp_path: Path, columns: int) -> None:
    from support.terminal import in_terminal

    session = "b8425473-378d-4900-b141-91d8d9b6fab9"
    records = claude_records(session, 3)
    long = json.loads(records[0])
    long["message"]["content"] = "word " * 40 + "please" + " word" * 40
    (logs / f"{session}.jsonl").write_bytes(b"\n".join((json.dumps(long).encode(), *records[1:])) + b"\n")
    lines = in_terminal(tmp_path, columns, "search", "please", "--root", f"claude={logs}")
    assert lines
    assert max(len(line) for line in lines if "agentv-stream show" not in line) <= columns
    coloured = in_terminal(tmp_path, columns, "search", "please", "--root", f"claude={logs}", raw=True)
    assert any("\x1b[1;35m" in line for line in coloured)
    plain = in_terminal(tmp_path, columns, "search", "please", "--root", f"claude={logs}", raw=True, NO_COLOR="1")
    assert not any("\x1b" in line for line in plain)


def test_secrets_are_replaced_before_texts_are_searched(tmp_path: Path) -> None:
    record = json.loads(claude_records("aaaa-1", 1)[0])
    key = "AKIA" + "Q3EGRIVUZKQ5J6WX"
    record["message"]["content"] = f"the key is {key} here"
    log = tmp_path / "a.jsonl"
    log.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert key in run(tmp_path, "search", "the key is", log).out.decode()
    state = str(tmp_path / "state")
    redacted = run(tmp_path, "search", "the key is", log, "--redact", AGENTV_STREAM_STATE=state)
    assert "the key is [" in redacted.out.decode()
    assert key not in redacted.out.decode()
    by_key = run(tmp_path, "search", key, log, "--redact", AGENTV_STREAM_STATE=state)
    assert by_key.out.startswith(b"no session holds")
