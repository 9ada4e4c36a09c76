"""`agentv-stream watch`: a live view of all running sessions, in the terminal or as lines of JSON."""

import signal
import sys
from typing import TYPE_CHECKING, Annotated

from agentv_stream.cli.options import (
    LogChoice,
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
from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.telling import say, start_log

if TYPE_CHECKING:
    from agentv_stream.watch.feed import Feed


def watch(
    targets: Annotated[
        list[str] | None, Argument(metavar="TARGETS...", help="Folders or files; default: all agents' sessions.")
    ] = None,
    provider: OnlyProvider = None,
    root: Roots = None,
    since: Since = "1h",
    until: Until = None,
    json: Annotated[
        bool, Option("--json", help="A line of JSON for a session whenever its row changes; needs no terminal.")
    ] = False,
    once: Annotated[bool, Option("--once", help="Each session once, and exit; a table without --json.")] = False,
    log: LogChoice = None,
    utc: Utc = False,
    timezone: TimeZone = None,
    prices: NoPrices = None,
    cache: NoCache = True,
    redact: Redact = None,
) -> None:
    """Watch sessions: agent, project, turn, last tool, tokens, cost, errors, and why a session is stalled.

    --since and --until choose sessions by when they last changed. Logs of sessions that have ended are not read again:
    their figures are kept, as those of stats are.
    """
    from agentv_stages.session.parts import NONE
    from agentv_stream.cli.periods import chosen_period
    from agentv_stream.cli.redacting import redacted_parts
    from agentv_stream.cli.roots import told_roots
    from agentv_stream.costs.rates import rates_if
    from agentv_stream.discovery.discover import updated_at
    from agentv_stream.discovery.places import is_database
    from agentv_stream.errors import AgentvStreamError, SourceError, UsageError
    from agentv_stream.extras import extra
    from agentv_stream.following.follow_plan import Plan
    from agentv_stream.settings import from_process
    from agentv_stream.sources.files import absolute, is_file, is_gone
    from agentv_stream.stores.store import split_stored

    try:
        settings = from_process({"redact": redact, "log": log})
        if log not in (None, "plain") and not json:
            raise UsageError("--log needs --json: without it the screen is drawn")
        entries = start_log(settings.log) if json else None
        parts = redacted_parts(settings)
        if not (json or once):
            extra("textual", "watch", "the live view")
        period, _ = chosen_period(since, until, timezone, utc)
        names = list(targets or ())
        logs = [t for t in names if split_stored(t)[1] or (is_file(t) and not is_database(t))]
        files = list(dict.fromkeys(str(absolute(t)) for t in logs))
        folders = [t for t in names if t not in logs]
        if once and (missing := [t for t in folders if is_gone(t)]):  # otherwise wait for it
            raise SourceError(f"cannot read {missing[0]}: no such file or folder")
        roots = [] if files and not folders else told_roots([*folders, *(root or ())], provider)
        if not (json or once or sys.stdout.isatty()):
            raise UsageError("watch needs a terminal; with --once or --json it writes to a pipe")
        rates = rates_if(prices)
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error

    def wanted(path: str) -> bool:
        try:
            return path in files or period.holds(round(updated_at(path) * 1000))
        except (OSError, AgentvStreamError):
            return False

    from agentv_stream.watch.at_rest import AtRest
    from agentv_stream.watch.feed import Feed

    at_rest = None
    if cache and parts == NONE and not files:  # kept figures are those of logs as they are
        at_rest = AtRest(roots, wanted, rates, "process" if once else "serial")
    feed = Feed(Plan(roots, paths=files, wanted=wanted, parts=parts), at_rest, rates)
    try:
        if json or once:
            if entries is not None:
                signal.signal(signal.SIGTERM, _end)
            try:
                raise SystemExit(_print_lines(feed, once, json))
            finally:
                if entries is not None:
                    counts = feed.follower.counts
                    entries("finished", sessions=feed.session_count, records=counts.records, bytes=counts.bytes)
        from agentv_stream.watch.app import WatchApp

        WatchApp(feed).run()
    finally:
        feed.close()


def _end(number: int, _frame: object) -> None:
    """A signal ends the view with a last line."""
    sys.exit(128 + number)


def _print_lines(feed: "Feed", once: bool, json: bool) -> int:
    """Prints lines of JSON until interrupted or, with `once`, until all is read; otherwise a table. Returns the exit
    code."""
    from agentv_stream.cli.telling import to_stdout
    from agentv_stream.errors import EXIT_FINE, EXIT_IO
    from agentv_stream.watch.lines import looks_once, watch_lines

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    if json:
        watch_lines(feed, write, say, once)
    else:
        from agentv_stream.watch.table import print_table

        with to_stdout():
            print_table(sys.stdout, looks_once(feed, say), feed.session_count)
    for note in feed.notes:
        say(note)
    no_logs = feed.follower.no_logs()
    for path in no_logs:
        say(f"{path}: not a log of a known agent")
    return EXIT_IO if no_logs or feed.follower.troubles or feed.follower.stores.troubles else EXIT_FINE
