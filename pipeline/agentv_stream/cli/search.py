"""`agentv-stream search`: where the sessions of this machine hold a text."""

from typing import Annotated

from agentv_stream.cli.options import JsonLines, OnlyProvider, Redact, Roots, Since, TimeZone, Until, Utc, Workers
from agentv_stream.cli.parameters import Argument, Option


def search(
    text: Annotated[str, Argument(metavar="TEXT", help="What to look for, as it is: no pattern.")],
    paths: Annotated[
        list[str] | None, Argument(metavar="[PATHS...]", help="Folders or files; default: all agents' sessions.")
    ] = None,
    provider: OnlyProvider = None,
    since: Since = None,
    until: Until = None,
    case_sensitive: Annotated[
        bool, Option("--case-sensitive", "-s", help="`Fix` does not find `fix`; by default it does.")
    ] = False,
    limit: Annotated[int, Option(metavar="N", help="At most this many sessions; 0 for all.", min=0)] = 20,
    json: JsonLines = False,
    root: Roots = None,
    workers: Workers = None,
    redact: Redact = None,
    utc: Utc = False,
    timezone: TimeZone = None,
) -> None:
    """Search prompts, answers, reasoning, inputs and outputs of calls: session, turn, and the command that shows it."""
    from agentv_stream.cli.searching import run_search

    raise SystemExit(
        run_search(
            text,
            paths or (),
            roots=root or (),
            when=(since, until, timezone, utc),
            as_json=json,
            redact=redact,
            options={"provider": provider, "case_sensitive": case_sensitive, "limit": limit, "workers": workers},
        )
    )
