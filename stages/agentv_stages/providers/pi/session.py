"""Pi's session files to events: versions 1 (a list) to 3 (a tree), and the sub-agents extension's transcripts.

Entries come in file order, abandoned branches included: their calls were made and their tokens billed. If an entry does
not follow the previous one, a `branch` notification names the entry it continues. A fork begins with a copy of its
parent's entries, older than its header; their counts are in the parent's file.
End rule: there is no end record; each final answer (`stop`, `length`, `error`, `aborted`) says how its run ended.
Source: pi sessions v1 (2025-11) to v3 (0.73.1, 1.5.2).
"""

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source, UserText
from agentv_stages.model.payload import has_value
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.scripts import Script, emit_output, let_all_go, let_go
from agentv_stages.model.times import from_epoch, parse_iso
from agentv_stages.providers.pi.messages import (
    assistant,
    blocks_of,
    other,
    spent,
    status_of,
    tokens,
    tool_result,
    usage_event,
    usage_key,
    user,
)
from agentv_stages.providers.pi.scripts import TOOL, listed
from agentv_stages.providers.pi.wire import Block, Entry, PiMessage, decode_entry, decode_row

IGNORED = frozenset({"context_edit", "custom", "label", "leaf", "thinking_level_change"})
ENTRIES = IGNORED | {
    "branch_summary",
    "compaction",
    "custom_message",
    "message",
    "model_change",
    "session_info",
    "usage",
}


class State(Struct):
    """`leaf` is the id of the previous entry, `forked_ms` the time of a fork's header until its first own entry.

    `cut` identifies the newest answer that was cut off. `running`: the newest message does not end a run.
    """

    session_id: str | None = None
    model: str | None = None
    leaf: str | None = None
    forked_ms: int | None = None
    cut: str = ""
    running: bool = False
    scripts: dict[str, Script] = {}
    repeats: Repeats = field(default_factory=Repeats, name="told")


class SessionDecoder:
    """Decoder of `pi-session`. Forks of Pi handle their own entries and messages (`_other`, `other`, `ignored`)."""

    ignored: frozenset[str] = IGNORED
    other = staticmethod(other)

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        entry = decode_entry(record.data)
        kind = entry.type
        message = entry.message
        source = _source(self.context, record, entry.timestamp, entry.id)
        blocks = _blocks(message)
        if kind == "session":
            other_session(record, entry.id, self.state.session_id, batch)
            if self.state.session_id is not None:
                batch.strangers.append(record)
            self._header(source, batch, entry)
            return
        if self.state.forked_ms is not None and self._copied(entry, source, batch):
            return
        if entry.id:
            self._follow(source, batch, entry)
        if kind == "message" and message is not None:
            if self._rewritten(message):
                batch.ignore("message/again")
                return
            _append(self, message, blocks, entry.id or f"m{record.row}", source, record, batch)
        elif kind in self.ignored:
            batch.ignore(kind)
        else:
            self._other(source, record, batch, entry)

    def flush(self, batch: Batch) -> None:
        let_all_go(self.state.scripts, batch)

    def _header(self, source: Source, batch: Batch, entry: Entry) -> None:
        self.state.session_id = entry.id
        self.state.model = entry.model_id
        self.state.forked_ms = source.time_ms if entry.parent_session else None
        batch.events.append(
            SessionInfo(source, "", entry.id, entry.model_id, None, entry.cwd, None, entry.parent_session)
        )

    def _rewritten(self, message: PiMessage) -> bool:
        """Whether this is an answer that was cut off, written once more under another id (oh-my-pi)."""
        if message.stop_reason != "length" or not message.response_id or message.timestamp is None:
            return False
        cut = f"{message.response_id} {message.timestamp} {checksum(message.content)}"
        again, self.state.cut = cut == self.state.cut, cut
        return again

    def _copied(self, entry: Entry, source: Source, batch: Batch) -> bool:
        """Whether an entry is the parent's; such entries only give the model, with the time of the fork."""
        state = self.state
        assert state.forked_ms is not None
        if source.time_ms is None or source.time_ms >= state.forked_ms:
            state.forked_ms = None
            return False
        state.leaf = entry.id or state.leaf
        if entry.type == "model_change":
            state.model = entry.model_id
            batch.events.append(SessionInfo(replace(source, time_ms=state.forked_ms), "", None, entry.model_id))
        else:
            batch.ignore(COPIED)
        return True

    def _follow(self, source: Source, batch: Batch, entry: Entry) -> None:
        """Reports a jump in the tree."""
        leaf = self.state.leaf
        self.state.leaf = entry.id
        if leaf is not None and entry.parent_id != leaf:
            text = f"continues {entry.parent_id or 'at the beginning'}; {leaf} was left"
            batch.events.append(Notification(source, "-branch", "branch", text))

    def _other(self, source: Source, record: Record, batch: Batch, entry: Entry) -> None:
        kind = entry.type
        message_id = entry.id or f"m{record.row}"
        if kind == "model_change":
            self.state.model = entry.model_id
            batch.events.append(SessionInfo(source, "", None, entry.model_id))
        elif kind == "compaction":
            text = f"{entry.tokens_before} tokens before"
            batch.events.append(Notification(source, "", "compact_boundary", text))
            if has_value(entry.summary):
                batch.events.append(UserText(source, "", entry.summary, message_id, True))
        elif kind == "branch_summary":
            batch.events.append(Notification(source, "", kind, f"summary of the branch left at {entry.from_id}"))
            if has_value(entry.summary):
                batch.events.append(UserText(source, "", entry.summary, message_id, True))
        elif kind == "custom_message":
            if has_value(entry.content):
                batch.events.append(UserText(source, "", entry.content, message_id, True))
        elif kind == "session_info":
            batch.events.append(SessionInfo(source, "", title=entry.name))
        elif kind == "usage":
            pass
        else:
            batch.unknown_type(kind, record)
        if entry.usage is not None and spent(entry.usage):
            key = f"{message_id}@{entry.timestamp}"  # a fork of the session repeats the entry
            batch.events.append(tokens(source, key, entry.model or self.state.model, entry.usage))


