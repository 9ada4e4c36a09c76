"""The implementation of `report`: compares, renders, writes, returns the exit code."""

import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agentv_stream.cli.telling import print_bytes, say
from agentv_stream.colour import PLAIN, markdown_in_colour, palette
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import EXIT_FINE, EXIT_IO, AgentvStreamError, UsageError
from agentv_stream.outputs.publish import publish_now
from agentv_stream.reports.report import compare, report_json
from agentv_stream.reports.report_runs import is_result
from agentv_stream.reports.run_findings import find_in

FORMATS = {"md": "md", "markdown": "md", "html": "html", "htm": "html", "json": "json"}


def write_report(
    results: Sequence[Path],
    output: Path | None,
    format_: str | None,
    baseline: str | None,
    candidate: str | None,
    streams: bool,
) -> int:
    """Writes the report; returns the exit code."""
    try:
        place = output if str(output) != "-" else None
        by_name = place.suffix.removeprefix(".") if place is not None else "md"
        wanted = format_ if format_ is not None else by_name
        chosen = FORMATS.get(wanted.lower())
        if chosen is None and format_ is None:
            raise UsageError(f"--out {output}: expected a name ending in .md, .html or .json, or --format")
        if chosen is None:
            raise UsageError(f"--format: expected md, html or json, not {wanted!r}")
        check_own_files((("--out", place),), results)
        if place is not None and is_result(place):
            raise UsageError(f"--out {place} is a result, which would be lost; give another file")
        comparison = compare(results, baseline, candidate, streams)
        if streams:
            find_in(comparison)
        comparison.folder = place.parent if place is not None else None
        for warning in comparison.warnings:
            say(f"warning: {warning}")
        for note in comparison.notes:
            say(note)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        if chosen == "json":
            data = report_json(comparison)
        elif chosen == "html":
            from agentv_stream.reports.report_html import html

            data = html(comparison, now).encode("utf-8", "replace")
        else:
            from agentv_stream.reports.report_lines import fitted
            from agentv_stream.reports.report_text import markdown

            text = markdown(comparison, now)
            if place is None and sys.stdout.isatty():
                text = fitted(text, max(60, shutil.get_terminal_size().columns))
            paint = palette(sys.stdout) if place is None else PLAIN
            data = markdown_in_colour(text, paint).encode("utf-8", "replace")
        if place is not None:
            publish_now(place, data)
        else:
            print_bytes(data)
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    return EXIT_IO if comparison.warnings else EXIT_FINE  # a result could not be read
