"""`agentv-stream validate`: are specs and targets files well-formed?"""

from pathlib import Path
from typing import Annotated, Any

from agentv_stream.cli.parameters import Argument, Option

MOST_TOLD = 20  # errors shown per file


def validate(
    files: Annotated[list[Path], Argument(metavar="FILES...", help="Specs and targets files.")],
    json: Annotated[bool, Option("--json", help="What was found as JSON on standard output.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Only errors and warnings.")] = False,
) -> None:
    """Check specs and targets files; exit 2 with file, line and the nearest known name of all that is wrong."""
    import sys

    from agentv_stages.model.visible import visible
    from agentv_stream.checks.validate import file_json, report_json, summary_of, validate_file
    from agentv_stream.checks.yaml_lines import MOST_ERRORS, SpecError
    from agentv_stream.cli.telling import say
    from agentv_stream.colour import palette
    from agentv_stream.errors import EXIT_FINE, EXIT_USAGE

    code, paint = EXIT_FINE, palette(sys.stdout)
    report: list[dict[str, Any]] = []
    for path in files:
        try:
            kind, warnings = validate_file(path)
        except SpecError as error:
            found = (error, *error.further)
            for mistake in found[:MOST_TOLD]:
                say(mistake.message)
            if len(found) > MOST_TOLD:
                more = "at least " * (len(found) == MOST_ERRORS) + str(len(found) - MOST_TOLD)
                say(f"{path}: {more} more")
            code = EXIT_USAGE
            report.append(file_json(path, error))
            continue
        for warning in warnings:
            say(f"warning: {warning}")
        report.append(file_json(path, (kind, warnings)))
        if not (quiet or json):
            sys.stdout.write(f"{paint('pass', visible(str(path)))}: {summary_of(kind)}\n")
    if json:
        sys.stdout.buffer.write(report_json(report))
    raise SystemExit(code)
