"""The rows of one session for the tables of a data set.

Texts are cut to a given number of characters (the transcript has them in full); `*_chars` and `*_bytes` are the full
sizes. What a log does not say is null.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from agentv_stages.figures.result import Result
from agentv_stages.findings import Finding
from agentv_stages.model.event import FAILED_OUTCOMES, MAIN, Outcome
from agentv_stages.model.fault import Fault
from agentv_stages.model.message import Message
from agentv_stages.model.payload import decode_json
from agentv_stream.discovery.project import project_root

MOST_ERROR = 500


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
        cut(_project(about.cwd), 4096) if about.cwd else None,
        cut(about.title, 1000) if isinstance(about.title, str) else None,
        started_ms,
        result.duration_ms,
        result.status,
        cut(result.evidence.reason, 1000),
        summary["turns"],
        summary["total_tool_calls"],
        sum(outcomes[name] for name in FAILED_OUTCOMES),
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


_project = lru_cache(maxsize=1000)(project_root)  # it looks for repositories on the disk


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
        failed = outcome in FAILED_OUTCOMES
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


def finding_rows(key: str, found: Iterable[Finding]) -> Iterator[tuple[Any, ...]]:
    """The rows of table `findings` of one session."""
    for i, finding in enumerate(found):
        first = finding.cites[0] if finding.cites else None
        yield (
            key,
            i,
            finding.kind,
            cut(finding.text, 1000),
            cut(finding.stream, 1000),
            finding.count,
            finding.calls,
            finding.ms,
            finding.tokens,
            finding.basis,
            first.turn if first is not None else None,
            first.at.offset if first is not None else None,
            [cut(cite.at.call_id, 1000) for cite in finding.cites if cite.at.call_id is not None],
        )


def _text(blocks: list[Any], most: int) -> tuple[str, int]:
    """The text of blocks, one below the other and cut, and its full length in characters."""
    chars = lines = 0
    kept: list[str] = []
    held = 0
    for block in blocks:
        body = bytes(block)
        first = body[:1]
        if first == b'"' and held >= most and b"\\" not in body and body.isascii():
            chars += len(body) - 2
            lines += len(body) > 2
            continue
        text = _plain(body)
        chars += len(text)
        lines += bool(text)
        if held < most and text:
            kept.append(text[: most - held])
            held += len(kept[-1])
    return cut("\n".join(kept), most) or "", chars + max(0, lines - 1)


def _plain(body: Any) -> str:
    """A payload as text: the value of a JSON string, the texts of content blocks, or the JSON itself."""
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
