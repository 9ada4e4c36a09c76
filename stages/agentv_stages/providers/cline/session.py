"""Cline's sessions on disk to events: `<id>.messages.json`, and beside it the manifest `<id>.json`.

Each is one JSON document, rewritten at each change. The messages hold the conversation; the manifest, read after them,
says where the session ran and how it ended. Sub-agents have message files of their own.
End rule: there is no end record. The manifest's status shows how the last run ended; without a manifest, the last
message shows it.
Source: Cline CLI 3.0.65, session files and type declarations.
"""

import re

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import read_each
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
from agentv_stages.model.payload import has_value, one_line, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import epoch_ms, parse_iso
from agentv_stages.providers.cline.calls import arguments, ending
from agentv_stages.providers.cline.wire import Block, Document, Message, decode_document, decode_message

LOSSES = (
    "an answer that was interrupted while it was written, and while the terminal is open that it was",
    "the commands of a call with several of them as calls of their own, with their outputs",
    "reasoning tokens, the tokens of compactions and of answers that were cut off",
    "durations that the agent measured",
)
STATUS: dict[str, Status] = {"completed": "complete", "failed": "error", "cancelled": "interrupted"}
INJECTED = frozenset(
    (
        *("auto_compaction", "manual_compaction", "compaction", "compaction_summary", "compaction_budget_emergency"),
        *("completion_reminder", "loop_detection_notice", "mistake_stop_notice", "recovery_notice"),
    )
)
_WRAPPED = re.compile(
    rb'"<user_(?:input mode|command slash)=\\"[^"\\]*\\">(?:<mode_notice>.*?</mode_notice>(?:\\n)*)?(.*)</user_\w+>"',
    re.DOTALL,
)
_IMAGES = frozenset(("image", "media", "file"))


class State(Struct):
    """`ended`: the messages showed an end."""

    session_id: str | None = None
    model: str | None = None
    ended: bool = False


