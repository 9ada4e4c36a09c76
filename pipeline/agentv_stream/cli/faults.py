"""`agentv-stream faults`: the dead letters; list, show, retry."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agentv_stream.cli.options import JsonLines, Redact
from agentv_stream.cli.parameters import Argument
from agentv_stream.cli.program import PlainCommand, for_typer
from agentv_stream.cli.telling import print_made, say

app = typer.Typer(name="faults", help="Records that could not be used.", no_args_is_help=True, rich_markup_mode=None)
Places = Annotated[
    list[Path] | None, Argument(metavar="PLACES...", help="Dead-letter files or folders; default: .agentv/logs.")
]


@app.command("list", cls=PlainCommand)
@for_typer
def list_faults(places: Places = None, json: JsonLines = False) -> None:
    """One line per fault: reason, position, details."""
    from agentv_stream.colour import palette
    from agentv_stream.discovery.dead_letter_files import fault_lines

    print_made(lambda: fault_lines(places, json, palette(sys.stdout), sys.stdout.isatty()))


@app.command(cls=PlainCommand)
@for_typer
def show(
    place: Annotated[str, Argument(metavar="PLACE", help="FILE:NUMBER, as `faults list` says.")],
    redact: Redact = None,
) -> None:
    """The bytes of one fault, made visible."""
    from agentv_stream.cli.redacting import parts_for
    from agentv_stream.discovery.dead_letter_files import fault_bytes

    print_made(lambda: [fault_bytes(place, parts_for(redact).redactor)])


@app.command(cls=PlainCommand, short_help="Decode the records again; what can be used is printed.")
@for_typer
def retry(places: Places = None) -> None:
    """Decode the records again, with this version: events that come out go to standard output as JSON lines."""
    from agentv_stream.discovery.dead_letter_files import retry_faults

    print_made(lambda: retry_faults(places, say))
