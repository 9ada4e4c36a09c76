"""Two followers with outputs of their own share one database of cursors: neither takes the other's sessions."""

import os
import subprocess
import sys
from pathlib import Path

from agentv_stream.following.folder_lock import lock_folder
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
        command = [sys.executable, "-m", "agentv_stream", "tail", str(logs), "--once", "--state", str(tmp_path / "s")]
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
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
