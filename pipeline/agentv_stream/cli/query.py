"""`agentv-stream query`: SQL over a Parquet data set."""

import os
from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import TimeZone, Utc
from agentv_stream.cli.parameters import Argument, Option

DATASET = ".agentv/dataset"
"""The data set that is asked if none is named and this one is there."""


def query(
    sql: Annotated[str, Argument(metavar="SQL", help="SQL over sessions, turns, calls and more; @FILE reads it.")],
    dataset: Annotated[
        str | None,
        Argument(metavar="DATASET", help="A folder or URL; default: .agentv/dataset, or the kept figures."),
    ] = None,
    json: Annotated[bool, Option("--json", help="One JSON object per row.")] = False,
    csv: Annotated[bool, Option("--csv", help="Comma-separated, with a header.")] = False,
    utc: Utc = False,
    timezone: TimeZone = None,
    limit: Annotated[int, Option(min=0, metavar="N", help="Rows of the table at most; 0 for all.")] = 1000,
) -> None:
    """Ask a data set, or the kept figures of this machine's sessions. Useful queries: docs/queries.md."""
    from agentv_stream.bulk.query import run_query
    from agentv_stream.cli.rows import as_csv, as_json, as_table
    from agentv_stream.cli.telling import say, to_stdout
    from agentv_stream.discovery.period import named_zone
    from agentv_stream.errors import AgentvStreamError

    if json and csv:
        say("--json or --csv, not both")
        raise SystemExit(2)
    if os.path.isdir(sql):  # noqa: PTH112 - not to raise for a long query
        say(f"{sql} is a folder; the SQL comes first: query SQL DATASET")
        raise SystemExit(2)
    try:
        text = _read(sql[1:]) if sql.startswith("@") else sql
        if dataset is None and Path(DATASET, "_dataset.json").exists():
            dataset = DATASET
        names, rows = run_query(text, dataset, named_zone(timezone, utc))
        with to_stdout():
            if json:
                as_json(names, rows)
            elif csv:
                as_csv(names, rows)
            else:
                as_table(names, rows, limit)
    except AgentvStreamError as error:
        say(error, error.below)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _read(place: str) -> str:
    """The SQL in a file. Raises: UsageError."""
    from agentv_stream.errors import UsageError

    try:
        return Path(place).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}") from error
