"""`agentv-stream page`: sessions as HTML pages."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agentv_stream.cli.options import ProviderOfLog, Roots
from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.telling import say

if TYPE_CHECKING:
    from agentv_stream.redaction.redaction import Redaction
    from agentv_stream.settings import Settings


def page(
    sessions: Annotated[
        list[str],
        Argument(metavar="SESSION...", help="Session ids, their beginnings, paths; - for standard input."),
    ],
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE|DIR|-",
            help="File for one page, - for standard output, or folder; default: this folder.",
        ),
    ] = None,
    provider: ProviderOfLog = None,
    root: Roots = None,
    full: Annotated[bool, Option("--full", help="Keep long texts and outputs whole.")] = False,
    redact: Annotated[bool, Option("--redact/--no-redact", help="Replace secrets by markers, the default.")] = True,
) -> None:
    """Write a session as one HTML page: prompts, answers, calls, edits as diffs, sub-agents, a timeline."""
    from agentv_stream.cli.interrupting import interruptible
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.discovery.kept_rates import kept_rates
    from agentv_stream.errors import AgentvStreamError
    from agentv_stream.pages.write import STDOUT, write_pages
    from agentv_stream.redaction.redaction import redactor_of
    from agentv_stream.settings import from_process

    try:
        places = roots_there(root or (), provider)
        redactor = redactor_of(_redaction(from_process({}))) if redact else None
        place = STDOUT if str(out) == "-" else out
        with interruptible(), kept_rates(None) as rates:
            written = write_pages(
                sessions, place, provider=provider, roots=places, full=full, redactor=redactor, rates=rates
            )
            for path in written:
                if path != STDOUT:
                    sys.stdout.write(f"{path}\n")
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from error
    if redactor is not None and redactor.counts:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(redactor.counts.items()))
        say(f"redacted: {kinds}")


def _redaction(settings: "Settings") -> "Redaction":
    """The redaction of pages; with a key for this run alone where that of the installation cannot be written."""
    import secrets

    from agentv_stream.errors import SinkError
    from agentv_stream.redaction.key import BYTES
    from agentv_stream.redaction.redaction import Redaction, redaction_with

    try:
        return redaction_with(settings)
    except SinkError as error:
        say(f"{error}; markers of secrets differ from those of other runs")
        return Redaction(secrets.token_bytes(BYTES), settings.redact_rules, settings.redact_allow)
