"""OpenCode's stored sessions to events: `export` documents, dumps of the database, rows of a store.

A whole export is one record; rows are one record per message. Child sessions come as files of their own (companions) or
as rows with a `parent_call`.
End rule: the last finish reason of an answer, or its error, says how its run ended; in 2.x `idle`, which follows.
Source: opencode 0.3 to 1.18.33, `opencode export`, `storage/`, `opencode.db`; 2.0 as in `version2`.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import COPIED
from agentv_stages.chain.pruning import decode_member, read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Notification, Retract, SessionEnd, SessionInfo, Source, UserText
from agentv_stages.model.payload import EMPTY_STRING, has_value, one_line, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.opencode.parts import (
    CONTINUES,
    REJECTED,
    SILENT,
    at_time,
    content,
    error_text,
    failed,
    finished,
    stops,
    usage_event,
)
from agentv_stages.providers.opencode.version2 import answer_of, created_ms, other
from agentv_stages.providers.opencode.wire import (
    MessageInfo,
    NewMessage,
    Part,
    SessionDoc,
    decode_document,
    decode_message_doc,
    decode_message_info,
    decode_new_message,
    decode_role,
    decode_session,
)

_TRUE = Raw(b"true")


class State(Struct):
    """`session_id` is the main session, created at `begun_ms`; messages of any other are a sub-agent's. `failure` is
    the error of its last answer."""

    session_id: str | None = None
    begun_ms: float | None = None
    model: str | None = None
    cwd: str | None = None
    failure: str | None = None


class ExportDecoder:
    """Decoder of `opencode-export` and `opencode-rows`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        document = decode_document(data)
        parent = document.parent_call or self.context.parent_call
        if document.messages is not None:
            session = document.session
            if session is None and has_value(document.info):
                session = decode_session(document.info)
            messages = read_each(document.messages, _message, "messages", record, batch)
            if session is not None:
                self._session(session, record, batch)
            for index, message in messages:
                if isinstance(message, NewMessage):
                    self._new_message(message, f"-{index}", record, batch, parent)
                else:
                    self._message(*message, f"-{index}", record, batch, parent)
        elif has_value(document.message):
            self._new_message(decode_member(document.message, decode_new_message, "message"), "", record, batch, parent)
        elif has_value(document.info):
            role = decode_role(document.info)
            if role.role or role.sessionID:
                info = decode_message_info(document.info)
                self._message(info, document.parts or (), "", record, batch, parent)
            else:
                self._session(decode_session(document.info), record, batch)
        elif document.role or (document.sessionID and not document.undone):
            self._message(decode_message_info(data), document.parts or (), "", record, batch, parent)
        elif document.undone:
            source = self._source(record, document.sessionID, None, f"{document.undone}-undone")
            batch.events.append(Retract(source, "", (document.undone,), "undo"))
        else:
            batch.unknown_type("document", record)

    def flush(self, batch: Batch) -> None:
        pass

    def _source(self, record: Record, session: str | None, time_ms: float | None, base_id: str) -> Source:
        context = self.context
        main = self.state.session_id
        stream = context.stream
        if stream == MAIN and main is not None and session and session != main:
            stream = f"subagent:{session}"
        created = from_epoch(time_ms)
        at = context.file, record.row, record.offset, record.length
        return Source(*at, created, stream, base_id, created or None)

    def _session(self, session: SessionDoc, record: Record, batch: Batch) -> None:
        state = self.state
        time = session.time.created if session.time else session.time_created
        if state.session_id is not None and session.id != state.session_id:
            source = self._source(record, session.id, time, session.id or "")
            batch.events.append(Notification(source, "", "subagent", session.title or session.id or ""))
            return
        if state.begun_ms is not None and state.begun_ms == time:
            source = self._source(record, session.id, time, session.id or "")  # again, now with a title
            batch.events.append(SessionInfo(source, f"-{record.row}", title=session.title))
            return
        state.session_id = session.id
        state.begun_ms = time
        state.cwd = session.directory or (session.location.directory if session.location else None)
        parent = session.parentID or session.parent_id
        source = self._source(record, session.id, time, session.id or "")
        batch.events.append(
            SessionInfo(source, "", session.id, None, session.version, state.cwd, None, parent, session.title)
        )

    def _new_message(self, message: NewMessage, at: str, record: Record, batch: Batch, parent: str | None) -> None:
        if message.type == "assistant":
            self._message(*answer_of(message), at, record, batch, parent)
            return
        message_id = message.id or f"m{record.row}{at}"
        created = created_ms(message)
        source = self._source(record, message.sessionID, created, message_id)
        if self.state.session_id is None and message.sessionID:
            self.state.session_id = message.sessionID
            batch.events.append(SessionInfo(source, "", message.sessionID))
        if self._copied(message.sessionID, created):
            batch.ignore(COPIED)
        else:
            other(message, message_id, source, self.state.failure, record, batch)

    def _message(
        self,
        info: MessageInfo,
        parts: list[Part] | tuple[Part, ...],
        at: str,
        record: Record,
        batch: Batch,
        parent: str | None,
    ) -> None:
        message_id = info.id or f"m{record.row}{at}"
        created = info.time.created if info.time else None
        source = self._source(record, info.sessionID, created, message_id)
        if self.state.session_id is None and info.sessionID:
            self.state.session_id = info.sessionID
            batch.events.append(SessionInfo(source, "", info.sessionID))
        if self._copied(info.sessionID, created):
            batch.ignore(COPIED)
        elif info.role == "user" or (not info.role and not info.modelID):  # some writers leave the role out
            self._user(parts, message_id, source, batch)
        elif info.role == "assistant" or not info.role:
            self._answer(info, parts, message_id, source, batch, parent)
        else:
            batch.unknown_type(f"message/{info.role}", record)

    def _copied(self, session_id: str | None, created: float | None) -> bool:
        """Whether a fork copied the message from its parent, under a new id: then it is older than the session."""
        begun_ms = self.state.begun_ms
        if created is None or begun_ms is None or session_id not in (None, self.state.session_id):
            return False
        return created < begun_ms

    def _user(self, parts: list[Part] | tuple[Part, ...], message_id: str, source: Source, batch: Batch) -> None:
        for i, part in enumerate(parts):
            kind = part.type
            if kind == "text":
                injected = bool(part.synthetic or part.ignored)
                own = f"{message_id}-injected" if injected else message_id
                batch.events.append(UserText(source, f"-{i}", part.text or EMPTY_STRING, own, injected))
            elif kind == "file":
                block = {"type": "file", "mime": part.mime, "filename": part.filename, "url": part.url or None}
                batch.events.append(UserText(source, f"-{i}", to_raw([block]), message_id))
            elif kind == "subtask":
                batch.events.append(UserText(source, f"-{i}", part.prompt or EMPTY_STRING, message_id))
            elif kind == "compaction":
                text = "automatic" if part.auto else "asked for"
                batch.events.append(Notification(source, f"-{i}", "compact_boundary", text))
            else:
                batch.ignore(f"part/{kind}")

    def _answer(
        self,
        info: MessageInfo,
        parts: list[Part] | tuple[Part, ...],
        message_id: str,
        source: Source,
        batch: Batch,
        parent: str | None,
    ) -> None:
        state = self.state
        model = info.modelID
        cwd = info.path.cwd if info.path else None
        if source.stream == self.context.stream and (model != state.model or (cwd and cwd != state.cwd)):
            state.model = model
            state.cwd = cwd or state.cwd
            batch.events.append(SessionInfo(source, "-model", None, model, None, cwd))
        if info.summary == _TRUE:
            text = "the answer sums up what was before"
            batch.events.append(Notification(source, "-compact", "compact_boundary", text))
        finishes, refused = 0, False
        completed = info.time.completed if info.time else None
        for i, part in enumerate(parts):
            kind = part.type
            if kind in ("text", "reasoning", "tool"):
                own = _own(source, part)
                content(part, message_id, own, "" if part.id else f"-{i}", batch, model, parent)
                refused = refused or stops(part)
            elif kind == "step-finish":
                if part.tokens is not None:
                    key = message_id if finishes == 0 else f"{message_id}#{finishes}"
                    spent = at_time(_own(source, part), completed)
                    batch.events.append(usage_event(spent, key, part.tokens, part.cost, model))
                    finishes += 1
            elif kind == "retry":
                text = f"attempt {part.attempt}"
                batch.events.append(Notification(source, f"-{i}", "retry", text, "warning"))
            elif kind == "compaction":
                batch.events.append(Notification(source, f"-{i}", "compact_boundary", ""))
            elif kind in SILENT:
                batch.ignore(f"part/{kind}")
            else:
                batch.ignore(f"part/{kind or '?'}")
        tokens = info.tokens
        if finishes == 0 and tokens is not None and (tokens.input or tokens.output):
            batch.events.append(usage_event(at_time(source, completed), message_id, tokens, info.cost, model))
        end = at_time(source, completed)
        if source.stream == self.context.stream:
            state.failure = None if info.error is None else error_text(info.error)[1]
        if info.error is not None:
            failed(end, info.error, batch)
        elif refused and info.finish in CONTINUES:
            batch.events.append(SessionEnd(end, "-end", "interrupted", REJECTED))
        else:
            finished(end, info.finish, batch)


def _message(raw: Raw | bytes) -> tuple[MessageInfo, list[Part]] | NewMessage:
    document = decode_message_doc(raw)
    if document.info is None and decode_role(raw).type:
        return decode_new_message(raw)
    return document.info or decode_message_info(raw), document.parts or []


def _own(source: Source, part: Part) -> Source:
    if not part.id:
        return source
    return Source(
        source.file, source.row, source.offset, source.length, source.time_ms, source.stream, part.id, source.answer
    )
