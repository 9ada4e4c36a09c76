"""Gemini CLI chat recordings to events: the mutation log `session-*.jsonl` and the older document `session-*.json`.

Source: Gemini CLI 0.1 to 0.61. A record of the log replaces the one with the same id (an answer is written again when
its calls have ended), `$set` changes the header or the model's context, `$rewindTo` retracts messages. Each text,
thought, call and result is emitted once, when it first appears; ids of the last 4,096 messages and calls are
remembered. A session has no end record. An API error, or a cancelled request that nothing follows, ends it. An answer
without calls does not, because calls are added to an answer only when they have ended: if a session was killed while
its tool ran, its last answer looks final.
"""

import re
from zlib import crc32

from msgspec import Raw, ValidationError

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Notification, Retract, SessionEnd, SessionInfo, Source, Summary
from agentv_stages.model.payload import text_of
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.times import Time, parse_iso
from agentv_stages.providers.gemini import answers, prompts
from agentv_stages.providers.gemini.parts import head_of, message_text
from agentv_stages.providers.gemini.prompts import CONTEXT
from agentv_stages.providers.gemini.state import KEEP, ChatState, Emitted
from agentv_stages.providers.gemini.wire import (
    ChatLine,
    ChatMessage,
    Patch,
    PlainMessage,
    decode_answers,
    decode_chat,
    decode_plain,
)

LOSSES = (
    "calls that were cut off (they are recorded when they end), and so which answer is the last",
    "a call of a tool that does not exist, if the session ran over ACP",
    "an answer that was interrupted while it was written",
    "tokens of side models (loop detection, summaries)",
    "the agent's version",
)
API_ERROR = "[API Error"
CANCELLED = "Request cancelled."
LONGEST_CLOCK = 80
USER = b'"type":"user","content":[{"functionResponse"'
USER_AT = len('{"id":"6056b63a-2abb-4741-b274-010cc5e07177","timestamp":"2026-11-21T06:00:35.201Z",')
USER_END = USER_AT + len(USER)
_CLOCK = re.compile(rb'\{"\$set":\{"lastUpdated":"[^"\\]*"\}\}')  # a third of all lines


