"""Sessions are begun, brought back from their cursors, and go back to their last commit when they are blocked."""

import gc
import os
import weakref
from pathlib import Path

import pytest

from agentv_stages.model.batch import Batch
from agentv_stream.following.follow import Follower
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.metrics_page import metrics_text
from agentv_stream.following.register import Trouble
from agentv_stream.following.running import Running
from support.following import Desk, catch_up, split
from support.growing_logs import claude_records
from support.registers import Registered

# What happens to files while their session is blocked, by a full disk: it goes on without a restart, in order.

BLOCKED = "11111111-2222-3333-4444-555555555555"
BLOCKED_RECORDS = claude_records(BLOCKED, 8)
TIMES = iter(range(1_700_000_000, 1_800_000_000))


class Scene:
    """A log, its follower, and a disk that is full for one round."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.patch = patch
        self.desk = Desk(folder / "live")
        self.log = self.desk.logs / f"{BLOCKED}.jsonl"
        self.follower: Follower = self.desk.follower()
        self.written = 0

    def write(self, count: int) -> None:
        """So many further records; each write has a time of its own."""
        with self.log.open("ab") as file:
            file.write(b"".join(one + b"\n" for one in BLOCKED_RECORDS[self.written : self.written + count]))
        self.written += count
        when = next(TIMES)
        os.utime(self.log, (when, when))

    def rotate(self) -> None:
        self.log.rename(self.log.with_name(self.log.name + ".1"))

    def full_round(self) -> None:
        def full(descriptor: int, data: bytes, offset: int, /) -> int:
            raise OSError(28, "No space left on device")

        with self.patch.context() as patch:
            patch.setattr(os, "pwrite", full)
            self.follower.round()
        assert "blocked, nothing is committed" in self.desk.said

    def check(self) -> None:
        """There is room again: everything is there once, in order, and one transcript."""
        self.write(len(BLOCKED_RECORDS))
        for trouble in self.follower.troubles.values():
            trouble.retry_at = 0.0
        catch_up(self.follower)
        assert not self.follower.troubles
        self.follower.settle_all()
        self.follower.close()
        self.desk.close()
        clean = Desk(self.folder / "clean")
        (clean.logs / self.log.name).write_bytes(b"".join(one + b"\n" for one in BLOCKED_RECORDS))
        clean.catch_up()
        assert set(self.desk.event_ids()) == set(clean.event_ids())
        assert len(list(self.desk.out.glob("*.transcript.jsonl"))) == 1
        assert split(self.desk.transcripts()[BLOCKED]) == split(clean.transcripts()[BLOCKED])


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


def test_renamed(scene: Scene) -> None:
    """The rest of the old file cannot be written when its new name is seen."""
    scene.write(10)
    catch_up(scene.follower)
    scene.follower.settle_all()
    scene.write(5)
    scene.log = scene.log.rename(scene.log.with_name("other-name.jsonl"))
    scene.full_round()
    scene.check()


def test_a_further_part_that_was_joined_and_not_committed(scene: Scene) -> None:
    scene.write(10)
    catch_up(scene.follower)
    scene.follower.settle_all()
    scene.rotate()
    scene.write(5)
    scene.follower.round()  # the old file is seen under its new name
    scene.full_round()
    scene.check()


def test_rotated_before_anything_was_committed(scene: Scene) -> None:
    scene.write(5)
    scene.full_round()
    scene.write(2)
    scene.rotate()
    scene.write(1)
    scene.check()


def test_two_parts_before_anything_was_committed(scene: Scene) -> None:
    """The later one waits for the earlier one."""
    scene.write(6)
    scene.rotate()
    scene.write(1)
    scene.full_round()
    scene.write(3)
    scene.follower.round()
    scene.check()


class Seconds:
    """A clock; rounds until so many seconds have gone."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def rounds(self, follower: Follower, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            follower.round()
            self.now += 0.2


