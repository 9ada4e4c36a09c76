"""SQL over the sessions of this machine without a data set: what `stats` keeps of each (kept_figures.py).

In: the logs of all agents; only new and changed ones are read. Out: a DuckDB connection with the tables `sessions`,
`tokens` (by session, model and quarter of an hour) and `calls_by_tool` (by session, tool and kind). Their columns are
those of the same names over a data set.
"""

from itertools import chain
from typing import Any

from agentv_stages.figures.dated import SLOT_MS
from agentv_stages.figures.session_figures import SessionFigures
from agentv_stages.model.event import FAILED_OUTCOMES
from agentv_stages.model.times import nearest_date_ms
from agentv_stages.model.tokens import FIELDS
from agentv_stream.bulk.all_agents import agents_units
from agentv_stream.bulk.collecting import reports_of
from agentv_stream.bulk.find import Trouble
from agentv_stream.bulk.kept_figures import KeptFigures
from agentv_stream.bulk.unit import Work
from agentv_stream.bulk.views import empty_connection
from agentv_stream.discovery.period import Zone
from agentv_stream.discovery.places import cache_file, find_roots
from agentv_stream.discovery.project import project_root
from agentv_stream.extras import arrow

_DOLLARS = 1e12
_SESSION = (
    ("source", "string"), ("session_id", "string"), ("provider", "string"), ("dialect", "string"), ("model", "string"),
    ("cwd", "string"), ("project", "string"), ("branch", "string"), ("started_at", "time"), ("duration_ms", "int64"),
    ("status", "string"), ("turns", "int64"), ("tool_calls", "int64"), ("failed_calls", "int64"), ("edits", "int64"),
    ("input_tokens", "int64"), ("cached_tokens", "int64"), ("cache_write_tokens", "int64"), ("output_tokens", "int64"),
    ("output_tokens_at_least", "int64"), ("reasoning_tokens", "int64"), ("cost_usd", "double"), ("records", "int64"),
    ("events", "int64"), ("faults", "int64"), ("day", "day"),
)  # fmt: skip
_PART = (("source", "string"), ("session_id", "string"), ("provider", "string"), ("project", "string"))
_TOKENS = (
    *_PART, ("model", "string"), ("started_at", "time"), ("model_calls", "int64"), ("input", "int64"),
    ("cached", "int64"), ("cache_write", "int64"), ("output", "int64"), ("reasoning", "int64"), ("cost_usd", "double"),
    ("day", "day"),
)  # fmt: skip
_CALLS = (
    *_PART, ("tool", "string"), ("kind", "string"), ("started_at", "time"), ("calls", "int64"),
    ("failed_calls", "int64"), ("day", "day"),
)  # fmt: skip
_TABLES = {"sessions": _SESSION, "tokens": _TOKENS, "calls_by_tool": _CALLS}
VIEW_NAMES = tuple(_TABLES)
Row = tuple[Any, ...]


def connect_kept(zone: Zone) -> Any:
    """A DuckDB connection with the tables of all sessions of this machine. Raises: UsageError, SourceError."""
    connection = empty_connection(zone)
    rows: dict[str, list[Row]] = {name: [] for name in _TABLES}
    projects: dict[str, str] = {}
    for source, session in kept_sessions():
        _add(rows, source, session, projects)
    pa = arrow()
    types = {"string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "time": pa.timestamp("ms")}
    types["day"] = pa.date32()
    for name, columns in _TABLES.items():
        schema = pa.schema([(column, types[kind]) for column, kind in columns])
        values = [[row[n] for row in rows[name]] for n in range(len(columns))]
        table = pa.table([pa.array(part, field.type) for part, field in zip(values, schema, strict=True)], schema)
        connection.register("_rows", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * REPLACE (started_at::TIMESTAMP AS started_at) FROM _rows")
        connection.unregister("_rows")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def kept_sessions() -> list[tuple[str, SessionFigures]]:
    """The figures of all sessions of this machine, with their sources; a session that cannot be read is left out."""
    trouble: Trouble = []
    units = agents_units(find_roots(), trouble)
    work = Work(results=False, apart=True)
    kept = KeptFigures(cache_file(), work)
    known, waiting = kept.take(units)
    found: dict[str, SessionFigures] = {}
    covered: set[str] = set()
    with reports_of(work, waiting) as read:
        for report, _ in chain(known, read):
            kept.note(report)
            for done in report.done:
                covered |= done.parts
            found.update((one.name, one.session) for one in report.separate if one.session is not None)
    kept.save()
    for unit in units:
        if not covered.isdisjoint(unit.copies):
            covered.add(unit.name)
    return [(name, session) for name, session in sorted(found.items()) if name not in covered]


def _add(rows: dict[str, list[Row]], source: str, session: SessionFigures, projects: dict[str, str]) -> None:
    figures, tokens = session.figures, session.figures.tokens.as_json()
    if session.cwd and session.cwd not in projects:
        projects[session.cwd] = project_root(session.cwd)
    project = projects[session.cwd] if session.cwd else None
    started = _time(session.started_ms)
    rows["sessions"].append(
        _fitting(
            source, session.id, session.provider, session.dialect, session.model, session.cwd, project, session.branch,
            started, figures.duration_ms if figures.timed else None, next(iter(figures.by_status), None), figures.turns,
            figures.tool_calls, sum(figures.by_outcome.get(name, 0) for name in FAILED_OUTCOMES), figures.edits,
            tokens["input"], tokens["cached"], tokens["cache_write"], tokens["output"],
            tokens.get("output_at_least", tokens["output"]), tokens["reasoning"],
            figures.cost_pico / _DOLLARS if figures.costed else None, figures.records, figures.events,
            sum(figures.faults.values()), _day(started),
        )
    )  # fmt: skip
    part = (source, session.id, session.provider, project)
    told = [name for name in FIELDS if name in figures.tokens.sums]
    for span in session.spans():
        begun = _time(None if span.slot is None else span.slot * SLOT_MS)
        if span.model_calls or span.turns:
            sums = {name: getattr(span.tokens, name) or 0 for name in told}
            cost = (span.tokens.cost_pico or 0) / _DOLLARS if figures.costed else None
            rows["tokens"].append(
                _fitting(
                    *part, span.model, begun, span.model_calls, sums.get("input"), sums.get("cached"),
                    sums.get("cache_write"), sums.get("output"), sums.get("reasoning"), cost, _day(begun),
                )
            )  # fmt: skip
        for cell in span.tools:
            if cell.calls:
                failed = sum(cell.outcomes.get(name, 0) for name in FAILED_OUTCOMES)
                rows["calls_by_tool"].append(
                    _fitting(*part, cell.tool, cell.kind, begun, cell.calls, failed, _day(begun))
                )


def _time(time_ms: int | None) -> int | None:
    return None if time_ms is None else nearest_date_ms(time_ms)


def _day(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms // 86_400_000


def _fitting(*values: Any) -> Row:
    """Values that a table can hold: no number beyond 64 bits, no lone surrogate."""
    return tuple(
        value.encode("utf-8", "replace").decode() if isinstance(value, str)
        else None if isinstance(value, int) and not -(2**63) <= value < 2**63
        else value
        for value in values
    )  # fmt: skip
