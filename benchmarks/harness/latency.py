"""How long a record on the pipe takes until its effect is in a file: a slow writer on one side, a watcher on the other.

A closed loop: one record is written, the watcher waits until the file has grown, then comes a pause and the next one.
The watcher looks every 0.1 ms, which is the resolution of the figures; looking costs processor time that is not ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK_SECONDS = 0.0001
_GIVE_UP_SECONDS = 1.0
# A row leaves when the next answer begins (a further block could still come), so the file needs some before it exists.
_SEED = 4


@dataclass(frozen=True)
class Latencies:
    """Milliseconds, sorted. `missed` effects were not seen within a second."""

    milliseconds: list[float]
    missed: int

    def percentile(self, part: float) -> float | None:
        if not self.milliseconds:
            return None
        return self.milliseconds[min(len(self.milliseconds) - 1, int(part * len(self.milliseconds)))]

    def as_json(self) -> dict[str, object]:
        points = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        return {
            "count": len(self.milliseconds),
            "missed": self.missed,
            **{name: self.percentile(p) for name, p in points},
        }


def _rows(source: Path, count: int) -> list[tuple[bytes, bytes]]:
    """Pairs of one answer with one call, and its result: the smallest piece that completes a transcript row."""
    pairs: list[tuple[bytes, bytes]] = []
    waiting: dict[str, bytes] = {}
    by_message: dict[str, int] = {}
    with source.open("rb") as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("parent_tool_use_id") is not None or len(line) > 60_000:
                continue
            if record["type"] == "assistant":
                for block in record["message"]["content"]:
                    if block["type"] == "tool_use":
                        waiting[block["id"]] = line
                        message = record["message"]["id"]
                        by_message[message] = by_message.get(message, 0) + 1
            elif record["type"] == "user" and isinstance(record["message"]["content"], list):
                call = waiting.pop(record["message"]["content"][0].get("tool_use_id", ""), None)
                if call is not None and by_message[json.loads(call)["message"]["id"]] == 1:
                    pairs.append((call, line))
                    if len(pairs) == count:
                        break
    return pairs


def _growing(folder: Path, ending: str) -> Path | None:
    """The newest non-empty file of the run with that ending."""
    found = [path for path in folder.rglob(f"*{ending}*") if path.is_file() and path.stat().st_size > 0]
    return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)


def _wait(watched: int, size: int) -> float | None:
    """Waits until the file is larger than `size`; the time when it was seen, None when it did not grow."""
    limit = time.perf_counter() + _GIVE_UP_SECONDS
    while True:
        if os.fstat(watched).st_size > size:
            return time.perf_counter()
        if time.perf_counter() > limit:
            return None
        time.sleep(_LOOK_SECONDS)


def measure(
    command: Sequence[str], out: Path, source: Path, *, ending: str, whole_rows: bool, count: int = 300
) -> Latencies:
    """Feeds `command` through a pipe and watches its file whose name contains `ending`.

    `whole_rows`: the effect is expected after the result (a transcript row), else after each record (the raw log).
    """
    out.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as lines:
        first = lines.readline()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert child.stdin is not None
    pipe = child.stdin.fileno()
    found: list[float] = []
    missed = 0
    watched = -1
    try:
        pairs = _rows(source, count + _SEED)
        os.write(pipe, first + b"".join(call + result for call, result in pairs[:_SEED]))
        limit = time.perf_counter() + 5
        path = None
        while path is None and time.perf_counter() < limit:
            time.sleep(0.05)
            path = _growing(out, ending)
        if path is None:
            return Latencies([], count)
        # The first rows went in before the program had started; what they left behind is not measured.
        time.sleep(0.3)
        watched = os.open(path, os.O_RDONLY)  # not by its name: it takes another one once the session is known
        for call, result in pairs[_SEED:]:
            for record in (call + result,) if whole_rows else (call, result):
                size = os.fstat(watched).st_size
                sent = time.perf_counter()
                os.write(pipe, record)
                seen = _wait(watched, size)
                if seen is None:
                    missed += 1
                    if missed > 5:
                        return Latencies(sorted(found), missed)
                else:
                    found.append((seen - sent) * 1000)
                time.sleep(0.002)
    finally:
        if watched >= 0:
            os.close(watched)
        child.stdin.close()
        child.wait(timeout=20)
    return Latencies(sorted(found), missed)
