"""Outputs and cursors of a follower that others cut, replace, move or remove while it is at work."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.following.cursor_database import CursorDatabase, CursorError
from agentv_stream.following.follow import Follower
from support.consuming import finished
from support.following import Desk, catch_up
from support.growing_logs import claude_records

NAME = "10000000-aaaa-bbbb-cccc-dddddddddddd"
RECORDS = [record + b"\n" for record in claude_records(NAME, 8)]


def cut(transcript: Path) -> None:
    transcript.write_bytes(b"")  # as logrotate's copytruncate does


def written_over(transcript: Path) -> None:
    transcript.write_bytes(b"notes of mine\n")


def replaced_by_more(transcript: Path) -> None:
    new = transcript.with_name("new")
    new.write_bytes(b"x" * 100_000)
    new.rename(transcript)


def moved_with_its_folder(transcript: Path) -> None:
    """An older state of the folder takes its place, through a link."""
    old = transcript.parent.with_name("old")
    shutil.copytree(transcript.parent, old)
    (old / transcript.name).write_bytes(transcript.read_bytes()[:100])
    transcript.parent.rename(old.with_name("older"))
    transcript.parent.symlink_to(old)


@pytest.mark.parametrize("touch", [cut, written_over, replaced_by_more, moved_with_its_folder])
def test_an_output_that_others_touched_while_its_session_grows_is_made_again(
    tmp_path: Path, touch: Callable[[Path], None]
) -> None:
    desk, alone = Desk(tmp_path / "desk"), Desk(tmp_path / "alone")
    log = desk.logs / f"{NAME}.jsonl"
    log.write_bytes(b"".join(RECORDS[:9]))
    follower = desk.follower()
    catch_up(follower)
    (transcript,) = desk.out.glob("*.transcript.jsonl")
    touch(transcript)
    with log.open("ab") as file:
        file.write(b"".join(RECORDS[9:]))
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    follower.close()
    desk.close()
    alone.logs = desk.logs
    alone.catch_up()
    assert desk.transcripts() == alone.transcripts()
    assert "an output was changed or removed; it is written again" in desk.said


def test_what_was_made_of_an_agents_stream_is_not_written_over(tmp_path: Path) -> None:
    """`claude -p … | agentv-stream consume`, then `agentv-stream tail` in the same folder."""
    desk = Desk(tmp_path / "desk")
    (desk.logs / f"{NAME}.jsonl").write_bytes(b"".join(RECORDS))
    finished("consume", "-", "--out", desk.out, "--quiet", given=b"".join(RECORDS[:9])).check_returncode()
    (made,) = desk.out.glob("*.transcript.jsonl")
    before = made.read_bytes()
    desk.catch_up()
    assert made.read_bytes() == before
    (ours,) = set(desk.out.glob("*.transcript.jsonl")) - {made}
    assert ours.name == made.name.replace(".transcript", "-2.transcript")
    assert json.loads(ours.read_bytes().splitlines()[0])["source"]["path"].endswith(f"{NAME}.jsonl")


def test_cursors_that_were_replaced_take_no_commit(tmp_path: Path) -> None:
    database = CursorDatabase(tmp_path, "one")
    with database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('one')")
    database.path.rename(tmp_path / "away")
    CursorDatabase(tmp_path, "two").close()
    with pytest.raises(CursorError, match="start again"), database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('two')")
    database.close()


@pytest.mark.parametrize("how", ["database", "folder", "moved", "with its log"])
def test_cursors_that_were_removed_are_put_back(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "state"
    database = CursorDatabase(folder, "one")
    with database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('first')")
    if how == "folder":
        shutil.rmtree(folder)
    elif how == "moved":
        database.path.rename(folder / "away")
    else:
        for path in folder.glob("cursors.db*" if how == "with its log" else "cursors.db"):
            path.unlink()
    for name in ("second", "third"):
        with database.transaction():
            database.ask("INSERT INTO consumer(name) VALUES(?)", name)
    with pytest.raises(CursorError, match="another follower is at work"):
        CursorDatabase(folder, "one")
    database.close()
    database = CursorDatabase(folder, None)
    assert database.ask("SELECT name FROM consumer ORDER BY number") == [("first",), ("second",), ("third",)]
    assert database.path.stat().st_mode & 0o777 == 0o600
    database.close()
    assert not list(folder.glob(".*"))


def test_where_they_cannot_be_put_back_that_is_told_until_they_can(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    database = CursorDatabase(folder, "one")
    shutil.rmtree(folder)
    folder.touch()  # a file stands where the folder was
    for _ in range(2):
        with pytest.raises(CursorError, match="cursors"), database.transaction():
            raise AssertionError("nothing may be written")
    folder.unlink()
    with database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('one')")
    database.close()


def test_followers_of_one_database_both_go_on_when_it_was_removed(tmp_path: Path) -> None:
    desks = [Desk(tmp_path / name, consumer=name) for name in ("one", "two")]
    desks[1].state = desks[0].state
    followers: list[Follower] = []
    for desk in desks:
        (desk.logs / f"{NAME}.jsonl").write_bytes(b"".join(RECORDS[:9]))
        followers.append(desk.follower())
        catch_up(followers[-1])
        followers[-1].settle_all()
    shutil.rmtree(desks[0].state)
    for desk, follower in zip(desks, followers, strict=True):
        with (desk.logs / f"{NAME}.jsonl").open("ab") as file:
            file.write(b"".join(RECORDS[9:]))
        catch_up(follower)
        follower.settle_all()
        assert follower.store_trouble is None
        follower.close()
    for desk in desks:
        before = desk.event_ids()
        desk.catch_up()
        assert desk.event_ids() == before, "what was told is known"


def test_a_follower_whose_cursors_were_removed_follows_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    log = desk.logs / f"{NAME}.jsonl"
    log.write_bytes(b"".join(RECORDS[:9]))
    follower = desk.follower()
    catch_up(follower)
    shutil.rmtree(desk.state)
    with log.open("ab") as file:
        file.write(b"".join(RECORDS[9:]))
    catch_up(follower)
    follower.settle_all()
    assert follower.store_trouble is None
    (rows,) = desk.transcripts().values()
    assert len(rows) == 9, "the prompt and each answer"
    follower.close()
    desk.close()
    before = desk.event_ids()
    desk.catch_up()
    assert [len(rows) for rows in desk.transcripts().values()] == [9]
    assert desk.event_ids() == before
