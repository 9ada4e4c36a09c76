"""`agentv-stream redact`: a filter that puts markers in the place of secrets."""

import sys
from pathlib import Path
from typing import Annotated

from agentv_stream.cli.parameters import Argument, Option


def redact(
    source: Annotated[
        Path, Argument(metavar="[FILE]", help="A log or any other text; standard input if not given, or for -.")
    ] = Path("-"),
    list_them: Annotated[
        bool, Option("--list", help="List where secrets are, instead; exit code 1 if there are any.")
    ] = False,
) -> None:
    """Copy a log to standard output with its secrets replaced by markers; every other byte stays."""
    from agentv_stream.cli.interrupting import interruptible
    from agentv_stream.cli.telling import say
    from agentv_stream.errors import AgentvStreamError
    from agentv_stream.redaction.filter import list_secrets, redact_file
    from agentv_stream.redaction.redaction import Redaction, redaction_with, redactor_of
    from agentv_stream.settings import from_process

    try:
        settings = from_process({})
        if list_them:  # without markers, so without a key
            redactor = redactor_of(Redaction(b"", settings.redact_rules, settings.redact_allow))
            with interruptible():
                raise SystemExit(1 if list_secrets(source, sys.stdout, redactor) else 0)
        with interruptible():
            redact_file(source, sys.stdout.buffer, redactor_of(redaction_with(settings)))
    except AgentvStreamError as error:
        say(error)
        raise SystemExit(error.exit_code) from None
