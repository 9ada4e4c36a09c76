"""Goose's sessions at rest to events: the object of `--output-format json`, exported sessions, rows of the database,
and the lines in which versions before 1.10 kept a session.

End rule: there is no end record; an answer that asks for no tool is a good end.
Source: Goose, published source of 2026; no real session was seen.
"""

from msgspec import Struct, field

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Notification, SessionEnd, SessionInfo, Source, TokenUsage, sidechain
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch, parse_iso
from agentv_stages.providers.goose.messages import Speech, add_message, is_hidden
from agentv_stages.providers.goose.wire import (
    Document,
    Message,
    StoredMessage,
    Totals,
    Usage,
    decode_document,
    decode_message,
    decode_row,
)

LOSSES = (
    "tokens of single answers; in the output of `--output-format json` all tokens",
    "how long calls took",
    "the version of the program",
)
ROWS_LOSSES = ("tokens of single answers", *LOSSES[1:])


class State(Struct):
    """`ended` is the last answer that asked for no tool: an end, unless more of that answer follows."""

    session_id: str | None = None
    speech: Speech = field(default_factory=Speech)
    ended: Source | None = None
    ended_place: str = ""

    def add(self, message: Message, place: str, source: Source, batch: Batch, parent: str | None) -> None:
        """Appends the events of a message, after the end that the answer before it was. A hidden answer is none."""
        if message.role == "assistant" and is_hidden(message):
            add_message(message, place, source, self.speech, batch, parent)
            return
        if message.role != "assistant" or message.id is None or not self.speech.goes_on(message):
            self.end(batch)
        if add_message(message, place, source, self.speech, batch, parent):
            self.ended, self.ended_place = source, place
        else:
            self.ended = None

    def end(self, batch: Batch) -> None:
        if self.ended is not None:
            batch.events.append(SessionEnd(self.ended, self.ended_place, "complete"))
            self.ended = None


class SessionDecoder:
    """Decoder of `goose-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_document(one_line(record.data))
        source = self.context.source(record)
        raws = document.messages if document.messages is not None else document.conversation
        if raws is not None:
            messages = read_each(raws, decode_message, "messages", record, batch)
            self._facts(document, source, batch)
            for place, message in messages:
                self._message(message, f"-{place}", record, batch)
            self.state.end(batch)
        elif document.role is not None:
            self._message(decode_message(record.data), "", record, batch)
        elif document.working_dir is not None:
            self._facts(document, source, batch)
        else:
            batch.unknown_type("(no messages)", record)

    def flush(self, batch: Batch) -> None:
        self.state.end(batch)

    def _facts(self, document: Document, source: Source, batch: Batch) -> None:
        self.state.session_id = document.id
        title = document.name or document.description
        batch.events.append(SessionInfo(source, "", document.id, cwd=document.working_dir, title=title or None))
        usage = document.accumulated_usage
        if usage is not None:
            add_total(source, usage, document.accumulated_cost, batch)

    def _message(self, message: Message, place: str, record: Record, batch: Batch) -> None:
        source = self.context.source(record, from_epoch(message.created))
        self.state.add(message, place, source, batch, self.context.parent_call)


class RowsDecoder:
    """Decoder of `goose-rows`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        row = decode_row(record.data)
        if row.message is not None:
            self._message(row.message, record, batch)
        elif row.session is not None:
            session, state = row.session, self.state
            source = self._source(record, session.id, parse_iso(session.created_at), session.id or "")
            if state.session_id is not None and session.id != state.session_id:
                batch.events.append(Notification(source, "", "subagent", session.name or session.id or ""))
                return
            state.session_id = session.id
            cwd, title = session.working_dir or session.directory, session.name or session.description
            parent = session.parent_session_id
            batch.events.append(
                SessionInfo(source, f"-{record.row}", session.id, None, None, cwd, None, parent, title or None)
            )
        elif row.totals is not None:
            self._totals(row.totals, record, batch)
        else:
            batch.unknown_type("row", record)

    def flush(self, batch: Batch) -> None:
        self.state.end(batch)

    def _source(self, record: Record, session: str | None, time_ms: int | None, base_id: str) -> Source:
        context, main = self.context, self.state.session_id
        stream = context.stream
        if stream == MAIN and main is not None and session and session != main:
            stream = sidechain(session)
        return Source(context.file, record.row, record.offset, record.length, time_ms, stream, base_id)

    def _message(self, stored: StoredMessage, record: Record, batch: Batch) -> None:
        base_id = f"{stored.session_id}-{record.row if stored.id is None else stored.id}"
        source = self._source(record, stored.session_id, from_epoch(stored.created_timestamp), base_id)
        message_id = stored.message_id or base_id
        time = stored.created_timestamp
        message = Message(message_id, stored.role, time, stored.content_json, stored.metadata_json)
        self.state.add(message, "", source, batch, None)

    def _totals(self, totals: Totals, record: Record, batch: Batch) -> None:
        self.state.end(batch)  # they stand behind the last message
        base_id = f"{totals.session_id}-totals"
        source = self._source(record, totals.session_id, parse_iso(totals.updated_at), base_id)
        usage = Usage(
            totals.accumulated_input_tokens,
            totals.accumulated_output_tokens,
            totals.accumulated_cache_read_tokens,
            totals.accumulated_cache_write_tokens,
        )
        if not add_total(source, usage, totals.accumulated_cost, batch):
            batch.ignore("totals")


def add_total(source: Source, usage: Usage, cost_usd: float | None, batch: Batch) -> bool:
    """Appends the tokens and the cost of the session so far; whether there are any: zeros are placeholders."""
    if not any((usage.input_tokens, usage.output_tokens, cost_usd)):
        return False
    batch.events.append(
        TokenUsage(
            source, "", "total", "session", None, usage.input_tokens, usage.cache_read_tokens,
            usage.cache_write_tokens, None, usage.output_tokens, cost_usd=cost_usd or None,
        )
    )  # fmt: skip
    return True
