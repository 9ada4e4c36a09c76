"""Outputs and cursors of a follower that others cut, replace, move or remove while it is at work."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentv_stream.following.cursor_database import CursorDatabase, CursorError
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
    assert "an output lost what was committed; the session is read again" in desk.said


def test_what_was_made_of_an_agents_stream_is_not_written_over(tmp_path: Path) -> None:
    """`claude -p … | agentv-stream consume`, then `agentv-stream tail` in the same folder."""
    desk = Desk(tmp_path / "desk")
    (desk.logs / f"{NAME}.jsonl").write_bytes(b"".join(RECORDS))
    consume = [sys.executable, "-m", "agentv_stream", "consume", "-", "--out", str(desk.out), "--quiet"]
    subprocess.run(consume, input=b"".join(RECORDS[:9]), capture_output=True, check=True)
    (made,) = desk.out.glob("*.transcript.jsonl")
    before = made.read_bytes()
    desk.catch_up()
    assert made.read_bytes() == before
    (ours,) = set(desk.out.glob("*.transcript.jsonl")) - {made}
    assert ours.name == made.name.replace(".transcript", "-2.transcript")
    assert json.loads(ours.read_bytes().splitlines()[0])["source"]["path"].endswith(f"{NAME}.jsonl")


@pytest.mark.parametrize("replaced", [False, True])
def test_cursors_that_were_removed_or_replaced_take_no_commit(tmp_path: Path, replaced: bool) -> None:
    database = CursorDatabase(tmp_path, "one")
    with database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('one')")
    database.path.rename(tmp_path / "away")
    if replaced:
        CursorDatabase(tmp_path, "two").close()
    with pytest.raises(CursorError, match="start again"), database.transaction():
        database.ask("INSERT INTO consumer(name) VALUES('two')")
    database.close()


def test_a_follower_whose_cursors_were_removed_says_so_and_follows_on(tmp_path: Path) -> None:
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
    assert follower.store_trouble is not None
    assert "cursors cannot be written" in desk.said
    (rows,) = desk.transcripts().values()
    assert len(rows) == 9, "the prompt and each answer"
    follower.close()
    desk.close()
    desk.catch_up()
    assert [len(rows) for rows in desk.transcripts().values()] == [9]
