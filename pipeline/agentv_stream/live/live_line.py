"""The live line on standard error: turn, calls by tool, open calls with their age, tokens, cost, first edit."""

import shutil
import sys
import time
from itertools import islice
from typing import TextIO

import anyio

from agentv_stages.figures.result import Observer
from agentv_stages.model.visible import columns, visible
from agentv_stream.live.session import StreamSession
from agentv_stream.live.terminal import takes_escapes, takes_more
from agentv_stream.settings import Settings
from agentv_stream.units import count_text

REFRESH_SECONDS = 0.25
NAMED = ((5, 3), (4, 3), (3, 3), (3, 1), (2, 1), (1, 1), (0, 1), (0, 0))
"""How many tools and open calls are named; the first pair that leaves room for tokens, cost and faults is used."""


class LiveLine:
    """Redraws one line while a session runs, and erases it at the end."""

    def __init__(self, session: StreamSession, stream: TextIO) -> None:
        self.session = session
        self.stream = stream
        self._opened: dict[str, float] = {}

    async def run(self) -> None:
        """Redraws until cancelled."""
        try:
            while True:
                self._draw()
                await anyio.sleep(REFRESH_SECONDS)
        finally:
            self.clear()

    def clear(self) -> None:
        """Erases the line until it is drawn again, to make room for a message."""
        self._write("\r\x1b[K")

    def _draw(self) -> None:
        width = max(shutil.get_terminal_size().columns - 1, 20)
        self._write("\r\x1b[K" + visible(self.text(width), width))

    def _write(self, text: str) -> None:
        """Never waits: the timeouts of a run, and the reading itself, would wait too."""
        if takes_more(self.stream):
            self.stream.write(text)
            self.stream.flush()

    def text(self, width: int | None = None) -> str:
        """The current text of the line; in a narrow terminal fewer tools and open calls are named."""
        observer = self.session.observer
        if observer is None:
            return "waiting for the first records …" if not self.session.saw_bytes else "reading …"
        running = self._open_calls()
        text = ""
        for tools, calls in NAMED:
            parts = (*self._counts(observer, tools), *_running(running[:calls], len(self._opened)), *_spent(observer))
            text = " · ".join(parts)
            if width is None or columns(text) <= width:
                break
        return text

    def _counts(self, observer: Observer, most: int) -> list[str]:
        figures = observer.stats.figures
        every = sorted(figures.by_tool().items(), key=lambda item: -item[1])
        tools = [f"{visible(name, 30)} {n}" for name, n in every[:most]]
        more = ["…"] if len(every) > len(tools) else []
        calls = f"{figures.calls} call{'s' if figures.calls != 1 else ''}"
        named = f" ({' '.join((*tools, *more))})" if tools else ""
        return [f"turn {observer.stats.turns}", calls + named]

    def _open_calls(self) -> list[str]:
        """The oldest open calls, each with its age."""
        now = time.monotonic()
        calls = self.session.open_calls
        for key in [key for key in self._opened if key not in calls]:
            del self._opened[key]
        for key in calls:
            self._opened.setdefault(key, now)
        oldest = islice(calls.items(), NAMED[0][1])
        return [f"{visible(call.tool or call.name, 30)} {now - self._opened[key]:.0f}s" for key, call in oldest]


def _running(named: list[str], count: int) -> list[str]:
    """`count` calls, some of them named."""
    if not count:
        return []
    if not named:
        return [f"running {count}"]
    more = [f"and {count - len(named)} more"] if count > len(named) else []
    return ["running " + ", ".join((*named, *more))]


def _spent(observer: Observer) -> list[str]:
    """Tokens, cost, first edit and faults, as far as known."""
    tokens, cost = observer.totals.tokens(), observer.totals.cost_usd
    edit = observer.stats.figures.first_edit_turn
    faults = sum(observer.counters.faults.values())
    parts: list[str] = []
    if tokens.input is not None:
        out = "?" if tokens.output is None else f"{'≥' if tokens.unsure else ''}{count_text(tokens.output)}"
        parts.append(f"in {count_text(tokens.input)} out {out}")
    if cost is not None:
        parts.append(f"${cost:.2f}")
    if edit is not None:
        parts.append(f"first edit turn {edit}")
    if faults:
        parts.append(f"{faults} fault{'s' if faults > 1 else ''}")
    return parts


def is_wanted(settings: Settings) -> bool:
    """Whether to show a live line on standard error: as configured, else only in a terminal."""
    return settings.live if settings.live is not None else takes_escapes(sys.stderr) and not settings.quiet