def test_a_result_that_cannot_be_written_is_told_once_and_tried_ever_more_seldom(tmp_path: Path) -> None:
    """What was read lies in the transcript: reading on succeeds, and says nothing of the disk."""
    clock = Seconds()
    desk = Desk(tmp_path, clock)
    follower = desk.follower(settle_seconds=1.0)
    follower.round()
    follower.caught_up()
    log = desk.logs / f"{BLOCKED}.jsonl"
    log.write_bytes(b"".join(one + b"\n" for one in BLOCKED_RECORDS))
    follower.round()
    place = next(desk.out.glob("*.transcript.jsonl"))
    result = place.with_name(place.name.replace(".transcript.jsonl", ".result.json"))
    result.mkdir()
    clock.rounds(follower, 40)
    assert desk.said == ["caught up", "a session begins", "blocked, nothing is committed"]
    assert [trouble.wait for trouble in follower.troubles.values()] == [30.0]
    result.rmdir()
    clock.rounds(follower, 40)
    assert desk.said[3:] == ["recovered"]
    assert not follower.troubles
    assert result.is_file()
    follower.close()


def test_a_session_that_is_begun_anew_after_a_failure_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Seconds()
    desk = Desk(tmp_path, clock)
    follower = desk.follower(settle_seconds=1.0)
    follower.round()
    follower.caught_up()

    def full(descriptor: int, data: bytes, offset: int, /) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        (desk.logs / f"{BLOCKED}.jsonl").write_bytes(b"".join(one + b"\n" for one in BLOCKED_RECORDS))
        clock.rounds(follower, 10)
    clock.rounds(follower, 10)
    assert desk.said == ["caught up", "blocked, nothing is committed", "a session begins", "recovered"]
    follower.close()


def test_a_bug_that_a_session_shows_stops_no_other_session(tmp_path: Path) -> None:
    """It is set aside, reported once, counted, and read again after a restart."""
    other = "99999999-2222-3333-4444-555555555555"
    clock = Seconds()
    desk = Desk(tmp_path, clock)
    follower = desk.follower(settle_seconds=1.0)

    class Failing(Listener):
        def observe(self, session: Followed, batch: Batch) -> None:
            if session.native_id == BLOCKED:
                raise ZeroDivisionError("a bug")

    follower.listeners.append(Failing())
    for name in (BLOCKED, other):
        records = claude_records(name, 8)
        (desk.logs / f"{name}.jsonl").write_bytes(b"".join(one + b"\n" for one in records))
    clock.rounds(follower, 20)
    os.utime(desk.logs / f"{BLOCKED}.jsonl")  # it is not read again because it seems changed
    clock.now += 1_000
    clock.rounds(follower, 20)
    assert desk.said.count("failed, set aside until a restart; this is a bug") == 1
    assert [trouble.text for trouble in follower.troubles.values()] == ["ZeroDivisionError: a bug"]
    assert "agentv_stream_failures_total 1\n" in metrics_text(follower, Running())
    follower.finish(True)
    follower.end_partials()
    whole = len(desk.transcripts()[other])
    follower.close()
    assert not desk.catch_up().troubles
    assert {name: len(rows) for name, rows in desk.transcripts().items()} == {other: whole, BLOCKED: whole}


def test_the_lag_of_a_blocked_session_is_what_follows_its_last_commit(scene: Scene) -> None:
    scene.write(3)
    scene.follower.round()
    scene.follower.commit(list(scene.follower.hot.values()), force=True)
    committed = scene.log.stat().st_size
    assert scene.follower.lag() == (0, 0.0)
    scene.write(5)
    scene.full_round()
    assert scene.follower.lag()[0] == scene.log.stat().st_size - committed
    for trouble in scene.follower.troubles.values():
        trouble.retry_at = 0.0
    catch_up(scene.follower)
    assert scene.follower.lag() == (0, 0.0)
    scene.follower.close()


SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)


