"""`--log json|console`, the same in every long-running command: time, level, session, message, and a last line with
totals."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentv_stream.logs import make_log
from support.consuming import SESSION, STREAM, run
from support.growing_logs import claude_records

ENTRY = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (info|warning|error) +\S.*")
AGENT = ["--", sys.executable, "-c", f"print(open({str(STREAM)!r}).read())"]
COMMANDS: dict[str, list[str]] = {
    "tail": ["tail", "logs", "--once", "--out", "out", "--state", "state"],
    "import": ["import", "logs", "--out", "out"],
    "watch": ["watch", "logs", "--json", "--once", "--since", "9999d"],
    "run": ["run", "--task", "t", "--out", "out", "--no-stdin"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / SESSION.name).write_bytes(SESSION.read_bytes())
    return tmp_path


def words(command: str, shape: str) -> list[str]:
    return [*COMMANDS[command], "--log", shape, *(AGENT if command == "run" else [])]


def entries(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    for entry in found:
        assert entry["level"] in ("info", "warning", "error")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", entry["timestamp"])
        assert entry["event"]
    return found


@pytest.mark.parametrize(
    ("command", "totals"),
    [
        ("tail", {"sessions": 1, "faults": 0, "failures": 0, "blocked": 0}),
        ("import", {"sessions": 1, "failed": 0, "faults": 0}),
        ("watch", {"sessions": 1}),
        ("run", {"attempts": 1, "complete": 1}),
    ],
)
def test_each_command_ends_with_totals(command: str, totals: dict[str, int], folder: Path) -> None:
    done = run(folder, *words(command, "json"))
    assert done.code == 0, done.err
    last = entries(done.err)[-1]
    assert last["event"] == "finished"
    assert {name: last[name] for name in totals} == totals


def test_a_run_that_is_interrupted_while_it_reads_standard_input_ends_with_totals(folder: Path) -> None:
    words = [sys.executable, "-m", "agentv_stream", *COMMANDS["run"][:-1], "--stdin", "--log", "json", *AGENT]
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        first = process.stderr.readline()  # it reads by now
        process.send_signal(signal.SIGINT)
        last = process.stderr.read()
    assert process.returncode == 128 + signal.SIGINT
    assert [entry["event"] for entry in entries((first + last).decode())] == [
        "reading standard input to its end; --no-stdin leaves it alone",
        "finished",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_console_gets_lines_with_time_and_level(command: str, folder: Path) -> None:
    done = run(folder, *words(command, "console"))
    lines = done.err.splitlines()
    assert lines
    assert [line for line in lines if not ENTRY.fullmatch(line)] == []
    assert " finished " in lines[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_variable_chooses_for_every_command(command: str, folder: Path) -> None:
    done = run(folder, *COMMANDS[command], *(AGENT if command == "run" else []), AGENTV_STREAM_LOG="json")
    assert entries(done.err)[-1]["event"] == "finished"


def test_the_session_of_an_attempt_is_named(folder: Path) -> None:
    done = run(folder, *words("run", "json"))
    begun, ended, _ = entries(done.err)
    assert (begun["event"], begun["task"], begun["attempt"]) == ("the agent is started", "t", 1)
    assert (ended["status"], ended["exit_code"], ended["level"]) == ("complete", 0, "info")
    assert ended["session"]


@pytest.mark.parametrize("command", ["tail", "import"])
def test_an_error_is_an_entry(command: str, tmp_path: Path) -> None:
    done = run(tmp_path, *words(command, "json"))
    assert done.code == 4
    assert [entry["level"] for entry in entries(done.err)][-1 if command == "tail" else 0] in ("error", "info")


def test_the_screen_is_no_place_for_a_log(tmp_path: Path) -> None:
    done = run(tmp_path, "watch", "--log", "json")
    assert done.code == 2
    assert "--log needs --json" in done.err


def test_watch_ends_with_totals_on_a_signal(folder: Path) -> None:
    (folder / "logs" / "b.jsonl").write_bytes(b"\n".join(claude_records("bbbb-2", 2)) + b"\n")
    command = [sys.executable, "-m", "agentv_stream", "watch", "logs", "--json", "--since", "9999d", "--log", "json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert entries(errors)[-1]["sessions"] == 2


def test_an_entry_cannot_be_forged(capfd: pytest.CaptureFixture[str]) -> None:
    hostile = "a\n2026-01-01T00:00:00Z info    all is well \x1b[2J\u202e"
    for shape in ("json", "console"):
        make_log(shape)(hostile, path=f"/x/{hostile}.jsonl", error=hostile)
    first, second = capfd.readouterr().err.splitlines()
    assert json.loads(first)["event"] == hostile
    assert json.loads(first)["level"] == "warning"
    assert "\x1b" not in second
    assert "\u202e" not in second


def test_an_entry_about_a_log_names_the_session(capfd: pytest.CaptureFixture[str]) -> None:
    log = make_log("json")
    for path in ("/x/aaaa-1.jsonl", "/x/aaaa-1.jsonl.gz", "/x/store.db::aaaa-1"):
        log("blocked", path=path)
    assert {entry["session"] for entry in entries(capfd.readouterr().err)} == {"aaaa-1"}
