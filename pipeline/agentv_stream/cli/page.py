"""`agentv-stream page`: sessions as HTML pages."""

from pathlib import Path
from typing import Annotated

import typer

from agentv_stream.cli.options import ProviderOfLog, Roots
from agentv_stream.cli.telling import say


def page(
    sessions: Annotated[
        list[str],
        typer.Argument(metavar="SESSION...", help="Session ids, their beginnings, paths; - for standard input."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE|DIR", help="File for one page, or folder; default: this folder."),
    ] = None,
    provider: ProviderOfLog = None,
    root: Roots = None,
    full: Annotated[bool, typer.Option("--full", help="Keep long texts and outputs whole.")] = False,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Replace secrets by markers, the default.")
    ] = True,
) -> None:
    """Write a session as one HTML page: prompts, answers, calls, edits as diffs, sub-agents, a timeline."""
    from agentv_stream.cli.interrupting import interruptible
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.discovery.kept_rates import kept_rates
    from agentv_stream.errors import AgentvStreamError
    from agentv_stream.pages.write import write_pages
    from agentv_stream.redaction.redaction import redaction_with, redactor_of
    from agentv_stream.settings import from_process

    try:
        places = roots_there(root or (), provider)
        redactor = redactor_of(redaction_with(from_process({}))) if redact else None
        with interruptible(), kept_rates(None) as rates:
            written = write_pages(
                sessions, out, provider=provider, roots=places, full=full, redactor=redactor, rates=rates
            )
            for path in written:
                typer.echo(str(path))
    except AgentvStreamError as error:
        say(error)
        raise typer.Exit(error.exit_code) from error
    if redactor is not None and redactor.counts:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(redactor.counts.items()))
        say(f"redacted: {kinds}")
