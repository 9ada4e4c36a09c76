"""Files that are no logs cost a follower neither memory nor time, however they grow."""

from pathlib import Path

from agentv_stages.detect import MOST_NOISE
from support.following import Desk, catch_up
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
    assert session.given_up
    assert session.detector is not None
    assert not session.detector.held
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
