"""What a crash left under another start is removed; whatever else lies there, even at the same path, is not ours."""

import os
from pathlib import Path

import pytest

from agentv_stream.following.keep import keep_rule
from support.following import Desk, catch_up
from support.growing_logs import claude_records

SESSION = "10000102-session"
RECORDS = claude_records(SESSION, 8)


class Crash(BaseException):
    """The process dies here."""


def write(log: Path, records: list[bytes]) -> None:
    log.write_bytes(b"".join(record + b"\n" for record in records))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def left(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A crash came before the first commit; then the log was written anew without its first records."""
    log = desk.logs / "s.jsonl"
    write(log, RECORDS[:8])
    real = os.pwrite

    def pwrite(descriptor: int, data: bytes, offset: int, /) -> int:
        real(descriptor, data, offset)
        raise Crash

    follower = desk.follower()
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(os, "pwrite", pwrite)
        catch_up(follower)
    follower.close()
    desk.close()
    write(log, RECORDS[4:])
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    return transcript


def transcripts(desk: Desk) -> set[Path]:
    return set(desk.out.glob("*.transcript.jsonl"))


def test_what_a_crash_left_under_another_start_goes(desk: Desk, left: Path) -> None:
    desk.catch_up()
    assert len(transcripts(desk)) == 1
    assert not left.exists()
    assert "outputs that a crash left under another start time are removed" in desk.said


def test_a_transcript_that_another_run_put_in_its_place_stays(desk: Desk, left: Path) -> None:
    """`consume` publishes by renaming: the same session, log and name, and finished."""
    finished = left.with_name("finished")
    finished.write_bytes(left.read_bytes())
    finished.rename(left)
    result = left.with_name(left.name.replace(".transcript.jsonl", ".result.json"))
    result.write_bytes(b"{}")
    desk.catch_up()
    assert len(transcripts(desk)) == 2
    assert result.read_bytes() == b"{}"


def test_a_transcript_of_the_same_session_that_was_never_claimed_stays(desk: Desk, left: Path) -> None:
    other = left.with_name(left.name.replace("2026", "2025"))
    other.write_bytes(left.read_bytes())
    link = left.with_name(left.name.replace("2026", "2024"))
    link.hardlink_to(left)
    desk.catch_up()
    assert other.exists()
    assert link.exists()
    assert not left.exists()


def test_outputs_of_another_consumer_stay(desk: Desk, left: Path) -> None:
    desk.state = desk.state.with_name("another")
    desk.catch_up()
    assert left.exists()
    assert len(transcripts(desk)) == 2


def test_what_keep_removed_is_not_ours_when_it_comes_again(desk: Desk, tmp_path: Path) -> None:
    write(desk.logs / "s.jsonl", RECORDS)
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    (transcript,) = transcripts(desk)
    assert desk.store is not None
    assert desk.store.claims.is_made(transcript)
    follower.hot.clear()
    keep_rule("0d")(follower)
    assert not transcript.exists()
    transcript.write_bytes(b"")  # it may get the same inode
    assert not desk.store.claims.is_made(transcript)
    desk.close()
