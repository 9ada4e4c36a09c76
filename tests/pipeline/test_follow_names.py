"""Names that are no UTF-8, which JSON, SQLite and the watcher cannot hold; homes that nobody knows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.consuming import finished
from support.following import Desk, catch_up
from support.growing_logs import claude_records

NAME = "10000000-aaaa-bbbb-cccc-dddddddddddd"
RECORDS = [record + b"\n" for record in claude_records(NAME, 8)]


def agentv(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return finished(*arguments, folder=folder, environ=os.environ | environment)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a log; neither name is UTF-8, and a terminal would obey one."""
    folder = tmp_path / os.fsdecode(b"lo\xff\x1b[31m\ngs")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    (folder / os.fsdecode(b"\xfe.jsonl")).write_bytes(b"".join(RECORDS[:9]))
    return folder


def test_it_is_followed_over_a_restart_as_any_other(tmp_path: Path, logs: Path) -> None:
    desk = Desk(tmp_path / "desk")
    desk.logs = logs
    (log,) = logs.iterdir()
    follower = desk.follower()
    catch_up(follower)
    follower.close()
    with log.open("ab") as file:
        file.write(b"".join(RECORDS[9:]))
    renamed = log.rename(log.with_name(os.fsdecode(b"\xfd.jsonl")))
    desk.catch_up()
    assert set(desk.event_ids().values()) == {1}, "nothing is told twice"
    (rows,) = desk.transcripts().values()
    plain = Desk(tmp_path / "plain")
    (plain.logs / "plain.jsonl").write_bytes(renamed.read_bytes())
    plain.catch_up()
    (others,) = plain.transcripts().values()
    for row in (*rows, *others):
        row["source"] = None
    assert rows == others


def test_it_is_shown_by_every_command_and_outputs_may_lie_in_such_a_folder(tmp_path: Path, logs: Path) -> None:
    out, state = os.fsdecode(b"o\xffut"), str(tmp_path / "state")
    for _ in range(2):
        done = agentv(
            tmp_path, "tail", str(logs), "--out", out, "--state", state, "--until-idle", "0.1s", "--metrics", "0"
        )
        assert done.returncode == 0, done.stderr
    (result,) = (tmp_path / out).glob("*.result.json")
    assert "\\udcff" in json.loads(result.read_bytes())["outputs"]["transcript"]
    listed = agentv(tmp_path, "cursors", "list", "--state", state)
    assert (listed.returncode, listed.stdout.count(b"\n")) == (0, 1)
    for arguments in (
        ("cursors", "list", "--json", "--state", state),
        ("cursors", "show", NAME, "--state", state),
        ("sessions", "--json", "--root", str(logs)),
    ):
        shown = agentv(tmp_path, *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert shown.returncode == 0, shown.stderr
        assert "\\udcff" in json.loads(shown.stdout)["path"]
    assert agentv(tmp_path, "sessions", "--root", str(logs)).returncode == 0


def test_where_nobody_knows_a_home_folder_one_line_says_so(tmp_path: Path) -> None:
    """As in a container with a user that its system does not know."""
    forget_home = (
        "import os, pwd\nos.environ.pop('HOME')\n"
        "def unknown(user): raise KeyError(user)\npwd.getpwuid = unknown\n"
        "from agentv_stream.cli import main\nmain()"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "AGENTV_STREAM_"))}

    def run(*arguments: str) -> tuple[int, bytes]:
        command = [sys.executable, "-c", forget_home, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, check=False)
        return done.returncode, done.stderr

    assert run("tail", "--all", "--once") == (
        4, b"agentv-stream: no home folder is known for the cursors; --state names a folder for them\n"
    )  # fmt: skip
    assert run("tail", "--all", "--once", "--state", "state", "-q") == (0, b"")
    assert run("sessions") == (0, b"")
    code, told = run("sessions", "--root", "~nobody-of-that-name/x")
    assert (code, told.count(b"\n")) == (4, 1)
    assert told.endswith(b"~nobody-of-that-name/x: no such folder\n")


def test_a_relative_folder_of_the_desktops_kind_does_not_count(tmp_path: Path) -> None:
    done = agentv(
        tmp_path, "tail", str(tmp_path), "--once", HOME=str(tmp_path / "home"), XDG_STATE_HOME="here",
        XDG_CACHE_HOME="here", AGENTV_STREAM_STATE="",
    )  # fmt: skip
    assert done.returncode == 0
    assert not (tmp_path / "here").exists()
    assert (tmp_path / "home/.local/state/agentv-stream/cursors.db").exists()


def test_a_current_folder_that_was_removed_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    remove = "import os, sys\nos.rmdir(os.getcwd())\nfrom agentv_stream.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", remove, "sessions"], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (4, 1)
