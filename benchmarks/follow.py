"""Follows many sessions of which few grow: processor, memory, open files, lag; and what an append costs.

    python benchmarks/follow.py [--sessions 10000] [--growing 20] [--seconds 20] [--folder DIR]

First the cold start (every log is read once), then a restart with cursors, then `--seconds` of growth: each growing
session gets a record at a time, ten a second in all, and the time until its event stands on standard output is its lag.
At last appends to a small and to a large session are compared.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from uuid import uuid4

TICKS = os.sysconf("SC_CLK_TCK")


def record(session: str, kind: str, n: int) -> bytes:
    """One record of a Claude Code session, about 600 bytes."""
    content: object = f"please {n} " + "x" * 200
    message: dict[str, object] = {"role": "user", "content": content}
    if kind == "assistant":
        message = {
            "id": f"msg_{session[:8]}_{n}", "type": "message", "role": "assistant", "model": "claude-x",
            "content": [{"type": "text", "text": f"step {n} " + "y" * 200}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }  # fmt: skip
    line = {
        "parentUuid": None, "isSidechain": False, "cwd": "/home/dev/app", "sessionId": session, "version": "2.1.0",
        "type": kind, "message": message, "uuid": str(uuid4()), "timestamp": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    return json.dumps(line).encode() + b"\n"


def make(folder: Path, sessions: int) -> list[Path]:
    """The logs, 200 in a project."""
    paths: list[Path] = []
    for n in range(sessions):
        session = str(uuid4())
        place = folder / "projects" / f"-home-dev-p{n // 200}"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{session}.jsonl"
        path.write_bytes(b"".join(record(session, "assistant" if i % 2 else "user", i) for i in range(6)))
        paths.append(path)
    return paths


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1]) / 1024


class Lines:
    """Reads a follower's events as they come, with the time of each record's arrival, by its session and row."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.seen: dict[tuple[str, int], float] = {}
        self.count = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            source = json.loads(line)["source"]
            self.seen.setdefault((source["file"], source["offset"]), time.monotonic())
            self.count += 1


def command(folder: Path, *more: str) -> list[str]:
    root = f"claude={folder / 'projects'}"
    return [sys.executable, "-m", "agentv_stream", "tail", "--all", "--root", root, "--events", "-q", *more]


def once(folder: Path, state: Path) -> tuple[float, float]:
    """Seconds and peak memory of catching up."""
    begun = time.monotonic()
    process = subprocess.Popen([*command(folder), "--state", str(state), "--once"], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - begun, usage.ru_maxrss / 1024


def growth(folder: Path, state: Path, growing: list[Path], seconds: float) -> dict[str, object]:
    """Runs the follower as a service while logs grow."""
    process = subprocess.Popen([*command(folder), "--state", str(state)], stdout=subprocess.PIPE)
    lines = Lines(process)
    time.sleep(4)
    idle, begun = cpu_seconds(process.pid), time.monotonic()
    time.sleep(6)
    idle_share = (cpu_seconds(process.pid) - idle) / (time.monotonic() - begun)
    written: dict[tuple[str, int], float] = {}
    start, begun = cpu_seconds(process.pid), time.monotonic()
    n = 0
    while time.monotonic() - begun < seconds:
        path = growing[n % len(growing)]
        offset = path.stat().st_size
        with path.open("ab") as file:
            file.write(record(path.stem, "assistant", 1000 + n))
        written[str(path), offset] = time.monotonic()
        n += 1
        time.sleep(0.1)
    time.sleep(1.5)
    share = (cpu_seconds(process.pid) - start) / (time.monotonic() - begun)
    lags = sorted(lines.seen[key] - at for key, at in written.items() if key in lines.seen)
    figures: dict[str, object] = {
        "records": n,
        "told": len(lags),
        "lag_p50_ms": round(1000 * statistics.median(lags)) if lags else None,
        "lag_p99_ms": round(1000 * lags[int(0.99 * (len(lags) - 1))]) if lags else None,
        "cpu_idle_percent": round(100 * idle_share, 1),
        "cpu_growing_percent": round(100 * share, 1),
        "memory_mb": round(memory_mb(process.pid)),
        "open_files": len(list(Path(f"/proc/{process.pid}/fd").iterdir())),
    }
    process.terminate()
    process.wait()
    return figures


def quiet(event: str, **facts: object) -> None:
    """Tells nothing."""


def append_cost(folder: Path, records: int, appends: int = 100) -> float:
    """Processor milliseconds per append to a session that has `records` records already; in this process."""
    from agentv_stream.discovery.places import find_roots
    from agentv_stream.following.cursors import CursorStore
    from agentv_stream.following.follow import Follower
    from agentv_stream.following.follow_plan import Plan
    from agentv_stream.settings import Settings

    session = str(uuid4())
    place = folder / "projects" / "-p"
    place.mkdir(parents=True)
    path = place / f"{session}.jsonl"
    with path.open("wb") as file:
        for n in range(records):
            file.write(record(session, "assistant" if n % 2 else "user", n))
    store = CursorStore(folder / "state", "bench")
    plan = Plan(find_roots([f"claude={folder / 'projects'}"]), Settings(out=folder / "out"))
    follower = Follower(plan, store, quiet)
    follower.begin()
    while follower.round() or follower.backlog:
        pass
    follower.settle_all()
    begun, ended = time.process_time(), time.monotonic() + appends * 0.02
    for n in range(appends):
        with path.open("ab") as file:
            file.write(record(session, "assistant", records + n))
        follower.round(scan=False)
        time.sleep(max(0.0, ended - (appends - n - 1) * 0.02 - time.monotonic()))
    spent = time.process_time() - begun
    follower.close()
    store.close()
    return 1000 * spent / appends


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--growing", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="agentv-follow-"))
    try:
        paths = make(folder / "many", options.sessions)
        seconds, memory = once(folder / "many", folder / "state")
        print(f"cold start, {options.sessions} sessions: {seconds:.1f} s, peak {memory:.0f} MB")
        seconds, memory = once(folder / "many", folder / "state")
        print(f"restart, nothing new: {seconds:.1f} s, peak {memory:.0f} MB")
        cursors = sum(p.stat().st_size for p in (folder / "state").iterdir())
        print(f"cursors: {cursors / options.sessions:.0f} bytes per session")
        step = max(1, len(paths) // options.growing)
        figures = growth(folder / "many", folder / "state", paths[::step][: options.growing], options.seconds)
        print(json.dumps(figures))
        for records in (100, 100_000):
            spent = append_cost(folder / f"a{records}", records)
            print(f"append to a session of {records} records: {spent:.2f} ms of processor")
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
