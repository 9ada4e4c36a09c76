"""What a tail follows is what it was told to, whatever else its cursors know of from before."""

import json
from pathlib import Path

import pytest

from support.consuming import finished, finished_text
from support.growing_logs import claude_records

ONE, TWO = (f"{n}0000000-aaaa-bbbb-cccc-dddddddddddd" for n in (1, 2))


def grow(folder: Path, name: str, begin: int, end: int) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("ab") as file:
        file.write(b"".join(record + b"\n" for record in claude_records(name, 8)[begin:end]))
    return path


def told(tmp_path: Path, *options: str) -> set[str]:
    """The sessions that events were told of."""
    done = finished("tail", "--events", "--once", "--state", tmp_path / "state", *options, folder=tmp_path)
    done.check_returncode()
    return {json.loads(line)["source"]["file"] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("how", ["file", "folder", "relative", "link", "project"])
def test_who_names_a_session_is_told_of_no_other(tmp_path: Path, how: str) -> None:
    one, two = grow(tmp_path / "a", ONE, 0, 9), grow(tmp_path / "b", TWO, 0, 9)
    assert told(tmp_path, str(one.parent), str(two.parent)) == {str(one), str(two)}
    grow(one.parent, ONE, 9, 17)
    grow(two.parent, TWO, 9, 17)
    (tmp_path / "link").symlink_to(two.parent)
    options = {"file": [str(two)], "folder": [str(two.parent)], "relative": ["b"], "link": ["link"]}
    if how == "project":
        assert told(tmp_path, "a", "b", "--project", "nowhere") == set()
        return
    assert {Path(path).resolve() for path in told(tmp_path, *options[how])} == {two}
    assert told(tmp_path, str(one.parent), str(two.parent)) == {str(one)}, "what waited for the other one is told now"


def test_of_another_agent_nothing_is_told(tmp_path: Path) -> None:
    one = grow(tmp_path / "a", ONE, 0, 9)
    assert told(tmp_path, str(one.parent)) == {str(one)}
    grow(one.parent, ONE, 9, 17)
    assert told(tmp_path, str(one.parent), "--provider", "codex") == set()
    assert told(tmp_path, str(one.parent), "--provider", "claude") == {str(one)}


def test_a_root_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    """It found nothing, and said nothing."""
    log = grow(tmp_path / "a", ONE, 0, 9)
    done = finished_text("tail", "--once", "--all", "--root", log, folder=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"--root: {log} is a file, not a folder" in done.stderr


def test_a_log_that_was_rotated_is_still_the_one_that_was_named(tmp_path: Path) -> None:
    one = grow(tmp_path / "a", ONE, 0, 9)
    assert told(tmp_path, str(one)) == {str(one)}
    one.rename(f"{one}.1")
    one.write_bytes(b"".join(record + b"\n" for record in claude_records(ONE, 8)[9:17]))
    assert str(one) in told(tmp_path, str(one))


@pytest.mark.parametrize("out", ["logs/out", "logs", "link/out"])
def test_outputs_that_lie_in_the_folder_that_is_followed_are_not_followed(tmp_path: Path, out: str) -> None:
    for name in (ONE, TWO):
        grow(tmp_path / "logs", name, 0, 17)
    (tmp_path / "link").symlink_to("logs")
    for _ in range(2):
        options = ("--until-idle", "1s", "--out", out, "--state", "state")
        done = finished_text("tail", "logs", *options, folder=tmp_path)
        done.check_returncode()
        assert "sessions=2" in done.stderr
        made = [path.name for path in (tmp_path / out).glob("*.transcript.jsonl")]
        assert len(made) == 2, "a transcript of a transcript, and so on"


def test_what_is_named_and_no_log_could_not_be_read(tmp_path: Path) -> None:
    one = grow(tmp_path / "a", ONE, 0, 9)
    notes = tmp_path / "notes.txt"
    notes.write_text("buy apples\n")
    (tmp_path / "empty.jsonl").touch()
    options = ("--once", "--state", "state", "--out", "out")
    for _ in range(2):
        for named, code in (((notes, one), 4), ((one, "empty.jsonl"), 0), ((tmp_path,), 0)):
            done = finished_text("tail", *options, *named, folder=tmp_path)
            assert done.returncode == code, named
            assert (f"{notes}: not a log of a known agent" in done.stderr) == (code == 4)


def once(tmp_path: Path, *options: str) -> tuple[int, str]:
    done = finished_text("tail", "--once", "--state", tmp_path / "state", *options, folder=tmp_path)
    return done.returncode, done.stderr


def test_logs_that_are_not_followed_because_of_their_names_are_told(tmp_path: Path) -> None:
    """`A.JSONL` and `run.log` in a followed folder were passed over without a word."""
    log = grow(tmp_path / "a", ONE, 0, 9).read_bytes()
    for name in ("A.JSONL", "run.log", "deep/x.txt"):
        path = tmp_path / "a" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(log)
    for name in ("notes.log", "empty.txt", "page.html"):
        (tmp_path / "a" / name).write_text("2026-01-01 started\n" if "notes" in name else "")
    code, err = once(tmp_path, "a")
    assert code == 0
    assert "warning: 3 logs not followed: their names do not end in .jsonl, .json, .ndjson, .traj" in err
    assert all(name in err for name in ("A.JSONL", "run.log", "deep/x.txt")) and "notes.log" not in err
    assert "not followed" not in once(tmp_path, "a/run.log")[1]


def test_a_folder_that_does_not_exist_yet_is_an_error_with_what_to_do(tmp_path: Path) -> None:
    """A slip in its name would be waited for without end."""
    code, err = once(tmp_path, "logs/today")
    assert code == 4
    assert "logs/today: no such file or folder; a folder that an agent will fill is made first (mkdir -p)" in err


def test_a_spec_that_judges_nothing_is_an_error(tmp_path: Path) -> None:
    grow(tmp_path / "a", ONE, 0, 9)
    (tmp_path / "s.yaml").write_text("assertions: [{type: llm-grader}]\n", encoding="utf-8")
    code, err = once(tmp_path, "a", "--check", "s.yaml")
    assert code == 2 and "s.yaml: judges nothing here" in err


def test_a_file_whose_name_looks_like_a_session_of_a_store_is_a_file(tmp_path: Path) -> None:
    path = grow(tmp_path / "logs", "a::b", 0, 25)
    file = str(path)
    assert told(tmp_path, "logs/a::b.jsonl") == told(tmp_path, "logs", "--no-cursors") == {file}
    rows = finished_text("watch", file, "--json", "--once", "--since", "9999w", folder=tmp_path).stdout
    assert json.loads(rows)["tool_calls"] == 8
    found = finished_text("search", "step 7", file, "--json", folder=tmp_path).stdout
    assert json.loads(found.split("\n")[0])["path"] == file
