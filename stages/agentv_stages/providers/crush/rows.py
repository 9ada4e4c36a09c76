"""Rows of Crush's database to events.

A row of role `tool` holds all results of the answer before it. Child sessions come with a `parent_call`.
End rule: the last `finish` of an answer: `end_turn` is a good end, `error` and `canceled` are not.
Source: crush, published source of August 2026; a real database of September 2025.
"""

import re

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    MAIN,
    AssistantText,
    Notification,
    Outcome,
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
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.crush.wire import Data, Message, Part, Session, Totals, decode_line

ENDS: dict[str, Status] = {
    "end_turn": "complete",
    "stop": "complete",
    "max_tokens": "complete",
    "content_filter": "error",
    "error": "error",
    "canceled": "interrupted",
}
GOES_ON = frozenset(("tool_use", "unknown", ""))
_DENIED = "User denied permission"
_EXIT = re.compile(r"Exit code (-?\d{1,10})\s*(?:</\w+>\s*)?\Z")
_TAIL = 200
SHELL = "bash"
MOST_SHELLS = 256
_MILLISECONDS = 1e11  # a time above is not in seconds, which the columns' comments promise and no version writes


class State(Struct):
    """The main session's id; messages of any other are a sub-agent's. `model` is the last one reported, `shells` are
    the ids of the latest shell calls."""

    session_id: str | None = None
    model: str | None = None
    shells: list[str] = []


class RowsDecoder:
    """Decoder of `crush-rows`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        if line.message is not None:
            self._message(line.message, line.parent_call, record, batch)
        elif line.session is not None:
            self._session(line.session, record, batch)
        elif line.totals is not None:
            self._totals(line.totals, record, batch)
        else:
            batch.unknown_type("row", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _source(self, record: Record, session: str | None, time: float | None, base_id: str) -> Source:
        context, main = self.context, self.state.session_id
        stream = context.stream
        if stream == MAIN and main is not None and session and session != main:
            stream = f"subagent:{session}"
        time_ms = from_epoch(time if time is None or time > _MILLISECONDS else time * 1000)
        return Source(context.file, record.row, record.offset, record.length, time_ms, stream, base_id)

    def _session(self, session: Session, record: Record, batch: Batch) -> None:
        state = self.state
        if state.session_id is not None and session.id != state.session_id:
            source = self._source(record, session.id, session.created_at, session.id or "")
            batch.events.append(Notification(source, "", "subagent", session.title or session.id or ""))
            return
        again, state.session_id = state.session_id is not None, session.id
        source = self._source(record, session.id, session.created_at, session.id or "")
        part, parent = f"-{record.row}" if again else "", session.parent_session_id
        batch.events.append(
            SessionInfo(source, part, session.id, cwd=session.directory, parent_session_id=parent, title=session.title)
        )

    def _totals(self, totals: Totals, record: Record, batch: Batch) -> None:
        """The cost of a session includes those of its sub-agents; 0 may mean that no price is known."""
        main = totals.session_id in (None, self.state.session_id)
        if not main or not totals.cost:
            batch.ignore("totals")
            return
        source = self._source(record, totals.session_id, totals.updated_at, f"{totals.session_id}-totals")
        batch.events.append(TokenUsage(source, "", "totals", "session", cost_usd=totals.cost, covers_streams=True))

    def _message(self, message: Message, parent: str | None, record: Record, batch: Batch) -> None:
        message_id = message.id or f"m{record.row}"
        source = self._source(record, message.session_id, message.created_at, message_id)
        parts = message.parts or []
        if message.role == "assistant":
            self._answer(message, message_id, parts, source, parent, batch)
        elif message.role == "tool":
            for i, part in enumerate(parts):
                if part.type == "tool_result" and part.data is not None:
                    self._result(source, f"-{i}", part.data, batch)
        elif message.role == "user":
            for i, part in enumerate(parts):
                self._prompt(part.type, part.data or Data(), f"-{i}", message_id, source, batch)
        elif message.role == "system":
            batch.ignore("message/system")
        else:
            batch.unknown_type(f"message/{message.role}", record)

    def _prompt(self, kind: str, data: Data, at: str, message_id: str, source: Source, batch: Batch) -> None:
        if kind == "text":
            batch.events.append(UserText(source, at, text_json(data.text), message_id))
        elif kind in ("image_url", "binary"):
            block = {"type": kind, "mime": data.mime_type, "url": data.url, "path": data.path}
            batch.events.append(UserText(source, at, to_raw([block]), message_id))
        elif kind == "shell_command":
            batch.events.append(Notification(source, at, "user_shell", data.command or ""))
        else:
            batch.ignore(f"part/{kind}")

    def _answer(
        self, message: Message, message_id: str, parts: list[Part], source: Source, parent: str | None, batch: Batch
    ) -> None:
        model, events = message.model or None, batch.events
        if source.stream == self.context.stream and model != self.state.model:
            self.state.model = model
            events.append(SessionInfo(source, "-model", model=model))
        if message.is_summary_message:
            events.append(Notification(source, "-compact", "compact_boundary", "the answer sums up what was before"))
        for i, part in enumerate(parts):
            at, kind, data = f"-{i}", part.type, part.data or Data()
            if kind == "text":
                events.append(AssistantText(source, at, message_id, text_json(data.text), model=model))
            elif kind == "reasoning":
                if data.thinking and data.thinking != Raw(b'""'):
                    events.append(Reasoning(source, at, message_id, text_json(data.thinking), model=model))
            elif kind == "tool_call":
                call_id = data.id or f"{message_id}{at}"
                if data.name == SHELL:
                    self.state.shells = [*self.state.shells[1 - MOST_SHELLS :], call_id]
                events.append(
                    ToolCall(source, at, message_id, call_id, data.name or "unknown", _arguments(data), parent, model)
                )
            elif kind == "tool_result":  # of a call that the model's provider ran
                self._result(source, at, data, batch)
            elif kind == "finish":
                reason = data.reason or ""
                if reason not in GOES_ON:
                    end = self._source_at(source, message.finished_at)
                    text = f"{reason}: {data.message}" if data.message else reason
                    events.append(SessionEnd(end, "-end", ENDS.get(reason, "unknown"), text))
            else:
                batch.ignore(f"part/{kind}")

    def _result(self, source: Source, at: str, data: Data, batch: Batch) -> None:
        batch.events.append(_result(source, at, data, shell=data.tool_call_id in self.state.shells))

    def _source_at(self, source: Source, time: float | None) -> Source:
        if time is None:
            return source
        time_ms = from_epoch(time if time > _MILLISECONDS else time * 1000)
        return Source(source.file, source.row, source.offset, source.length, time_ms, source.stream, source.base_id)


def _arguments(data: Data) -> Raw:
    """The input of a call, which is JSON within a string."""
    try:
        return Raw(msgspec.json.encode(msgspec.json.decode(data.input or "", type=dict[str, Raw])))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return EMPTY_OBJECT if not data.input else to_raw({"input": data.input})


def _result(source: Source, at: str, data: Data, *, shell: bool) -> ToolResult:
    content = data.content if has_value(data.content) else None
    text = text_of(content)
    code = _EXIT.search(text[-_TAIL:]) if shell else None
    exit_code = int(code[1]) if code else None
    outcome: Outcome = "error" if data.is_error or exit_code else "ok"
    if data.is_error and text.startswith(_DENIED):
        outcome = "denied"
    return ToolResult(source, at, data.tool_call_id or "", content, outcome, exit_code)
