"""What follows a session writes what `consume` would, whatever the cuts and the crashes."""

import json
import os
import random
from pathlib import Path

import pytest

from agentv_stages.model.batch import Batch
from agentv_stream.following import follow
from agentv_stream.following import followed as followed_module
from agentv_stream.following.cursors import CursorStore
from agentv_stream.following.follow import Follower
from agentv_stream.following.followed import Followed, Listener
from support.consuming import STREAM, finished
from support.decoding import FIXTURES
from support.following import Desk, catch_up
from support.growing_logs import claude_records

SESSION = "11111111-2222-3333-4444-555555555555"


def consumed(log: Path, out: Path) -> bytes:
    """The transcript that `consume` makes of the finished log."""
    finished("consume", log, "--out", out, "-q")
    (transcript,) = out.glob("*.transcript.jsonl")
    return transcript.read_bytes()


def followed(desk: Desk) -> bytes:
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    return transcript.read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_a_log_followed_in_random_cuts_with_crashes_gives_the_bytes_of_consume(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    desk = Desk(tmp_path)
    data = b"\n".join(claude_records(SESSION, 40, seed=seed)) + b"\n"
    log = desk.logs / f"{SESSION}.jsonl"
    follower = desk.follower()
    at = 0
    while at < len(data):
        cut = at + rng.randrange(1, 3000)
        with log.open("ab") as file:
            file.write(data[at:cut])
        at = cut
        follower.round()
        if rng.random() < 0.2:
            follower.close()
            follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert followed(desk) == consumed(log, tmp_path / "consumed")
    again = desk.catch_up()
    assert again.counts.records == 0
    assert followed(desk) == consumed(log, tmp_path / "again")


class Stopping(Listener):
    """Stops a follower at the first batch."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower

    def observe(self, session: Followed, batch: Batch) -> None:
        self.follower.stopping = True


def test_a_stop_takes_no_further_session_and_the_next_follower_reads_the_rest(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for number in range(5):
        name = f"{number}{SESSION[1:]}"
        (desk.logs / f"{name}.jsonl").write_bytes(b"\n".join(claude_records(name, 3)) + b"\n")
    follower = desk.follower()
    follower.listeners.append(Stopping(follower))
    follower.round()
    follower.finish(all_read=False)
    follower.close()
    assert len(list(desk.out.glob("*.result.json"))) == 1
    desk.catch_up()
    assert len(list(desk.out.glob("*.result.json"))) == 5
    desk.close()


@pytest.mark.parametrize("how", ["killed", "stopped", "killed, events only"])
def test_a_follower_goes_on_in_the_middle_of_a_log_that_does_not_grow_any_more(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is too long for one round: the follower ends before it has read all of it."""
    monkeypatch.setattr(follow, "BUDGET", 4000)
    monkeypatch.setattr(followed_module, "CHUNK_BYTES", 1000)
    desk = Desk(tmp_path)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(claude_records(SESSION, 20)) + b"\n")
    files = how != "killed, events only"
    follower = desk.follower(files=files)
    follower.round()
    if how == "stopped":
        follower.settle_all()
    else:
        follower.commit(list(follower.hot.values()), force=True)
    assert 0 < follower.counts.bytes < log.stat().st_size
    follower.close()
    desk.catch_up(files=files)
    if files:
        assert followed(desk) == consumed(log, tmp_path / "consumed")
    whole = Desk(tmp_path / "whole")
    (whole.logs / log.name).write_bytes(log.read_bytes())
    whole.catch_up()
    assert set(desk.event_ids()) == set(whole.event_ids())


def test_an_unfinished_last_line_is_shown_by_the_follower_after_a_crash(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 2)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:-1]) + b"\n" + records[-1])
    follower = desk.follower()
    follower.plan.settle_seconds = 3600.0
    catch_up(follower)
    follower.commit(list(follower.hot.values()), force=True)
    follower.close()
    desk.catch_up()
    assert followed(desk) == consumed(log, tmp_path / "consumed")


def test_at_rest_the_transcript_is_that_of_the_log_so_far(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 6)
    log = desk.logs / f"{SESSION}.jsonl"
    follower = desk.follower()
    for n, record in enumerate(records):
        with log.open("ab") as file:
            file.write(record + b"\n")
        catch_up(follower)
        follower.settle_all()
        assert followed(desk) == consumed(log, tmp_path / f"consumed{n}")
    follower.close()
    desk.close()


def test_a_last_line_without_its_end_is_shown_but_not_committed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 2)
    log = desk.logs / f"{SESSION}.jsonl"
    whole = b"\n".join(records[:-1]) + b"\n"
    log.write_bytes(whole + records[-1])
    desk.catch_up()
    store = desk.follower().store
    assert store is not None
    assert store.sessions()[0].inputs[0].mark.offset == len(whole)
    assert followed(desk) == consumed(log, tmp_path / "consumed")
    desk.close()


