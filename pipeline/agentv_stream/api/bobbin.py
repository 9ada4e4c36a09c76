"""`parse_stream_json`: the function that bobbin's evaluation calls on an agent's whole output, with correct values."""

from typing import Any

import msgspec

from agentv_stages.figures.stats import Stats
from agentv_stages.model.event import SessionEnd
from agentv_stages.model.payload import decode_json
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader, without_collector


def parse_stream_json(
    raw_output: str | bytes | bytearray | memoryview,
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Returns the closing record of a stream (None if there is none) and its `tool_use_summary`.

    Never raises for what an agent printed: blank, broken and foreign lines are skipped; a single JSON object, as
    printed with `--output-format json`, is the result. `first_edit_turn` counts turns from 1; bobbin's line count from
    0 is in `first_edit_turn_lines`.

    Raises: TypeError for a value that is neither text nor bytes, such as the output of a process that was not captured
    (None).
    Source: bobbin `eval/runner/agent_runner.py`, plan of 2026-02.
    """
    data = raw_output.encode("utf-8", "replace") if isinstance(raw_output, str) else raw_output
    if not isinstance(data, bytes):
        data = bytes(memoryview(data))
    try:
        with without_collector():
            reader = _reader(data)
            end: SessionEnd | None = None
            for batch in reader.batches(companions=False):
                end = next((e for e in reversed(batch.events) if isinstance(e, SessionEnd)), end)
            summary = reader.observer.stats.summary()
    except (NotALog, EmptyInput):
        return _single(data), Stats().summary()
    if end is None or end.result_json is None:
        return None, summary
    return _object(bytes(end.result_json)), summary


def _reader(data: bytes) -> SessionReader:
    """The reader of an output; without a mark of an agent it is Claude's, whose function this was."""
    try:
        return SessionReader([data], "<output>")
    except NotALog:
        return SessionReader([data], "<output>", "claude")


def _single(data: bytes) -> dict[str, Any] | None:
    """The closing record of an output that is no stream: one JSON object, as the old command line printed it, or the
    last line of type result."""
    whole = _object(data) if data.strip() else None
    if whole is not None:
        return whole
    for line in reversed(data.split(b"\n")):
        found = _object(line) if b'"result"' in line else None
        if found is not None and found.get("type") == "result":
            return found
    return None


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = decode_json(data)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - decoded JSON
