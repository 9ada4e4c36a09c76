"""Blocks of Amp's messages to events; streams and threads have the same ones, except for results."""

from collections.abc import Sequence

from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    Reasoning,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import has_value, text_json, to_raw
from agentv_stages.model.provider import REFUSED
from agentv_stages.providers.amp.wire import Block, decode_shell

ENDS: dict[str, Outcome] = {
    "done": "ok",
    "error": "error",
    "cancelled": "cancelled",
    "rejected-by-user": "denied",
}


def blocks_of(content: list[Block] | str | None) -> list[Block]:
    """The blocks of a content, which may be one text."""
    return [Block("text", to_raw(content))] if isinstance(content, str) else content or []


def add_answer(
    blocks: Sequence[Block],
    place: str,
    message_id: str,
    source: Source,
    batch: Batch,
    model: str | None,
    parent: str | None,
) -> bool:
    """Appends an answer; returns whether it asks for a tool."""
    add, calls = batch.events.append, 0
    for i, block in enumerate(blocks):
        part, kind = f"{place}-{i}", block.type
        if kind == "text":
            add(AssistantText(source, part, message_id, text_json(block.text), model=model))
        elif kind == "thinking":
            add(Reasoning(source, part, message_id, text_json(block.thinking), model=model))
        elif kind == "tool_use":
            calls += 1
            call_id, name = block.id or f"{message_id}{part}", block.name or "unknown"
            add(ToolCall(source, part, message_id, call_id, name, block.input or EMPTY_OBJECT, parent, model))
        else:
            batch.ignore(f"block/{kind}")
    return calls > 0


def add_input(blocks: Sequence[Block], place: str, message_id: str, source: Source, batch: Batch) -> None:
    """Appends the prompts and results of a user's message."""
    for i, block in enumerate(blocks):
        part, kind = f"{place}-{i}", block.type
        if kind == "text":
            batch.events.append(UserText(source, part, text_json(block.text), message_id))
        elif kind == "tool_result":
            _result(block, part, source, batch)
        elif kind == "image":
            batch.events.append(UserText(source, part, to_raw([{"type": kind}]), message_id))
        else:
            batch.ignore(f"block/{kind}")


def _result(block: Block, part: str, source: Source, batch: Batch) -> None:
    call_id, run = block.tool_use_id or block.toolUseID or "", block.run
    if run is None:
        output = block.content if has_value(block.content) else None
        batch.events.append(ToolResult(source, part, call_id, output, "error" if block.is_error else "ok"))
        return
    outcome = ENDS.get(run.status or "")
    if outcome is None:  # still in progress, or waits for the user
        batch.ignore(f"result/{run.status or ''}")
        return
    output = run.result if has_value(run.result) else run.error if has_value(run.error) else None
    code = _code(run.result)
    batch.events.append(
        ToolResult(source, part, call_id, output, "error" if code and outcome == "ok" else outcome, code)
    )


def _code(result: Raw) -> int | None:
    try:
        return decode_shell(result).exitCode if bytes(result)[:1] == b"{" else None
    except REFUSED:
        return None
