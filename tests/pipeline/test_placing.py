"""Outputs go where `consume` puts them: not into another session's file, not into one that somebody else made."""

import os
from pathlib import Path

import pytest

from agentv_stream.following.followed import Followed
from agentv_stream.following.keep import keep_rule
from support.following import Desk, catch_up
from support.growing_logs import claude_records
from support.registers import Registered

# What a crash left under another start is removed; whatever else lies there, even at the same path, is not ours.

CRASHED = "10000102-session"
RECORDS = claude_records(CRASHED, 8)


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


SESSION = "11111111-2222-3333-4444-555555555555"


def begun(place: Registered, name: str = "a.jsonl", session: str = SESSION) -> Followed:
    made = place.register.open(str(place.write(name, claude_records(session, 3))))
    place.read(made)
    return made


def name_of(session: Followed) -> str:
    assert session.outputs is not None
    assert session.outputs.state is not None
    return session.outputs.state.stem.partition("_claude_")[2]


def test_two_sessions_of_one_id_have_two_transcripts(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    assert name_of(begun(place)) == SESSION
    assert name_of(begun(place, "other/a.jsonl")) == f"{SESSION}-2"
    place.close()


def test_what_a_cursor_says_is_taken_stays_so(tmp_path: Path) -> None:
    """The other session is not in memory."""
    place = Registered(tmp_path)
    first = begun(place)
    assert first.outputs is not None
    assert first.outputs.state is not None
    place.put(first)
    place.register.places.taken[str(first.outputs.state.path(".transcript.jsonl"))] = first.number
    place.register.drop(first)
    assert name_of(begun(place, "other/a.jsonl")) == f"{SESSION}-2"
    place.close()


def test_a_file_that_somebody_else_made_is_not_written_over(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    probe = begun(place)
    assert probe.outputs is not None
    assert probe.outputs.state is not None
    theirs = probe.outputs.state.path(".transcript.jsonl")
    other = Registered(tmp_path / "other")
    other.out.mkdir(parents=True)
    names = [theirs.name.replace(".transcript", f"{n}.transcript") for n in ("", "-2", "-3")]
    for name in names:
        (other.out / name).write_text("my notes\n")
    session = other.register.open(str(other.write("a.jsonl", claude_records(SESSION, 3))))
    other.read(session)
    assert name_of(session) == f"{SESSION}-4"
    assert [(other.out / name).read_text() for name in names] == ["my notes\n"] * 3
    place.close()
    other.close()


def test_a_follower_of_events_alone_writes_no_files(tmp_path: Path) -> None:
    place = Registered(tmp_path, files=False)
    assert begun(place).outputs is None
    assert not place.out.exists()
    place.close()


def test_what_was_written_is_known_as_ours(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    session = begun(place)
    assert session.outputs is not None
    assert session.outputs.state is not None
    assert place.store is not None
    path = session.outputs.state.path(".transcript.jsonl")
    assert place.store.claims.claim(str(path), False)
    assert place.store.claims.is_made(path)
    place.close()
