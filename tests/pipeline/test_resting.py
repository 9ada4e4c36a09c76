"""A session that does not grow gets its last rows and its result, is committed, and leaves the memory."""

from pathlib import Path
from typing import Any

import pytest

from agentv_stream.following import resting
from agentv_stream.following.companions import Companions
from agentv_stream.following.followed import Followed
from agentv_stream.following.register import SHARE, Trouble
from agentv_stream.following.repair import Repair
from agentv_stream.following.resting import Resting
from support.growing_logs import claude_records
from support.registers import Registered

SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)


class Rests(Registered):
    """Nobody has sub-agents here."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        super().__init__(folder, **plan)
        self.resting = Resting(self.register, Companions(self.register), Repair(self.register))

    def rest(self) -> None:
        assert list(self.resting.rest()) == []  # nothing has to be read on

    def session(self, name: str = SESSION, turns: int = 4) -> Followed:
        session = self.register.open(str(self.write(f"{name}.jsonl", claude_records(name, turns))))
        self.read(session)
        self.register.times[session.number].grown_at = self.now
        return session

    def results(self) -> int:
        return len(list(self.out.glob("*.result.json")))


def test_it_is_settled_when_it_was_quiet_for_long_enough(tmp_path: Path) -> None:
    rests = Rests(tmp_path, settle_seconds=1.0)
    session = rests.session()
    rests.rest()
    assert rests.results() == 0
    assert session.unsettled
    rests.now += 1.0
    rests.rest()
    assert rests.results() == 1
    assert not session.unsettled
    rests.close()


def test_it_is_not_settled_while_there_is_more_to_read_or_it_is_blocked(tmp_path: Path) -> None:
    rests = Rests(tmp_path, settle_seconds=0.0)
    session = rests.session()
    rests.register.due.add(session.number)
    rests.rest()
    rests.register.due.clear()
    rests.register.troubles[session.number] = Trouble("no room", 0.0, 0.5)
    rests.rest()
    assert rests.results() == 0
    rests.register.troubles.clear()
    assert list(rests.resting.settle_all()) == []
    assert rests.results() == 1
    rests.close()


def test_commits_keep_their_distance_unless_they_must_be(tmp_path: Path) -> None:
    rests = Rests(tmp_path, settle_seconds=9.0)
    session = rests.session()
    assert rests.store is not None
    rests.register.commit([session])
    first = rests.store.sessions()[0].inputs[0].mark.offset
    rests.write(f"{SESSION}.jsonl", claude_records(SESSION, 6)[13:])
    rests.read(session)
    rests.now += 0.2
    rests.register.commit([session])
    assert rests.store.sessions()[0].inputs[0].mark.offset == first
    rests.register.commit([session], force=True)
    assert rests.store.sessions()[0].inputs[0].mark.offset > first
    assert rests.register.counts.commits == 2
    assert rests.register.times[session.number].commit_at == pytest.approx(rests.now + 0.25)
    assert SHARE * 0.005 == 0.25  # what takes longer than five milliseconds is done more seldom
    rests.close()


def test_cursors_that_cannot_be_written_are_told_once_and_tried_again(tmp_path: Path) -> None:
    rests = Rests(tmp_path, settle_seconds=9.0)
    session = rests.session()
    assert rests.store is not None
    rests.store.close()
    rests.register.commit([session])
    rests.now += 2.0
    rests.register.commit([session])
    assert rests.said == ["cursors cannot be written"]
    assert rests.register.store_trouble is not None
    assert session.dirty
    rests.register.drop(session)


def test_only_so_many_stay_in_memory_and_each_can_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "MOST_HOT", 2)
    rests = Rests(tmp_path, settle_seconds=9.0)
    numbers = [rests.session(f"{n}-session", 2).number for n in range(5)]
    rests.rest()
    assert list(rests.register.hot) == numbers[-2:]
    assert rests.results() == 3
    for n, number in enumerate(numbers):
        session = rests.register.wake(number)
        assert session is not None
        assert session.native_id == f"{n}-session"
    rests.close()


def test_without_cursors_nothing_leaves_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "MOST_HOT", 2)
    rests = Rests(tmp_path, cursors=False, settle_seconds=9.0)
    for n in range(4):
        rests.session(f"{n}-session", 2)
    rests.rest()
    assert len(rests.register.hot) == 4
    rests.close()


def test_what_is_no_log_is_ignored_from_then_on(tmp_path: Path) -> None:
    rests = Rests(tmp_path, settle_seconds=0.0)
    path = rests.write("notes.jsonl", [b'{"hello": 1}'] * 3)
    session = rests.register.open(str(path))
    rests.read(session)
    rests.rest()
    assert session.recognition.strange
    assert rests.register.known.entries[str(path)].kind == "ignored"
    rests.close()
