"""What `report` does: compares, renders, writes, gives the exit code."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agentv_stream.cli.telling import quiet_stdout, say
from agentv_stream.errors import EXIT_FINE, AgentvStreamError, SinkError, UsageError
from agentv_stream.outputs.publish import publish_now
from agentv_stream.reports.report import compare, report_json

FORMATS = {"md": "md", "markdown": "md", "html": "html", "htm": "html", "json": "json"}


def write_report(
    results: Sequence[Path],
    output: Path | None,
    format_: str | None,
    baseline: str | None,
    candidate: str | None,
    streams: bool,
) -> int:
    """Writes the report; gives the exit code."""
    try:
        named = output is not None and str(output) != "-"
        wanted = (
            format_
            if format_ is not None
            else output.suffix.removeprefix(".")
            if named and output is not None
            else "md"
        )
        chosen = FORMATS.get(wanted.lower())
        if chosen is None and format_ is None:
            raise UsageError(f"--output {output}: expected a name ending in .md, .html or .json, or --format")
        if chosen is None:
            raise UsageError(f"--format: expected md, html or json, not {wanted!r}")
        comparison = compare(results, baseline, candidate, streams)
        for warning in comparison.warnings:
            say(f"warning: {warning}")
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        if chosen == "json":
            data = report_json(comparison)
        elif chosen == "html":
            from agentv_stream.reports.report_html import html

            data = html(comparison, now).encode("utf-8", "replace")
        else:
            from agentv_stream.reports.report_text import markdown

            data = markdown(comparison, now).encode("utf-8", "replace")
        if named and output is not None:
            publish_now(output, data)
            return EXIT_FINE
        _to_stdout(data)
    except AgentvStreamError as error:
        say(str(error))
        return error.exit_code
    return EXIT_FINE


def _to_stdout(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        quiet_stdout()
    except OSError as error:
        raise SinkError("standard output", error) from error
