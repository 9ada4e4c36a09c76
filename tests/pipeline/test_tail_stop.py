"""A tail that is to stop, or whose standard output or error takes nothing any more: it ends well, and loses nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.growing_logs import claude_records

NAMES = [f"{n}0000000-aaaa-bbbb-cccc-dddddddddddd" for n in range(3)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.jsonl").write_bytes(b"".join(r + b"\n" for r in claude_records(name, 200)))
    return folder


def command(logs: Path, *options: str) -> list[str]:
    state = str(logs.parent / "state")
    return [sys.executable, "-m", "agentv_stream", "tail", str(logs), "--state", state, "--settle", "0", *options]


def ids(data: bytes) -> list[str]:
    """Of whole lines: the last one may be cut off where a reader left."""
    return [json.loads(line)["id"] for line in data.split(b"\n")[:-1]]


def test_a_reader_that_takes_nothing_does_not_hold_up_the_stop(logs: Path) -> None:
    process = subprocess.Popen(command(logs, "--events"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    told = os.read(process.stdout.fileno(), 100)  # it tells; what the pipe holds no more waits
    process.send_signal(signal.SIGTERM)
    assert b"stopping" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    told += process.stdout.read()
    said = process.stderr.read()
    assert b"the next run writes what it did not take" in said
    assert b"Traceback" not in said
    process.stdout.close()
    process.stderr.close()
    later = subprocess.run(command(logs, "--events", "--once"), capture_output=True, check=True).stdout
    whole = subprocess.run(command(logs, "--events", "--once", "--no-cursors"), capture_output=True, check=True).stdout
    assert set(ids(told)) | set(ids(later)) == set(ids(whole))
    assert len(ids(whole)) == len(set(ids(whole)))


def test_a_reader_that_left_is_an_end_when_the_rest_is_told_too(tmp_path: Path) -> None:
    """The last events of a log that breaks off in a line come when it is put to rest."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / f"{NAMES[0]}.jsonl").write_bytes(b"\n".join(claude_records(NAMES[0], 1)))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command(logs, "--events", "--once"), stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no file that is always full")
@pytest.mark.parametrize("log_json", [[], ["--log-json"]])
def test_a_standard_error_that_is_full_stops_no_follower(logs: Path, log_json: list[str]) -> None:
    out = logs.parent / "out"
    with Path("/dev/full").open("wb") as full:
        options = ["--out", str(out), "--until-idle", "0.1s", "--metrics", "0", *log_json]
        done = subprocess.run(command(logs, *options), stderr=full, check=False)
    assert done.returncode == 0
    assert len(list(out.glob("*.result.json"))) == len(NAMES)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_a_closed_terminal_ends_it_as_well_as_any_stop(logs: Path, number: signal.Signals) -> None:
    out = logs.parent / "out"
    process = subprocess.Popen(command(logs, "--out", str(out), "--metrics", "0"), stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert b"metrics are served" in process.stderr.readline()
    process.send_signal(number)
    assert process.wait(30) == 0
    assert f"stopping signal={number.name}".encode() in process.stderr.read()
    process.stderr.close()
    subprocess.run(command(logs, "--out", str(out), "--once"), check=True)
    assert len(list(out.glob("*.result.json"))) == len(NAMES)
