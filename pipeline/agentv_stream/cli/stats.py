"""`agentv-stream stats`: figures over many sessions, as a table, as JSON, as a plot."""

from pathlib import Path
from typing import Annotated

import typer


def stats(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCES...", help="Files, folders, globs, URLs, session ids; - for a list on standard input."
        ),
    ],
    by: Annotated[str, typer.Option(metavar="GROUP", help="all, provider, project, model, day or tool.")] = "provider",
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the figures as JSON, - for standard output.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="File for a plot, .svg, .png or .pdf.")] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose logs they are; detected by content if not given.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="process, thread, serial or dask://HOST:PORT.")
    ] = "process",
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; all cores if not given.")] = None,
    subagents: Annotated[bool, typer.Option("--subagents/--no-subagents", help="Take sub-agents' files along.")] = True,
    prices: Annotated[bool, typer.Option("--prices", help="Estimate the cost where the agent does not say.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Read sessions and show what they come to; nothing but the figures is written."""
    from agentv_stream.cli.figures import show_figures

    raise typer.Exit(
        show_figures(
            sources,
            by,
            json=json,
            plot=plot,
            quiet=quiet,
            options={
                "provider": provider,
                "engine": engine,
                "workers": workers,
                "subagents": subagents,
                "prices": prices,
            },
        )
    )
