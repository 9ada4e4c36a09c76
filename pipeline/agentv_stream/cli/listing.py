"""The list of sessions as text: lines for people, JSON lines for programs."""

import csv
import io
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from agentv_stages.figures.merge import Figures
from agentv_stages.model.visible import columns, counted, padded, visible
from agentv_stream.cli.figure_rows import cost_cell, safe_cell
from agentv_stream.cli.roots import roots_there
from agentv_stream.cli.telling import say
from agentv_stream.colour import MARKS, STATUSES, Palette, palette
from agentv_stream.costs.rates import rates_if
from agentv_stream.discovery.discover import Session, find_sessions, in_project, only, project_of
from agentv_stream.discovery.discover import tree as as_tree
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.period import ALWAYS, Period
from agentv_stream.discovery.places import Root, cache_file
from agentv_stream.sources.files import is_there
from agentv_stream.units import age_text, size_text

if TYPE_CHECKING:  # its rules take 40 ms
    from agentv_stages.redaction.redactor import Redactor

FIGURES = (
    "status",
    "turns",
    "tool_calls",
    "failed_calls",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "estimated_cost_usd",
)
Known: TypeAlias = dict[str, Figures] | None
"""The figures of sessions by path; None if they are not shown."""
WORDS = 100  # terminal width from which the status is a word, not a mark, and sizes and models are shown beside costs
WIDE = 130  # terminal width from which projects and models get wider columns
NARROW = 72  # below this they get narrower ones

MOST_NAMED = 3
"""Number of a session's further files that are named: OpenHands writes one for each event."""


@dataclass(frozen=True)
class Listing:
    """Which sessions are listed, and how. `figures`: with status, tokens and cost; `prices` None: if installed.
    `redactor`: for prompts and titles."""

    provider: str | None = None
    project: str | None = None
    period: Period = ALWAYS
    limit: int = 0
    tree: bool = False
    roots: Sequence[str] = ()
    figures: bool = True
    prices: bool | None = None
    cache: bool = True
    redactor: "Redactor | None" = None


def list_sessions(listing: Listing, form: str, unread: list[str] | None = None) -> str:
    """The text to print, in the form `table`, `json` (lines) or `csv`. A message for each store that is not read is
    added to `unread`. Raises: UsageError.
    """
    unread = [] if unread is None else unread
    places = roots_there(listing.roots, listing.provider)
    every = find_sessions(places, HeaderCache(cache_file()), unread=unread.append)
    wanted, project = only(listing.provider), listing.project
    found = [s for s in every if wanted(s) and (project is None or in_project(s, project))]
    found = [s for s in found if listing.period.holds(s.updated_ms)]
    tops = as_tree(found) if listing.tree else found
    shown = tops[: listing.limit] if listing.limit > 0 else tops
    if listing.redactor is not None:
        for session in (row for top in shown for row in _with_children(top)):
            session.read_texts(listing.redactor)
    known: Known = {} if listing.figures else None
    rates = rates_if(listing.prices) if listing.figures else None
    if listing.figures and shown:
        from agentv_stream.bulk.listed_figures import figures_of

        known, notes = figures_of([row for top in shown for row in _with_children(top)], rates, listing.cache)
        for note in notes:
            say(note)
    if form != "table":
        if len(shown) < len(tops):
            say(f"{len(shown)} of {len(tops):,} sessions; --limit 0 lists all")
        if form == "csv":
            return csv_text([_json(session, known) for top in shown for session in _with_children(top)])
        rows = [_node(session, known, listing.tree) for session in shown]
        return "".join(msgspec.json.encode(row).decode("utf-8", "replace") + "\n" for row in rows)
    if not found:
        return "" if unread and not every else _none(len(every), places)
    paint = palette(sys.stdout)
    room = _room(found, listing.figures)
    size = f"{'size':>6} " if room.size else ""
    costs = f"{'status' if room.status > 1 else '':{room.status}} {'cost $':>8} " if room.status else ""
    model = f" {'model':{room.model}}" if room.model else ""
    titles = (
        f"{'session':{room.id}} {'agent':{room.agent}} {'age':>4} {size}{costs}"
        f"{'project':{room.project}}{model}{' ' * room.agents} prompt"
    )
    lines = [paint("bold", visible(titles, room.line))]
    lines += [line for session in shown for line in _lines(session, 0, listing.tree, room, known, paint)]
    if len(shown) < len(tops):
        lines.append(paint("dim", f"… {len(tops) - len(shown):,} more; --limit 0 shows all"))
    if rates is not None and any(row.filled_pico for row in (known or {}).values()):
        lines.append(paint("dim", f"~ estimated at list prices, {rates.table}"))
    return "\n".join(lines) + "\n"


def _with_children(session: Session) -> Iterator[Session]:
    yield session
    for child in session.children:
        yield from _with_children(child)


