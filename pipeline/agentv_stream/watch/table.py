"""Rows of the live view: which columns a terminal has room for, their cells, the order of sessions, the filter."""

import shutil
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.text import Text

from agentv_stages.model.visible import columns, counted, padded, visible
from agentv_stream.colour import STATUSES, Style, palette
from agentv_stream.units import age_text, count_text
from agentv_stream.watch.model import Look

PADDING = 2  # blanks around each column
PIPED = 200  # columns where there is no terminal
BAR = 2  # for a scroll bar
FIXED = {"": 1, "id": 8, "agent": 8, "turn": 4, "calls": 5, "err": 3, "cost": 8, "age": 4}
FLEXIBLE = {"project": (8, 24, 1), "last tool": (10, 48, 3), "prompt": (10, 200, 3)}
"""Least and greatest width, and the share of the width that is left over."""
ORDER = ("", "id", "agent", "project", "turn", "calls", "err", "cost", "last tool", "age", "prompt")
SPARE = ("calls", "turn", "project", "cost", "agent")
"""Columns that a narrow terminal has no room for, in the order in which they are left out."""
MOST_COST = 9
WIDE, WIDE_ID = 110, 13  # ids that begin with a time differ late
MARKS = {"complete": ("✓", "green"), "unknown": ("?", "dim")}

SORTS: dict[str, Callable[[Look], tuple[float, ...]]] = {
    "state": lambda look: (not look.stalled, not look.live, -(look.last_event_ms or 0)),
    "last event": lambda look: (-(look.last_event_ms or 0),),
    "errors": lambda look: (-look.errors, -(look.last_event_ms or 0)),
    "tokens": lambda look: (-(look.tokens_in or 0), -(look.last_event_ms or 0)),
    "cost": lambda look: (-(look.cost or look.estimate or 0.0), -(look.last_event_ms or 0)),
}
"""By name; the first is the usual one: hangs, then sessions at work, then the others."""


