"""The live view for programs: when a line comes, what it says, how the command ends."""

import io
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentv_stream.discovery.places import find_roots
from agentv_stream.following.follow_plan import Plan
from agentv_stream.summary import summarize
from agentv_stream.watch import lines
from agentv_stream.watch.feed import Feed
from agentv_stream.watch.lines import watch_lines
from support.consuming import SESSION, run
from support.decoding import FIXTURES
from support.fake_agents import READ_EDIT, stream
from support.growing_logs import claude_records
from support.opencode_stores import export, make_database
from support.schemas import fits

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DOCUMENT = str(FIXTURES / "mini-swe-agent" / "run.traj.json")
SCRIPT = 'const r = await tools.exec_command({"cmd": "ls", "yield_time_ms": 30000});\ntext(r.output);\n'
START = 1_767_225_600_000  # 2026-01-01, when the records of growing_logs begin


class Enough(Exception):
    """The test has seen what it wanted."""


def write(folder: Path, turns: int, cut: int | None = None) -> Path:
    path = folder / "aaaa-1.jsonl"
    path.write_bytes(b"\n".join(claude_records("aaaa-1", turns)[:cut]) + b"\n")
    return path


def test_a_line_comes_when_a_row_says_something_else_and_not_because_time_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, growing, told = [START + 10_000], [False], list[dict[str, Any]]()

    def sleep(seconds: float) -> None:
        if not growing[0]:  # else until it is seen
            clock[0] += 60_000
        if clock[0] > START + 1_200_000:
            raise Enough

    now = SimpleNamespace(monotonic=time.monotonic, time_ns=lambda: clock[0] * 1_000_000, sleep=sleep)
    monkeypatch.setattr(lines, "time", now)
    monkeypatch.setattr(lines, "LOOK_SECONDS", 0.0)
    write(tmp_path, 2)

    def take(data: bytes) -> None:
        told.extend(json.loads(line) for line in data.splitlines())
        growing[0] = told[-1]["stalled"] is not None and told[-1]["turns"] == 2
        if growing[0]:
            write(tmp_path, 4)
            clock[0] = START + 30_000

    feed = Feed(Plan(find_roots([str(tmp_path)])))
    with pytest.raises(Enough):
        watch_lines(feed, take, lambda text: None, once=False)
    feed.close()
    for line in told:
        fits("watch", line)
    assert [(line["turns"], line["status"], line["stalled"] is not None) for line in told] == [
        (2, "running", False),
        (2, "stalled", True),
        (4, "running", False),
        (4, "stalled", True),
    ]


def test_a_log_without_times_was_written_when_its_file_was(tmp_path: Path) -> None:
    """It seemed to be at work just now, whenever the view was opened."""
    log = tmp_path / "s.jsonl"
    log.write_bytes(stream(READ_EDIT, whole=False))
    os.utime(log, (START / 1000, START / 1000))
    told = run(tmp_path, "watch", "--json", "--once", log)
    (line,) = map(json.loads, told.out.splitlines())
    assert (told.code, line["last_event_at"]) == (0, "2026-01-01T00:00:00.000Z")
    assert (line["status"], line["stalled"]) == ("incomplete", None)


def test_once_tells_every_session_and_ends(tmp_path: Path) -> None:
    path = write(tmp_path, 2, cut=6)
    told = run(tmp_path, "watch", "--json", "--once", path, SESSION, DOCUMENT)
    assert (told.code, told.err) == (0, "")
    found = {line["path"]: line for line in map(json.loads, told.out.splitlines())}
    for line in found.values():
        fits("watch", line)
    assert set(found) == {str(path), str(SESSION), DOCUMENT}
    assert (found[str(path)]["open_calls"], found[str(path)]["last_tool"]) == (1, "Bash")


def test_once_tells_a_last_line_without_an_end_too(tmp_path: Path) -> None:
    """A log of one such line had no row at all."""
    alone, several = tmp_path / "alone.jsonl", write(tmp_path, 2, cut=6)
    alone.write_bytes(stream(READ_EDIT).splitlines()[-1])
    several.write_bytes(several.read_bytes().removesuffix(b"\n"))
    told = run(tmp_path, "watch", "--json", "--once", alone, several)
    found = {line["path"]: line for line in map(json.loads, told.out.splitlines())}
    assert set(found) == {str(alone), str(several)}
    assert found[str(alone)]["status"] == summarize(alone).status == "complete"
    assert (found[str(several)]["open_calls"], found[str(several)]["last_tool"]) == (1, "Bash")


def watched(folder: Path, log: Path, path: str | None = None) -> dict[str, Any]:
    told = run(folder, "watch", "--json", "--once", "--since", "90000d", log)
    return next(row for row in map(json.loads, told.out.splitlines()) if row["path"] == (path or str(log)))


