"""A follower as a separate process, which is subject to permissions even if the tests run as root."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 60
_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
# Root without these two capabilities is subject to permissions; another user could not read the interpreter.
_LAUNCHER = """
import ctypes, os, sys
prctl = ctypes.CDLL(None, use_errno=True).prctl
for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    if prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def permissions_count() -> bool:
    """Whether a follower can be started that cannot read a file without permissions."""
    if not _ROOT:
        return hasattr(os, "geteuid")
    command = held_to_permissions(["-c", ""])
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


def held_to_permissions(arguments: list[str]) -> list[str]:
    """The command that runs the interpreter with arguments, subject to permissions."""
    return [sys.executable, *(["-c", _LAUNCHER] if _ROOT else []), *arguments]


class LiveFollower:
    """A running `tail FOLDERS --events --out OUT`; `said` are its messages, `told` its events so far.

    With `code`, that is run instead of the program, with the same arguments.
    """

    def __init__(self, folders: Sequence[Path], out: Path, state: Path, code: str | None = None) -> None:
        program = ["-m", "agentv_stream"] if code is None else ["-c", code]
        arguments = ["tail", *map(str, folders), "--events", "--out", str(out), "--state", str(state), "--settle", "0"]
        self.process = subprocess.Popen(
            held_to_permissions([*program, *arguments, "--log-json"]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._streams = {self.process.stdout.fileno(): b"", self.process.stderr.fileno(): b""}
        self._stdout = self.process.stdout.fileno()
        self.told: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []

    def until(self, condition: "Callable[[LiveFollower], bool]") -> None:
        """Reads messages and events until the condition holds; fails if it does not in time."""
        end = time.monotonic() + LIMIT_SECONDS
        while not condition(self):
            ready, _, _ = select.select(list(self._streams), [], [], 0.1)
            assert time.monotonic() < end, (self.said, len(self.told))
            for one in ready:
                self._take(one)

    def until_said(self, event: str, times: int = 1) -> None:
        self.until(lambda self: [one["event"] for one in self.said].count(event) >= times)

    def until_calls(self, count: int) -> None:
        self.until(lambda self: sum(one["type"] == "tool_result" for one in self.told) >= count)

    def stop(self) -> int:
        """Ends it by SIGTERM, as a service manager does; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        while self._streams:
            for one in select.select(list(self._streams), [], [], LIMIT_SECONDS)[0]:
                self._take(one)
        return self.process.wait(LIMIT_SECONDS)

    def kill(self) -> None:
        """Kills it if it still runs, and closes the pipes."""
        self.process.kill()
        self.process.wait(LIMIT_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _take(self, descriptor: int) -> None:
        data = os.read(descriptor, 1 << 16)
        if not data:
            rest = self._streams.pop(descriptor)
            assert not rest, rest
            return
        *lines, rest = (self._streams[descriptor] + data).split(b"\n")
        self._streams[descriptor] = rest
        for line in lines:
            if descriptor == self._stdout:
                self.told.append(json.loads(line))
            else:
                assert line.startswith(b"{"), (line + data).decode()
                self.said.append(json.loads(line))
