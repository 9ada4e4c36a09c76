"""The live line on standard error: turn, calls by tool, open calls with their age, tokens, cost, first edit."""

import os
import shutil
import sys
import time
from typing import TextIO

import anyio

from agentv_stages.visible import visible
from agentv_stream.session import StreamSession
from agentv_stream.settings import Settings

REFRESH_SECONDS = 0.25


def can_redraw(stream: TextIO) -> bool:
    """Whether a line of a stream can be taken back: a terminal, and none that says it knows no such thing."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class LiveLine:
    """Redraws one line while a session runs, and takes it away at the end."""

    def __init__(self, session: StreamSession, stream: TextIO) -> None:
        self.session = session
        self.stream = stream
        self._opened: dict[str, float] = {}

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                self._draw()
                await anyio.sleep(REFRESH_SECONDS)
        finally:
            self.clear()

    def clear(self) -> None:
        """Takes the line away until it is drawn again, for a message in its place."""
        self.stream.write("\r\x1b[K")
        self.stream.flush()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns
        self.stream.write("\r\x1b[K" + visible(self.text(), max(width - 1, 20)))
        self.stream.flush()

    def text(self) -> str:
        """What the line says now."""
        observer = self.session.observer
        if observer is None:
            return "waiting for the first records …" if not self.session.saw_bytes else "reading …"
        figures, totals = observer.stats.figures, observer.totals
        tools = sorted(figures.by_tool().items(), key=lambda item: -item[1])[:5]
        parts = [f"turn {observer.stats.turns}", f"{figures.calls} call{'s' if figures.calls != 1 else ''}"]
        if tools:
            parts[-1] += " (" + " ".join(f"{name} {n}" for name, n in tools) + ")"
        running = self._open_calls()
        if running:
            parts.append("running " + ", ".join(running))
        tokens = totals.tokens()
        if tokens.input is not None:
            parts.append(
                f"in {short_number(tokens.input)} out {'≥' if tokens.unsure else ''}{short_number(tokens.output or 0)}"
            )
        if totals.cost_usd is not None:
            parts.append(f"${totals.cost_usd:.2f}")
        if figures.first_edit_turn is not None:
            parts.append(f"first edit turn {figures.first_edit_turn}")
        faults = sum(observer.counters.faults.values())
        if faults:
            parts.append(f"{faults} fault{'s' if faults > 1 else ''}")
        return " · ".join(parts)

    def _open_calls(self) -> list[str]:
        now = time.monotonic()
        calls = self.session.pair.open_calls
        for key in [key for key in self._opened if key not in calls]:
            del self._opened[key]
        shown: list[str] = []
        for call in list(calls.values())[:3]:
            since = self._opened.setdefault(call.call_id, now)
            shown.append(f"{call.tool or call.name} {now - since:.0f}s")
        if len(calls) > 3:
            shown.append(f"and {len(calls) - 3} more")
        return shown


def is_wanted(settings: Settings) -> bool:
    """Whether a live line stands on standard error: as it is told, else in a terminal."""
    return settings.live if settings.live is not None else can_redraw(sys.stderr) and not settings.quiet


def short_number(value: int) -> str:
    """1234 as 1.2k, 5,000,000 as 5.0M."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.1f}M" if value < 1e15 else "over 1e15"  # a log can claim any
    return f"{value / 1000:.1f}k" if value >= 1000 else str(value)
