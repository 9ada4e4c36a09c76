"""What `tail` follows and keeps, by its options."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stream.cli.tailing import address
from agentv_stream.errors import UsageError
from agentv_stream.following.keep import keep_rule
from support.consuming import finished, run
from support.following import Desk, catch_up
from support.growing_logs import claude_records


def write(folder: Path, session: str, age: int = 0) -> Path:
    """A finished session, updated `age` seconds ago."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    path.write_bytes(b"\n".join(claude_records(session, 2)) + b"\n")
    now = path.stat().st_mtime - age
    os.utime(path, (now, now))
    return path


def sessions_of(folder: Path, *arguments: str) -> set[str]:
    """The sessions that `tail --once` writes transcripts of."""
    out = folder / "out"
    options = ["--once", "-q", "--out", str(out), "--state", str(folder / "state")]
    environment = os.environ | {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    finished("tail", *arguments, *options, environ=environment).check_returncode()
    return {json.loads(p.read_bytes().split(b"\n")[0])["source"]["session_id"] for p in out.glob("*.transcript.jsonl")}


def test_without_a_target_the_session_updated_last_is_followed(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-p"
    write(place, "aaaa-1", 300)
    write(place, "bbbb-2", 10)
    assert sessions_of(tmp_path) == {"bbbb-2"}
    assert sessions_of(tmp_path, "--latest") == {"bbbb-2"}


def test_a_prefix_a_file_and_a_folder_are_targets(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-p"
    write(place, "aaaa-1", 300)
    other = write(tmp_path / "elsewhere", "cccc-3")
    write(tmp_path / "folder", "dddd-4")
    assert sessions_of(tmp_path, "aaa", str(other), str(tmp_path / "folder")) == {"aaaa-1", "cccc-3", "dddd-4"}


def test_a_project_names_its_sessions(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "projects" / "-p"
    write(place, "aaaa-1")
    other = write(place, "bbbb-2")
    other.write_bytes(other.read_bytes().replace(b"/home/dev/app", b"/home/dev/other"))
    assert sessions_of(tmp_path, "--project", "other") == {"bbbb-2"}


def test_what_is_no_log_is_left_alone(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.logs / "notes.jsonl").write_text('{"hello": 1}\n' * 100)
    (desk.logs / "half.jsonl").write_text('{"hel')
    desk.catch_up()
    assert desk.transcripts() == {}
    again = desk.catch_up()
    assert again.counts.bytes == 0


def test_keep_removes_the_oldest_outputs_and_not_those_at_work(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for n in range(4):
        write(desk.logs, f"{n}aaa-1")
    desk.catch_up()
    transcripts = sorted(desk.out.glob("*.transcript.jsonl"))
    for n, path in enumerate(transcripts):
        for file in desk.out.glob(path.name.removesuffix(".transcript.jsonl") + "*"):
            os.utime(file, (1000 + n, 1000 + n))
    follower = desk.follower()
    keep_rule("20K")(follower)
    left = sorted(desk.out.glob("*.transcript.jsonl"))
    assert 0 < len(left) < 4
    assert left == transcripts[-len(left) :]
    catch_up(follower)  # what was removed is not made again while its session rests
    assert sorted(desk.out.glob("*.transcript.jsonl")) == left
    keep_rule("1d")(follower)
    assert not list(desk.out.glob("*.transcript.jsonl"))
    follower.close()
    desk.close()


def test_keep_by_age_removes_what_is_older_and_nothing_of_a_session_at_work(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    logs = [write(desk.logs, f"{n}aaa-1") for n in range(3)]
    desk.catch_up()
    old, young, busy = sorted(desk.out.glob("*.transcript.jsonl"))
    follower = desk.follower()
    catch_up(follower)
    with logs[2].open("ab") as file:
        file.write(b"\n".join(claude_records("2aaa-1", 2, 100)) + b"\n")
    catch_up(follower)
    for path in (old, busy):
        for file_of in desk.out.glob(path.name.removesuffix(".transcript.jsonl") + "*"):
            os.utime(file_of, (1000, 1000))
    keep_rule("1d")(follower)
    assert sorted(desk.out.glob("*.transcript.jsonl")) == [young, busy]
    assert sorted(desk.out.glob("*.result.json")) == [
        path.with_name(path.name.replace(".transcript.jsonl", ".result.json")) for path in (young, busy)
    ]
    follower.close()
    desk.close()


def test_keep_goes_on_when_something_cannot_be_removed(tmp_path: Path) -> None:
    """Permissions would not stop root: the removal itself is made to fail."""
    desk = Desk(tmp_path)
    for n in range(2):
        write(desk.logs, f"{n}aaa-1")
    desk.catch_up()
    first, second = sorted(desk.out.glob("*.transcript.jsonl"))
    follower = desk.follower()
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == first:
            raise PermissionError(13, "Permission denied", str(path))
        real(path, missing_ok)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        keep = keep_rule("0d")
        keep(follower)
        keep(follower)
    assert first.exists()
    assert not second.exists()
    assert desk.said.count("outputs cannot be removed") == 1
    keep(follower)
    assert not first.exists()
    follower.close()
    desk.close()


def test_a_session_whose_outputs_were_removed_is_made_again_when_it_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = write(desk.logs, "aaaa-1")
    desk.catch_up()
    for path in desk.out.iterdir():
        path.unlink()
    with log.open("ab") as file:
        file.write(b"\n".join(claude_records("aaaa-1", 3)[7:]) + b"\n")
    desk.catch_up()
    (rows,) = desk.transcripts().values()
    assert len(rows) == 4


def test_addresses_are_loopback_unless_they_say_otherwise() -> None:
    assert address("9464") == ("127.0.0.1", 9464)
    assert address("[::1]:80") == ("::1", 80)
    assert address("0.0.0.0:1") == ("0.0.0.0", 1)
    with pytest.raises(UsageError):
        address("host")
    with pytest.raises(UsageError, match="expected PORT"):
        address("²")


def test_it_tells_when_it_has_caught_up_and_each_session_that_begins_then(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write(logs, "aaaa-1")
    command = [sys.executable, "-m", "agentv_stream", "tail", str(logs), "--out", str(tmp_path / "out"), "--no-cursors"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"agentv-stream: caught up sessions=1 outputs={tmp_path / 'out'}\n"
        later = write(logs, "bbbb-2")
        assert process.stderr.readline() == f"agentv-stream: a session begins dialect=claude-session path={later}\n"
        process.terminate()
        assert process.stderr.readline() == "agentv-stream: stopping signal=SIGTERM\n"
        assert re.fullmatch(r"agentv-stream: stopped records=\d+ bytes=\d+\n", process.stderr.read())
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--all", "--latest"), "--latest and --all"), (("--latest", "x.jsonl"), "--latest and a target")],
)
def test_the_latest_session_is_neither_all_nor_another_one(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "x.jsonl").touch()
    ran = run(tmp_path, "tail", "--once", *words)
    assert (ran.code, ran.err) == (2, f"agentv-stream: {said} contradict each other\n")
