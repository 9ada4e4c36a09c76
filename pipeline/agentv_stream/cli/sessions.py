"""`agentv-stream sessions`: the sessions of all agents on this machine, newest first."""

import re
import sys
import time
from typing import Annotated

import typer

from agentv_stream.cli.options import JsonLines, OnlyProvider, Roots
from agentv_stream.cli.telling import say

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")


def duration_seconds(text: str, option: str = "") -> float:
    """`90s`, `10m`, `2h`, `7d`, `2w` in seconds. `option` is named where it is none.

    Raises: UsageError.
    """
    from agentv_stream.errors import UsageError

    match = _DURATION.fullmatch(text.strip())
    if match is None:
        named = f"{option} {text!r}: " if option else f"{text!r} is no duration; "
        raise UsageError(f"{named}expected a number with s, m, h, d or w, like 10m")
    return float(match[1]) * _UNITS[match[2]]


def since_ms(text: str) -> int:
    """A duration back from now, or an ISO date or time, as UTC ms.

    Raises: UsageError.
    """
    from datetime import UTC, datetime

    from agentv_stream.errors import UsageError

    if _DURATION.fullmatch(text.strip()):
        return int((time.time() - duration_seconds(text)) * 1000)
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--since {text!r}: expected a duration (2h, 7d) or a date") from error
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def sessions(
    provider: OnlyProvider = None,
    project: Annotated[
        str | None, typer.Option(metavar="DIR|NAME", help="Only of this folder (a path), or of folders of this name.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="AGE|DATE", help="Updated since: a duration (2h, 7d) or a date.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most so many; 0 for all.", min=0)] = 50,
    json: JsonLines = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="Forks, resumes and child sessions below their parents.")
    ] = False,
    root: Roots = None,
) -> None:
    """List sessions: id, agent, project, when, size, model, first prompt."""
    from agentv_stream.cli.listing import list_sessions
    from agentv_stream.cli.telling import to_stdout
    from agentv_stream.errors import AgentvStreamError

    try:
        text = list_sessions(provider, project, since_ms(since) if since else None, limit, json, tree, root or ())
        with to_stdout():
            sys.stdout.write(text)
    except AgentvStreamError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from error
