"""`agentv-stream show`: one session as a readable transcript in the terminal."""

import sys
from typing import Annotated

from agentv_stream.cli.options import NoPrices, ProviderOfLog, Redact, Roots, TimeZone, Utc
from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.telling import say


def show(
    session: Annotated[
        str, Argument(metavar="SESSION", help="Session id, its beginning, a path, or - for standard input.")
    ],
    provider: ProviderOfLog = None,
    root: Roots = None,
    failed: Annotated[bool, Option("--failed", help="Only calls that failed, with their outputs.")] = False,
    tool: Annotated[
        str | None, Option(metavar="NAME", help="Only calls of this tool, by its canonical or native name.")
    ] = None,
    turn: Annotated[str | None, Option(metavar="N..M", help="Only these turns: 7, 3..5, 3.. or ..5.")] = None,
    grep: Annotated[
        str | None, Option(metavar="TEXT", help="Only what holds this text, in any case, and the lines around.")
    ] = None,
    width: Annotated[int, Option(metavar="N", help="Columns; 0 for the terminal's width.", min=0)] = 0,
    full: Annotated[bool, Option("--full", help="Do not shorten texts and outputs.")] = False,
    json: Annotated[
        bool, Option("--json", help="The rows of its transcript, in order: one JSON object per line.")
    ] = False,
    pager: Annotated[
        bool, Option("--pager/--no-pager", help="On a terminal, show long sessions with PAGER, or less.")
    ] = True,
    prices: NoPrices = None,
    redact: Redact = None,
    utc: Utc = False,
    timezone: TimeZone = None,
) -> None:
    """Show a session: turns, texts, calls with outcome and duration, context use, sub-agents at their time."""
    import shutil
    from dataclasses import replace

    from agentv_stages.model.text_query import TextQuery
    from agentv_stream.cli.paging import print_lines
    from agentv_stream.cli.redacting import parts_for
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.colour import palette
    from agentv_stream.discovery.kept_rates import kept_rates
    from agentv_stream.discovery.period import named_zone
    from agentv_stream.discovery.selection import Selection, turns_of
    from agentv_stream.discovery.show import session_rows, show_session
    from agentv_stream.discovery.show_lines import Look
    from agentv_stream.errors import AgentvStreamError, UsageError

    try:
        if grep is not None and not grep.strip():
            raise UsageError("--grep needs a text to look for, and the one given is empty")
        query = TextQuery(grep) if grep is not None else None
        selection = Selection(failed, tool, turns_of(turn) if turn is not None else None, query)
        look = Look(
            width or shutil.get_terminal_size((100, 40)).columns, full, named_zone(timezone, utc), palette(sys.stdout)
        )
        places, parts = roots_there(root or (), provider), parts_for(redact)
        if json:
            sys.stdout.buffer.writelines(session_rows(session, provider, places, selection, parts))
            sys.stdout.flush()
        else:
            with kept_rates(prices) as rates:
                look = replace(look, rates=rates)
                print_lines(show_session(session, provider, places, look, selection, parts), pager)
    except BrokenPipeError:
        from agentv_stream.cli.telling import quiet_stdout

        quiet_stdout()
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error
