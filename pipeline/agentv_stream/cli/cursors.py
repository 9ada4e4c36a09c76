"""`agentv-stream cursors`: how far followers have read; list, show, reset."""

from pathlib import Path
from typing import Annotated

import typer

from agentv_stream.cli.options import JsonLines, SessionName
from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.program import PlainCommand, for_typer
from agentv_stream.cli.telling import print_made

app = typer.Typer(name="cursors", help="How far followers have read.", no_args_is_help=True, rich_markup_mode=None)
StateOption = Annotated[
    Path | None, Option(metavar="DIR", help="Folder of the cursors; default: ~/.local/state/agentv-stream.")
]


@app.command("list", cls=PlainCommand, short_help="One line per session: how far it was read.")
@for_typer
def list_cursors(state: StateOption = None, json: JsonLines = False) -> None:
    """One line per session: follower, agent, session, files, bytes read, when committed."""
    from agentv_stream.cli.cursor_views import cursor_lines

    print_made(lambda: [cursor_lines(state, json)])


@app.command(cls=PlainCommand)
@for_typer
def show(
    session: SessionName,
    state: StateOption = None,
) -> None:
    """Everything that is kept of a session, as JSON."""
    from agentv_stream.cli.cursor_views import cursor_details

    print_made(lambda: [cursor_details(state, session)])


@app.command(cls=PlainCommand, short_help="Forget sessions: they are read again.")
@for_typer
def reset(
    session: Annotated[str | None, Argument(metavar="SESSION", help="Session id, its beginning, or a path.")] = None,
    every: Annotated[bool, Option("--all", help="Every session of every follower.")] = False,
    state: StateOption = None,
) -> None:
    """Forget sessions: they are read from their beginning again, their outputs made again."""
    from agentv_stream.cli.cursor_views import forget

    print_made(lambda: [forget(state, session, every)])
