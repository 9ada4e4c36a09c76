"""`agentv-stream providers`: each dialect that is read, how to make it, versions seen, its end, its losses; or the new
names in given logs."""

import shutil
import sys
from typing import Annotated

from agentv_stages.model.payload import indented_json
from agentv_stages.providers import all_providers
from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.cli.telling import say, to_stdout
from agentv_stream.colour import outline_in_colour, palette
from agentv_stream.documentation.provider_table import dialect_rows, text_table
from agentv_stream.errors import UsageError
from agentv_stream.names import named_provider


def providers(
    logs: Annotated[
        list[str] | None, Argument(metavar="LOGS...", help="With --drift: files, folders, stores, session ids.")
    ] = None,
    provider: Annotated[str | None, Option(metavar="NAME", help="Only this provider (a name or an alias).")] = None,
    as_json: Annotated[bool, Option("--json", help="As JSON, one array of dialects.")] = False,
    drift: Annotated[
        bool,
        Option("--drift", help="What is new in LOGS: types of records, fields, words; no contents, with counts."),
    ] = False,
) -> None:
    """Print which logs are read: how to make them, which versions were seen, how they end, which facts they lack."""
    if drift or logs:
        raise SystemExit(_drift(logs or [], provider, as_json, drift))
    try:
        chosen = named_provider(provider)
    except UsageError as error:
        say(error)
        raise SystemExit(UsageError.exit_code) from None
    rows = dialect_rows([chosen] if chosen else all_providers())
    if as_json:
        sys.stdout.write(indented_json(rows).decode())
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        sys.stdout.write(outline_in_colour(text_table(rows, width), palette(sys.stdout)))


def _drift(logs: list[str], provider: str | None, as_json: bool, wanted: bool) -> int:
    """Prints new names in logs, and on standard error the logs that cannot be read; returns the exit code."""
    from agentv_stream.bulk.find import Trouble
    from agentv_stream.drift.report import drift_json, drift_of, drift_text
    from agentv_stream.errors import EXIT_FINE, EXIT_IO, AgentvStreamError

    trouble: Trouble = []
    try:
        if not wanted or not logs:
            raise UsageError("expected `providers --drift LOGS...`")
        found = drift_of(logs, provider, trouble)
        with to_stdout():
            text = indented_json(drift_json(found)).decode() if as_json else drift_text(found)
            sys.stdout.write(text if as_json else outline_in_colour(text, palette(sys.stdout)))
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    for place, cause in trouble:
        say(str(cause) if place in str(cause) else f"{place}: {cause}")
    return EXIT_IO if trouble else EXIT_FINE