class TranscriptDecoder:
    """Decoder of `pi-subagent`: rows with Pi messages, written for each child by the sub-agents extension."""

    other = staticmethod(other)

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        row = decode_row(record.data)
        source = _source(self.context, record, row.timestamp, None)
        kind = row.record_type
        blocks = _blocks(row.message)
        if self.state.session_id is None and row.run_id:
            self.state.session_id = session_id = f"{row.run_id}-{row.child_index or 0}"
            batch.events.append(SessionInfo(source, "", session_id, None, None, row.cwd, title=row.agent))
        if kind == "message" and row.message is not None:
            # results are identified by their calls; no two other messages of a role share a millisecond
            role = row.message.role if row.message.role != "toolResult" and source.time_ms is not None else None
            if self.state.repeats.again(role and f"{role} {source.time_ms}", source.length):
                batch.ignore(f"{role}/again")
                return
            _append(self, row.message, blocks, f"m{record.row}", source, record, batch)
        elif kind == "stderr":
            batch.events.append(Notification(source, "", kind, row.text or "", "debug"))
        elif kind.startswith("tool_"):
            batch.ignore(kind)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        let_all_go(self.state.scripts, batch)


def _source(context: DecodeContext, record: Record, timestamp: str | float | None, entry_id: str | None) -> Source:
    time_ms = parse_iso(timestamp) if isinstance(timestamp, str) else from_epoch(timestamp)
    return Source(context.file, record.row, record.offset, record.length, time_ms, context.stream, entry_id or "")


def _blocks(message: PiMessage | None) -> list[Block]:
    """The blocks of an answer, decoded before anything is appended: they may be rejected."""
    return blocks_of(message) if message is not None and message.role == "assistant" else []


def _append(
    decoder: SessionDecoder | TranscriptDecoder,
    message: PiMessage,
    blocks: list[Block],
    message_id: str,
    source: Source,
    record: Record,
    batch: Batch,
) -> None:
    role = message.role
    state = decoder.state
    if role == "toolResult":
        state.running = True
        _result(message, source, state, batch)
    elif role == "assistant":
        if message.model and message.model != state.model:
            state.model = message.model
            batch.events.append(SessionInfo(source, "-model", None, message.model))
        own = replace(source, answer=source.time_ms or None)
        assistant(message, blocks, message_id, own, batch, decoder.context.parent_call, state.scripts)
        usage = usage_event(source, usage_key(message, message_id, state.session_id), message)
        if usage is not None:
            batch.events.append(usage)
        if message.error_message:
            batch.events.append(Notification(source, "", "error", message.error_message, "error"))
        status = status_of(message.stop_reason, message.error_message)
        state.running = status is None
        if status is not None:
            batch.events.append(SessionEnd(source, "-end", status, message.error_message or message.stop_reason))
    elif role == "user":
        state.running = True
        user(message, message_id, source, batch)
    else:
        decoder.other(message, message_id, source, batch, record)


def _result(message: PiMessage, source: Source, state: State, batch: Batch) -> None:
    call_id = message.tool_call_id or ""
    nested = message.nested_calls.calls if message.nested_calls else None
    script = state.scripts.get(call_id)
    if script is not None and nested:
        listed(script, call_id, nested, source, batch)
    if script is not None and not let_go(state.scripts, call_id, batch):
        content = message.content if has_value(message.content) else None
        emit_output(TOOL, source, call_id, content, message.is_error, batch)
    else:
        batch.events.append(tool_result(source, call_id, message.content, message.is_error, message.duration_ms))
    if message.usage is not None and spent(message.usage):
        batch.events.append(tokens(source, f"{call_id}@{message.timestamp}", None, message.usage))
