"""`agentv-stream show`: one session as a readable transcript in the terminal."""

import sys
from typing import Annotated

import typer

from agentv_stream.cli.options import ProviderOfLog, Redact, Roots
from agentv_stream.cli.telling import say


def show(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="Session id, its beginning, a path, or - for standard input.")
    ],
    provider: ProviderOfLog = None,
    root: Roots = None,
    width: Annotated[int, typer.Option(metavar="N", help="Columns; 0 for those of the terminal.", min=0)] = 0,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten texts and outputs.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="The rows of its transcript, in order: one JSON object per line.")
    ] = False,
    redact: Redact = None,
) -> None:
    """Show a session: turns, texts, calls with outcome and duration, context use."""
    from agentv_stream.cli.redacting import parts_for
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.discovery.show import session_rows, show_session
    from agentv_stream.errors import AgentvStreamError

    try:
        places, parts = roots_there(root or (), provider), parts_for(redact)
        if json:
            sys.stdout.buffer.writelines(session_rows(session, provider, places, parts))
        else:
            sys.stdout.writelines(line + "\n" for line in show_session(session, provider, places, width, full, parts))
        sys.stdout.flush()
    except BrokenPipeError:
        from agentv_stream.cli.telling import quiet_stdout

        quiet_stdout()
    except AgentvStreamError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from error
