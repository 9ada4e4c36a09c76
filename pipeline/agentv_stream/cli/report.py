"""`agentv-stream report`: compares approaches from the results of their runs."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.parameters import Argument, Option


def report(
    results: Annotated[
        list[Path],
        Argument(metavar="RESULTS...", help="Results of run, of consume --stats, of bobbin; folders of them."),
    ],
    output: Annotated[
        Path | None, Option("--out", "-o", "--output", metavar="FILE", help="File; default: standard output.")
    ] = None,
    format_: Annotated[
        str | None,
        Option("--format", metavar="md|html|json", help="md, html or json; default: by the file's ending."),
    ] = None,
    baseline: Annotated[str | None, Option(metavar="NAME", help="The approach that others are compared with.")] = None,
    candidate: Annotated[
        str | None, Option(metavar="NAME", help="Only this approach is compared with the baseline.")
    ] = None,
    streams: Annotated[
        bool,
        Option("--streams/--no-streams", help="Read streams beside results: for findings, and to recount old results."),
    ] = True,
) -> None:
    """Compare approaches: tables, paired differences with intervals; Markdown, HTML or JSON."""
    from agentv_stream.cli.reporting import write_report

    raise SystemExit(write_report(results, output, format_, baseline, candidate, streams))
