"""The log of a long-running command on standard error, by structlog: lines of JSON, or lines for a console.

Each entry has a time, a level, a message and facts by name; `session` is among them where one is concerned.
`Refusals` limits the entries about requests that a server refuses.
"""

import os
import sys
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from agentv_stages.model.visible import visible

LogFormat: TypeAlias = Literal["plain", "json", "console"]
Log: TypeAlias = Callable[..., None]
"""Takes a message and facts by name. `level` is the level of the entry; without it one with an `error` is a warning."""

Entry: TypeAlias = MutableMapping[str, Any]
REFUSALS_SECONDS = 60  # between two entries with one reason
MOST_SHOWN = 200  # characters of a fact on a console


class StandardError:
    """Standard error without a buffer. A line that it does not take is lost: its reader left, or the disk is full."""

    def write(self, text: str) -> int:
        data = text.encode(getattr(sys.stderr, "encoding", None) or "utf-8", "backslashreplace")
        with suppress(OSError):
            os.write(sys.stderr.fileno(), data)
        return len(text)

    def flush(self) -> None:
        """Does nothing: nothing is buffered."""


def make_log(shape: LogFormat) -> Log:
    """A log as `json` or for a `console`."""
    import structlog

    file: Any = StandardError()  # what structlog needs of a file
    renderer: Any = structlog.processors.JSONRenderer() if shape == "json" else _line
    logger: Any = structlog.wrap_logger(
        structlog.WriteLogger(file),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_session,
            renderer,
        ],
    )

    def log(message: str, **facts: Any) -> None:
        level = facts.pop("level", "warning" if "error" in facts else "info")
        getattr(logger, level)(message, **facts)

    return log


def _with_session(_logger: object, _method: str, entry: Entry) -> Entry:
    """Names the session that an entry with a `path` concerns."""
    path = entry.get("path")
    if "session" not in entry and isinstance(path, str):
        entry["session"] = path.rpartition("/")[2].rpartition("::")[2].partition(".")[0]
    return entry


def _line(_logger: object, _method: str, entry: Entry) -> str:
    """An entry for a console; nothing in it has an effect there."""
    time, level, message = entry.pop("timestamp"), entry.pop("level"), entry.pop("event")
    facts = " ".join(f"{name}={visible(str(value), MOST_SHOWN)}" for name, value in entry.items())
    return f"{time} {level:<7} {visible(message, MOST_SHOWN)} {facts}".rstrip()


class Refusals:
    """Refused requests of a server: one report for each reason, and not more than one a minute.

    `report` gets a reason, and how many requests were refused for it since its last report. There are few reasons: none
    contains text of a client.
    """

    def __init__(self, report: Callable[[str, int], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._report, self._clock = report, clock
        self._counts: dict[str, int] = {}
        self._next: dict[str, float] = {}

    def note(self, reason: str) -> None:
        """Counts a refused request; reports the number since the last report, if it is time to."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        now = self._clock()
        if now >= self._next.get(reason, now):
            self._next[reason] = now + REFUSALS_SECONDS
            self._report(reason, self._counts.pop(reason))