def test_what_a_follower_emits_twice_bears_the_same_ids(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(claude_records(SESSION, 10)) + b"\n")
    first = desk.follower()
    first.round()
    first.close()  # before it committed what it emitted
    once = set(desk.event_ids())
    desk.catch_up()
    assert set(desk.event_ids()) == once


@pytest.mark.parametrize("log", ["stream.jsonl", "no-id.jsonl"])
def test_what_followers_emit_one_after_the_other_is_what_one_emits(log: str, tmp_path: Path) -> None:
    """Perhaps more than once, but the same. A log that does not tell its id is the same session over restarts."""
    data = STREAM.read_bytes()
    if log == "no-id.jsonl":
        data = (FIXTURES / "cursor" / "transcript.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    told: list[set[str]] = []
    for pieces in (1, 4):
        desk = Desk(tmp_path / str(pieces))
        for n in range(pieces):
            with (desk.logs / log).open("ab") as file:
                file.write(b"".join(lines[n * len(lines) // pieces : (n + 1) * len(lines) // pieces]))
            desk.catch_up()
        place = json.dumps(str(desk.logs)).strip('"')
        told.append({line.replace(place, "") for line in b"".join(desk.emitted).decode().splitlines()})
    assert told[0] == told[1]


def test_a_sub_agents_file_belongs_to_its_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / f"{SESSION}.jsonl").write_bytes(b"\n".join(claude_records(SESSION, 3)) + b"\n")
    follower = desk.follower()
    catch_up(follower)
    below = desk.logs / SESSION / "subagents"
    below.mkdir(parents=True)
    agent = [r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in claude_records(SESSION, 2, 100, 9)]
    (below / "agent-abc.jsonl").write_bytes(b"\n".join(agent) + b"\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    (rows,) = desk.transcripts().values()
    streams = {row["metadata"]["agentv_stream"]["stream"] for row in rows}
    assert streams == {"main", "sidechain:abc"}


def test_a_sub_agents_file_that_was_followed_alone_is_no_session_any_more_once_its_session_is_there(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    agent = [r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in claude_records(SESSION, 2, 100, 9)]
    below = desk.logs / SESSION / "subagents" / "agent-abc.jsonl"
    below.parent.mkdir(parents=True)
    below.write_bytes(b"\n".join(agent) + b"\n")
    desk.catch_up()
    alone = list(desk.out.iterdir())
    assert alone
    (desk.logs / f"{SESSION}.jsonl").write_bytes(b"\n".join(claude_records(SESSION, 8)) + b"\n")
    desk.catch_up()
    assert not [path for path in alone if path.exists()]
    store = CursorStore(desk.state, desk.consumer)
    assert [[one.path for one in row.inputs] for row in store.sessions()] == [
        [str(desk.logs / f"{SESSION}.jsonl"), str(below)]
    ]
    store.close()
    before = len(desk.emitted)
    desk.catch_up()
    assert len(desk.emitted) == before


def test_from_the_end_a_crash_while_what_is_old_is_worked_off_tells_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "BUDGET", 1000)
    monkeypatch.setattr(followed_module, "CHUNK_BYTES", 500)
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 8)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:20]) + b"\n")
    follower = desk.follower(begin="end", files=False)
    follower.round()
    with log.open("ab") as file:
        file.write(b"\n".join(records[20:]) + b"\n")
    for _ in range(4):
        follower = desk.follower(begin="end", files=False)
        follower.round()
        follower.commit(list(follower.hot.values()), force=True)
    catch_up(follower)
    follower.close()
    desk.close()
    rows = {event["source"]["row"] for event in desk.events()}
    assert rows == set(range(20, len(records)))


def test_from_the_end_a_last_line_that_grew_is_told_even_if_it_never_gets_its_end(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 8)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:10]) + b"\n" + records[10][:40])
    follower = desk.follower(begin="end")
    follower.round()
    with log.open("ab") as file:
        file.write(records[10][40:])
    catch_up(follower)
    log.write_bytes(b"\n".join(records[11:14]) + b"\n")
    catch_up(follower)
    follower.close()
    desk.close()
    rows = {event["source"]["row"] for event in desk.events()}
    assert rows == {10, 11, 12, 13}


def test_from_the_end_old_records_are_counted_but_not_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 8)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:10]) + b"\n")
    follower = desk.follower(begin="end")
    follower.round()
    assert not desk.emitted
    with log.open("ab") as file:
        file.write(b"\n".join(records[10:]) + b"\n")
    catch_up(follower)
    told = set(desk.event_ids())
    follower.close()
    desk.close()
    whole = Desk(tmp_path / "whole")
    (whole.logs / log.name).write_bytes(log.read_bytes())
    whole.catch_up()
    assert told < set(whole.event_ids())


