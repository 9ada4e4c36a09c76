"""The list of sessions as text: lines for people, JSON lines for programs."""

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agentv_stages.model.visible import counted, padded, visible
from agentv_stream.cli.roots import roots_there
from agentv_stream.cli.telling import say
from agentv_stream.colour import palette
from agentv_stream.discovery.discover import Session, cache_file, find_sessions, in_project, only, project_of
from agentv_stream.discovery.discover import tree as as_tree
from agentv_stream.discovery.header import HeaderCache
from agentv_stream.discovery.period import Period
from agentv_stream.discovery.places import Root
from agentv_stream.sources.files import is_there
from agentv_stream.units import age_text, size_text

WIDE = 110  # terminal width from which projects and models get wider columns
NARROW = 72  # below this they get narrower ones

MOST_NAMED = 3
"""Number of a session's further files that are named: OpenHands writes one for each event."""


def list_sessions(
    provider: str | None,
    project: str | None,
    period: Period,
    limit: int,
    as_json: bool,
    tree: bool,
    roots: Sequence[str],
    unread: list[str] | None = None,
) -> str:
    """The text to print. A message for each store that is not read is added to `unread`. Raises: UsageError."""
    unread = [] if unread is None else unread
    places = roots_there(roots, provider)
    every = find_sessions(places, HeaderCache(cache_file()), unread=unread.append)
    wanted = only(provider)
    found = [s for s in every if wanted(s) and (project is None or in_project(s, project))]
    found = [s for s in found if period.holds(s.updated_ms)]
    tops = as_tree(found) if tree else found
    shown = tops[:limit] if limit > 0 else tops
    if as_json:
        if len(shown) < len(tops):
            say(f"{len(shown)} of {len(tops):,} sessions; --limit 0 lists all")
        rows = [_node(session) if tree else session.to_json() for session in shown]
        return "".join(msgspec.json.encode(row).decode("utf-8", "replace") + "\n" for row in rows)
    if not found:
        return "" if unread and not every else _none(len(every), places)
    width = max(60, shutil.get_terminal_size((120, 40)).columns)
    room = _room(width)
    agent = max(8, *(len(session.header.provider) for session in found))
    titles = f"{'session':13} {'agent':{agent}} {'age':>4} {'size':>6} {'project':{room}} {'model':{room}}     prompt"
    paint = palette(sys.stdout)
    lines = [paint("bold", visible(titles, width))]
    lines += [line for session in shown for line in _lines(session, 0, tree, width, agent)]
    if len(shown) < len(tops):
        lines.append(paint("dim", f"… {len(tops) - len(shown)} more; --limit 0 shows all"))
    return "\n".join(lines) + "\n"


def _none(others: int, places: Sequence[Root]) -> str:
    """The message if there is nothing to list: where was searched, and what to do."""
    if others:
        return f"no sessions match; {others:,} {'was' if others == 1 else 'were'} looked at\n"
    there = [place.path for place in places if is_there(place.path)]
    where = f"in {', '.join(dict.fromkeys(there))}" if there else "where agents keep them"
    return f"no sessions found {visible(where, 1000)}; --root PATH looks elsewhere\n"


def _node(session: Session) -> dict[str, object]:
    return {**session.to_json(), "children": [_node(child) for child in session.children]}


def _lines(session: Session, depth: int, tree: bool, width: int, agent: int) -> list[str]:
    header = session.header
    project = project_of(header.cwd)
    agents = f" +{len(session.agents)}" if session.agents else ""
    lead = "  " * depth + ("└ " if depth else "")
    about = f"{header.provider:{agent}} {age(session.updated_ms):>4} {size_text(session.size):>6}"
    head = f"{lead}{padded(session.id, 13)} {about}"
    room = _room(width)
    prompt = visible(header.prompt or header.title or "", 200)
    text = f"{head} {padded(project, room)} {padded(header.model or '?', room)}{agents:>4} {prompt}"
    lines = [visible(text.rstrip(), width)]
    if tree:
        for files in (
            *([file] for file in session.further[:MOST_NAMED]),
            session.further[MOST_NAMED:],
            *session.agents.values(),
        ):
            if files:
                more = f" and {counted(len(files) - 1, 'file')} more" if len(files) > 1 else ""
                lines.append(visible(f"{'  ' * (depth + 1)}· {Path(files[0]).name}{more}", width))
        for child in session.children:
            lines += _lines(child, depth + 1, tree, width, agent)
    return lines


def _room(width: int) -> int:
    """Width of the columns for project and model, such that there is also room for the prompt."""
    return 22 if width >= WIDE else 12 if width >= NARROW else 8


def age(then_ms: int) -> str:
    """How long ago, in at most four characters."""
    return age_text(max(0.0, time.time() - then_ms / 1000))
