"""Logs of which a follower once made another transcript than `consume`: each as small as it can be."""

import gzip
import json
import os
from pathlib import Path

import pytest

from agentv_stream.discovery.places import find_roots
from agentv_stream.following import follow, resting
from agentv_stream.following.follow_plan import Plan
from agentv_stream.settings import Settings
from support.consumed_and_followed import both, difference, follow_into, session_of, transcripts
from support.following import Desk, catch_up
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"


def same(log: Path, folder: Path) -> Path:
    """The one transcript that a log gives in both ways."""
    pair = both(str(log), folder)
    assert pair.consumed.keys() == pair.followed.keys(), pair.said
    (name,) = pair.consumed
    assert difference(pair.consumed[name], pair.followed[name]) == ""
    return pair.followed[name]


def write_lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def exec_records(thread: str | None, turns: int) -> list[object]:
    """A stream of `codex exec`, which tells no times."""
    started: list[object] = [{"type": "thread.started", "thread_id": thread}] if thread else []
    items = [{"id": f"item_{n}", "type": "agent_message", "text": f"answer {n}"} for n in range(turns)]
    return [*started, {"type": "turn.started"}, *({"type": "item.completed", "item": item} for item in items)]


def test_a_document_that_is_pretty_printed(tmp_path: Path) -> None:
    call = {"id": "t1", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"}
    message: dict[str, object] = {"id": "1", "timestamp": "2026-01-01T00:00:01.000Z", "type": "gemini"}
    message |= {"content": "so", "toolCalls": [call]}
    first = {"id": "0", "timestamp": "2026-01-01T00:00:00.000Z", "type": "user", "content": "list"}
    log = tmp_path / "session-2026-01-01T00-00-abcdef01.json"
    whole = {"sessionId": "abcdef01-0", "projectHash": "x", "startTime": "2026-01-01T00:00:00.000Z"}
    log.write_text(json.dumps(whole | {"messages": [first, message]}, indent=2))
    assert len(same(log, tmp_path / "both").read_bytes().splitlines()) == 2


def test_a_packed_log_that_is_longer_than_one_round_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "BUDGET", 1)  # one piece of a file at a time
    log = tmp_path / f"{SESSION}.jsonl.gz"
    log.write_bytes(gzip.compress(b"\n".join(claude_records(SESSION, 600)) + b"\n"))
    assert len(same(log, tmp_path / "both").read_bytes().splitlines()) == 601


def test_a_log_without_times_is_named_by_the_time_of_its_file(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "run.jsonl", *exec_records("t-1", 2))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    assert same(log, tmp_path / "both").name.startswith("2023-11-14T22-13-20-000Z_codex_t-1.")


