"""Runs an agent in a test, or replays a recording of it. Out: its trajectory."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from os import PathLike, environ
from pathlib import Path
from typing import Any

from agentv_stream.errors import SourceError, UsageError
from agentv_stream.outputs.naming import safe_part
from agentv_stream.testing.expectation import Journal
from agentv_stream.testing.trajectory import Trajectory


class Agent:
    """Starts agents for one test. `cwd` is their working folder, `runs` holds their streams and results."""

    def __init__(self, folder: Path, tests: Path, name: str, journal: Journal, rerun: bool = False) -> None:
        self.cwd = folder / "work"
        self.runs = folder / "runs"
        self._tests = tests
        self._name = safe_part(name)
        self._journal = journal
        self._rerun = rerun

    def __call__(
        self,
        *command: str,
        replay: str | PathLike[str] | None = None,
        fixture: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        stdin: bytes | None = None,
    ) -> Trajectory:
        """Runs the command (its words, no shell) and returns its trajectory.

        `replay` names a recording, relative to the test's folder: if it exists, it is read and nothing is started (not
        with `--agent-rerun`); otherwise the stream of this run is stored there. `fixture` is a folder that is copied
        into `cwd` first. `environment` is added to the present one. After `timeout` seconds the agent is ended: its
        trajectory has the status `killed`.

        Raises: UsageError (it cannot be started), SourceError (it printed no stream of events).
        """
        recording = None if replay is None else self._tests / replay
        if recording is not None and recording.is_file() and not self._rerun:
            return Trajectory(recording, self._journal)
        if not command:
            raise UsageError(f"there is no recording {recording}, and no command that would make one")
        self.cwd.mkdir(exist_ok=True)
        if fixture is not None:
            shutil.copytree(self._tests / fixture, self.cwd, symlinks=True, dirs_exist_ok=True)
        result = self._run(command, environment or {}, timeout, stdin)
        stream: Any = result["run"]["stream"]
        if stream is None or result["session"]["provider"] == "unknown":
            raise SourceError(f"{command[0]} printed no stream of events; its errors: {result['run']['stderr_tail']!r}")
        path = self.runs / str(stream)
        if recording is not None:
            recording.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, recording)
        return Trajectory(path, self._journal, status=result["status"])

    def replay(self, recording: str | PathLike[str]) -> Trajectory:
        """The trajectory of a recording, relative to the test's folder. Raises: as `agentv_stream.read`."""
        trajectory = Trajectory(self._tests / recording, self._journal)
        _ = trajectory.session
        return trajectory

    def _run(
        self, command: tuple[str, ...], environment: Mapping[str, str], timeout: float | None, stdin: bytes | None
    ) -> Any:
        """The result object of the run, which a process of its own supervises: a test may be in a thread or a loop."""
        words = ["--json", "--quiet", "--out", str(self.runs), "--task", self._name, "--cwd", str(self.cwd)]
        words += ["--timeout", f"{timeout}s"] if timeout is not None else []
        words += ["--stdin" if stdin is not None else "--no-stdin", "--", *command]
        done = subprocess.run(
            [sys.executable, "-m", "agentv_stream", "run", *words],
            env={**environ, **environment},
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        if not lines:
            raise UsageError(done.stderr.decode("utf-8", "replace").strip() or f"{command[0]} could not be run")
        return json.loads(lines[-1])
