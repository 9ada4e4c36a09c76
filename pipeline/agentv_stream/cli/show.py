"""`agentv-stream show`: one session as a readable transcript in the terminal."""

import sys
from typing import Annotated

import typer

from agentv_stream.cli.options import ProviderOfLog, Roots
from agentv_stream.cli.telling import say


def show(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="Session id, its beginning, a path, or - for standard input.")
    ],
    provider: ProviderOfLog = None,
    root: Roots = None,
    width: Annotated[int, typer.Option(metavar="N", help="Columns; 0 for those of the terminal.", min=0)] = 0,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten texts and outputs.")] = False,
) -> None:
    """Show a session: turns, texts, calls with outcome and duration, context use."""
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.discovery.show import show_session
    from agentv_stream.errors import AgentvStreamError

    try:
        for line in show_session(session, provider, roots_there(root or (), provider), width, full):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        from agentv_stream.cli.telling import quiet_stdout

        quiet_stdout()
    except AgentvStreamError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from error
