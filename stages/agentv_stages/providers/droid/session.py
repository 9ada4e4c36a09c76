"""Droid's sessions on disk to events: `<id>.jsonl`, and beside it `<id>.settings.json`, which is read after it.

The settings have the model and the tokens of the session, its sub-agents excluded. A fork begins with copies of its
parent's messages, under the same ids.
End rule: the outcome of the last turn, in newer builds; a last answer that asks for no tool is a good end.
Source: public logs; parsers of 2026.
"""

from zlib import crc32

from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import has_value, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.droid.texts import add_prompt, arguments
from agentv_stages.providers.droid.wire import Block, Entry, Spent, decode_blocks, decode_entry

LOSSES = (
    "tokens of single answers",
    "whether reasoning tokens are a part of the output (taken as the log counts them)",
    "the exit code of a command, durations that the agent measured",
    "cost, the version of the program",
)
ENDS: dict[str, Status] = {
    "completed": "complete",
    "error": "error",
    "failed": "error",
    "cancelled": "interrupted",
    "interrupted": "interrupted",
    "aborted": "interrupted",
}
_NO_USE = frozenset(("todo_state", "session_end"))


class State(Struct):
    """`parent` is the session that this one was forked from."""

    session_id: str | None = None
    parent: str | None = None


class SessionDecoder:
    """Decoder of `droid-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()
        self._copied: tuple[str | None, frozenset[int]] = (None, frozenset())

    def decode(self, record: Record, batch: Batch) -> None:
        entry = decode_entry(record.data)
        source = self.context.source(record, parse_iso(entry.timestamp), entry.id or "")
        kind = entry.type
        if kind == "message" and entry.message is not None:
            content = entry.message.content
            blocks = None if bytes(content)[:1] != b"[" else decode_member(content, decode_blocks, "message.content")
            if self._is_copy(entry.id):
                batch.ignore(COPIED)
            else:
                self._message(entry, entry.message.role, blocks, content, source, record, batch)
        elif kind == "session_start":
            self._start(entry, record, source, batch)
        elif kind == "agent_turn_outcome":
            status = ENDS.get(entry.reason or "", "unknown")
            batch.events.append(SessionEnd(source, "", status, None if status == "complete" else entry.reason))
        elif kind == "compaction_state":
            text = text_of(text_json(entry.summaryText))
            batch.events.append(Notification(source, "", "compact_boundary", text))
        elif kind in _NO_USE:
            batch.ignore(kind)
        elif not kind and (entry.model is not None or entry.tokenUsage is not None):
            self._settings(entry, source, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _start(self, entry: Entry, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        another = other_session(record, entry.id, state.session_id, batch)
        state.session_id, state.parent = entry.id or state.session_id, entry.parent
        parent = entry.callingSessionId or entry.parent
        title = entry.sessionTitle or entry.title
        info = SessionInfo(source, "", entry.id, None, None, entry.cwd, None, parent, title, another=another)
        batch.events.append(info)

    def _is_copy(self, message_id: str | None) -> bool:
        """Whether a fork's message is in the log of its parent."""
        parent, history = self.state.parent, self.context.history
        if parent is None or history is None or message_id is None:
            return False
        if self._copied[0] != parent:
            self._copied = parent, frozenset(history(parent))
        return fingerprint(message_id) in self._copied[1]

    def _message(
        self,
        entry: Entry,
        role: str,
        blocks: list[Block] | None,
        content: Raw,
        source: Source,
        record: Record,
        batch: Batch,
    ) -> None:
        message_id = entry.id or f"m{record.row}"
        found = [Block("text", content)] if blocks is None and has_value(content) else blocks or []
        if role == "user":
            for i, block in enumerate(found):
                self._input(block, f"-{i}", message_id, source, batch, injected=entry.visibility == "llm_only")
        elif role == "assistant":
            self._answer(found, message_id, replace(source, answer=source.time_ms), batch)
        else:
            batch.unknown_type(f"message/{role}", record)

    def _input(self, block: Block, part: str, message_id: str, source: Source, batch: Batch, *, injected: bool) -> None:
        kind = block.type
        if kind == "tool_result":
            output = block.content if has_value(block.content) else None
            call_id = block.tool_use_id or f"{message_id}{part}"
            batch.events.append(ToolResult(source, part, call_id, output, "error" if block.is_error else "ok"))
        elif kind == "text":
            add_prompt(source, part, block.text, message_id, batch, injected=injected)
        elif kind == "image":
            batch.events.append(UserText(source, part, to_raw([{"type": kind}]), message_id, injected))
        else:
            batch.ignore(f"block/{kind}")

    def _answer(self, blocks: list[Block], message_id: str, source: Source, batch: Batch) -> None:
        add, calls, spoken = batch.events.append, 0, False
        for i, block in enumerate(blocks):
            kind, part = block.type, f"-{i}"
            if kind == "text":
                spoken = True
                add(AssistantText(source, part, message_id, text_json(block.text)))
            elif kind == "thinking":
                add(Reasoning(source, part, message_id, text_json(block.thinking)))
            elif kind == "tool_use":
                calls += 1
                call_id, parent = block.id or f"{message_id}{part}", self.context.parent_call
                add(
                    ToolCall(source, part, message_id, call_id, block.name or "unknown", arguments(block.input), parent)
                )
            else:
                batch.ignore(f"block/{kind}")
        if spoken and not calls:
            add(SessionEnd(source, "", "complete"))

    def _settings(self, entry: Entry, source: Source, batch: Batch) -> None:
        if entry.model is not None:
            batch.events.append(SessionInfo(source, "-settings", None, entry.model))
        usage = None if entry.tokenUsage is None else _usage(source, entry.tokenUsage, entry.model)
        if usage is not None:
            batch.events.append(usage)


def fingerprint(message_id: str) -> int:
    return crc32(message_id.encode("utf-8", "replace"))


def _usage(source: Source, spent: Spent, model: str | None) -> TokenUsage | None:
    """The total of the session; None where all counts are 0."""
    parts = (spent.inputTokens, spent.cacheReadTokens, spent.cacheCreationTokens)
    if not any((*parts, spent.outputTokens)):
        return None
    return TokenUsage(
        source,
        "-settings",
        "settings",
        "session",
        model,
        None if spent.inputTokens is None else sum(count or 0 for count in parts),
        spent.cacheReadTokens,
        spent.cacheCreationTokens,
        None,
        spent.outputTokens,
        spent.thinkingTokens,
    )
