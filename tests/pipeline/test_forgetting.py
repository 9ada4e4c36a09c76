"""Sessions whose logs have been gone for long are forgotten, and nothing else is."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.cli.tailing import TailOptions, run_tail
from agentv_stream.discovery.places import find_roots
from agentv_stream.following import resting
from agentv_stream.following.cursor_database import FILE
from agentv_stream.following.follow import Follower
from agentv_stream.following.follow_plan import Plan
from agentv_stream.following.forgetting import LOOK_SECONDS
from agentv_stream.following.keep import keep_rule
from agentv_stream.outputs.naming import TRANSCRIPT
from agentv_stream.settings import Settings
from support.following import Desk, catch_up
from support.growing_logs import claude_records

SESSION, OTHER = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"
RECORDS = claude_records(SESSION, 3)
DAY = 86_400.0


class Days:
    """A desk with a clock that goes only when it is told to; `wall` is its wall clock."""

    def __init__(self, folder: Path) -> None:
        self.now, self.wall = 1000.0, 1_800_000_000.0
        self.desk = Desk(folder, lambda: self.now)
        self.desk.wall_ms = lambda: int(self.wall * 1000)
        self.log = self.write(SESSION, RECORDS)
        self.write(OTHER, claude_records(OTHER, 2))

    def write(self, name: str, records: list[bytes]) -> Path:
        path = self.desk.logs / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(records) + b"\n")
        return path

    def follow(self, **plan: Any) -> Follower:
        """A follower that has read both logs and looked at them once more."""
        follower = self.follower = self.desk.follower(**plan)
        catch_up(follower)
        self.after(0)
        return follower

    def restart(self) -> Follower:
        """A follower that goes on where the one before it ended; it has not looked yet."""
        self.end()
        self.follower = self.desk.follower()
        return self.follower

    def after(self, days: float) -> None:
        """So much later the follower looks again, and puts to rest what it saw."""
        self.now += max(days * DAY, LOOK_SECONDS)
        self.wall += days * DAY
        catch_up(self.follower)

    def gone_for(self, days: float) -> None:
        """The log goes, which is seen, and so much later the follower looks again."""
        self.log.unlink()
        self.after(0)
        self.after(days)

    def rows(self, table: str) -> int:
        database = sqlite3.connect(self.desk.state / FILE)
        try:
            return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        finally:
            database.close()

    def transcripts(self) -> list[Path]:
        return sorted(self.desk.out.glob("*.transcript.jsonl"))

    def forgotten(self) -> int:
        return self.desk.said.count("forgotten: its logs have been gone for long")

    def end(self) -> None:
        """As when the follower is stopped. Ending twice changes nothing."""
        self.follower.close()
        self.desk.close()


@pytest.fixture
def days(tmp_path: Path) -> Iterator[Days]:
    days = Days(tmp_path / "live")
    yield days
    days.end()


def test_a_log_gone_for_a_month_leaves_the_cursors_and_the_memory_and_its_outputs_stay(days: Days) -> None:
    follower = days.follow()
    transcripts = {path: path.read_bytes() for path in days.transcripts()}
    number = follower.entries[str(days.log)].number
    assert (days.rows("session"), days.rows("input"), days.rows("seen")) == (2, 2, 2)
    days.gone_for(29)
    assert days.forgotten() == 0
    assert days.rows("gone") == 1
    days.after(1)
    assert days.forgotten() == 1
    assert (days.rows("session"), days.rows("input"), days.rows("seen"), days.rows("gone")) == (1, 1, 1, 0)
    assert str(days.log) not in follower.entries
    assert number not in follower.hot
    assert {path: path.read_bytes() for path in days.transcripts()} == transcripts


def test_a_session_that_had_left_the_memory_when_its_log_went_is_forgotten_too(
    days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brought back to note that its log has gone, it was committed with outputs of length 0: never finished."""
    monkeypatch.setattr(resting, "MOST_HOT", 0)
    follower = days.follow()
    assert not follower.hot
    days.log.unlink()
    days.after(0)
    assert follower.store is not None
    for row in follower.store.sessions():
        assert row.outputs is not None
        assert row.outputs.settled == row.outputs.path(TRANSCRIPT).stat().st_size
    days.after(31)
    assert days.rows("session") == 1
    assert len(days.transcripts()) == 2


