"""One log under several names (hard links, links, links to folders above it) is one session."""

import os
import shutil
from pathlib import Path

import pytest

from agentv_stream.bulk.find import find_units
from agentv_stream.following.follow import Follower
from agentv_stream.sources.files import absolute
from support.following import Desk, bare, catch_up
from support.growing_logs import claude_records
from support.made_sessions import claude_session

SESSION = "0ccccccc-0000-4000-8000-00000000000c"
RECORDS = claude_records(SESSION, 14)
WAYS = ["hard", "soft", "soft first", "hard later", "folder"]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="links are Unix")


def lines(records: list[bytes]) -> bytes:
    return b"\n".join(records) + b"\n"


def named_twice(desk: Desk, way: str) -> tuple[Path, Path]:
    """A log of ten records, and its other name."""
    log = desk.logs / "m" / f"{SESSION}.jsonl"
    log.parent.mkdir()
    log.write_bytes(lines(RECORDS[:10]))
    folder = desk.logs / ("a" if way == "soft first" else "z")
    other = folder / (log.name if way == "folder" else "other.jsonl")
    if way == "folder":
        folder.symlink_to(log.parent)
        return log, other
    folder.mkdir()
    if way == "hard later":
        return log, other
    if way == "hard":
        os.link(log, other)
    else:
        other.symlink_to(log)
    return log, other


@pytest.fixture(params=["running", "restarted"])
def restart(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "restarted")


def begun(desk: Desk, way: str, restart: bool) -> tuple[Follower, Path, Path]:
    log, other = named_twice(desk, way)
    follower = desk.follower()
    catch_up(follower)
    follower.settle_all()
    if way == "hard later":
        os.link(log, other)
        catch_up(follower)
    if restart:
        follower.close()
        follower = desk.follower()
    return follower, log, other


def check(desk: Desk, tmp_path: Path, follower: Follower, records: list[bytes] = RECORDS) -> None:
    """One transcript, with everything in it once."""
    catch_up(follower)
    follower.settle_all()
    follower.close()
    clean = Desk(tmp_path / "clean")
    (clean.logs / f"{SESSION}.jsonl").write_bytes(lines(records))
    clean.catch_up()
    assert len(list(desk.out.glob("*.transcript.jsonl"))) == 1
    assert bare(desk.transcripts()[SESSION]) == bare(clean.transcripts()[SESSION])
    assert max(desk.event_ids().values()) == 1
    desk.close()


@pytest.mark.parametrize("way", WAYS)
def test_it_grows(tmp_path: Path, way: str, restart: bool) -> None:
    desk = Desk(tmp_path / "live")
    follower, _, other = begun(desk, way, restart)
    with other.open("ab") as file:
        file.write(lines(RECORDS[10:]))
    check(desk, tmp_path, follower)
    assert "another name of a log that is followed" in desk.said


@pytest.mark.parametrize("way", ["hard", "hard later"])
def test_the_name_that_is_followed_goes_and_the_other_grows(tmp_path: Path, way: str, restart: bool) -> None:
    desk = Desk(tmp_path / "live")
    follower, log, other = begun(desk, way, restart)
    log.unlink()
    with other.open("ab") as file:
        file.write(lines(RECORDS[10:]))
    check(desk, tmp_path, follower)


@pytest.mark.parametrize("way", ["hard", "hard later"])
def test_the_log_is_made_anew_under_its_name_and_the_old_one_grew(tmp_path: Path, way: str, restart: bool) -> None:
    """As logs are rotated by a link and a new file."""
    desk = Desk(tmp_path / "live")
    follower, log, other = begun(desk, way, restart)
    with other.open("ab") as file:
        file.write(lines(RECORDS[10:12]))
    log.unlink()
    log.write_bytes(lines(RECORDS[12:]))
    check(desk, tmp_path, follower)


@pytest.mark.parametrize("way", WAYS)
def test_the_other_name_goes(tmp_path: Path, way: str, restart: bool) -> None:
    desk = Desk(tmp_path / "live")
    follower, log, other = begun(desk, way, restart)
    if way == "folder":
        other.parent.unlink()
    else:
        other.unlink()
    catch_up(follower)
    with log.open("ab") as file:
        file.write(lines(RECORDS[10:]))
    check(desk, tmp_path, follower)


@pytest.mark.parametrize("way", ["hard", "hard later", "soft", "soft first"])
def test_the_other_name_becomes_another_session(tmp_path: Path, way: str, restart: bool) -> None:
    desk = Desk(tmp_path / "live")
    follower, log, other = begun(desk, way, restart)
    other.unlink()
    other.write_bytes(claude_session(7, 12))
    with log.open("ab") as file:
        file.write(lines(RECORDS[10:]))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    assert len(desk.transcripts()) == 2
    desk.close()


def test_an_import_takes_each_file_once(tmp_path: Path) -> None:
    log = tmp_path / "in" / "m" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(claude_session(1, 3))
    other = log.with_name("copy.jsonl")  # as old, as long; and another log
    other.write_bytes(log.read_bytes()[:-3] + b" }\n")
    shutil.copystat(log, other)
    os.link(log, log.with_name("hard.jsonl"))
    (tmp_path / "in" / "a.jsonl").symlink_to(log)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for sources in (["in"], ["in", "link"], ["link", "in/../in"], ["in", "link/a.jsonl"]):
        names = [unit.source for unit in find_units([str(tmp_path / source) for source in sources])]
        assert len(names) == 2, names
        assert any(name.endswith("m/copy.jsonl") for name in names)
    named = tmp_path / "in" / "a.jsonl"
    assert str(named) in [unit.source for unit in find_units([str(log.parent), str(named)])]


def test_a_path_is_told_without_going_up_where_that_is_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "there" / "below").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "there" / "below")
    assert absolute(tmp_path / "here" / ".." / "there") == tmp_path / "there"
    assert absolute(tmp_path / "here" / "link" / ".." / "below").samefile(tmp_path / "there" / "below")
    assert absolute(tmp_path / "none" / ".." / "x") == tmp_path / "x"
