"""Outputs of sessions at rest that somebody shortened, replaced or removed are written again, at a start and later."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.following.cursor_database import CursorDatabase, CursorError
from agentv_stream.following.follow import Follower
from agentv_stream.following.keep import keep_rule
from support.consuming import finished
from support.following import Desk, catch_up
from support.growing_logs import claude_records

# Outputs and cursors of a follower that others cut, replace, move or remove while it is at work.

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


SESSION = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"


def replaced(path: Path) -> None:
    """Another file of the same length."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:-200] + b" " * 199 + b"\n")


DAMAGES: tuple[Callable[[Path], object], ...] = (
    lambda path: os.truncate(path, 0),
    lambda path: os.truncate(path, 100),
    lambda path: os.truncate(path, path.stat().st_size - 1),
    lambda path: path.unlink(),
    lambda path: path.write_bytes(path.read_bytes() + b"more\n"),
    lambda path: path.write_bytes(path.read_bytes()[:-20] + b"\0" * 20),
    replaced,
)
damages = pytest.mark.parametrize("damage", DAMAGES, ids=["empty", "short", "a byte", "gone", "more", "zeros", "other"])
suffixes = pytest.mark.parametrize("suffix", [".transcript.jsonl", ".result.json", ".stream.log"])


def outputs(desk: Desk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in desk.out.iterdir() if path.is_file()}


def rested(folder: Path, clock: Callable[[], float]) -> Desk:
    desk = Desk(folder, clock)
    for name in (SESSION, OTHER):
        (desk.logs / f"{name}.jsonl").write_bytes(b"".join(one + b"\n" for one in claude_records(name, 8)))
    desk.catch_up(stream_log="summary")
    return desk


def output_of(desk: Desk, suffix: str) -> Path:
    return next(path for path in desk.out.iterdir() if path.name.endswith(f"{SESSION}{suffix}"))


@suffixes
@damages
def test_it_is_noticed_at_the_start(tmp_path: Path, suffix: str, damage: Callable[[Path], object]) -> None:
    desk = rested(tmp_path, lambda: 0.0)
    before = outputs(desk)
    damage(output_of(desk, suffix))
    assert not desk.catch_up(stream_log="summary").troubles
    assert outputs(desk) == before
    desk.said.clear()
    desk.catch_up(stream_log="summary")
    assert desk.said == []  # once is enough


@suffixes
@damages
def test_it_is_noticed_while_it_runs(tmp_path: Path, suffix: str, damage: Callable[[Path], object]) -> None:
    now = [0.0]
    desk = rested(tmp_path, lambda: now[0])
    before = outputs(desk)
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    damage(output_of(desk, suffix))
    now[0] += 10.0
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    assert outputs(desk) == before
    follower.close()


def test_what_keep_removed_stays_removed(tmp_path: Path) -> None:
    now = [0.0]
    desk = rested(tmp_path, lambda: now[0])
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    keep_rule("1K")(follower)
    assert outputs(desk) == {}
    now[0] += 10.0
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.catch_up(stream_log="summary")
    assert outputs(desk) == {}


def test_what_is_left_stays_where_the_log_is_gone(tmp_path: Path) -> None:
    desk = rested(tmp_path, lambda: 0.0)
    (desk.logs / f"{SESSION}.jsonl").unlink()
    os.truncate(output_of(desk, ".transcript.jsonl"), 100)
    assert not desk.catch_up(stream_log="summary").troubles
    assert output_of(desk, ".transcript.jsonl").stat().st_size == 100
    assert "an output was changed and cannot be made again: its log is gone" in desk.said


def blanked(path: Path) -> None:
    """Other bytes, as many."""
    path.write_bytes(b" " * (path.stat().st_size - 1) + b"\n")


def with_agent(folder: Path, clock: Callable[[], float]) -> tuple[Desk, Path, Path]:
    """A session at rest, its log and that of its sub-agent."""
    desk = Desk(folder, clock)
    main, agent = desk.logs / f"{SESSION}.jsonl", desk.logs / SESSION / "subagents" / "agent-a1.jsonl"
    main.write_bytes(b"".join(one + b"\n" for one in claude_records(SESSION, 8)))
    agent.parent.mkdir(parents=True)
    of_agent = b"".join(one + b"\n" for one in claude_records(SESSION, 6, start=100, seed=1))
    agent.write_bytes(re.sub(rb'"isSidechain": ?false', b'"isSidechain":true', of_agent))
    desk.catch_up(stream_log="summary")
    return desk, main, agent


def grow(log: Path) -> None:
    with log.open("ab") as file:
        file.writelines(one + b"\n" for one in claude_records(SESSION, 16)[8:])


def shortened(path: Path) -> None:
    os.truncate(path, 100)


@pytest.mark.parametrize("damage", [shortened, blanked], ids=["short", "other"])
def test_a_lost_output_gets_no_more_rows_while_one_of_its_logs_is_gone(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    now = [0.0]
    desk, main, agent = with_agent(tmp_path, lambda: now[0])
    transcript = output_of(desk, ".transcript.jsonl")
    follower = desk.follower(stream_log="summary")
    catch_up(follower)
    kept = agent.read_bytes()
    agent.unlink()
    damage(transcript)
    damaged = transcript.read_bytes()
    now[0] += 10.0
    catch_up(follower)
    grow(main)
    for _ in range(3):
        now[0] += 60.0
        catch_up(follower)
    follower.settle_all()
    assert transcript.read_bytes() == damaged
    assert desk.said.count("an output was changed and cannot be made again: its log is gone") == 1

    agent.write_bytes(kept)
    now[0] += 60.0
    catch_up(follower)
    follower.settle_all()
    assert not follower.troubles
    follower.close()
    again = Desk(tmp_path / "again", lambda: 0.0)
    (again.logs / SESSION / "subagents").mkdir(parents=True)
    (again.logs / main.name).write_bytes(main.read_bytes())
    (again.logs / SESSION / "subagents" / agent.name).write_bytes(kept)
    again.catch_up(stream_log="summary")
    assert rows_of(transcript) == rows_of(output_of(again, ".transcript.jsonl"))


def rows_of(path: Path) -> list[str]:
    """The rows by message, without the name of the log, which stands in each."""
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return sorted(json.dumps(row | {"metadata": None, "source": None}) for row in rows)