def test_another_start_from_the_end_tells_what_came_while_no_follower_ran(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    names = [f"{n}1111111-2222-3333-4444-555555555555" for n in range(4)]
    old, grown, followed, begun = (desk.logs / f"{name}.jsonl" for name in names)
    records = {path: claude_records(name, 8) for path, name in zip((old, grown, followed, begun), names, strict=True)}

    def write(path: Path, begin: int, end: int) -> None:
        with path.open("ab") as file:
            file.write(b"".join(record + b"\n" for record in records[path][begin:end]))

    for path in (old, grown, followed):
        write(path, 0, 9)
    follower = desk.follower(begin="end")
    follower.round()
    assert not desk.emitted
    write(followed, 9, 13)
    catch_up(follower)
    follower.close()
    write(grown, 9, 17)
    write(followed, 13, 17)
    write(begun, 0, 17)
    for _ in range(2):  # the second one tells nothing twice
        follower = desk.follower(begin="end")
        catch_up(follower)
        follower.settle_all()
        follower.close()
    desk.close()
    assert set(desk.event_ids().values()) == {1}
    told = [event["source"] for event in desk.events()]
    first = {path: min((one["row"] for one in told if one["file"] == str(path)), default=None) for path in records}
    assert first == {old: None, grown: 9, followed: 9, begun: 0}
    assert {one["row"] for one in told if one["file"] == str(followed)} == set(range(9, 17))
    assert {one["row"] for one in told if one["file"] == str(grown)} == set(range(9, 17))


def test_a_log_that_is_named_itself_is_told_from_its_end_at_every_start(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    names = ("11111111-2222-3333-4444-555555555555", "21111111-2222-3333-4444-555555555555")
    old, later = (desk.logs / f"{name}.jsonl" for name in names)
    old.write_bytes(b"\n".join(claude_records(names[0], 8)[:9]) + b"\n")
    for _ in range(3):
        follower = desk.follower(begin="end", paths=[str(old), str(later)])
        catch_up(follower)
        follower.close()
        assert not desk.emitted
    with old.open("ab") as file:
        file.write(b"\n".join(claude_records(names[0], 8)[9:]) + b"\n")
    later.write_bytes(b"\n".join(claude_records(names[1], 8)) + b"\n")
    follower = desk.follower(begin="end", paths=[str(old), str(later)])
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    told = [event["source"] for event in desk.events()]
    assert [min(one["row"] for one in told if one["file"] == str(path)) for path in (old, later)] == [9, 0]


def test_a_start_elsewhere_leaves_the_ends_of_other_places_as_they_were(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    here, there = desk.logs, tmp_path / "there"
    there.mkdir()
    names = [f"{n}1111111-2222-3333-4444-555555555555" for n in range(3)]
    one, other, begun = here / f"{names[0]}.jsonl", there / f"{names[1]}.jsonl", here / f"{names[2]}.jsonl"

    def write(path: Path, begin: int, end: int) -> None:
        with path.open("ab") as file:
            file.write(b"".join(record + b"\n" for record in claude_records(path.stem, 8)[begin:end]))

    def look(*places: Path) -> None:
        for desk.logs in places:
            follower = desk.follower(begin="end")
            catch_up(follower)
            follower.close()

    write(one, 0, 9)
    write(other, 0, 9)
    look(here, there)
    assert not desk.emitted
    for path, begin in ((one, 9), (other, 9), (begun, 0)):
        write(path, begin, 17)
    look(there, here)
    desk.close()
    told = [event["source"] for event in desk.events()]
    first = {path: min(s["row"] for s in told if s["file"] == str(path)) for path in (one, other, begun)}
    assert first == {one: 9, other: 9, begun: 0}
    assert max(desk.event_ids().values()) == 1


@pytest.mark.parametrize("begin", ["start", "end"])
@pytest.mark.parametrize("pretty", [True, False])
def test_a_document_that_is_rewritten_gives_the_transcript_of_its_last_form(
    begin: str, pretty: bool, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "session-2026-01-01T00-00-abcdef01.json"
    head = (
        '{\n "sessionId": "abcdef01-0000", "projectHash": "x", "startTime": "2026-01-01T00:00:00.000Z",\n "messages": ['
    )
    messages = [
        f'{{"id": "{n}", "timestamp": "2026-01-01T00:00:0{n}.000Z", "type": "user", "content": "prompt {n}"}}'
        for n in range(4)
    ]

    def write(n: int) -> None:
        text = head + ",\n".join(messages[:n]) + "]\n}"
        log.write_text((text if pretty else text.replace("\n", " ")) + "\n")

    if begin == "end":
        write(3)
    follower = desk.follower(begin=begin)
    follower.round()
    assert not desk.transcripts()
    for n in (4, 1, 2) if begin == "end" else (1, 2, 3, 4):  # what was rewound is shorter
        write(n)
        catch_up(follower)
        follower.settle_all()
        (rows,) = desk.transcripts().values()
        assert [row["content"] for row in rows] == [f"prompt {i}" for i in range(n)]
    follower.close()
    desk.close()
    events = desk.events()
    assert len({(event["id"], event["parent_id"]) for event in events}) == len(desk.event_ids())


def test_a_full_disk_stops_commits_and_is_recovered_from_without_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(claude_records(SESSION, 10)) + b"\n")
    follower = desk.follower()
    real = os.pwrite

    def full(descriptor: int, data: bytes, offset: int, /) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    follower.round()
    assert follower.troubles
    assert "blocked, nothing is committed" in desk.said
    assert follower.store is not None
    assert not follower.store.sessions()
    monkeypatch.setattr(os, "pwrite", real)
    for trouble in follower.troubles.values():
        trouble.retry_at = 0.0
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    assert "recovered" in desk.said
    follower.close()
    desk.close()
    assert followed(desk) == consumed(log, tmp_path / "consumed")


def test_an_output_that_lost_bytes_is_made_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 10)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:20]) + b"\n")
    desk.catch_up()
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    os.truncate(transcript, 100)
    with log.open("ab") as file:
        file.write(b"\n".join(records[20:]) + b"\n")
    desk.catch_up()
    assert followed(desk) == consumed(log, tmp_path / "consumed")


