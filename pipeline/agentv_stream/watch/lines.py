"""The live view for programs: a JSON line for a session whenever its row changes, not counting ages."""

import time
from collections.abc import Callable
from typing import Any

from agentv_stages.model.payload import printable_json, printable_path
from agentv_stages.model.times import iso, nearest_date_ms
from agentv_stream.watch.at_rest import TEXTS
from agentv_stream.watch.feed import MOST_SHOWN, Feed
from agentv_stream.watch.model import Look

LOOK_SECONDS = 0.5  # between two checks of the rows
IDLE_SECONDS = 0.2  # between two checks of the files, while nothing grows


def watch_lines(feed: Feed, write: Callable[[bytes], object], say: Callable[[str], None], once: bool) -> None:
    """Follows until interrupted, or with `once` until all is read; lines go to `write`, problems to `say`."""
    printed: dict[int, dict[str, Any]] = {}
    troubles, due = "", 0.0
    while True:
        read = feed.round() or feed.follower.backlog
        if once and not read:
            feed.finish()
        if feed.troubles != troubles:
            troubles = feed.troubles
            say(troubles)
        if not read if once else time.monotonic() >= due:
            due = time.monotonic() + LOOK_SECONDS
            now = time.time_ns() // 1_000_000
            lines: list[bytes] = []
            looks = feed.looks(now, most=None)
            for look in looks:
                line = line_of(look)
                same = {**line, "stalled": line["stalled"] is not None}  # the reason contains an age, which grows
                if printed.get(look.key) != same:
                    printed[look.key] = same
                    lines.append(printable_json({"time": iso(now), **line}) + b"\n")
            for key in printed.keys() - {look.key for look in looks}:
                del printed[key]
            if lines:
                write(b"".join(lines))
            if once:
                return
        if not read:
            time.sleep(IDLE_SECONDS)


def looks_once(feed: Feed, say: Callable[[str], None]) -> list[Look]:
    """Reads all, and returns the rows of the table."""
    while feed.round() or feed.follower.backlog:
        pass
    feed.finish()
    if feed.troubles:
        say(feed.troubles)
    for _ in range(MOST_SHOWN // TEXTS):
        feed.read_texts()
    return feed.looks(time.time_ns() // 1_000_000)


def line_of(look: Look) -> dict[str, Any]:
    """A row as plain values, without the time."""
    return {
        "session_id": look.session,
        "provider": look.agent,
        "project": look.cwd,
        "model": look.model,
        "path": printable_path(look.path),
        "status": look.status,
        "stalled": look.stalled or None,
        "turns": look.turn,
        "tool_calls": look.calls,
        "open_calls": look.open_calls,
        "errors": look.errors,
        "last_tool": look.last_tool or None,
        "last_tool_at": _at(look.last_tool_ms),
        "last_event_at": _at(look.last_event_ms),
        "input_tokens": look.tokens_in,
        "output_tokens": look.tokens_out if look.tokens_out_whole else None,
        "cost_usd": look.cost,
        "estimated_cost_usd": look.estimate,
        "context": look.context,
        "estimated_context": look.estimated_context,
        "first_edit_turn": look.first_edit,
    }


def _at(time_ms: int | None) -> str | None:
    return iso(nearest_date_ms(time_ms)) if time_ms is not None else None
