"""`agentv-stream stats`: figures over many sessions, as a table, as JSON, as a plot."""

from pathlib import Path
from typing import Annotated

import typer

from agentv_stream.cli.options import AnySources, EngineName, Prices, ProviderOfLogs, QuietBulk, Subagents, Workers


def stats(
    sources: AnySources = None,
    by: Annotated[str, typer.Option(metavar="GROUP", help="all, provider, project, model, day or tool.")] = "provider",
    json: Annotated[
        Path | None,
        typer.Option(metavar="[FILE]", help="File for the figures as JSON; standard output for - or nothing."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="File for a plot, .svg, .png or .pdf.")] = None,
    provider: ProviderOfLogs = None,
    engine: EngineName = "process",
    workers: Workers = None,
    subagents: Subagents = True,
    prices: Prices = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Keep each session's figures; read only new or changed sessions.")
    ] = False,
    quiet: QuietBulk = False,
) -> None:
    """Read sessions and add up their figures; without --cache, nothing else is written."""
    from agentv_stream.cli.figures import show_figures

    raise typer.Exit(
        show_figures(
            sources or (),
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
                "cache": cache,
            },
        )
    )
