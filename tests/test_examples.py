"""The recordings and programs of examples/, and what README shows of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentv_stream import summarize

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
RECORDINGS = sorted(EXAMPLES.glob("*.jsonl"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(folder: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENTV_STREAM_")}
    command = [sys.executable, "-c", "from agentv_stream.cli import main; main()", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, timeout=60, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return tmp_path


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_recordings_are_read_without_a_fault(recording: Path) -> None:
    result = summarize(recording)
    assert result.status == "complete"
    assert (result.faults, result.unknown) == ({}, {})
    assert result.session.provider == recording.stem
    assert result.tool_use_summary["by_outcome"]["unpaired"] == 0


def test_the_same_work_has_the_same_kinds_whoever_did_it() -> None:
    kinds = {path.stem: summarize(path).tool_use_summary["kind_sequence"] for path in RECORDINGS}
    work = ["execute", "read", "search", "write", "execute"]
    for sequence in kinds.values():
        found = iter(sequence)
        assert all(kind in found for kind in work), kinds


def test_readme_shows_the_real_closing_lines(folder: Path) -> None:
    recording = (EXAMPLES / "claude.jsonl").read_bytes()
    done = run(folder, "consume", stdin=recording)
    assert done.returncode == 0
    for line in done.stderr.decode().splitlines():
        assert f"    {line}\n" in README


def test_readme_shows_the_real_table(folder: Path) -> None:
    done = run(folder, "stats", *(f"examples/{path.name}" for path in RECORDINGS), "--engine", "serial")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.decode().splitlines():
        assert f"    {line}\n" in README


def test_every_recording_passes_the_spec(folder: Path) -> None:
    done = run(folder, "check", "examples/spec.yaml", *(f"examples/{path.name}" for path in RECORDINGS))
    assert done.returncode == 0, done.stdout
    assert b"cases: 3 pass" in done.stdout + done.stderr


def test_replay_gives_the_recording_with_the_times_of_now() -> None:
    replay = [sys.executable, str(EXAMPLES / "replay.py"), str(EXAMPLES / "gemini.jsonl"), "--seconds", "0"]
    lines = subprocess.run(replay, capture_output=True, check=True, timeout=60).stdout.splitlines()
    assert len(lines) == len((EXAMPLES / "gemini.jsonl").read_bytes().splitlines())
    assert not [line for line in lines if b"2026-03-02" in line]