def _json(session: Session, known: Known) -> dict[str, object]:
    """The facts, and figures if they are known: null is a fact that the log lacks, or that could not be read."""
    shown = session.to_json()
    if known is None:
        return shown
    figures = known.get(session.path)
    if figures is None:
        return shown | dict.fromkeys(FIGURES)
    sums = figures.as_json()
    values = (
        next(iter(figures.by_status), None),
        figures.turns,
        figures.tool_calls,
        figures.failed_calls,
        sums["tokens"].get("input"),
        sums["tokens"].get("output"),
        sums["cost_usd"],
        sums.get("estimated_cost_usd"),
    )
    return shown | dict(zip(FIGURES, values, strict=True))


def csv_text(rows: Sequence[dict[str, object]]) -> str:
    """Rows as CSV; a list as its length."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    for i, row in enumerate(rows):
        if not i:
            lines.writerow(row)
        lines.writerow([_cell(value) for value in row.values()])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe_cell(value)
    return "" if value is None else len(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType] - any list


def _none(others: int, places: Sequence[Root]) -> str:
    """The message if there is nothing to list: where was searched, and what to do."""
    if others:
        return f"no sessions match; {others:,} {'was' if others == 1 else 'were'} looked at\n"
    there = [place.path for place in places if is_there(place.path)]
    where = f"in {', '.join(dict.fromkeys(there))}" if there else "where agents keep them"
    return f"no sessions found {visible(where, 1000)}; --root PATH looks elsewhere\n"


def _node(session: Session, known: Known, tree: bool) -> dict[str, object]:
    row = _json(session, known)
    return row | {"children": [_node(child, known, tree) for child in session.children]} if tree else row


class _Room(NamedTuple):
    """Widths of columns, 0 for those that are left out, and of a line (None: as long as it is). `status` is 1 for a
    mark."""

    id: int
    agent: int
    size: int
    status: int
    project: int
    model: int
    agents: int
    line: int | None


def _room(sessions: Sequence[Session], figures: bool) -> _Room:
    """The widths for a terminal, such that there is also room for the prompt; in a pipe nothing is cut."""
    agent = max(8, *(len(session.header.provider) for session in sessions))
    if not sys.stdout.isatty():
        longest = [
            max(columns(visible(text)) for text in texts)
            for texts in zip(*((s.id, project_of(s.header.cwd), s.header.model or "?") for s in sessions), strict=True)
        ]
        project, model = max(8, longest[1]), max(8, longest[2])
        return _Room(max(13, longest[0]), agent, 6, 11 * figures, project, model, 5, None)
    width = max(60, shutil.get_terminal_size((120, 40)).columns)
    names = 22 if width >= WIDE else 12 if width >= NARROW else 8
    both = width >= WORDS or not figures  # a prompt and a cost say more than a size and a model
    model = names if both and width >= NARROW else 0
    agents = 5 if width >= NARROW else 0
    return _Room(13, agent, 6 * both, (11 if width >= WORDS else 1) * figures, names, model, agents, width)


def _lines(session: Session, depth: int, tree: bool, room: _Room, known: Known, paint: Palette) -> list[str]:
    session.read_texts()
    header = session.header
    project = project_of(header.cwd)
    agents = f"+{len(session.agents)}" if session.agents and room.agents else ""
    lead = "  " * depth + ("└ " if depth else "")
    size = f" {size_text(session.size):>6}" if room.size else ""
    head = f"{lead}{padded(session.id, room.id)} {header.provider:{room.agent}} {age(session.updated_ms):>4}{size}"
    status, shown, begin = "", "", len(head) + 1
    if known is not None:
        figures = known.get(session.path)
        status = next(iter(figures.by_status), "?") if figures is not None else "?"
        shown = status if room.status > 1 or figures is None else MARKS.get(status, "✗")
        head += f" {padded(shown, room.status)} {cost_cell(figures) if figures is not None else '?':>8}"
    prompt = visible(header.prompt or header.title or "", 200 if room.line is not None else None)
    model = f" {padded(header.model or '?', room.model)}" if room.model else ""
    text = f"{head} {padded(project, room.project)}{model}{agents:>{room.agents}} {prompt}"
    line, end = visible(text.rstrip(), room.line), begin + len(shown)
    if shown and line[begin:end] == shown:
        line = line[:begin] + paint(STATUSES.get(status, "warn"), shown) + line[end:]
    lines = [line]
    if tree:
        for files in (
            *([file] for file in session.further[:MOST_NAMED]),
            session.further[MOST_NAMED:],
            *session.agents.values(),
        ):
            if files:
                more = f" and {counted(len(files) - 1, 'file')} more" if len(files) > 1 else ""
                lines.append(visible(f"{'  ' * (depth + 1)}· {Path(files[0]).name}{more}", room.line))
        for child in session.children:
            lines += _lines(child, depth + 1, tree, room, known, paint)
    return lines


def age(then_ms: int) -> str:
    """How long ago, in at most four characters."""
    return age_text(max(0.0, time.time() - then_ms / 1000))
