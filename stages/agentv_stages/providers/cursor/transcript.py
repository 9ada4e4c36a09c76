"""Cursor's IDE transcripts (`agent-transcripts/<id>/<id>.jsonl`) to events. Source: Cursor 2.x, as found in public
logs; `turn_ended` since mid-2026.

A line has a role and content blocks; results, times, models and tokens are mostly missing. Versions since mid-2026 add
a line `turn_ended` with a status after the last turn. End rule: that status; without such a line, an answer without a
call is the last of its turn.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Outcome,
    Reasoning,
    SessionEnd,
    Source,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.cursor import wire

TURN_ENDED = "turn_ended"
STATUSES: dict[str, Status] = {
    "success": "complete",
    "completed": "complete",
    "error": "error",
    "failed": "error",
    "aborted": "interrupted",
    "cancelled": "interrupted",
    "interrupted": "interrupted",
}
_BY_THE_USER = "user aborted"
"""The beginning of an error that stands beside the status `error` or `aborted` when the user stopped the turn."""


class TranscriptState(Struct):
    """Empty: lines are independent of each other."""


class TranscriptDecoder:
    """Decodes one transcript."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = TranscriptState()

    def decode(self, record: Record, batch: Batch) -> None:
        entry = wire.decode_entry(record.data)
        role, message = entry.role, entry.message or wire.Message()
        source = Source(self.file, record.row, record.offset, record.length, stream=self.stream, base_id=entry.id or "")
        if entry.type == TURN_ENDED and not role:
            self._turn_ended(entry, source, record, batch)
            return
        content = message.content
        blocks = _blocks(content) if role in ("user", "assistant", "tool") else []
        if entry.message is None:
            batch.strangers.append(record)
        if role not in ("user", "assistant", "system", "tool"):
            batch.unknown_type(role or entry.type or "(no role)", record)
        elif role == "system" or content in wire.NOTHING:
            batch.ignore(f"{role}/empty" if role != "system" else role)
        elif bytes(content)[:1] != b"[":
            self._text(role, content, source, entry, message, batch)
        elif role == "assistant":
            self._blocks(blocks, source, entry, message, record, batch)
        else:
            for i, block in enumerate(blocks):
                if block.type == "tool_result":
                    self._result(block, f"-{i}", source, batch)
            if any(block.type != "tool_result" for block in blocks):
                batch.events.append(UserText(source, "", content, f"u{record.row}"))

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _turn_ended(self, entry: wire.Entry, source: Source, record: Record, batch: Batch) -> None:
        """The end of a turn is certain although its calls have no results: the format has none."""
        reason = entry.error.message if isinstance(entry.error, wire.Failure) else entry.error
        status = STATUSES.get(entry.status or "")
        if status is None:
            batch.unknown_type(f"{TURN_ENDED}/{entry.status or ''}", record)
            status = "unknown"
        if (reason or "").lower().startswith(_BY_THE_USER):
            status = "interrupted"
        batch.events.append(SessionEnd(source, "-end", status, reason or entry.status, certain=True))

    def _text(
        self, role: str, content: Raw, source: Source, entry: wire.Entry, message: wire.Message, batch: Batch
    ) -> None:
        text = text_json(content)
        if text == EMPTY_STRING:
            batch.ignore(f"{role}/empty")
        elif role == "assistant":
            message_id = entry.id or f"m{source.row}"
            batch.events.append(AssistantText(source, "", message_id, text, model=message.model))
            batch.events.append(SessionEnd(source, "-end", "complete", "answered"))
        else:
            batch.events.append(UserText(source, "", text, f"u{source.row}"))

    def _blocks(
        self,
        blocks: list[wire.Block],
        source: Source,
        entry: wire.Entry,
        message: wire.Message,
        record: Record,
        batch: Batch,
    ) -> None:
        message_id, model, before = entry.id or f"m{source.row}", message.model, len(batch.events)
        for i, block in enumerate(blocks):
            part, kind = f"-{i}", block.type
            text = text_json(block.text)
            if kind == "text" and text != EMPTY_STRING:
                batch.events.append(AssistantText(source, part, message_id, text, model=model))
            elif kind == "tool_use":
                call_id = block.id or f"{source.row}-{i}"
                arguments = block.input if block.input not in wire.NOTHING else EMPTY_OBJECT
                batch.events.append(
                    ToolCall(source, part, message_id, call_id, block.name or "unknown", arguments, None, model)
                )
            elif kind in ("thinking", "reasoning"):
                text = text_json(block.thinking if block.thinking not in wire.NOTHING else block.text)
                if text != EMPTY_STRING:
                    batch.events.append(Reasoning(source, part, message_id, text, model=model))
            elif kind == "tool_result":
                self._result(block, part, source, batch)
            elif kind != "text" and kind != "redacted_thinking":
                batch.unknown_type(f"assistant/{kind}", record)
        if len(batch.events) == before:
            batch.ignore("assistant/empty")
        elif blocks and blocks[-1].type == "text" and not any(block.type == "tool_use" for block in blocks):
            batch.events.append(SessionEnd(source, "-end", "complete", "answered"))

    def _result(self, block: wire.Block, part: str, source: Source, batch: Batch) -> None:
        output = block.content if block.content not in wire.NOTHING else None
        outcome: Outcome | None = None if block.is_error is None else "error" if block.is_error else "ok"
        batch.events.append(ToolResult(source, part, block.tool_use_id or "", output, outcome))


def _blocks(content: Raw) -> list[wire.Block]:
    """Raises: msgspec.ValidationError."""
    return decode_member(content, wire.decode_blocks, "message.content") if bytes(content)[:1] == b"[" else []