def test_a_session_is_the_same_one_from_memory_and_from_its_cursor(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    log = place.write("a.jsonl", RECORDS[:7])
    session = place.register.open(str(log))
    place.read(session)
    assert place.register.wake(session.number) is session
    place.put(session)
    place.register.drop(session)
    back = place.register.wake(session.number)
    assert back is not None
    assert back is not session
    assert (back.native_id, back.main) == (SESSION, str(log))
    assert back.files.inputs[0].file.position == log.stat().st_size
    assert place.register.wake(99) is None
    place.close()


def test_without_cursors_what_is_not_in_memory_is_not_known(tmp_path: Path) -> None:
    place = Registered(tmp_path, cursors=False)
    first = place.register.open(str(place.write("a.jsonl", RECORDS)))
    second = place.register.open(str(place.write("b.jsonl", RECORDS)))
    assert first.number != second.number
    place.register.drop(first)
    assert place.register.wake(first.number) is None
    place.close()


def test_a_blocked_session_goes_back_to_its_last_commit_with_its_files(tmp_path: Path) -> None:
    """What was joined since then is nobody's: it is found anew."""
    place = Registered(tmp_path)
    register = place.register
    session = register.open(str(place.write("a.jsonl", RECORDS[:7])))
    place.read(session)
    place.put(session)
    part = place.write("b.jsonl", RECORDS[7:])
    session.add(str(part), further=True)
    register.known.entries[str(part)] = register.known.entries[session.main]
    register.trouble(session.number, OSError("no room"))
    assert set(register.known.entries) == {session.main}
    assert register.known.entries[session.main].signature is None
    assert session.number not in register.hot
    read = {session.main: Path(session.main).stat().st_size, str(part): 0}
    assert register.troubles[session.number] == Trouble("no room", 1000.5, 0.5, read=read)
    register.trouble(session.number, OSError("no room"))
    assert register.troubles[session.number] == Trouble("no room", 1001.0, 1.0, read=read)
    assert place.said == ["blocked, nothing is committed"]
    place.close()


def test_what_blocks_a_session_is_told_as_a_sentence(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    texts: list[str] = []
    for number, error in enumerate((
        PermissionError(13, "Permission denied", "/logs/a.jsonl"), OSError(5, "Input/output error"), OSError("damaged"),
    )):  # fmt: skip
        place.register.trouble(number, error)
        texts.append(place.register.troubles[number].text)
    assert texts == ["cannot read /logs/a.jsonl: Permission denied", "Input/output error", "damaged"]
    place.close()


def test_a_blocked_session_that_was_never_committed_is_begun_anew_and_keeps_its_name(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    register = place.register
    session = register.open(str(place.write("a.jsonl", RECORDS[:7])))
    place.read(session)
    register.trouble(session.number, OSError("no room"))
    (again,) = register.hot.values()
    assert again.number != session.number
    assert again.files.inputs[0].file.position == 0
    assert list(register.troubles) == [again.number]
    assert register.ids.in_folder(str(place.logs), "claude-session", SESSION) == again.number
    assert again.files.inputs[0].file.same_file() == session.files.inputs[0].file.same_file()
    place.close()


def test_a_cursor_of_another_form_has_the_session_read_again(tmp_path: Path) -> None:
    place = Registered(tmp_path)
    session = place.register.open(str(place.write("a.jsonl", RECORDS)))
    place.read(session)
    place.put(session)
    place.register.drop(session)
    row = place.store.load(session.number) if place.store is not None else None
    assert row is not None
    assert place.store is not None
    row.state = b'{"pair": 7}'
    with place.store.database.transaction():
        place.store.put(row)
    assert place.register.wake(session.number) is None
    assert place.said == ["the cursor does not fit; the session is read again"]
    (again,) = place.register.hot.values()
    assert (again.main, place.register.due) == (session.main, {session.number, again.number})
    place.close()


def test_a_session_that_is_blocked_leaves_nothing_to_the_garbage_collector(scene: Scene) -> None:
    """Collections are rare: with a full disk, sessions stayed in memory that nothing used."""
    scene.write(3)
    scene.follower.round()
    scene.follower.commit(list(scene.follower.hot.values()), force=True)
    (blocked,) = map(weakref.ref, scene.follower.hot.values())
    scene.write(5)
    gc.disable()
    try:
        scene.full_round()
        assert scene.follower.troubles
        assert blocked() is None
    finally:
        gc.enable()
    scene.follower.close()
