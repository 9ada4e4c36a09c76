"""The views over a data set, and the macros that show times in a time zone. `_NAME` are the tables as stored.

Names are those of docs/metrics.md; docs/queries.md lists the columns.
"""

import time
from typing import Any

from agentv_stream.discovery.period import IN_UTC, Zone
from agentv_stream.extras import extra

_OF_SESSION = "LEFT JOIN _sessions AS s ON t.session_key = s.session_key AND t.machine IS NOT DISTINCT FROM s.machine"


def _with_session(view: str, table: str) -> str:
    """A view of a table, with what identifies its session."""
    return f"CREATE VIEW {view} AS SELECT t.*, s.session_id, s.project FROM _{table} AS t {_OF_SESSION}"


VIEWS = {
    "sessions": "CREATE VIEW sessions AS SELECT * FROM _sessions",
    "messages": _with_session("messages", "messages"),
    "calls": _with_session("calls", "tool_calls"),
    "tool_calls": _with_session("tool_calls", "tool_calls"),
    "faults": "CREATE VIEW faults AS SELECT * FROM _faults",
    "findings": _with_session("findings", "findings"),
    "verdicts": _with_session("verdicts", "verdicts"),
    "turns": """CREATE VIEW turns AS
        SELECT session_key, session_id, project, turn, message_index, model, started_at, ended_at, text, tool_calls,
               input_tokens, cached_tokens, output_tokens, reasoning_tokens, synthetic, provider, day, machine
        FROM messages WHERE stream = 'main' AND role = 'assistant' AND turn IS NOT NULL""",
    "tokens": """CREATE VIEW tokens AS
        SELECT session_key, session_id, project, model, started_at, model_calls, input_tokens AS input,
               cached_tokens AS cached, cache_write_tokens AS cache_write, output_tokens AS output,
               output_tokens_at_least AS output_at_least, reasoning_tokens AS reasoning, cost_usd,
               provider, day, machine
        FROM _sessions""",
    "calls_by_tool": """CREATE VIEW calls_by_tool AS
        SELECT session_key, any_value(session_id) AS session_id, any_value(project) AS project, tool, kind,
               min(started_at) AS started_at, count(*) AS calls,
               count(*) FILTER (outcome IN ('error', 'denied', 'cancelled')) AS failed_calls,
               sum(duration_ms)::BIGINT AS duration_ms, provider, day, machine
        FROM calls GROUP BY session_key, tool, kind, provider, day, machine""",
}
"""By name, in the order in which they are made."""


def empty_connection(zone: Zone) -> Any:
    """A DuckDB connection in memory with the macros of local times. Raises: UsageError if the extra is missing."""
    connection = extra("duckdb", "query", "a query").connect(":memory:")
    connection.execute("SET TimeZone = 'UTC'")
    for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
        connection.execute(f"SET {name} = false")
    local_times(connection, zone)
    return connection


def local_times(connection: Any, zone: Zone) -> None:
    """Makes the macros `local_time`, `local_day` and `local_hour` of a time in UTC."""
    name = zone.name.replace("'", "''")
    local = f"(utc AT TIME ZONE 'UTC') AT TIME ZONE '{name}'"
    try:
        connection.execute(f"SELECT TIMESTAMP '2026-01-01' AT TIME ZONE '{name}'")
    except Exception:  # DuckDB does not know this machine's zone: its present distance from UTC
        now_ms = int(time.time()) * 1000
        minutes = round((zone.at(now_ms) - IN_UTC.at(now_ms)).total_seconds() / 60)
        local = f"utc + INTERVAL '{minutes} minutes'"
    for macro, text in (
        ("local_time(utc)", f"({local})"),
        ("local_day(utc)", f"CAST({local} AS DATE)"),
        ("local_hour(utc)", f"hour({local})"),
    ):
        connection.execute(f"CREATE MACRO {macro} AS {text}")
