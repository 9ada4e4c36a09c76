"""A day's work of seven agents in a home folder: recordings of the fixtures, their times moved.

In: the home folder and the present moment. Out: sessions as their agents keep them; one began yesterday and ended today
(from the moment it is given, at any hour), one waits for a command's result.
"""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from support.decoding import FIXTURES

HOUR = 3_600_000
DAY = 24 * HOUR
CLAUDE = "claude/0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01"
_ISO = re.compile(rb"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
_EPOCH = re.compile(rb"(?<![\d.])1[67]\d{11}(?![\d.])")

PLACES = {
    "claude": (f"{CLAUDE}.jsonl", ".claude/projects/-home-ada-orchard/0f3c2a10-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl"),
    "copilot": ("copilot/session.jsonl", ".copilot/session-state/c0b11070/events.jsonl"),
    "droid": ("droid/session.jsonl", ".factory/sessions/-w/d201d.jsonl"),
    "grok": ("grok/session.jsonl", ".grok/sessions/w/6206/updates.jsonl"),
    "oh-my-pi": ("oh-my-pi/session.jsonl", ".omp/agent/sessions/-w/2026_a.jsonl"),
    "openclaw": ("openclaw/session.jsonl", ".openclaw/agents/main/sessions/c1a3.jsonl"),
    "pi": ("pi/session-v3.jsonl", ".pi/agent/sessions/--w--/2026_b.jsonl"),
}
"""Where a recording is, and where the agent keeps such a session."""


def moved(data: bytes, last_ms: int) -> bytes:
    """A log with all its times moved, so that the last one is `last_ms`."""
    times = [*map(_of_iso, _ISO.finditer(data)), *(int(found[0]) for found in _EPOCH.finditer(data))]
    by = last_ms - max(times)
    data = _ISO.sub(lambda found: _iso(_of_iso(found) + by), data)
    return _EPOCH.sub(lambda found: b"%d" % (int(found[0]) + by), data)


def make_day(home: Path, now_ms: int) -> dict[str, Path]:
    """The logs by agent: the last events of each an hour apart, those of the first now. `stuck` waits since an hour."""
    logs: dict[str, Path] = {}
    for i, (agent, (recording, place)) in enumerate(PLACES.items()):
        logs[agent] = _write(home / place, moved((FIXTURES / recording).read_bytes(), now_ms - i * HOUR))
    agents = sorted((FIXTURES / CLAUDE / "subagents").iterdir())
    for file in agents:
        data = file.read_bytes()
        beside = logs["claude"].with_suffix("") / "subagents" / file.name
        _write(beside, moved(data, now_ms) if file.suffix == ".jsonl" else data)
    whole = (FIXTURES / f"{CLAUDE}.jsonl").read_bytes().replace(b"0f3c2a10", b"57c4c4ed")
    lines = whole.splitlines(keepends=True)
    asked = next(i for i, line in enumerate(lines) if b'"name":"Bash"' in line or b'"name": "Bash"' in line)
    stuck = moved(b"".join(lines[: asked + 1]), now_ms - HOUR)
    logs["stuck"] = _write(logs["claude"].with_name("57c4c4ed-5b7e-4c1d-9a61-2d5e8f9b7c01.jsonl"), stuck)
    changed = (now_ms - HOUR) / 1000
    os.utime(logs["stuck"], (changed, changed))
    return logs


def _write(place: Path, data: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def _of_iso(found: re.Match[bytes]) -> int:
    seconds = datetime.fromisoformat(found[1].decode()).replace(tzinfo=UTC).timestamp()
    return round(seconds) * 1000 + int((found[2] or b"0").ljust(3, b"0")[:3])


def _iso(time_ms: int) -> bytes:
    when = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z".encode()
