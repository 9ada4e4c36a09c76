"""SQL over a data set, with DuckDB (an extra): the views of `views.py`.

Every view also has `provider`, `day` (a DATE, null if the log has no times) and `machine` (null without one); times are
TIMESTAMPs in UTC; macros show them in a time zone. The files are those in the manifest, so while a data set is being
written, its old state is visible.
Docs: docs/queries.md.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from agentv_stream.bulk import object_store
from agentv_stream.bulk.manifest import MACHINE, DataFile
from agentv_stream.bulk.parquet import manifest_of
from agentv_stream.bulk.tables import COLUMNS, TABLES
from agentv_stream.bulk.views import VIEWS, empty_connection
from agentv_stream.discovery.period import IN_UTC, Zone
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


# Allowed statements: those that read, or change something in memory. COPY, ATTACH, EXPORT, SET and others are refused.
_READING = frozenset(["SELECT", "EXPLAIN", "MULTI", "CREATE", "CREATE_FUNC", "DROP", "INSERT", "UPDATE", "DELETE"])
_HIVE = "hive_partitioning = true, hive_types = {'provider': VARCHAR, 'day': VARCHAR}"
_NAMED = "hive_partitioning = false, filename = '_file'"
_PARTITION = re.compile(r"(?:^|/)(?:provider|day)=")
_EXPLAIN = re.compile(r"\s*explain(\s+analyze)?\s", re.IGNORECASE)


def connect(dataset: str | Path, zone: Zone = IN_UTC) -> Any:
    """A DuckDB connection in memory with the views of a data set; times are shown in UTC, by the macros in `zone`.

    It can access only the files of the data set; SQL run on it directly could still write to them (`COPY … TO`).

    Raises: SourceError if there is no data set, UsageError if the extra is missing.
    """
    duckdb = extra("duckdb", "query", "a query")
    connection = empty_connection(zone)
    root = object_store.plain(str(dataset))
    manifest = manifest_of(root)
    # A query is untrusted, maybe from a shared page: it may read this data set and nothing else.
    remote = object_store.is_url(root)
    root = root if remote else str(Path(root).absolute())
    paths = {path for table in TABLES for path in manifest.paths(root, table)}
    paths |= {_literal(path) for path in paths}  # DuckDB checks the pattern, then the paths found
    if remote:
        system = object_store.of_url(root).system
        connection.register_filesystem(system)
        paths |= {system.unstrip_protocol(system._strip_protocol(path)) for path in paths}  # as it names files
    connection.execute(f"SET allowed_paths = [{', '.join(map(_quoted, sorted(paths)))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    try:
        for table in TABLES:
            connection.execute(f"CREATE VIEW _{table} AS {_view(table, manifest.of_table(table), root)}")
        for view in VIEWS.values():
            connection.execute(view)
    except duckdb.Error as error:
        raise SourceError(f"{dataset}: {error}") from error
    return connection


def run_query(
    sql: str, dataset: str | Path | None = None, zone: Zone = IN_UTC
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query; of several statements, those of the last. Nothing is written anywhere.

    Without a data set, the kept figures of this machine are asked (`kept_query.py`).

    Raises: UsageError for SQL that DuckDB refuses or that would write, SourceError for a data set that cannot be read.
    """
    duckdb = extra("duckdb", "query", "a query")
    if dataset is None:
        from agentv_stream.bulk.kept_query import VIEW_NAMES, connect_kept

        names, open_views = VIEW_NAMES, partial(nullcontext, connect_kept(zone))
    else:
        names, open_views = tuple(VIEWS), partial(connect, dataset, zone)
    try:
        return _answer(open_views, sql)
    except duckdb.IOException as error:
        raise SourceError(f"{dataset}: {error}") from error
    except duckdb.CatalogException as error:
        if "Table with name" not in str(error):
            raise _refused(error) from error
        refused = _refused(error)
        refused.below = f"there are {', '.join(names)}"  # the suggested name may be one of DuckDB's own
        raise refused from error
    except duckdb.Error as error:
        raise _refused(error) from error


def _answer(open_views: Callable[[], Any], sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Runs a query on a thread of its own: DuckDB does not always look for Ctrl-C while it waits for its workers, and
    makes a RuntimeError of it."""
    opened: list[Any] = []

    def run() -> tuple[list[str], list[tuple[Any, ...]]]:
        with open_views() as connection:
            opened.append(connection)
            _check_reading(connection, sql)
            found = connection.execute(sql)
            names = [str(column[0]) for column in found.description or ()]
            return names, found.fetchall() if names else []

    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(run)
        try:
            return answer.result()
        except KeyboardInterrupt:
            while not wait([answer], 0.05).done:  # an interrupt before the query begins has no effect
                for connection in opened:
                    with suppress(extra("duckdb", "query", "a query").ConnectionException):  # it was closed meanwhile
                        connection.interrupt()
            raise


def _refused(error: Exception) -> UsageError:
    """DuckDB's message, with the position in the query below it."""
    message, _, place = str(error).partition("\n")
    refused = UsageError(message)
    refused.below = place
    return refused


def _check_reading(connection: Any, sql: str) -> None:
    """Raises: UsageError for a statement that is not allowed."""
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise UsageError("the query is not UTF-8 text") from None
    statements = connection.extract_statements(sql)
    if not statements:
        raise UsageError("the query is empty")
    for statement in statements:
        kind = statement.type.name
        if kind not in _READING:
            raise UsageError(f"a query only reads; {kind.replace('_', ' ')} is refused")
        if kind == "EXPLAIN":
            inner = _EXPLAIN.sub("", statement.query, count=1)
            if inner == statement.query:
                raise UsageError("EXPLAIN comes first, then ANALYZE if wanted, then the query")
            _check_reading(connection, inner)


def _view(table: str, files: Sequence[DataFile], root: str) -> str:
    if not files:
        columns = [f"NULL::{_TYPES[kind]} AS {_name(name)}" for name, kind in COLUMNS[table]]
        none = "NULL::VARCHAR AS provider, NULL::DATE AS day, NULL::VARCHAR AS machine"
        return f"SELECT {', '.join(columns)}, {none} WHERE false"
    paths = ", ".join(_quoted(_literal(object_store.join(root, file.path))) for file in files)
    # Folders above the data set may also be named `a=b`. DuckDB makes columns of them, and uses the first `day=`.
    machines = MACHINE in root or any(file.path.startswith(MACHINE) for file in files)
    above = machines or _PARTITION.search(root) is not None
    source = f"read_parquet([{paths}], {_NAMED if above else _HIVE}, union_by_name = true)"
    provider, day = (_part("provider"), _part("day")) if above else ("provider", "day")
    columns = [
        f"{_name(name)} AT TIME ZONE 'UTC' AS {_name(name)}" if kind == "time" else _name(name)
        for name, kind in COLUMNS[table]
    ]
    machine = f"NULLIF({_part('machine')}, '')" if machines else "NULL::VARCHAR"
    known = f"{provider} AS provider, TRY_CAST({day} AS DATE) AS day, {machine} AS machine"
    return f"SELECT {', '.join(columns)}, {known} FROM {source}"


def _part(name: str) -> str:
    return f"regexp_extract(_file, '.*/{name}=([^/]*)/', 1)"


def _literal(path: str) -> str:
    """A path with pattern characters escaped."""
    return re.sub(r"([*?[])", r"[\1]", path)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text + '"'
