"""A crash before a state is kept, then a rotation: the parts are read in the order of their writing, as one session.

What the follower tells of a session (its version, its model) hangs on the record that says it first: parts that were
read in another order, or as sessions of their own, told it again, with ids that no clean reading gives.
"""

import gzip
import os
from pathlib import Path

import pytest

from agentv_stream.following.follow import Follower
from support.following import Desk, catch_up, split
from support.growing_logs import claude_records

SESSION = "10000101-session"
RECORDS = claude_records(SESSION, 8)


class Log:
    """A log and its follower; every write bears a time of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.desk = Desk(tmp_path / "live")
        self.path = self.desk.logs / "s.jsonl"
        self.written: list[bytes] = []
        self.follower = self.desk.follower()

    def write(self, count: int) -> None:
        records = RECORDS[len(self.written) : len(self.written) + count]
        with self.path.open("ab") as file:
            file.write(b"".join(record + b"\n" for record in records))
        self.written += records
        self._stamp()

    def rotate(self, count: int) -> None:
        self.path.rename(self.path.with_name("s.jsonl.1"))
        self.write(count)

    def recreate(self) -> None:
        """The same content in another file, as editors do it."""
        content, copy = self.path.read_bytes(), self.path.with_name("copy")
        copy.write_bytes(content)
        copy.rename(self.path)
        self._stamp()

    def _stamp(self) -> None:
        when = 1_700_000_000 + len(self.written)
        os.utime(self.path, (when, when))

    def crash(self) -> Follower:
        self.follower.close()
        self.follower = self.desk.follower()
        return self.follower

    def check(self) -> None:
        catch_up(self.follower)
        self.follower.settle_all()
        self.follower.close()
        self.desk.close()
        clean = Desk(self.tmp_path / "clean")
        (clean.logs / "s.jsonl").write_bytes(b"".join(record + b"\n" for record in self.written))
        clean.catch_up()
        assert set(self.desk.event_ids()) == set(clean.event_ids())
        assert len(list(self.desk.out.glob("*.transcript.jsonl"))) == 1
        assert split(self.desk.transcripts()[SESSION]) == split(clean.transcripts()[SESSION])


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """One record was read, which names no model: its cursor has no state."""
    log = Log(tmp_path)
    log.write(1)
    catch_up(log.follower)
    return log


def test_rotated_and_read_before_the_crash(log: Log) -> None:
    log.rotate(1)
    log.follower.round()
    log.follower.round()
    log.crash()
    log.write(5)
    log.check()


def test_rotated_while_nobody_looked(log: Log) -> None:
    log.follower.close()
    log.desk.close()
    log.rotate(5)
    log.follower = log.desk.follower()
    log.check()


def test_rotated_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(5)
    log.crash()
    log.rotate(5)
    log.check()


def test_replaced_by_a_copy_and_rotated_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(3)
    log.recreate()
    log.crash()
    log.rotate(5)
    log.check()


def test_replaced_by_a_copy_and_rotated_between_two_looks(log: Log) -> None:
    log.write(2)
    log.recreate()
    log.rotate(5)
    log.check()


def test_compressed_between_the_start_and_the_first_look(log: Log) -> None:
    log.write(5)
    log.crash()
    log.path.with_name("s.jsonl.gz").write_bytes(gzip.compress(log.path.read_bytes()))
    log.path.unlink()
    log.check()
