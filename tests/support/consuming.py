"""Runs the program as users do: as a separate process, with its outputs in a folder of the test."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from support import forked_programs
from support.decoding import FIXTURES

STREAM = FIXTURES / "claude" / "stream.jsonl"
SESSION = FIXTURES / "claude" / "0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl"
LIMIT_SECONDS = 60


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "agentv_stream", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AGENTV_STREAM_")}
    return {**kept, **more}


@dataclass
class Ran:
    """The exit code, the output and the folder of a run."""

    code: int
    out: bytes
    err: str
    folder: Path

    def transcripts(self) -> list[Path]:
        return sorted(self.folder.rglob("*.transcript.jsonl"))

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the only transcript."""
        (path,) = self.transcripts()
        return rows_of(path)


def rows_of(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    assert data.endswith(b"\n") or not data
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def finished(
    *arguments: str | Path,
    folder: Path | None = None,
    given: bytes | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float = LIMIT_SECONDS,
) -> "subprocess.CompletedProcess[bytes]":
    """Runs `agentv-stream ARGUMENTS` to its end, as `subprocess.run` does; `given` is what standard input holds."""
    words, environ = [*map(str, arguments)], os.environ if environ is None else environ
    if forked_programs.is_forkable(environ):
        done = forked_programs.run(words, str(folder or Path.cwd()), environ, given, timeout)
        return subprocess.CompletedProcess(words, *done)
    stdin = subprocess.DEVNULL if given is None else None
    return subprocess.run(
        command(*words), input=given, stdin=stdin, capture_output=True, cwd=folder, env=environ, timeout=timeout,
        check=False,
    )  # fmt: skip


def finished_text(
    *arguments: str | Path, folder: Path | None = None, environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """As `finished`, with the outputs as texts."""
    done = finished(*arguments, folder=folder, environ=environ)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def run(folder: Path, *arguments: str | Path, given: bytes | None = None, **more: str) -> Ran:
    """Runs `agentv-stream ARGUMENTS` in `folder`; fails if it prints a traceback."""
    done = finished(*arguments, folder=folder, given=given, environ=environment(**more))
    ran = Ran(done.returncode, done.stdout, done.stderr.decode(), folder)
    assert "Traceback" not in ran.err, ran.err
    return ran


def consume(folder: Path, *arguments: str | Path, given: bytes | None = None, **more: str) -> Ran:
    return run(folder, "consume", *arguments, given=given, **more)


def start(folder: Path, *arguments: str | Path, stdout: IO[bytes] | int = subprocess.PIPE) -> "subprocess.Popen[bytes]":
    """Starts `agentv-stream consume ARGUMENTS`, with pipes to write to and read from."""
    return subprocess.Popen(
        command("consume", *arguments),
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )
