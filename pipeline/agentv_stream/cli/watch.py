"""`agentv-stream watch`: a live view of all running sessions."""

import sys
import time
from typing import Annotated

import typer

from agentv_stream.cli.options import OnlyProvider, Roots, duration
from agentv_stream.cli.telling import say


def watch(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGETS...", help="Folders or files; else all agents' sessions.")
    ] = None,
    provider: OnlyProvider = None,
    root: Roots = None,
    since: Annotated[
        float,
        typer.Option(
            parser=duration,
            metavar="AGE",
            show_default=False,
            help="Only sessions updated within this time; 1h if not given.",
        ),
    ] = 3600.0,
) -> None:
    """Watch sessions: agent, project, turn, last tool, tokens, cost, errors, what is stalled and why."""
    from agentv_stream.cli.roots import told_roots
    from agentv_stream.discovery.discover import updated_at
    from agentv_stream.discovery.places import is_database
    from agentv_stream.errors import AgentvStreamError
    from agentv_stream.files import absolute, is_file
    from agentv_stream.following.follow_plan import Plan
    from agentv_stream.opencode.store import STORE_SIGN

    try:
        from agentv_stream.watch.app import WatchApp
        from agentv_stream.watch.feed import Feed
    except ImportError as error:
        sys.stderr.write("agentv-stream: the live view needs an extra: pip install 'agentv-stream[watch]'\n")
        raise typer.Exit(2) from error
    try:
        oldest = time.time() - since
        names = list(targets or ())
        logs = [t for t in names if STORE_SIGN in t or (is_file(t) and not is_database(t))]
        files = list(dict.fromkeys(str(absolute(t)) for t in logs))
        folders = [t for t in names if t not in logs]
        roots = [] if files and not folders else told_roots([*folders, *(root or ())], provider)
    except AgentvStreamError as error:
        say(str(error))
        raise typer.Exit(error.exit_code) from error
    if not sys.stdout.isatty():
        sys.stderr.write("agentv-stream: watch needs a terminal; `agentv-stream tail --events` writes to a pipe\n")
        raise typer.Exit(2)

    def wanted(path: str) -> bool:
        try:
            return path in files or updated_at(path) >= oldest
        except (OSError, AgentvStreamError):
            return False

    feed = Feed(Plan(roots, paths=files, wanted=wanted))
    try:
        WatchApp(feed).run()
    finally:
        feed.close()