def widths(terminal: int) -> dict[str, int]:
    """The columns for a terminal, with their widths, in order."""
    names = list(ORDER)
    for left_out in SPARE:
        if _least(names) <= terminal - BAR:
            break
        names.remove(left_out)
    room = {name: FIXED[name] if name in FIXED else FLEXIBLE[name][0] for name in names}
    if terminal >= WIDE:
        room["id"] = WIDE_ID
    left = terminal - BAR - sum(room.values()) - PADDING * len(names)
    spare, shares = left, sum(FLEXIBLE[name][2] for name in names if name in FLEXIBLE)
    for name in (*(n for n in ("project", "last tool") if n in names), "prompt"):
        least, most, share = FLEXIBLE[name]
        more = left if name == "prompt" else min(most - least, spare * share // shares)
        room[name] += more
        left -= more
    return room


def _least(names: Sequence[str]) -> int:
    return sum((FIXED[name] if name in FIXED else FLEXIBLE[name][0]) + PADDING for name in names)


def sign(look: Look) -> Text:
    """A one-character symbol for the state."""
    if look.stalled:
        return Text("!", style="bold yellow")
    if look.status == "running":
        return Text("●", style="green" if look.live else "dim")
    mark, style = MARKS.get(look.status, ("✗", "red"))
    return Text(mark, style=style)


def row(look: Look, room: dict[str, int]) -> list[Text]:
    """The cells of a session, for columns of the widths `room`."""
    tool = f"{'▸' if look.open_calls else ' '}{look.last_tool}"
    cells: dict[str, Callable[[int], Text]] = {
        "": lambda width: sign(look),
        "id": lambda width: Text(visible(look.session[:width], width)),
        "agent": lambda width: Text(visible(look.agent, width)),
        "project": lambda width: Text(visible(look.project, width)),
        "turn": lambda width: Text(count_text(look.turn), justify="right"),
        "calls": lambda width: Text(count_text(look.calls), justify="right"),
        "err": lambda width: Text(count_text(look.errors), justify="right", style="red" if look.errors else "dim"),
        "cost": lambda width: Text(cost_text(look, 2, ""), justify="right"),
        "last tool": lambda width: Text(
            visible(look.stalled or tool, width), style="bold yellow" if look.stalled else ""
        ),
        "age": lambda width: Text(age_text(look.last_age) if look.last_age is not None else "", justify="right"),
        "prompt": lambda width: Text(visible(" ".join(look.prompt.split()), width), style="dim"),
    }
    return [cells[name](width) for name, width in room.items()]


def cost_text(look: Look, digits: int, unknown: str) -> str:
    """The reported cost, otherwise the estimate, marked `~`."""
    cost = look.cost if look.cost is not None else look.estimate
    if cost is None:
        return unknown
    sign = "~" if look.cost is None else ""
    text = f"{sign}${cost:,.{digits}f}"
    return text if len(text) <= MOST_COST else f"{sign}${count_text(round(cost))}"


def details(look: Look, width: int) -> Text:
    """The lines below the table, about the session under the cursor: three of at most `width` columns."""
    cost = cost_text(look, 4, "?")
    share = look.context if look.context is not None else look.estimated_context
    context = f"{'~' if look.context is None else ''}{share:.0%}" if share is not None else "?"
    edit = f"turn {look.first_edit}" if look.first_edit is not None else "none"
    least = "" if look.tokens_out_whole or look.tokens_out is None else "≥"
    tokens = f"tokens in {count_text(look.tokens_in)} out {least}{count_text(look.tokens_out)}"
    figures = f"{tokens}  cost {cost}  context {context}  first edit {edit}  open calls {look.open_calls}"
    text = Text(
        visible(f"{look.status}  {look.session}  {look.model or '?'}", width) + "\n" + visible(figures, width) + "\n"
    )
    text.append(visible(look.stalled or look.last_tool, width), style="bold yellow" if look.stalled else "")
    return text


def holds(look: Look, words: str) -> bool:
    """Whether a row has each of the words, in any column and any case."""
    texts = (look.session, look.agent, look.cwd, look.model, look.status, look.prompt, look.last_tool, look.stalled)
    every = " ".join(text for text in texts if text).lower()
    return all(word in every for word in words.lower().split())


def arranged(looks: Sequence[Look], sort: str, before: Sequence[int], keep: bool) -> list[Look]:
    """The rows in order; with `keep` those that were there `before` (keys) stay in their order, and new ones follow."""
    ordered = sorted(looks, key=SORTS[sort])
    if not keep:
        return ordered
    place = {key: n for n, key in enumerate(before)}
    return sorted(ordered, key=lambda look: place.get(look.key, len(place)))


def print_table(file: TextIO, looks: Sequence[Look], every: int) -> None:
    """Prints the rows once. Raises: OSError."""
    terminal = file.isatty()
    width = max(60, shutil.get_terminal_size().columns) if terminal else PIPED
    paint, room = palette(file), widths(width)
    lines = [paint("bold", _line([Text(name) for name in room], room))] if looks else []
    for look in looks:
        line = _line(row(look, room), room)
        style: Style = "warn" if look.stalled else STATUSES.get(look.status, "dim")
        lines.append(paint(style, line[:1]) + line[1:])
    file.write("".join(f"{line}\n" for line in lines) + summary(looks, every, False) + "\n")


def _line(cells: Sequence[Text], room: dict[str, int]) -> str:
    right = ("turn", "calls", "err", "cost", "age")
    parts = [
        " " * max(0, width - columns(cell.plain)) + cell.plain if name in right else padded(cell.plain, width)
        for (name, width), cell in zip(room.items(), cells, strict=True)
    ]
    return (" " * PADDING).join(parts).rstrip()


def summary(looks: Sequence[Look], every: int, filtered: bool) -> str:
    """The line below the table: how many sessions there are, and how they are."""
    live = sum(look.live for look in looks)
    stalled = sum(bool(look.stalled) for look in looks)
    part = f"the latest {len(looks)} of " if len(looks) < every and not filtered else ""
    shown = f"{len(looks)} of {counted(every, 'session')} match" if filtered else f"{part}{counted(every, 'session')}"
    return f"{shown}, {live} running, {stalled} stalled"