class ChatDecoder:
    """Decodes both forms."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.parent_call = context.parent_call
        self.state = ChatState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        if len(data) < LONGEST_CLOCK and _CLOCK.fullmatch(data):
            ignored = batch.ignored
            ignored["$set"] = ignored.get("$set", 0) + 1
            return
        state = self.state
        # the first record is the header, or the whole document
        plain = record.row > 0 and data[2:3] != b"$"
        if data[USER_AT:USER_END] == USER and plain and state.started and not state.copying and self._answered(data):
            batch.ignore("user/function_response")
            return
        message = _plain_message(data) if plain else None
        if message is None:
            line = decode_chat(data)
            stopped = self._stopped(line, batch) if state.cancelled is not None else None
            self._other(line, record, batch)
            if stopped is not None:
                batch.events.append(stopped)
            return
        stopped = self._stopped(message, batch) if state.cancelled is not None else None
        if state.started and (state.copying or message.type == "user") and self._is_copy(message):
            batch.ignore("context_copy")
            return
        state.started = True
        self._message(message, record, batch, message.id or f"m{record.row}")
        if stopped is not None:
            batch.events.append(stopped)

    def _answered(self, data: bytes) -> bool:
        """Whether a new record only gives results that were emitted already, as nearly always."""
        try:
            record = decode_answers(data)
        except ValidationError:
            return False
        calls, known = self.state.calls, self.state.messages
        for answer in record.content:
            if not calls.get(answer.functionResponse.id, True):
                return False
        if not record.content or not record.id or record.id in known:
            return False
        remember(known, record.id, Emitted(), KEEP)
        return True

    def _other(self, line: ChatLine, record: Record, batch: Batch) -> None:
        """Handles a line that is not a plain message."""
        if line.type is not None:
            if self.state.started and self._is_copy(line):
                batch.ignore("context_copy")
                return
            self.state.started = True
            self._message(line, record, batch, _id_of(line) or f"m{record.row}")
        elif line.set is not None:
            self._patch(line.set, record, batch)
        elif line.rewind is not None:
            self._rewind(line.rewind, record, batch)
        elif line.sessionId is not None:
            self._header(line, record, batch)
        else:
            batch.unknown_type("(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits the end by a cancelled request, if nothing followed it."""
        self._stopped(None, batch)

    def _stopped(self, line: ChatMessage | PlainMessage | None, batch: Batch) -> SessionEnd | None:
        """Emits the held end; returns it instead if the next record is the stopped call, which comes first."""
        held = self.state.cancelled
        if held is None:
            return None
        self.state.cancelled = None
        if line is not None and line.type == "gemini" and line.toolCalls and line.tokens is None:
            return held
        batch.events.append(held)
        return None

    def _source(self, record: Record, time: Time, base_id: str) -> Source:
        time_ms = parse_iso(time)
        at = self.file, record.row, record.offset, record.length
        return Source(*at, time_ms, self.stream, base_id, time_ms or None)

    def _header(self, line: ChatLine, record: Record, batch: Batch) -> None:
        source = self._source(record, line.startTime, "")
        if self.stream == MAIN:
            other_session(record, line.sessionId, self.state.session_id, batch)
        self.facts(source, batch, line.sessionId, None, line.directories)
        for i, message in enumerate(line.messages or ()):
            self._message(message, record, batch, _id_of(message) or f"m{record.row}-{i}")
        if line.summary:
            self._summary(line.summary, source, batch)

    def facts(
        self, source: Source, batch: Batch, session_id: str | None, model: str | None, directories: list[str] | None
    ) -> None:
        """Emits new facts of the session. A sub-agent's file emits none: its parent's session is the session."""
        state = self.state
        cwd = directories[0] if directories else None
        if session_id == state.session_id:
            session_id = None
        if model == state.model:
            model = None
        if cwd == state.cwd:
            cwd = None
        state.session_id, state.model, state.cwd = (
            session_id or state.session_id,
            model or state.model,
            cwd or state.cwd,
        )
        if self.stream == MAIN and (session_id or model or cwd):
            batch.events.append(SessionInfo(source, f"-{source.row}", session_id, model, None, cwd))

    def _summary(self, summary: Raw, source: Source, batch: Batch) -> None:
        text = text_of(summary)
        if text and self.stream == MAIN:
            batch.events.append(Summary(source, f"-{source.row}", text))
        else:
            batch.ignore("summary")

    def _patch(self, patch: Patch, record: Record, batch: Batch) -> None:
        source = self._source(record, None, "")
        self.facts(source, batch, patch.sessionId, None, patch.directories)
        if patch.messages is not None:
            self._context(patch.messages, source, record, batch)
        elif patch.summary:
            self._summary(patch.summary, source, batch)
        else:
            batch.ignore("$set")

    def _context(self, messages: list[ChatMessage], source: Source, record: Record, batch: Batch) -> None:
        """The model's context. Before the first message it is emitted; later it only repeats, often with new ids."""
        state = self.state
        state.copying = False
        if not state.started:
            for i, message in enumerate(messages):
                self._message(message, record, batch, _id_of(message) or f"m{record.row}-{i}")
            return
        if any(str(message.id) not in state.messages for message in messages):
            text = f"the context was replaced: {len(messages)} messages"
            batch.events.append(Notification(source, f"-{record.row}", "context_replaced", text))
        else:
            batch.ignore("$set")

    def _is_copy(self, message: ChatMessage | PlainMessage) -> bool:
        """Whether a record repeats history: a new context is first written record by record, with new ids, and then
        set.

        It begins with the session context; its answers have their content as parts, and neither calls nor tokens.
        """
        state = self.state
        emitted = state.messages.get(str(message.id))
        known = emitted is not None and not _differs(emitted, message.timestamp, 0)
        if message.type == "user" and not known and CONTEXT in head_of(message.content, 64):
            state.copying = True
        elif state.copying and message.type == "gemini":
            state.copying = message.tokens is None and not message.toolCalls and head_of(message.content) == b"["
        return state.copying and not known

    def _rewind(self, target: str, record: Record, batch: Batch) -> None:
        """Retracts the target and everything after it; all messages if the target is not known."""
        known = list(self.state.messages)
        start = known.index(target) if target in self.state.messages else 0
        for message_id in known[start:]:
            del self.state.messages[message_id]
        source = self._source(record, None, "")
        batch.events.append(Retract(source, f"-{record.row}", tuple(known[start:]), "rewind"))

    def _message(self, message: ChatMessage | PlainMessage, record: Record, batch: Batch, message_id: str) -> None:
        source = self._source(record, message.timestamp, message_id)
        known, kind, time = self.state.messages, message.type, message.timestamp
        checksum = crc32(message.content or message.parts) if kind == "user" else 0
        key, emitted = message_id, known.get(message_id)
        if emitted is not None and _differs(emitted, time, checksum):
            key = f"{message_id} {time}"
            emitted = known.get(key)
        if kind == "gemini" or kind == "model":
            if emitted is None:
                emitted = remember(known, key, Emitted(time), KEEP)
            answers.emit(self, message, emitted, source, record, batch)
        elif kind == "user":
            if emitted is None:
                remember(known, key, Emitted(time, crc=checksum), KEEP)
                prompts.emit(self, message, source, batch)
            else:
                batch.ignore("user/again")
        elif kind in ("info", "warning", "error"):
            if emitted is None:
                remember(known, key, Emitted(time), KEEP)
                text = text_of(message_text(message, source, batch))
                if not text:
                    batch.ignore(f"{kind}/empty")
                    return
                batch.events.append(Notification(source, "", kind, text, kind))  # type: ignore[arg-type]
                if kind == "error" and text.startswith(API_ERROR):
                    batch.events.append(SessionEnd(source, "-end", "error", text))
                elif kind == "info" and text == CANCELLED:
                    self.state.cancelled = SessionEnd(source, "-end", "interrupted", text)
            else:
                batch.ignore(f"{kind}/again")
        else:
            batch.unknown_type(str(kind), record)


def _differs(emitted: Emitted, time: Time, checksum: int) -> bool:
    """Whether a message with the same id is another one. One that is written again keeps its time, or its text."""
    return bool(emitted.time and time) and emitted.time != time and not checksum == emitted.crc != 0


def _plain_message(data: bytes) -> PlainMessage | None:
    try:
        return decode_plain(data)
    except ValidationError:
        return None


def _id_of(message: ChatMessage) -> str:
    return "" if message.id is None else str(message.id)