def test_a_folder_that_goes_away_deletes_nothing_and_comes_back(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    records = claude_records(SESSION, 10)
    log = desk.logs / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(records[:15]) + b"\n")
    follower = desk.follower()
    catch_up(follower)
    desk.logs.rename(tmp_path / "away")
    catch_up(follower)
    assert "deleted" not in desk.said
    (tmp_path / "away").rename(desk.logs)
    with log.open("ab") as file:
        file.write(b"\n".join(records[15:]) + b"\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert followed(desk) == consumed(log, tmp_path / "consumed")


def test_hundreds_of_sessions_do_not_stay_in_memory_or_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentv_stream.following import resting

    monkeypatch.setattr(resting, "MOST_HOT", 8)
    desk = Desk(tmp_path)
    for n in range(120):
        name = f"{n:08}-0000-0000-0000-000000000000"
        (desk.logs / f"{name}.jsonl").write_bytes(b"\n".join(claude_records(name, 2)) + b"\n")
    follower = desk.follower()
    catch_up(follower)
    assert len(follower.hot) <= 8
    assert len(follower.files) <= follower.files.limit
    follower.settle_all()
    follower.close()
    desk.close()
    assert len(desk.transcripts()) == 120


def test_a_text_in_pieces_stands_whole_in_the_summary_log_after_a_crash(tmp_path: Path) -> None:
    head = {"type": "init", "timestamp": "2026-01-01T00:00:00.000Z", "session_id": "g-1", "model": "gemini-x"}
    piece = {"type": "message", "timestamp": "2026-01-01T00:00:01.000Z", "role": "assistant", "delta": True}
    words = ["one ", "two ", "three ", "four"]
    end = {"type": "result", "timestamp": "2026-01-01T00:00:02.000Z", "status": "success"}
    lines = [json.dumps(r) for r in [head, *(piece | {"content": word} for word in words), end]]
    desk = Desk(tmp_path)
    log = desk.logs / "run.jsonl"
    for line in lines:
        with log.open("a") as file:
            file.write(line + "\n")
        follower = desk.follower(stream_log="summary")
        catch_up(follower)
        follower.settle_all()
        follower.close()
    desk.close()
    (summary,) = desk.out.glob("*.stream.log")
    assert "one two three four" in summary.read_text()
    assert summary.read_text().count("assistant:") == 1
    finished("consume", log, "--out", tmp_path / "c", "-q", "--stream-log", "summary")
    (whole,) = (tmp_path / "c").glob("*.stream.log")
    assert summary.read_text() == whole.read_text()


def test_dead_letters_that_were_taken_back_leave_no_file(tmp_path: Path) -> None:
    """A result ahead of its call is a fault for as long as the call has not come."""
    desk = Desk(tmp_path)
    prompt, text, call, result = claude_records("aaaa-1", 1)
    log = desk.logs / "aaaa-1.jsonl"
    log.write_bytes(b"\n".join((prompt, text, result)) + b"\n")
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    (letters,) = desk.out.glob("*.dead-letters.jsonl")
    assert b"orphan-result" in letters.read_bytes()
    with log.open("ab") as file:
        file.write(call + b"\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert not letters.exists()
    (told,) = desk.out.glob("*.result.json")
    assert "dead_letters" not in json.loads(told.read_bytes())["outputs"]