def test_a_log_without_times_keeps_its_name_when_it_grows(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = write_lines(desk.logs / "run.jsonl", *exec_records("t-1", 2))
    os.utime(log, (1_700_000_000, 1_700_000_000))
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    follower.close()  # what was told of an unknown model is not committed as told
    for n, record in enumerate(exec_records("t-1", 6)[4:]):
        with log.open("a") as file:
            file.write(json.dumps(record) + "\n")
        os.utime(log, (1_700_000_100 + n, 1_700_000_100 + n))
        desk.catch_up()
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    assert transcript.name.startswith("2023-11-14T22-13-20-000Z")
    assert transcript.read_bytes().count(b"answer ") == 6


def test_a_log_without_a_session_id_is_named_by_its_place(tmp_path: Path) -> None:
    one = write_lines(tmp_path / "a" / "run.jsonl", *exec_records(None, 2))
    other = write_lines(tmp_path / "b" / "run.jsonl", *exec_records(None, 2))
    for path in (one, other):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    assert same(one, tmp_path / "both-a").name != same(other, tmp_path / "both-b").name


def test_a_session_id_that_comes_late(tmp_path: Path) -> None:
    """Copilot's stream tells it with its end."""
    records: list[object] = [
        {"type": "assistant.message", "id": f"e{n}", "timestamp": f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z",
         "data": {"messageId": f"m{n}", "content": f"text {n}", "toolRequests": []}}
        for n in range(300)
    ]  # fmt: skip
    end = {"type": "result", "timestamp": "2026-01-01T01:00:00.000Z", "sessionId": "late-1", "exitCode": 0}
    log = write_lines(tmp_path / "run.jsonl", *records, end)
    assert session_of(same(log, tmp_path / "both")) == "late-1"


def test_a_session_id_that_comes_behind_a_dead_letter(tmp_path: Path) -> None:
    """The first output of a session names all of them."""
    said: list[dict[str, object]] = [
        {"type": "assistant.message", "id": f"e{n}", "timestamp": "2026-01-01T00:00:01.000Z",
         "data": {"messageId": f"m{n}", "content": "text " * 40_000, "toolRequests": []}}
        for n in range(8)
    ]  # fmt: skip
    end = {"type": "result", "timestamp": "2026-01-01T00:00:02.000Z", "sessionId": "late-1", "exitCode": 0}
    log = write_lines(tmp_path / "run.jsonl", {**said[0], "id": 7}, *said, end)  # longer than what one read brings
    transcript = same(log, tmp_path / "both")
    assert session_of(transcript) == "late-1"
    (letters,) = (tmp_path / "both" / "consumed").glob("*.dead-letters.jsonl")
    assert letters.name.partition(".")[0] == transcript.name.partition(".")[0]


def test_of_two_models_the_first_one_names_the_session(tmp_path: Path) -> None:
    records = claude_records(SESSION, 200)
    later = [record.replace(b'"claude-x"', b'"claude-y"') for record in records[300:]]
    log = tmp_path / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join([*records[:300], *later]) + b"\n")
    row = json.loads(same(log, tmp_path / "both").read_bytes().splitlines()[-1])
    assert row["source"]["model"] == "claude-x"
    assert row["metadata"]["agentv_stream"]["model"] == "claude-y"


def test_two_logs_of_one_session_do_not_write_into_one_transcript(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        path = tmp_path / "logs" / folder / f"{folder}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"\n".join(claude_records(SESSION, 3, seed=len(folder))) + b"\n")
    other = tmp_path / "logs" / "b" / "b.jsonl"
    other.write_bytes(other.read_bytes().replace(b"step", b"other step"))
    follow_into(Plan(find_roots([str(tmp_path / "logs")]), Settings(out=tmp_path / "out")), tmp_path / "state")
    found = transcripts(tmp_path / "out")
    assert len(found) == 2
    assert {session_of(path) for path in found.values()} == {SESSION}
    assert sum(b"other step" in path.read_bytes() for path in found.values()) == 1


def test_a_session_that_cannot_be_named_yet_is_not_lost_when_many_are_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resting, "MOST_HOT", 2)
    desk = Desk(tmp_path)
    logs = [write_lines(desk.logs / f"run{n}.jsonl", *exec_records(f"t-{n}", 2)) for n in range(8)]
    follower = desk.follower()
    catch_up(follower)
    assert len(follower.hot) <= 2
    for log in logs:
        with log.open("a") as file:
            file.write(json.dumps(exec_records(None, 3)[-1]) + "\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    found = transcripts(desk.out).values()
    assert {session_of(path): path.read_bytes().count(b"answer ") for path in found} == {f"t-{n}": 3 for n in range(8)}
    assert desk.catch_up().counts.records == 0  # and a restart has nothing to read again


def test_a_sub_agents_file_that_was_seen_first_is_handed_to_its_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    agent = [r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in claude_records(SESSION, 2, 100, 9)]
    below = desk.logs / SESSION / "subagents"
    below.mkdir(parents=True)
    (below / "agent-abc.jsonl").write_bytes(b"\n".join(agent) + b"\n")
    desk.catch_up()
    assert len(list(desk.out.glob("*.transcript.jsonl"))) == 1
    (desk.logs / f"{SESSION}.jsonl").write_bytes(b"\n".join(claude_records(SESSION, 3)) + b"\n")
    desk.catch_up()
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    streams = {json.loads(line)["metadata"]["agentv_stream"]["stream"] for line in transcript.read_bytes().splitlines()}
    assert streams == {"main", "sidechain:abc"}
    assert len(list(desk.out.glob("*.result.json"))) == 1
