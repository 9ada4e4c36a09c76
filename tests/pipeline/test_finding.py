"""What is new is found once: sessions, their parts, their sub-agents' files; what changed is told from what did not."""

import os
from pathlib import Path
from typing import Any

from agentv_stream.following.companions import Companions
from agentv_stream.following.finding import Finding
from agentv_stream.following.followed import Followed
from agentv_stream.following.rotation import Rotation
from support.growing_logs import claude_records
from support.registers import Registered

SESSION = "11111111-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 4)


class Finds(Registered):
    """`read` is told which sessions are to be read on, and reads them."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        super().__init__(folder, **plan)
        self.advanced: list[int] = []
        self.companions = Companions(self.register)
        self.finding = Finding(self.register, Rotation(self.register), self.companions)

    def advance(self, number: int) -> None:
        self.advanced.append(number)
        session = self.register.wake(number)
        assert session is not None
        self.read(session)
        self.register.native(session)

    def scan(self) -> None:
        self.finding.begin_round()
        for number in self.finding.scan():
            self.advance(number)

    def of(self, path: Path) -> Followed:
        session = self.register.wake(self.register.known.entries[str(path)].number)
        assert session is not None
        return session


def test_each_log_is_a_session_and_is_found_once(tmp_path: Path) -> None:
    finds = Finds(tmp_path)
    logs = [finds.write(f"p{n}/{n}.jsonl", claude_records(f"{n}-session", 2)) for n in range(3)]
    finds.write("p0/empty.jsonl", [])
    finds.scan()
    assert len({finds.of(log).number for log in logs}) == 3
    assert set(finds.register.known.entries) == {str(log) for log in logs}
    before = list(finds.advanced)
    finds.scan()
    assert finds.advanced == before
    finds.close()


def test_a_part_with_the_id_of_a_session_is_joined_to_it(tmp_path: Path) -> None:
    finds = Finds(tmp_path)
    first = finds.write("a.jsonl", RECORDS[:7])
    finds.scan()
    second = finds.write("b.jsonl", RECORDS[5:])
    finds.scan()
    assert finds.of(second) is finds.of(first)
    assert finds.of(first).files.taken.repeated == 2
    assert finds.said == ["a further part of a log that is followed"]
    finds.close()


def test_a_sub_agents_file_comes_to_its_session_even_if_it_was_there_first(tmp_path: Path) -> None:
    agent = [r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in claude_records(SESSION, 2, 100, 9)]
    finds = Finds(tmp_path)
    below = finds.write(f"{SESSION}/subagents/agent-abc.jsonl", agent)
    finds.scan()
    alone = finds.of(below).number
    main = finds.write(f"{SESSION}.jsonl", RECORDS)
    finds.scan()
    finds.companions.add(finds.of(main))
    assert finds.of(below) is finds.of(main)
    assert finds.register.wake(alone) is None
    assert "belongs to another session from now on" in finds.said
    finds.close()


def test_what_is_not_wanted_is_left_alone_until_it_is(tmp_path: Path) -> None:
    wanted: set[str] = set()
    finds = Finds(tmp_path, wanted=wanted.__contains__)
    log = finds.write("a.jsonl", RECORDS[:3])
    finds.scan()
    assert finds.register.known.entries[str(log)].kind == "ignored"
    wanted.add(str(log))
    finds.write("a.jsonl", RECORDS[3:])
    assert finds.finding.changed(str(log)) == 0
    finds.scan()
    assert finds.of(log).native_id == SESSION
    finds.close()


def test_from_the_end_a_log_is_begun_when_it_grows(tmp_path: Path) -> None:
    finds = Finds(tmp_path, begin="end")
    log = finds.write("a.jsonl", RECORDS[:3])
    finds.scan()
    assert not finds.register.hot
    length = log.stat().st_size
    finds.write("a.jsonl", RECORDS[3:])
    number = finds.finding.changed(str(log))
    session = finds.register.wake(number)
    assert session is not None
    assert session.files.inputs[0].mute_until == length
    finds.close()


def test_a_change_is_told_once_it_is_one(tmp_path: Path) -> None:
    finds = Finds(tmp_path)
    log = finds.write("a.jsonl", RECORDS[:3])
    finds.scan()
    number = finds.of(log).number
    assert finds.finding.changed(str(log)) == 0
    os.utime(log, (1, 1))
    assert finds.finding.changed(str(log)) == number
    assert finds.finding.changed(str(tmp_path / "other")) == 0
    log.unlink()
    assert finds.finding.changed(str(log)) == number
    finds.register.known.entries[str(log)].gone = True
    assert finds.finding.changed(str(log)) == 0
    finds.close()


def test_a_root_that_is_not_there_deletes_nothing(tmp_path: Path) -> None:
    finds = Finds(tmp_path)
    log = finds.write("a.jsonl", RECORDS[:3])
    finds.scan()
    finds.logs.rename(tmp_path / "away")
    finds.scan()
    assert finds.finding.changed(str(log)) == 0
    (tmp_path / "away").rename(finds.logs)
    finds.scan()
    assert finds.finding.changed(str(log)) == 0
    finds.close()
