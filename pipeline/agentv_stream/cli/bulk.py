"""`agentv-stream import`: many sessions in; transcripts, summaries and a Parquet data set out."""

from pathlib import Path
from typing import Annotated

import typer


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCES...", help="Files, folders, globs, URLs, session ids; - for a list on standard input."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|URL", help="Folder or URL for transcripts. Without any output: .agentv/logs/PROVIDER."
        ),
    ] = None,
    jsonl: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="File or URL for the results, one line per session.")
    ] = None,
    parquet: Annotated[str | None, typer.Option(metavar="DIR|URL", help="Folder or URL of a Parquet data set.")] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose logs they are; detected by content if not given.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of what was run; stands in rows and file names.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="process, thread, serial or dask://HOST:PORT.")
    ] = "process",
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; all cores if not given.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Leave out what is done and unchanged; add to it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be read, and read nothing.")] = False,
    subagents: Annotated[bool, typer.Option("--subagents/--no-subagents", help="Take sub-agents' files along.")] = True,
    watch: Annotated[
        list[str] | None,
        typer.Option(metavar="PROGRAM", help="A program whose runs in shell calls are listed; repeatable."),
    ] = None,
    prices: Annotated[bool, typer.Option("--prices", help="Estimate the cost where the agent does not say.")] = False,
    text_chars: Annotated[int, typer.Option(min=0, metavar="N", help="How much of a text the data set keeps.")] = 2000,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the report as JSON, - for standard output.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")] = False,
) -> None:
    """Read many sessions on all cores, or on a cluster, and write what is worth having."""
    from agentv_stream.cli.importing import Wanted, import_all

    wanted = Wanted(
        transcripts=out,
        jsonl=jsonl,
        parquet=parquet,
        provider=provider,
        target=target,
        engine=engine,
        workers=workers,
        resume=resume,
        subagents=subagents,
        watch=tuple(watch or ()),
        prices=prices,
        text_chars=text_chars,
    )
    raise typer.Exit(import_all(sources, wanted, dry_run=dry_run, json=json, quiet=quiet))
