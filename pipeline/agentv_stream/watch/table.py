"""Rows of the live view: which columns a terminal has room for, their cells, the order of sessions, the filter."""

import shutil
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.text import Text

from agentv_stages.model.visible import columns, counted, padded, visible
from agentv_stream.colour import MARKS, STATUSES, Style, palette
from agentv_stream.units import age_text, count_text
from agentv_stream.watch.model import Look

PADDING = 2  # blanks around each column
PIPED, MOST_PIPED = 200, 400  # columns where there is no terminal; of one value
BAR = 2  # for a scroll bar
FIXED = {"": 1, "id": 8, "agent": 8, "turn": 4, "calls": 5, "err": 3, "cost": 8, "age": 4}
FLEXIBLE = {"project": (8, 24, 1), "last tool": (17, 48, 3), "prompt": (10, 200, 3)}  # `Bash open for 12m`
"""Least and greatest width, and the share of the width that is left over."""
ORDER = ("", "id", "agent", "project", "turn", "calls", "err", "cost", "last tool", "age", "prompt")
RIGHT = ("turn", "calls", "err", "cost", "age")
SPARE = ("calls", "turn", "project", "cost", "agent")
"""Columns that a narrow terminal has no room for, in the order in which they are left out."""
MOST_COST = 9
LONG_REASON = 24  # `same call failed 3 times`
WIDE, WIDE_ID = 110, 13  # ids that begin with a time differ late
STYLES = {"complete": "green", "unknown": "dim"}
CLOSE = 100  # below this, the printed table has one blank between columns

SORTS: dict[str, Callable[[Look], tuple[float, ...]]] = {
    "state": lambda look: (not look.stalled, not look.live, -(look.last_event_ms or 0)),
    "last event": lambda look: (-(look.last_event_ms or 0),),
    "errors": lambda look: (-look.errors, -(look.last_event_ms or 0)),
    "tokens": lambda look: (-(look.tokens_in or 0), -(look.last_event_ms or 0)),
    "cost": lambda look: (-(look.cost or look.estimate or 0.0), -(look.last_event_ms or 0)),
}
"""By name; the first is the usual one: hangs, then sessions at work, then the others."""


def widths(columns: int, padding: int = PADDING, reason: int = 0) -> dict[str, int]:
    """The columns that fit so many columns of a terminal, with their widths, in order. `reason` is the length of the
    longest reason of a hang, which stands in the place of the last tool."""
    names = list(ORDER)
    least = FIXED | {name: least for name, (least, _, _) in FLEXIBLE.items()}
    least["last tool"] = max(least["last tool"], min(reason, LONG_REASON))
    for left_out in SPARE:
        if sum(least[name] + padding for name in names) <= columns:
            break
        names.remove(left_out)
    room = {name: least[name] for name in names}
    if columns >= WIDE:
        room["id"] = WIDE_ID
    left = columns - sum(room.values()) - padding * len(names)
    spare, shares = left, sum(FLEXIBLE[name][2] for name in names if name in FLEXIBLE)
    for name in (*(n for n in ("project", "last tool") if n in names), "prompt"):
        _, most, share = FLEXIBLE[name]
        more = left if name == "prompt" else min(most - room[name], spare * share // shares)
        room[name] += more
        left -= more
    return room


def sign(look: Look) -> Text:
    """A one-character symbol for the state."""
    if look.stalled:
        return Text("!", style="bold yellow")
    if look.status == "running":
        return Text(MARKS["running"], style="green" if look.live else "dim")
    return Text(MARKS.get(look.status, "✗"), style=STYLES.get(look.status, "red"))


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
    text = f"{sign}${cost:,.{digits}f}" if not 0 < cost < 10**-digits / 2 else f"{sign}<${10**-digits:.{digits}f}"
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
    """Prints the rows once; in a pipe nothing is cut. Raises: OSError."""
    if file.isatty():
        terminal = max(60, shutil.get_terminal_size().columns)
        padding = PADDING if terminal >= CLOSE else 1
        reason = max((len(look.stalled) for look in looks), default=0)
        room = widths(terminal + padding, padding, reason)  # the last column needs no padding
    else:
        padding, room = PADDING, widths(PIPED)
        for look in looks:
            for name, text in (("id", look.session), ("project", look.project), ("last tool", look.last_tool)):
                room[name] = max(room[name], columns(visible(text, MOST_PIPED)) + 1)
        room["prompt"] = MOST_PIPED
    paint = palette(file)
    lines = [paint("bold", _line([Text(name) for name in room], room, padding))] if looks else []
    for look in looks:
        line = _line(row(look, room), room, padding)
        style: Style = "warn" if look.stalled else STATUSES.get(look.status, "dim")
        lines.append(paint(style, line[:1]) + line[1:])
    file.write("".join(f"{line}\n" for line in lines) + summary(looks, every, False) + "\n")


def _line(cells: Sequence[Text], room: dict[str, int], padding: int) -> str:
    parts = [padded(cell.plain, width, name in RIGHT) for (name, width), cell in zip(room.items(), cells, strict=True)]
    return (" " * padding).join(parts).rstrip()


def summary(looks: Sequence[Look], every: int, filtered: bool) -> str:
    """The line below the table: how many sessions there are, and how they are."""
    live = sum(look.live for look in looks)
    stalled = sum(bool(look.stalled) for look in looks)
    part = f"the latest {len(looks)} of " if len(looks) < every and not filtered else ""
    shown = f"{len(looks)} of {counted(every, 'session')} match" if filtered else f"{part}{counted(every, 'session')}"
    return f"{shown}, {live} running, {stalled} stalled"
