"""The tables of a data set, schema `agentv_stream.dataset.v1`: their columns with Arrow types.

Their meaning: docs/parquet.md.
"""

from typing import Any

from agentv_stream.extras import arrow

SCHEMA = "agentv_stream.dataset.v1"
TABLES = ("sessions", "messages", "tool_calls", "faults", "findings", "verdicts")
BATCH_ROWS = 1024

# Name and type of each column, in order; `list` is a list of strings.
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "sessions": (
        ("session_key", "string"),
        ("source", "string"),
        ("session_id", "string"),
        ("parent_session_id", "string"),
        ("dialect", "string"),
        ("model", "string"),
        ("version", "string"),
        ("cwd", "string"),
        ("project", "string"),
        ("title", "string"),
        ("started_at", "time"),
        ("duration_ms", "int64"),
        ("status", "string"),
        ("reason", "string"),
        ("turns", "int64"),
        ("tool_calls", "int64"),
        ("failed_calls", "int64"),
        ("unpaired_calls", "int64"),
        ("edits", "int64"),
        ("shell_edits", "int64"),
        ("first_edit_turn", "int64"),
        ("first_successful_edit_turn", "int64"),
        ("first_edit_tool_index", "int64"),
        ("first_edit_seconds", "double"),
        ("input_tokens", "int64"),
        ("cached_tokens", "int64"),
        ("cache_write_tokens", "int64"),
        ("output_tokens", "int64"),
        ("output_tokens_at_least", "int64"),
        ("reasoning_tokens", "int64"),
        ("model_calls", "int64"),
        ("cost_usd", "double"),
        ("estimated_cost_usd", "double"),
        ("price_table_date", "string"),
        ("records", "int64"),
        ("events", "int64"),
        ("faults", "int64"),
        ("tool_sequence", "list"),
        ("kind_sequence", "list"),
    ),
    "messages": (
        ("session_key", "string"),
        ("message_index", "int64"),
        ("role", "string"),
        ("stream", "string"),
        ("turn", "int64"),
        ("message_id", "string"),
        ("model", "string"),
        ("started_at", "time"),
        ("ended_at", "time"),
        ("text", "string"),
        ("text_chars", "int64"),
        ("thinking_chars", "int64"),
        ("tool_calls", "int64"),
        ("input_tokens", "int64"),
        ("cached_tokens", "int64"),
        ("output_tokens", "int64"),
        ("reasoning_tokens", "int64"),
        ("injected", "bool"),
        ("synthetic", "bool"),
        ("retracted", "bool"),
        ("offset", "int64"),
    ),
    "tool_calls": (
        ("session_key", "string"),
        ("message_index", "int64"),
        ("call_index", "int64"),
        ("call_id", "string"),
        ("stream", "string"),
        ("turn", "int64"),
        ("tool", "string"),
        ("name", "string"),
        ("kind", "string"),
        ("origin", "string"),
        ("mcp_server", "string"),
        ("outcome", "string"),
        ("exit_code", "int64"),
        ("started_at", "time"),
        ("duration_ms", "int64"),
        ("command", "string"),
        ("files", "list"),
        ("edit", "bool"),
        ("shell_edit", "bool"),
        ("input", "string"),
        ("input_bytes", "int64"),
        ("output_bytes", "int64"),
        ("error_text", "string"),
        ("parent_call", "string"),
    ),
    "faults": (
        ("session_key", "string"),
        ("source", "string"),
        ("file", "string"),
        ("row", "int64"),
        ("offset", "int64"),
        ("length", "int64"),
        ("reason", "string"),
        ("detail", "string"),
    ),
    "findings": (
        ("session_key", "string"),
        ("finding_index", "int64"),
        ("kind", "string"),
        ("text", "string"),
        ("stream", "string"),
        ("count", "int64"),
        ("calls", "int64"),
        ("duration_ms", "int64"),
        ("tokens", "int64"),
        ("basis", "string"),
        ("first_turn", "int64"),
        ("first_offset", "int64"),
        ("call_ids", "list"),
    ),
    "verdicts": (
        ("session_key", "string"),
        ("verdict_index", "int64"),
        ("spec", "string"),
        ("case_id", "string"),
        ("verdict", "string"),
        ("score", "double"),
        ("threshold", "double"),
        ("failed_evaluators", "list"),
        ("failed_assertion", "string"),
        ("decided_turn", "int64"),
        ("decided_offset", "int64"),
    ),
}


def arrow_schema(table: str) -> Any:
    """The Arrow schema of a table, with the version of the data set in its metadata."""
    pa = arrow()
    types: dict[str, Any] = {
        "string": pa.string(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("ms", tz="UTC"),
        "list": pa.list_(pa.string()),
    }
    fields = [pa.field(name, types[kind]) for name, kind in COLUMNS[table]]
    return pa.schema(fields, metadata={"schema_version": SCHEMA, "table": table})


def to_batch(rows: list[tuple[Any, ...]], schema: Any) -> Any:
    """Rows as an Arrow record batch. A number that does not fit in 64 bits becomes null: a log can claim any."""
    pa = arrow()
    columns = zip(*rows, strict=True)
    try:
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    except OverflowError:
        fitting = zip(*([_fitting(value) for value in row] for row in rows), strict=True)
        arrays = [pa.array(column, type=field.type) for column, field in zip(fitting, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fitting(value: Any) -> Any:
    return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value
