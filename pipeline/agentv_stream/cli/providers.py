"""`agentv-stream providers`: each dialect that is read, how to make it, versions seen, its end, its losses."""

import shutil
import sys
from typing import Annotated

import typer

from agentv_stages.model.payload import indented_json
from agentv_stages.providers import all_providers
from agentv_stream.cli.telling import say
from agentv_stream.documentation.provider_table import dialect_rows, text_table
from agentv_stream.errors import UsageError
from agentv_stream.named_provider import named_provider


def providers(
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this provider (a name or an alias).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, one array of dialects.")] = False,
) -> None:
    """Print which logs are read: how to make them, which versions were seen, how they end, what they cannot say."""
    try:
        one = named_provider(provider)
    except UsageError as error:
        say(str(error))
        raise typer.Exit(UsageError.exit_code) from None
    rows = dialect_rows([one] if one else all_providers())
    if as_json:
        sys.stdout.write(indented_json(rows).decode())
    else:
        sys.stdout.write(text_table(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