class SessionDecoder:
    """Decoder of `cline-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        document = decode_document(data)
        if document.messages is not None:
            messages = read_each(document.messages, decode_message, "messages", record, batch)
            self._header(document, record, batch)
            begun_ms = _begun_ms(document.sessionId)
            for place, message in messages:
                if message.ts is not None and message.ts < begun_ms:
                    batch.ignore("copied from another session")
                else:
                    self._message(message, place, record, batch)
            if messages:
                self._end(messages[-1][1], record, batch)
        elif document.session_id is not None:
            self._manifest(document, record, batch)
        else:
            batch.unknown_type("document", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _header(self, document: Document, record: Record, batch: Batch) -> None:
        self.state.session_id = document.sessionId
        origin = document.origin
        version, parent = (origin.version, origin.parentThreadId) if origin else (None, None)
        source = self.context.source(record)
        info = SessionInfo(source, "", document.sessionId, None, version, None, None, parent)
        batch.events.append(info)

    def _manifest(self, document: Document, record: Record, batch: Batch) -> None:
        metadata = document.metadata
        title, git = (metadata.title, metadata.git) if metadata else (None, None)
        source = self.context.source(record, parse_iso(document.started_at))
        branch = git.branch if git else None
        fork = metadata.fork if metadata else None
        parent = fork.forkedFromSessionId if fork else None
        batch.events.append(
            SessionInfo(
                *(source, "-manifest", document.session_id, document.model, None, document.cwd, branch, parent, title)
            )
        )
        status = STATUS.get(document.status or "")
        if status is not None:
            cost = metadata.totalCost if metadata else None
            end = self.context.source(record, parse_iso(document.ended_at))
            batch.events.append(SessionEnd(end, "-manifest", status, document.status, cost or None))

    def _message(self, message: Message, place: int, record: Record, batch: Batch) -> None:
        message_id = message.id or f"m{place}"
        source = self.context.source(record, epoch_ms(message.ts), message_id)
        content = message.content
        blocks = [Block("text", to_raw(content))] if isinstance(content, str) else content
        if message.role == "user":
            self._user(message, blocks, message_id, source, batch)
        elif message.role == "assistant":
            self._answer(message, blocks, message_id, source, batch)
        else:
            batch.unknown_type(f"message/{message.role}", record)

    def _user(self, message: Message, blocks: list[Block], message_id: str, source: Source, batch: Batch) -> None:
        metadata = message.metadata
        injected = metadata is not None and (metadata.userRunSpan == 0 or metadata.kind in INJECTED)
        for i, block in enumerate(blocks):
            kind = block.type
            if kind == "tool_result":
                call_id = block.tool_use_id or f"{message_id}-{i}"
                error = text_of(text_json(block.content)) if block.is_error else None
                outcome, code = ending(block.name or "", block.content, error)
                output = block.content if has_value(block.content) else None
                batch.events.append(ToolResult(source, f"-{i}", call_id, output, outcome, code))
            elif kind == "text":
                batch.events.append(UserText(source, f"-{i}", _unwrapped(block.text), message_id, injected))
            elif kind in _IMAGES:
                batch.events.append(UserText(source, f"-{i}", to_raw([{"type": kind}]), message_id, injected))
            else:
                batch.ignore(f"block/{kind}")

    def _answer(self, message: Message, blocks: list[Block], message_id: str, source: Source, batch: Batch) -> None:
        add, state = batch.events.append, self.state
        model = message.modelInfo.id if message.modelInfo else None
        if model and model != state.model:
            state.model = model
            add(SessionInfo(source, "-model", None, model))
        if message.metadata is not None and message.metadata.displayOnly:
            role = message.metadata.displayRole or "notice"
            text = _texts(blocks)
            add(Notification(source, "", role, text, "error" if role == "error" else "info"))
            return
        for i, block in enumerate(blocks):
            kind = block.type
            if kind == "text":
                add(AssistantText(source, f"-{i}", message_id, text_json(block.text), False, False, model))
            elif kind == "thinking":
                add(Reasoning(source, f"-{i}", message_id, text_json(block.thinking), False, model))
            elif kind == "tool_use":
                name = block.name or "unknown"
                call_id = block.id or f"{message_id}-{i}"
                parent = self.context.parent_call
                add(ToolCall(source, f"-{i}", message_id, call_id, name, arguments(name, block.input), parent, model))
            else:
                batch.ignore(f"block/{kind}")
        used = message.metrics
        if used is not None and (used.inputTokens or used.outputTokens):
            tokens = (used.inputTokens, used.cacheReadTokens, used.cacheWriteTokens, None, used.outputTokens)
            add(TokenUsage(source, "", message_id, "call", model, *tokens, cost_usd=used.cost or None))

    def _end(self, last: Message, record: Record, batch: Batch) -> None:
        """How the run ended, as far as its last message shows it.

        An answer without metrics was broken off. An aborted result with nothing after it means that the user stopped
        the run.
        """
        blocks = last.content if isinstance(last.content, list) else []
        source = self.context.source(record, epoch_ms(last.ts), last.id or "")
        metadata = last.metadata
        if last.role != "assistant":
            if any(block.type == "tool_result" and _cancelled(block) for block in blocks):
                batch.events.append(SessionEnd(source, "-end", "interrupted", "a call was aborted"))
            return
        if metadata is not None and metadata.displayRole == "error":
            batch.events.append(SessionEnd(source, "-end", "error", _texts(blocks)))
        elif last.metrics is not None and not any(block.type == "tool_use" for block in blocks):
            batch.events.append(SessionEnd(source, "-end", "complete"))


def _begun_ms(session_id: str | None) -> int:
    """When a session was created, epoch ms; 0 if its id has no time. Older messages are copies that a fork made."""
    digits = (session_id or "").partition("_")[0]
    return int(digits) if len(digits) == 13 and digits.isdecimal() else 0


def _cancelled(block: Block) -> bool:
    return ending(block.name or "", block.content, "" if block.is_error else None)[0] == "cancelled"


def _texts(blocks: list[Block]) -> str:
    return " ".join(text_of(text_json(block.text)) for block in blocks if block.type == "text")


def _unwrapped(text: Raw) -> Raw:
    """A prompt as the user typed it: Cline wraps it in `<user_input mode="act">`, sometimes after a notice."""
    found = _WRAPPED.fullmatch(text_json(text)) if has_value(text) else None
    return Raw(b'"' + found[1] + b'"') if found else text_json(text)
