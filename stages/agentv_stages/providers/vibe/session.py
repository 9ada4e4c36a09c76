"""Sessions of Mistral Vibe 3.x on disk to events: a folder of a checkpoint's files and a journal.

After `meta.json` come the entries of the history up to the checkpoint, its state, and the journal since then (see
`companions`). Entries are those that the output prints. The state has the tokens of the session so far and the end of
its last turn.
End rule: `latestTurn`: `completed` (with `stopReason` `limit` an error), `interrupted`, `failed`.
Source: Mistral Vibe 2.26.1 and 3.0.3, store format 1.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, Source, Status, TokenUsage
from agentv_stages.model.payload import one_line
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.times import epoch_ms, parse_iso
from agentv_stages.providers.vibe.answers import Answer
from agentv_stages.providers.vibe.entries import called, ended, named, noticed, spoken, where_of
from agentv_stages.providers.vibe.messages import session_info
from agentv_stages.providers.vibe.stream import NOTICES
from agentv_stages.providers.vibe.wire import (
    Change,
    Entry,
    Envelope,
    ErrorInfo,
    Meta,
    Session,
    Turn,
    decode_entry,
    decode_meta,
    decode_payload,
    decode_stored,
)

LOSSES = (
    "tokens of single answers, cache writes, reasoning tokens, costs; tokens of answers that asked for a program alone",
    "calls that never began (an unknown tool, arguments that do not fit), and programs of run_typescript",
    "which answer a call belongs to, if answers have no text; the model's own ids of its calls; the version",
)
_ENDS: dict[str, Status] = {"completed": "complete", "interrupted": "interrupted", "failed": "error"}
_MOST_KNOWN = 4_096


class State(Struct):
    """`known`: the emitted entries, and whether they are settled. `turn`: the last one whose end was emitted."""

    session_id: str | None = None
    answer: Answer = field(default_factory=Answer)
    known: dict[str, bool] = {}
    turn: str | None = None
    tokens: tuple[int | None, int | None, int | None] | None = None


class SessionDecoder:
    """Decoder of `vibe-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = one_line(record.data)
        stored = decode_stored(data)
        if stored.start_time is not None and stored.session_id is not None:
            self._meta(decode_meta(data), record, batch)
        elif self.state.session_id is None and self.context.place:
            batch.ignore("a part without its session")  # a separate input, perhaps of an earlier checkpoint
        elif stored.recovery_journal_record_version is not None:
            self._journal(stored.type or "", stored.payload, record, batch)
        elif stored.snapshot is not None:
            self._envelope(stored.snapshot, "", record, batch)
        elif stored.id is not None and stored.type is not None:
            self._entry(decode_entry(data), "", record, batch)
        else:
            batch.unknown_type("record", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _meta(self, meta: Meta, record: Record, batch: Batch) -> None:
        """Emits the session's facts, and when its last turn began; without a turn it was only opened."""
        self.state.session_id = meta.session_id
        source = self.context.source(record)
        batch.events.append(session_info(meta, source, ""))
        bumped_ms = parse_iso(meta.bumped_at)
        if bumped_ms is not None:
            batch.events.append(Notification(replace(source, time_ms=bumped_ms), "", "last_turn_began", "", "debug"))

    def _journal(self, kind: str, raw: bytes, record: Record, batch: Batch) -> None:
        if kind not in ("projection_delta", "projection_advanced", "session_relocated") or not raw:
            batch.ignore(f"journal/{kind}")
            return
        payload = decode_member(raw, decode_payload, "payload")
        if payload.snapshot is not None:
            self._envelope(payload.snapshot, "", record, batch)
        for i, change in enumerate(payload.delta or ()):
            self._change(change, f"-{i}", record, batch)

    def _change(self, change: Change, part: str, record: Record, batch: Batch) -> None:
        if change.op == "append_entry" and change.entry is not None:
            self._entry(change.entry, part, record, batch)
        elif change.op == "replace_entry" and change.entry is not None:
            self._replaced(change.entry, part, record, batch)
        elif change.op == "set_envelope" and change.state is not None:
            self._envelope(change.state, part, record, batch)
        elif change.op == "set_history_entries":
            for i, entry in enumerate(change.entries or ()):
                self._entry(entry, f"{part}-{i}", record, batch)
        else:
            batch.ignore(f"journal/{change.op}")

    def _entry(self, entry: Entry, part: str, record: Record, batch: Batch) -> None:
        """An entry that joins the history; of one emitted before, only its end is still emitted."""
        entry = named(entry, record, part)
        state, kind = self.state, entry.type
        known = state.known.get(entry.id or "")
        if known is not None:
            if not known:
                self._replaced(entry, part, record, batch)
            else:
                batch.ignore("entry/repeated")
            return

        where, settled = where_of(self.context, record), True
        if kind == "effect":
            result = ended(entry, where, part)
            settled = result is not None
            message_id = state.answer.of_call(entry, settled)
            batch.events.append(called(entry, message_id, self.context.parent_call, where, part))
            if result is not None:
                batch.events.append(result)
        elif kind == "message" or kind == "reasoning":
            batch.events.append(spoken(entry, state.answer.message_of(entry), where, part))
        elif kind in NOTICES:
            batch.events.append(noticed(entry, where, part))
        else:
            batch.unknown_type(f"entry/{kind}", record)
            return
        self._know(entry.id, settled)

    def _replaced(self, entry: Entry, part: str, record: Record, batch: Batch) -> None:
        """The end of a call that joined the history before, perhaps in a file that another decoder reads."""
        result = ended(entry, where_of(self.context, record), part) if entry.type == "effect" else None
        if result is None or self.state.known.get(entry.id or ""):
            batch.ignore(f"replaced/{entry.type}")
            return
        self.state.answer.settled(entry)
        self._know(entry.id, True)
        batch.events.append(result)

    def _know(self, entry_id: str | None, settled: bool) -> None:
        if entry_id:
            remember(self.state.known, entry_id, settled, _MOST_KNOWN)

    def _envelope(self, envelope: Envelope, part: str, record: Record, batch: Batch) -> None:
        """Emits the tokens so far and the end of a turn if they have changed."""
        session, state = envelope.session or Session(), self.state
        add, before = batch.events.append, len(batch.events)
        source = self.context.source(record, epoch_ms(session.updatedAt))
        used = session.tokenUsage
        if used is not None:
            tokens = used.inputTokens, used.cachedInputTokens, used.outputTokens
            if tokens != state.tokens:
                state.tokens = tokens
                total, cached, output = tokens
                key = session.id or self.context.stream
                add(TokenUsage(source, part, key, "session", None, total, cached, output=output))
        turn = envelope.latestTurn or Turn()
        if turn.status in _ENDS and turn.id != state.turn:
            state.turn = turn.id
            add(_end(turn, self.context.source(record, epoch_ms(turn.completedAt)), part))
        if len(batch.events) == before:
            batch.ignore("state/unchanged")


def _end(turn: Turn, source: Source, part: str) -> SessionEnd:
    status = _ENDS[turn.status or ""]
    if turn.stopReason is not None and status == "complete":
        status = "error"
    reasons: Iterable[str | None] = (turn.stopReason, turn.reason, (turn.error or ErrorInfo()).message, turn.status)
    return SessionEnd(source, part, status, next(filter(None, reasons), None))
