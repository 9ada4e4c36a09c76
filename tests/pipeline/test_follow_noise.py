"""Files that are no logs cost a follower neither memory nor time, however they grow."""

from pathlib import Path

import pytest

from agentv_stages.session.detect import MOST_NOISE
from support.following import Desk, begin, catch_up
from support.growing_logs import claude_records

LINE = b"2026-01-01 INFO nothing of interest happened here, and it will happen again\n"
FOREIGN = b'{"kind": "ping", "of": "another program", "number": 1}\n'


def test_endless_noise_is_given_up_and_not_held(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "noise.jsonl"
    follower = desk.follower()
    for _ in range(4):
        with log.open("ab") as file:
            file.write(LINE * (MOST_NOISE // 3))
        catch_up(follower)
    read = follower.counts.bytes
    (session,) = follower.hot.values()
    assert session.recognition.given_up
    assert session.recognition.detector is not None
    assert not session.recognition.detector.held
    assert not session.seen.new
    for _ in range(3):
        with log.open("ab") as file:
            file.write(LINE * MOST_NOISE)
        catch_up(follower)
    assert follower.counts.bytes == read
    assert not follower.backlog
    follower.close()
    desk.close()
    assert desk.transcripts() == {}


def test_records_of_another_program_are_given_up_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "other.jsonl"
    log.write_bytes(FOREIGN * 300_000)  # more than one round reads
    follower = desk.follower()
    catch_up(follower)
    assert follower.counts.bytes < log.stat().st_size / 10
    follower.close()
    desk.close()


def test_a_log_that_takes_the_place_of_noise_is_followed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "noise.jsonl"
    log.write_bytes(LINE * (MOST_NOISE + 1))
    follower = desk.follower()
    catch_up(follower)
    log.write_bytes(b"\n".join(claude_records("aaaa-1", 2)) + b"\n")
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    assert list(desk.transcripts()) == ["aaaa-1"]


def test_files_that_are_no_logs_are_not_counted_as_sessions(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / "aaaa-1.jsonl").write_bytes(b"\n".join(claude_records("aaaa-1", 2)) + b"\n")
    for n in range(3):
        (desk.logs / f"settings-{n}.json").write_bytes(b'{"theme": "dark"}\n')
    for _ in range(2):  # begun, and from the cursors
        follower = desk.follower()
        catch_up(follower)
        assert follower.sessions_known == 1
        follower.settle_all()
        follower.close()
    desk.close()


@pytest.mark.parametrize("restart", [False, True])
def test_a_log_that_was_none_yet_when_it_rested_is_followed_to_its_end(tmp_path: Path, restart: bool) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "aaaa-1.jsonl"
    log.write_bytes(FOREIGN)
    follower = begin(desk, restart)
    records = claude_records("aaaa-1", 50)
    for number, record in enumerate(records):
        with log.open("ab") as file:  # 4 MiB is the most of a document that is no log
            file.write(record + b" " * 200_000 + b"\n" * (number < len(records) - 1))
        if number % 20 == 0:
            catch_up(follower)
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    (rows,) = desk.transcripts().values()
    assert log.stat().st_size > 20_000_000
    assert len(rows) == 51
    assert rows[-1]["tool_calls"][0]["status"] == "ok"  # the last line has no end


def test_a_large_document_that_is_no_log_is_not_read_at_each_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.logs / "other.json"
    log.write_bytes(b"{}")
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    log.write_bytes(b'{"a": "' + b"x" * 5_000_000 + b'"}')
    catch_up(follower)
    assert follower.counts.bytes == 2
    follower.close()
    desk.close()
