"""What lies in a folder that may not be entered: every command says so, or passes it over; none breaks off.

`Path.exists`, `is_file` and `is_dir` raise PermissionError there (Python 3.11).
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_USAGE
from agentv_stream.sources.files import is_file, is_folder, is_there
from support.growing_logs import claude_records
from support.live_follower import held_to_permissions, permissions_count

SESSION = "11111111-2222-3333-4444-555555555555"
SPEC = """
tests:
  - id: a
    assert:
      - type: tool-trajectory
        mode: any_order
        minimums: {Bash: 1}
"""
pytestmark = pytest.mark.skipif(not permissions_count(), reason="every folder may be entered here")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """`locked` may not be entered, `open` holds a log and a link into it."""
    locked, opened = tmp_path / "locked", tmp_path / "open"
    (locked / "inner").mkdir(parents=True)
    opened.mkdir()
    log = opened / f"{SESSION}.jsonl"
    log.write_bytes(b"\n".join(claude_records(SESSION, 2)) + b"\n")
    shutil.copy(log, locked)
    (opened / "a-link.jsonl").symlink_to(locked / log.name)
    (opened / "spec.yaml").write_text(SPEC)
    locked.chmod(0)
    yield tmp_path
    locked.chmod(0o700)


def run(place: Path, *arguments: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
    command = held_to_permissions(["-m", "agentv_stream", *arguments])
    return subprocess.run(command, cwd=place / cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["consume", "locked/a.jsonl"],
        ["consume", f"open/{SESSION}.jsonl", "--out", "locked/inner"],
        ["consume", f"open/{SESSION}.jsonl", "--transcript", "locked/t.jsonl"],
        ["consume", f"open/{SESSION}.jsonl", "--stats", "locked/s.json"],
        ["consume", "locked/opencode.db"],
        ["check", "open/spec.yaml", "locked/a.jsonl"],
        ["check", "open/spec.yaml", "locked/inner"],
        ["check", "locked/spec.yaml", f"open/{SESSION}.jsonl"],
        ["validate", "locked/spec.yaml"],
        ["report", "locked/inner"],
        ["show", "locked/a.jsonl"],
        ["tail", "locked/a.jsonl", "--once"],
        ["tail", f"open/{SESSION}.jsonl", "--once", "--out", "locked/inner"],
        ["tail", f"open/{SESSION}.jsonl", "--once", "--out", "out", "--state", "locked/inner"],
        ["import", "locked/a.jsonl", "--out", "out"],
        ["import", "open", "--out", "locked/inner"],
        ["stats", "locked/inner"],
        ["stats", "locked/a.jsonl"],
        ["query", "select 1", "locked/inner"],
        ["cursors", "list", "--state", "locked/inner"],
        ["cursors", "show", SESSION, "--state", "locked/inner"],
        ["faults", "list", "locked/inner"],
        ["faults", "list", "locked/a.dead-letters.jsonl"],
        ["run", "--out", "locked/inner", "--task", "t", "--", "true"],
    ],
)
def test_a_command_that_needs_it_says_what_is_wrong(place: Path, arguments: list[str]) -> None:
    done = run(place, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (EXIT_IO, EXIT_USAGE), done
    assert done.stdout or done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["tail", "open", "--once", "--out", "out"],
        ["sessions", "--root", "open"],
        ["sessions", "--root", "locked/inner"],
        ["faults", "list", "open"],
        ["tools"],
    ],
)
def test_a_command_that_does_not_need_it_passes_it_over(place: Path, arguments: list[str]) -> None:
    done = run(place, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == EXIT_FINE, done


@pytest.mark.parametrize(
    "arguments", [["stats", "open", "--json", "-"], ["import", "open", "--out", "out", "--json", "-"]]
)
def test_bulk_work_reads_the_others_and_names_what_it_could_not_read(place: Path, arguments: list[str]) -> None:
    done = run(place, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == EXIT_IO
    assert "a-link.jsonl: Permission denied" in done.stderr
    told = json.loads(done.stdout)
    assert told.get("sources", told.get("done")) == 1
    assert len(told["failures"]) == 1


@pytest.mark.parametrize("mode", [0, 0o500])
def test_a_follower_that_starts_before_its_outputs_may_be_entered_goes_on_later(place: Path, mode: int) -> None:
    log = place / "open" / f"{SESSION}.jsonl"
    follow = ("tail", f"open/{SESSION}.jsonl", "--once", "--out", "out", "--state", "state")
    assert run(place, *follow).returncode == EXIT_FINE
    with log.open("ab") as file:
        file.write(b"\n".join(claude_records(SESSION, 4)[7:]) + b"\n")
    (place / "out").chmod(mode)
    done = run(place, *follow, "--keep", "0d")
    (place / "out").chmod(0o700)
    assert "Traceback" not in done.stderr, done.stderr
    assert run(place, *follow).returncode == EXIT_FINE
    (transcript,) = (place / "out").glob("*.transcript.jsonl")
    assert transcript.read_bytes().count(b"\n") == 5


def test_what_is_seen_there_is_nothing(place: Path) -> None:
    code = (
        "from agentv_stream.sources.files import is_file, is_folder, is_there\n"
        "print(is_there('locked/inner'), is_folder('locked/inner'), is_file('locked/a.jsonl'), is_folder('locked'))\n"
    )
    done = subprocess.run(held_to_permissions(["-c", code]), cwd=place, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False", "True"]
    assert is_there(place)
    assert is_folder(place / "open")
    assert is_file(place / "open" / "spec.yaml")
    assert not is_file(place / "open")
