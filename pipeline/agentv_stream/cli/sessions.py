"""`agentv-stream sessions`: the sessions of all agents on this machine, newest first."""

import sys
import time
from typing import Annotated

import typer

from agentv_stream.cli.options import JsonLines, OnlyProvider, Roots
from agentv_stream.cli.telling import say


def since_ms(text: str) -> int:
    """A duration back from now, or an ISO date or time, as UTC ms.

    Raises: UsageError.
    """
    from datetime import UTC, datetime

    from agentv_stream.errors import UsageError
    from agentv_stream.units import is_duration, seconds_of

    if is_duration(text):
        return int((time.time() - seconds_of(text)) * 1000)
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
        str | None, typer.Option(metavar="AGE|DATE", help="Updated since: a duration (2h, 7d) or a date (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most this many; 0 for all.", min=0)] = 50,
    json: JsonLines = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="Forks, resumes and child sessions below their parents.")
    ] = False,
    root: Roots = None,
) -> None:
    """List sessions: id, agent, project, when, size, model, first prompt."""
    from agentv_stream.cli.listing import list_sessions
    from agentv_stream.cli.telling import to_stdout
    from agentv_stream.errors import EXIT_IO, AgentvStreamError

    unread: list[str] = []
    try:
        oldest = since_ms(since) if since is not None else None
        text = list_sessions(provider, project, oldest, limit, json, tree, root or (), unread)
        with to_stdout():
            sys.stdout.write(text)
    except AgentvStreamError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from error
    for message in unread:
        say(message)
    if unread:
        raise typer.Exit(EXIT_IO)
