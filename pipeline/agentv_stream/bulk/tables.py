"""The tables of a data set, schema `agentv_stream.dataset.v1`, and the rows of one session for them.

What the columns mean: docs/parquet.md. Texts are cut to a given number of characters (the transcript has them whole);
`*_chars` and `*_bytes` tell the full size. What a log does not say is null.
"""

from collections.abc import Iterator
from typing import Any

from agentv_stages.event import MAIN, Outcome
from agentv_stages.fault import Fault
from agentv_stages.message import Message
from agentv_stages.payload import decode_json
from agentv_stages.result import Result
from agentv_stream.extras import arrow

SCHEMA = "agentv_stream.dataset.v1"
TABLES = ("sessions", "messages", "tool_calls", "faults")
BATCH_ROWS = 1024
MOST_ERROR = 500

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


def cut(text: str | None, most: int) -> str | None:
    """At most `most` characters; a lone surrogate, which UTF-8 cannot hold, is replaced."""
    if text is None:
        return None
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def session_row(key: str, source: str, result: Result, started_ms: int | None) -> tuple[Any, ...]:
    """The one row of table `sessions`."""
    about, summary, tokens = result.session, result.tool_use_summary, result.tokens
    outcomes = summary["by_outcome"]
    streams = summary["by_stream"].values()
    return (
        key,
        cut(source, 4096),
        cut(about.id, 1000),
        cut(about.parent, 1000) if isinstance(about.parent, str) else None,
        about.dialect,
        cut(about.model, 1000),
        cut(about.version, 1000),
        cut(about.cwd, 4096),
        cut(about.title, 1000) if isinstance(about.title, str) else None,
        started_ms,
        result.duration_ms,
        result.status,
        cut(result.evidence.reason, 1000),
        summary["turns"],
        summary["total_tool_calls"],
        outcomes["error"] + outcomes["denied"] + outcomes["cancelled"],
        outcomes["unpaired"],
        sum(stream["edits"] for stream in streams),
        summary["shell_edits"],
        summary["first_edit_turn"],
        summary["first_successful_edit_turn"],
        summary["first_edit_tool_index"],
        summary["first_edit_seconds"],
        tokens["input"],
        tokens["cached"],
        tokens["cache_write"],
        tokens["output"],
        tokens.get("output_at_least", tokens["output"]),
        tokens["reasoning"],
        result.model_calls,
        result.cost_usd,
        result.estimated_cost_usd if isinstance(result.estimated_cost_usd, float) else None,
        result.price_table_date if isinstance(result.price_table_date, str) else None,
        result.records,
        result.events,
        sum(result.faults.values()),
        [cut(name, 200) for name in summary["tool_sequence"]],
        summary["kind_sequence"],
    )


def message_row(key: str, message: Message, most: int) -> tuple[Any, ...]:
    """A row of table `messages`."""
    text, chars = _text(message.content, most)
    usage = message.usage
    return (
        key,
        message.index,
        message.role,
        cut(message.source.stream, 1000),
        message.turn,
        cut(message.message_id, 1000) or None,
        cut(message.model, 1000),
        message.source.time_ms,
        message.end_ms,
        text,
        chars,
        _text(message.thinking, 0)[1],
        len(message.calls),
        usage.input if usage is not None else None,
        usage.cached if usage is not None else None,
        usage.output if usage is not None and usage.output_final else None,
        usage.reasoning if usage is not None else None,
        message.injected,
        message.synthetic,
        message.retracted,
        message.source.offset,
    )


def call_rows(key: str, message: Message, most: int) -> Iterator[tuple[Any, ...]]:
    """The rows of table `tool_calls` of one message."""
    for i, paired in enumerate(message.calls):
        call, result = paired.call, paired.result
        outcome: Outcome = "unpaired" if result is None else result.outcome or "ok"
        output = result.output_json if result is not None else None
        failed = outcome in ("error", "denied", "cancelled")
        yield (
            key,
            message.index,
            i,
            cut(call.call_id, 1000),
            cut(call.source.stream, 1000),
            message.turn if call.source.stream == MAIN else None,
            cut(call.tool or call.name, 1000),
            cut(call.name, 1000),
            call.kind,
            call.origin,
            cut(call.server, 1000),
            outcome,
            result.exit_code if result is not None else None,
            call.source.time_ms,
            result.duration_ms if result is not None else None,
            cut(call.command, most),
            [cut(file, 4096) for file in call.files[:1000]],
            call.edit,
            call.shell_edit,
            cut(bytes(call.input_json)[: most * 4].decode("utf-8", "replace"), most),
            len(call.input_json),
            len(output) if output is not None else None,
            cut(_plain(output), MOST_ERROR) if failed and output is not None else None,
            cut(call.parent_call, 1000),
        )


def fault_row(key: str, source: str, fault: Fault) -> tuple[Any, ...]:
    """A row of table `faults`."""
    return (
        key,
        cut(source, 4096),
        cut(fault.file, 4096),
        fault.row,
        fault.offset,
        fault.length,
        fault.reason,
        cut(fault.detail, 1000),
    )


def to_batch(table: str, rows: list[tuple[Any, ...]], schema: Any) -> Any:
    """Rows as an Arrow record batch."""
    pa = arrow()
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _text(blocks: list[Any], most: int) -> tuple[str, int]:
    """The text of blocks, cut, and how many characters it has in whole."""
    chars = 0
    kept: list[str] = []
    held = 0
    for block in blocks:
        body = bytes(block)
        first = body[:1]
        if first == b'"' and held >= most and b"\\" not in body and body.isascii():
            chars += len(body) - 2
            continue
        text = _plain(body)
        chars += len(text)
        if held < most and text:
            kept.append(text[: most - held])
            held += len(kept[-1])
    return cut("\n".join(kept), most) or "", chars


def _plain(body: Any) -> str:
    """A payload as text: a JSON string's own, the texts of content blocks, else the JSON as it stands."""
    data = bytes(body)
    try:
        value = decode_json(data)
    except (ValueError, RecursionError):
        return data[:4096].decode("utf-8", "replace")
    return _of_value(value, data)


def _of_value(value: Any, data: bytes) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        text = value.get("text")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        if isinstance(text, str):
            return text
    if isinstance(value, list):
        texts = [block.get("text") for block in value if isinstance(block, dict)]  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        found = [text for text in texts if isinstance(text, str)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if found:
            return "\n".join(found)
    if value is None:
        return ""
    return data[:4096].decode("utf-8", "replace")
