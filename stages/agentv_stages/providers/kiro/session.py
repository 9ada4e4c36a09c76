"""Kiro CLI's sessions to events: `<id>.jsonl`, and beside it the document `<id>.json`, which is read after it.

One `AssistantMessage` is one answer. The document has folder, title, model, and how each turn ended; its token counts
are always 0, and its credits are no dollars.
End rule: the end of the last turn in the document, if that turn has the last message; without it an answer that asks
for no tool is a good end.
Source: Kiro CLI 2.5.1 to 2.x, sessions of June to August 2026.
"""

import re

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from agentv_stages.chain.foreign import other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch, parse_iso, whole_ms
from agentv_stages.providers.kiro.results import arguments, ending
from agentv_stages.providers.kiro.wire import (
    Data,
    Line,
    Thinking,
    ToolResultData,
    ToolUse,
    Turn,
    decode_line,
    decode_result,
    decode_thinking,
    decode_tool_use,
)

LOSSES = (
    "tokens, cost (credits are no dollars)",
    "times of answers and results",
    "the version of the program",
)
NOTICES = {"Compaction": "compact_boundary", "Clear": "clear", "ResetTo": "rewind"}
_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl(?:\.gz|\.zst)?\Z")
_members = Decoder(dict[str, Raw]).decode
_ERROR = re.compile(rb'\{\s*"Error"')
_AUTO = "auto"  # the program chooses a model and does not name it


class State(Struct):
    """`last` is the id of the last message."""

    session_id: str | None = None
    last: str | None = None


class SessionDecoder:
    """Decoder of `kiro-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        if line.session_id is not None and not line.kind:
            self._document(line, record, batch)
            return
        kind, data = line.kind, line.data or Data()
        found = _contents(data)
        time = data.meta.timestamp if data.meta is not None else None
        message_id = data.message_id or f"m{record.row}"
        source = self.context.source(record, from_epoch(time), message_id)
        self._named(source, batch)
        if kind == "Prompt":
            self._prompt(found, message_id, source, batch)
        elif kind == "AssistantMessage":
            self._answer(found, message_id, replace(source, answer=record.row + 1), batch)
        elif kind == "ToolResults":
            self._results(found, data, source, batch)
        elif kind in NOTICES:
            batch.events.append(Notification(source, "", NOTICES[kind], ""))
        else:
            batch.unknown_type(kind, record)
            return
        self.state.last = data.message_id

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _named(self, source: Source, batch: Batch) -> None:
        """The file is named after the session."""
        state, context = self.state, self.context
        if state.session_id is None and context.session_id is None:
            found = _ID.search(context.place or context.file)
            state.session_id = found[1] if found is not None else ""
            if found is not None:
                batch.events.append(SessionInfo(source, "-file", found[1]))

    def _prompt(self, found: "list[Content]", message_id: str, source: Source, batch: Batch) -> None:
        for i, (kind, content) in enumerate(found):
            if isinstance(content, Raw):
                body = content if kind == "text" else to_raw([{"type": kind}])
                batch.events.append(UserText(source, f"-{i}", body, message_id))

    def _answer(self, found: "list[Content]", message_id: str, source: Source, batch: Batch) -> None:
        add, calls, spoken = batch.events.append, 0, False
        for i, (kind, content) in enumerate(found):
            part = f"-{i}"
            if isinstance(content, ToolUse):
                calls += 1
                call_id, name = content.toolUseId or f"{message_id}{part}", content.name or "unknown"
                parent = self.context.parent_call
                add(ToolCall(source, part, message_id, call_id, name, arguments(content.input), parent))
            elif isinstance(content, Thinking):
                add(Reasoning(source, part, message_id, text_json(content.text)))
            elif isinstance(content, Raw) and kind == "text" and content != EMPTY_STRING:
                spoken = True
                add(AssistantText(source, part, message_id, content))
        if spoken and not calls:
            add(SessionEnd(source, "", "complete"))
        elif not spoken and not calls:
            batch.ignore("AssistantMessage/empty")

    def _results(self, found: "list[Content]", data: Data, source: Source, batch: Batch) -> None:
        for i, (_, content) in enumerate(found):
            if isinstance(content, ToolResultData):
                parts = [part.data for part in content.content or () if part.data]
                output, outcome, code = ending(parts, content.status)
                call_id = content.toolUseId or ""
                ended = (data.results or {}).get(call_id)
                final = _final(bytes(ended.result)) if ended is not None else None
                batch.events.append(ToolResult(source, f"-{i}", call_id, output, final or outcome, code))

    def _document(self, line: Line, record: Record, batch: Batch) -> None:
        source = self.context.source(record, parse_iso(line.created_at))
        session = line.session_state
        info = session.rts_model_state.model_info if session and session.rts_model_state else None
        model = info.model_id if info is not None and info.model_id != _AUTO else None
        if self.state.session_id:
            other_session(record, line.session_id, self.state.session_id, batch)
        parent = line.parent_session_id
        batch.events.append(
            SessionInfo(source, "-document", line.session_id, model, None, line.cwd, None, parent, line.title)
        )
        turns = session.conversation_metadata.user_turn_metadatas if session and session.conversation_metadata else None
        last = turns[-1] if turns else None
        known = last is not None and (self.state.last is None or self.state.last in (last.message_ids or ()))
        if turns and last is not None and known:
            end = self.context.source(record, parse_iso(last.end_timestamp))
            batch.events.append(_end(end, last, turns))


def _final(ended: bytes) -> Outcome | None:
    """The outcome of a call as the program saw it; None where that says no more than the status of the result."""
    if ended == b'"Cancelled"':
        return "cancelled"
    return "error" if _ERROR.match(ended) else None


def _end(source: Source, last: Turn, turns: list[Turn]) -> SessionEnd:
    parts = [turn.turn_duration for turn in turns if turn.turn_duration is not None]
    duration = whole_ms(sum(part.secs * 1000 + part.nanos / 1e6 for part in parts)) if parts else None
    result = bytes(last.result)
    if result.startswith(b'{"Err"') or (result[:1] == b"{" and b'"Ok"' not in result[:8]):
        return SessionEnd(source, "-document", "error", _failure(last.result) or last.end_reason, None, duration)
    if last.end_reason == "UserTurnEnd":
        return SessionEnd(source, "-document", "complete", None, None, duration)
    return SessionEnd(source, "-document", "unknown", last.end_reason, None, duration)


def _failure(result: Raw) -> str:
    """Why a turn failed, where that is a text."""
    error = _members(result).get("Err", EMPTY_STRING)
    return text_of(error) if bytes(error)[:1] == b'"' else ""


Content = tuple[str, "Raw | ToolUse | ToolResultData | Thinking"]


def _contents(data: Data) -> list[Content]:
    """The parts of a message, each with its kind."""
    found: list[Content] = []
    for i, part in enumerate(data.content or ()):
        place = f"data.content[{i}].data"
        if part.kind == "toolUse":
            found.append((part.kind, decode_member(part.data, decode_tool_use, place)))
        elif part.kind == "toolResult":
            found.append((part.kind, decode_member(part.data, decode_result, place)))
        elif part.kind == "thinking":
            found.append((part.kind, decode_member(part.data, decode_thinking, place)))
        else:
            found.append((part.kind, text_json(part.data) if part.kind == "text" else Raw(part.data or b"null")))
    return found