def test_the_time_runs_over_restarts_and_while_nobody_looks(days: Days) -> None:
    days.follow()
    days.log.unlink()
    for _ in range(3):
        days.after(7)
        days.restart()
    days.wall += 30 * DAY
    catch_up(days.restart())
    assert days.forgotten() == 1


def test_a_log_that_is_back_is_gone_no_more(days: Days) -> None:
    days.follow()
    data = days.log.read_bytes()
    days.log.unlink()
    days.after(20)
    days.log.write_bytes(data)
    days.after(5)
    assert days.rows("gone") == 0
    days.log.unlink()
    days.after(20)
    days.after(20)
    assert days.forgotten() == 0
    days.after(10)
    assert days.forgotten() == 1


def test_what_has_a_file_left_is_kept(days: Days) -> None:
    agent = [r.replace(b'"isSidechain": false', b'"isSidechain": true') for r in claude_records(SESSION, 2, 100, 9)]
    below = days.write(f"{SESSION}/subagents/agent-abc", agent)
    days.follow()
    days.gone_for(40)
    assert days.forgotten() == 0
    below.unlink()
    days.after(0)
    days.after(40)
    assert days.forgotten() == 1


def test_outputs_that_are_not_finished_are_waited_for(days: Days) -> None:
    follower = days.follow(settle_seconds=1e9)
    follower.commit(list(follower.hot.values()), force=True)
    days.gone_for(40)
    assert days.forgotten() == 0
    follower.settle_all()
    days.after(0)
    assert days.forgotten() == 1


def test_outputs_that_a_crash_left_longer_are_cut_first(days: Days) -> None:
    days.follow()
    days.log.unlink()
    days.after(0)
    (transcript,) = [path for path in days.transcripts() if SESSION in path.name]
    whole = transcript.read_bytes()
    with transcript.open("ab") as file:
        file.write(b'{"half')
    days.after(40)
    assert days.forgotten() == 0
    catch_up(days.restart())
    days.after(0)
    assert days.forgotten() == 1
    assert transcript.read_bytes() == whole


def test_a_root_that_is_not_there_is_not_mounted(days: Days) -> None:
    days.follow()
    days.desk.logs.rename(days.desk.logs.with_name("away"))
    days.after(0)
    days.after(90)
    assert (days.forgotten(), days.rows("gone")) == (0, 0)


def test_a_clock_that_was_set_back_begins_anew(days: Days) -> None:
    days.follow()
    days.log.unlink()
    days.after(0)
    days.after(-400)
    days.after(29)
    assert days.forgotten() == 0
    days.after(1)
    assert days.forgotten() == 1


def test_never(days: Days) -> None:
    days.follow(forget_ms=None)
    days.gone_for(4000)
    assert days.forgotten() == 0


@pytest.mark.parametrize("restart", [False, True])
def test_a_forgotten_log_that_comes_back_is_read_again_into_its_own_transcript(days: Days, restart: bool) -> None:
    days.follow()
    data, transcripts = days.log.read_bytes(), {path: path.read_bytes() for path in days.transcripts()}
    days.gone_for(30)
    assert (days.forgotten(), days.rows("kept")) == (1, 1)
    if restart:
        days.restart()
    days.log.write_bytes(data)
    days.after(0)
    days.after(0)
    assert {path: path.read_bytes() for path in days.transcripts()} == transcripts
    assert (days.rows("kept"), days.rows("session"), days.rows("place")) == (0, 2, 2)
    assert max(days.desk.event_ids().values()) == 2  # told again, with the same ids


@pytest.mark.parametrize("restart", [False, True])
def test_a_later_log_of_a_forgotten_session_leaves_what_was_written_of_it(days: Days, restart: bool) -> None:
    days.follow()
    before = {path: path.read_bytes() for path in days.transcripts()}
    days.gone_for(30)
    if restart:
        days.restart()
    days.write(SESSION, claude_records(SESSION, 2, 2000, 5))
    days.after(0)
    assert {path: path.read_bytes() for path in days.transcripts() if path in before} == before
    assert len(days.transcripts()) == 3


