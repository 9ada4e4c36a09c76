"""Two followers with outputs of their own share one database of cursors: neither takes the other's sessions."""

import os
from pathlib import Path

import pytest

from agentv_stream.following.folder_lock import FolderInUse, HeldFolders, lock_folder
from support.consuming import finished_text
from support.following import Desk, catch_up
from support.growing_logs import claude_records

NAMES = [f"{n}0000000-aaaa-bbbb-cccc-dddddddddddd" for n in range(4)]


def grow(logs: Path, begin: int, end: int) -> None:
    for name in NAMES:
        with (logs / f"{name}.jsonl").open("ab") as file:
            file.write(b"".join(record + b"\n" for record in claude_records(name, 8)[begin:end]))


def test_each_goes_on_where_it_was_after_a_crash_of_both(tmp_path: Path) -> None:
    one, two, alone = (Desk(tmp_path / name, consumer=name) for name in ("one", "two", "alone"))
    two.logs, two.state = one.logs, one.state
    grow(one.logs, 0, 9)
    first, second = one.follower(), two.follower()
    for follower in (first, second):
        catch_up(follower)
        follower.close()
    grow(one.logs, 9, 17)
    for desk in (one, two):
        follower = desk.follower()
        assert [session.main for session in follower.store.sessions()] == [  # type: ignore[union-attr]  # it has one
            str(one.logs / f"{name}.jsonl") for name in NAMES
        ]
        catch_up(follower)
        follower.settle_all()
        follower.close()
        desk.close()
    alone.logs = one.logs
    alone.catch_up()
    assert one.transcripts() == two.transcripts() == alone.transcripts()
    assert len(one.transcripts()) == len(NAMES)
    for desk in (one, two):
        assert set(desk.event_ids().values()) == {1}, "nothing is told twice"


def test_a_folder_of_outputs_has_one_follower_whatever_its_name_and_cursors(tmp_path: Path) -> None:
    logs, out, link = tmp_path / "logs", tmp_path / "out", tmp_path / "link"
    logs.mkdir()
    grow(logs, 0, 9)
    held = lock_folder(out)
    assert held is not None
    link.symlink_to(out)

    def tail(*options: str) -> tuple[int, str]:
        done = finished_text("tail", logs, "--once", "--state", tmp_path / "s", *options, folder=tmp_path)
        return done.returncode, done.stderr

    for options in (("--out", str(out), "--name", "b"), ("--out", str(link)), ("--out", str(out), "--no-cursors")):
        code, said = tail(*options)
        assert code == 4
        assert "another follower writes into" in said
    assert list(out.iterdir()) == []
    assert tail("--out", str(tmp_path / "elsewhere"))[0] == 0
    os.close(held)
    assert tail("--out", str(out), "--name", "b")[0] == 0
    assert len(list(out.glob("*.transcript.jsonl"))) == len(NAMES)


@pytest.mark.parametrize("named", [False, True])
def test_a_folder_below_the_one_that_was_named_or_of_old_cursors_is_held_too(tmp_path: Path, named: bool) -> None:
    """`tail` writes into .agentv/logs/claude; `--name x --out B` goes on in A, where its sessions began."""
    logs, state = tmp_path / "logs", str(tmp_path / "state")
    logs.mkdir()
    grow(logs, 0, 9)
    options = ["--name", "x", "--out", "B"] if named else []
    inner = tmp_path / ("A" if named else ".agentv/logs/claude")
    command = ["tail", str(logs), "--once", "--state", state]
    if named:
        finished_text(*command, "--name", "x", "--out", "A", folder=tmp_path).check_returncode()
        grow(logs, 9, 17)
    held = lock_folder(inner)
    assert held is not None
    before = {path.name: path.read_bytes() for path in inner.iterdir()}
    done = finished_text(*command, *options, folder=tmp_path)
    assert done.returncode == 4
    assert "another follower writes into" in done.stderr
    assert {path.name: path.read_bytes() for path in inner.iterdir()} == before
    os.close(held)
    assert finished_text(*command, *options, folder=tmp_path).returncode == 0
    transcripts = list(inner.glob("*.transcript.jsonl"))
    assert len(transcripts) == len(NAMES)
    assert all(len(path.read_bytes().splitlines()) == (7 if named else 4) for path in transcripts)


def test_a_folder_that_was_made_anew_is_held_again(tmp_path: Path) -> None:
    folders = HeldFolders()
    folders.hold(tmp_path / "out")
    folders.hold(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    folders.hold(tmp_path / "out")
    for name in ("out", "moved"):
        with pytest.raises(FolderInUse):
            lock_folder(tmp_path / name)
    folders.close()
    held = lock_folder(tmp_path / "out")
    assert held is not None
    os.close(held)
