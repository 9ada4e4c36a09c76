"""`agentv-stream sessions`: the sessions of all agents on this machine, newest first."""

import sys
from typing import Annotated

import typer

from agentv_stream.cli.options import JsonLines, OnlyProvider, Roots, Since, TimeZone, Until, Utc
from agentv_stream.cli.telling import say


def sessions(
    provider: OnlyProvider = None,
    project: Annotated[
        str | None, typer.Option(metavar="DIR|NAME", help="Only of this folder (a path), or of folders of this name.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most this many; 0 for all.", min=0)] = 50,
    json: JsonLines = False,
    tree: Annotated[
        bool, typer.Option("--tree", help="Forks, resumes and child sessions below their parents.")
    ] = False,
    root: Roots = None,
    utc: Utc = False,
    timezone: TimeZone = None,
) -> None:
    """List sessions: id, agent, project, when, size, model, first prompt.

    --since and --until choose sessions by when they last changed.
    """
    from agentv_stream.cli.listing import list_sessions
    from agentv_stream.cli.periods import chosen_period
    from agentv_stream.cli.telling import to_stdout
    from agentv_stream.errors import EXIT_IO, AgentvStreamError

    unread: list[str] = []
    try:
        period, _ = chosen_period(since, until, timezone, utc)
        text = list_sessions(provider, project, period, limit, json, tree, root or (), unread)
        with to_stdout():
            sys.stdout.write(text)
    except AgentvStreamError as error:
        say(error)
        raise typer.Exit(error.exit_code) from error
    for message in unread:
        say(message)
    if unread:
        raise typer.Exit(EXIT_IO)