def test_once_counts_an_answer_that_was_cut_off_as_it_counts_in_a_result(tmp_path: Path) -> None:
    log = tmp_path / "stream.jsonl"
    whole = (FIXTURES / "pi" / "stream.jsonl").read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(whole) if b'"message_update"' in line)
    log.write_bytes(b"".join(whole[: last + 1]))
    row, result = watched(tmp_path, log), summarize(log)
    assert row["turns"] == result.tool_use_summary["turns"] > 0
    log.write_bytes(b"".join(whole))
    assert watched(tmp_path, log)["turns"] == row["turns"]


def test_once_takes_what_is_not_final_in_a_database(tmp_path: Path) -> None:
    running = export()
    del running["messages"][-1]["info"]["time"]["completed"]
    database = tmp_path / "opencode.db"
    make_database(database, running).close()
    row = watched(tmp_path, database, f"{database}::ses_1")
    assert (row["turns"], row["input_tokens"], row["last_tool"]) == (2, 280, "Read")
    assert row["open_calls"] == 1


def test_a_database_that_cannot_be_read_at_the_end_is_told(tmp_path: Path) -> None:
    running = export()
    del running["messages"][-1]["info"]["time"]["completed"]
    database = tmp_path / "opencode.db"
    make_database(database, running).close()
    feed = Feed(Plan(find_roots([str(database)])))
    while feed.round():
        pass
    database.write_bytes(b"no database any more")
    feed.finish()
    assert feed.troubles.startswith("blocked")
    assert feed.follower.troubles
    assert [look.turn for look in feed.looks(START)] == [1]
    feed.close()


def test_once_counts_a_call_whose_script_is_open(tmp_path: Path) -> None:
    """Codex's code mode: what the script calls may come yet, so until the end nothing is said of it."""
    call = {"type": "custom_tool_call", "call_id": "s", "name": "exec", "namespace": "functions", "input": SCRIPT}
    records = [("session_meta", {"id": "c-1", "cwd": "/w"}), ("response_item", call)]
    log = tmp_path / "rollout.jsonl"
    with log.open("w") as file:
        for kind, payload in records:
            file.write(json.dumps({"timestamp": "2026-03-01T10:00:01Z", "type": kind, "payload": payload}) + "\n")
    row, result = watched(tmp_path, log), summarize(log)
    assert (row["tool_calls"], row["open_calls"]) == (result.tool_use_summary["total_tool_calls"], 1) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "watch needs a terminal; with --once or --json"),
        (("--json", "--once", "none"), 4, "cannot read none: no such file or folder"),
        (("--json", "--once", "x.jsonl"), 4, "x.jsonl: not a log of a known agent"),
        (("--json", "--once", "--root", "x.jsonl"), 4, "x.jsonl is a file, not a folder"),
    ],
)
def test_what_cannot_be_watched_is_told_on_standard_error(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"hello\n")
    told = run(tmp_path, "watch", *arguments)
    assert (told.code, told.out) == (code, b"")
    assert said in told.err


def test_a_context_of_any_number_of_tokens_is_not_a_share(tmp_path: Path) -> None:
    log = (EXAMPLES / "claude.jsonl").read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(log.replace(b'"input_tokens":4', b'"input_tokens":4' + b"0" * 400))
    assert path.stat().st_size > len(log)
    told = run(tmp_path, "watch", "--json", "--once", path)
    assert (told.code, json.loads(told.out)["context"]) == (0, None)


def test_once_prints_a_table_whose_first_rows_hang(tmp_path: Path) -> None:
    from agentv_stream.watch.table import print_table

    write(tmp_path, 2, cut=6)
    feed = Feed(Plan(find_roots([str(tmp_path)])))
    while feed.round():
        pass
    out = io.StringIO()
    print_table(out, feed.looks(START + 400_000), 1)
    titles, line, last = out.getvalue().splitlines()
    assert titles.split() == ["id", "agent", "project", "turn", "calls", "err", "cost", "last", "tool", "age", "prompt"]
    assert line.startswith("!  aaaa-1")
    assert "Bash open for 6m" in line
    assert last == "1 session, 0 running, 1 stalled"
    long = replace(feed.looks(START)[0], session="s" * 100, project="p" * 100, prompt="q" * 200)
    out = io.StringIO()
    print_table(out, [long], 1)
    assert all(text in out.getvalue() for text in (long.session, long.project, long.prompt))  # a pipe gets all
    told = run(tmp_path, "watch", "--once", tmp_path, "--since", "2000-01-01")
    assert (told.code, told.out.decode().splitlines()[1][:1]) == (0, "?")
