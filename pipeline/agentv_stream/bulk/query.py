"""SQL over a data set, with DuckDB (an extra): views `sessions`, `messages`, `tool_calls`, `faults`.

Every view also has `provider` and `day` (a DATE, null where the log has no times); times are TIMESTAMPs in UTC. The
files are those of the manifest, so a data set that is being written looks as it was before. Docs: docs/queries.md.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentv_stream.bulk import object_store
from agentv_stream.bulk.parquet import manifest_of
from agentv_stream.bulk.tables import COLUMNS, TABLES
from agentv_stream.errors import SourceError, UsageError
from agentv_stream.extras import extra

_TYPES = {
    "string": "VARCHAR",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "time": "TIMESTAMP",
    "list": "VARCHAR[]",
}


def connect(dataset: str | Path) -> Any:
    """A DuckDB connection in memory with the views of a data set; times are shown in UTC.

    Raises: SourceError where there is no data set, UsageError where the extra is missing.
    """
    duckdb = extra("duckdb", "query", "a query")
    root = object_store.plain(str(dataset))
    manifest = manifest_of(root)
    connection = duckdb.connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    if object_store.is_url(root):
        connection.register_filesystem(object_store.of_url(root))
    for table in TABLES:
        paths = manifest.paths(root, table)
        connection.execute(f"CREATE VIEW {table} AS {_view(table, paths)}")
    if not object_store.is_url(root):
        # A query is data too, maybe from a shared page: it reads this data set and nothing else.
        connection.execute(f"SET allowed_directories = [{_quoted(str(Path(root).absolute()) + '/')}]")
        connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def run_query(sql: str, dataset: str | Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query.

    Raises: UsageError for SQL that DuckDB refuses, SourceError for a data set that cannot be read.
    """
    connection = connect(dataset)
    duckdb = extra("duckdb", "query", "a query")
    try:
        with connection:
            found = connection.execute(sql)
            names = [str(column[0]) for column in found.description or ()]
            return names, found.fetchall() if names else []
    except duckdb.IOException as error:
        raise SourceError(f"{dataset}: {error}") from error
    except duckdb.Error as error:
        raise UsageError(str(error)) from error


def _view(table: str, paths: Sequence[str]) -> str:
    if not paths:
        columns = [f"NULL::{_TYPES[kind]} AS {_name(name)}" for name, kind in COLUMNS[table]]
        return f"SELECT {', '.join(columns)}, NULL::VARCHAR AS provider, NULL::DATE AS day WHERE false"
    files = ", ".join(_quoted(path) for path in paths)
    types = "hive_partitioning = true, hive_types = {'provider': VARCHAR, 'day': VARCHAR}"
    source = f"read_parquet([{files}], {types}, union_by_name = true)"
    replaced = ["TRY_CAST(day AS DATE) AS day"]
    replaced += [f"{name} AT TIME ZONE 'UTC' AS {name}" for name, kind in COLUMNS[table] if kind == "time"]
    return f"SELECT * REPLACE ({', '.join(replaced)}) FROM {source}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text + '"'