@pytest.mark.parametrize("restart", [False, True])
def test_keep_removes_the_outputs_of_a_forgotten_session_and_nothing_is_left_of_it(days: Days, restart: bool) -> None:
    follower = days.follow()
    days.gone_for(30)
    if restart:
        follower = days.restart()
    assert len(days.transcripts()) == 2
    keep_rule("0d")(follower)
    assert not [path for path in days.transcripts() if SESSION in path.name]
    assert not [path for path in days.desk.out.iterdir() if SESSION in path.name]
    days.after(0)
    assert (days.rows("kept"), days.rows("place"), days.rows("made")) == (0, 1, 0 if restart else 1)


def test_what_somebody_put_in_the_place_of_a_forgotten_transcript_is_not_ours(days: Days) -> None:
    days.follow()
    days.gone_for(30)
    days.end()
    (transcript,) = [path for path in days.transcripts() if SESSION in path.name]
    other = transcript.with_suffix(".mine")
    other.write_bytes(b"mine\n")
    other.rename(transcript)
    keep_rule("0d")(days.restart())
    assert transcript.read_bytes() == b"mine\n"
    assert days.rows("kept") == 0


def test_a_forgotten_transcript_that_somebody_removed_is_not_remembered(days: Days) -> None:
    days.follow()
    days.gone_for(30)
    assert days.rows("kept") == 1
    days.end()
    for path in days.transcripts():
        path.unlink()
    keep_rule("1d")(days.restart())
    assert days.rows("kept") == 0


def test_the_commands_time_is_a_duration_or_never(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for forget, code in (("30d", 0), ("never", 0), ("soon", 2)):
        options = TailOptions(
            targets=[str(tmp_path)],
            out=tmp_path / "out",
            state=tmp_path / "state",
            forget=forget,
            once=True,
            quiet=True,
        )
        assert run_tail(options) == code
    assert "soon" in capsys.readouterr().err


def test_without_cursors_they_leave_the_memory_too(tmp_path: Path) -> None:
    days = Days(tmp_path)
    desk = days.desk
    plan = Plan(find_roots([str(desk.logs)]), Settings(out=desk.out), settle_seconds=0.0)
    plan.wanted = lambda path: "unwanted" not in path
    unwanted = days.write("unwanted", claude_records("unwanted", 1))
    follower = days.follower = Follower(plan, None, desk.say, None, desk.clock, desk.wall_ms)
    catch_up(follower)
    assert len(follower.hot) == 2
    before = [path.read_bytes() for path in days.transcripts()]
    days.log.unlink()
    unwanted.unlink()
    days.after(1)
    assert (len(follower.hot), days.forgotten()) == (2, 0)
    assert str(unwanted) not in follower.entries
    days.after(29)
    assert days.forgotten() == 0
    days.after(1)
    assert (len(follower.hot), days.forgotten()) == (1, 1)
    assert [path for path in follower.entries if SESSION in path] == []
    assert [path.read_bytes() for path in days.transcripts()] == before
    days.write(SESSION, RECORDS)  # it is back: read again, into the same file
    days.after(0)
    assert len(follower.hot) == 2
    assert [path.read_bytes() for path in days.transcripts()] == before
    days.end()


def test_without_cursors_nothing_goes_while_its_root_is_not_there_or_it_came_back(tmp_path: Path) -> None:
    days = Days(tmp_path)
    desk = days.desk
    plan = Plan(find_roots([str(desk.logs)]), Settings(out=desk.out), settle_seconds=0.0)
    follower = days.follower = Follower(plan, None, desk.say, None, desk.clock, desk.wall_ms)
    catch_up(follower)
    away = desk.logs.rename(tmp_path / "away")
    for _ in range(3):
        days.after(40)
    assert (len(follower.hot), days.forgotten()) == (2, 0)
    away.rename(desk.logs)
    days.log.unlink()
    days.after(20)
    days.write(SESSION, RECORDS)
    days.after(20)
    days.log.unlink()
    days.after(20)
    assert (len(follower.hot), days.forgotten()) == (2, 0)
    days.end()
