"""`agentv-stream sessions`: the sessions of all agents on this machine, newest first."""

import sys
from typing import Annotated

from agentv_stream.cli.options import (
    Csv,
    JsonLines,
    NoCache,
    NoPrices,
    OnlyProvider,
    Redact,
    Roots,
    Since,
    TimeZone,
    Until,
    Utc,
)
from agentv_stream.cli.parameters import Option
from agentv_stream.cli.telling import say


def sessions(
    provider: OnlyProvider = None,
    project: Annotated[
        str | None, Option(metavar="DIR|NAME", help="Only of this folder (a path), or of folders of this name.")
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, Option(metavar="N", help="At most this many; 0 for all.", min=0)] = 50,
    json: JsonLines = False,
    csv: Csv = None,
    tree: Annotated[bool, Option("--tree", help="Forks, resumes and child sessions below their parents.")] = False,
    root: Roots = None,
    figures: Annotated[
        bool, Option("--figures/--no-figures", help="Status, tokens and cost; reads new or changed sessions.")
    ] = True,
    prices: NoPrices = None,
    cache: NoCache = True,
    redact: Redact = None,
    utc: Utc = False,
    timezone: TimeZone = None,
) -> None:
    """List sessions: id, agent, project, when, size, status, cost, model, first prompt.

    --since and --until choose sessions by when they last changed.
    """
    from agentv_stream.cli.listing import Listing, list_sessions
    from agentv_stream.cli.periods import chosen_period
    from agentv_stream.cli.redacting import parts_for
    from agentv_stream.cli.telling import to_stdout
    from agentv_stream.discovery.own_files import check_own_files
    from agentv_stream.errors import EXIT_IO, AgentvStreamError, UsageError
    from agentv_stream.outputs.publish import publish_now

    unread: list[str] = []
    try:
        period, _ = chosen_period(since, until, timezone, utc)
        if json and csv is not None:
            raise UsageError("--json and --csv cannot be used together")
        check_own_files((("--csv", csv),), ())
        listing = Listing(
            provider, project, period, limit, tree, root or (), figures, prices, cache, parts_for(redact).redactor
        )
        text = list_sessions(listing, "json" if json else "table" if csv is None else "csv", unread)
        if csv is not None and str(csv) != "-":
            publish_now(csv, text.encode("utf-8", "replace"))
        else:
            with to_stdout():
                sys.stdout.write(text)
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error
    for message in unread:
        say(message)
    if unread:
        raise SystemExit(EXIT_IO)
