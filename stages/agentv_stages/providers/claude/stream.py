"""Claude Code stream-json: lines of `claude -p … --output-format stream-json --verbose` to events.

Also the single object of `--output-format json`. Source: Claude Code 1.0.128 to 2.1.332. Every line of an API message
carries its own blocks and repeats the message's usage. With partial messages, deltas precede the whole block; the whole
block counts. A sub-agent's lines carry the id of the call that started it.
"""

import re

from msgspec import ValidationError

from agentv_stages.chain.foreign import CLAUDE_ENVELOPE, other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    PIECES,
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    sidechain,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.times import Time, parse_iso
from agentv_stages.providers.claude.blocks import (
    SYNTHETIC_MODEL,
    assistant_blocks,
    interrupts,
    piece_of,
    user_blocks,
    user_string,
)
from agentv_stages.providers.claude.catalogue import INTERNAL_SUBTYPES
from agentv_stages.providers.claude.notices import notice_of, short
from agentv_stages.providers.claude.refusals import REJECTED, denial_outcome
from agentv_stages.providers.claude.run_result import emit_result
from agentv_stages.providers.claude.stream_state import StreamState
from agentv_stages.providers.claude.usage import token_usage
from agentv_stages.providers.claude.wire import (
    ResultLine,
    StreamLine,
    SystemLine,
    decode_head,
    decode_other,
    decode_partial,
    decode_result,
    decode_stream,
    decode_system,
    decode_usage,
)

LOSSES = (
    "the prompt (--prompt adds it)",
    "texts of sub-agents that ran in the foreground",
    "the work of the agents of workflows and of sub-agents",
    "tokens of a prompt suggestion after the last result (--prompt-suggestions)",
    "in older versions (2.1.197) the time of most lines",
    "in some versions (2.1.280) a resumed run's own share of tokens and cost (the session's total is shown)",
    "an answer that an error cut off",
    "outputs over 50,000 characters (the stream has their first 2 KB)",
    "with --output-format json all calls, and all answers but the last",
    "whether a piece of an answer that is cut off is repeated (--include-partial-messages)",
)
QUIET_TYPES = frozenset(
    ("tool_progress", "auth_status", "keep_alive", "control_request", "control_response", "control_cancel_request",
     "transcript_mirror", "prompt_suggestion", "active_goal")
)  # fmt: skip
QUIET_SUBTYPES = frozenset(
    ("status", "hook_started", "hook_progress", "files_persisted", "task_progress", "task_updated",
     "background_tasks_changed", "thinking_tokens", "session_state_changed", "memory_recall", "mirror_error",
     "session_writes_lost", "elicitation_complete", "control_request_progress", "plugin_install",
     "worker_shutting_down", "commands_changed", "post_turn_summary", "task_summary", "session_metadata",
     *INTERNAL_SUBTYPES)
)  # fmt: skip
DROPPED = frozenset(("cancelled", "discarded", "refused"))
"""The `command_lifecycle` states of a queued prompt that was never processed; the other states are intermediate."""
_REFUSED = 256  # calls whose results have not come yet
_DELTA = b'{"type":"stream_event","event":{"type":"content_block_delta",'
_COUNTED = (b'"message_delta"', b'"message_start"', b'"content_block_delta"')
_NOTICE = re.compile(rb'\s*\{\s*"type"\s*:\s*"system"')


class StreamDecoder:
    """Decodes stream-json."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = StreamState()

    def decode(self, record: Record, batch: Batch) -> None:
        try:
            line = decode_stream(record.data)
        except ValidationError:
            # A notice's `message` may be a plain string; messages of the conversation are objects.
            if not _NOTICE.match(record.data):
                raise
            self._system(decode_system(record.data), record, batch)
            return
        kind = line.type
        if line.message is not None:
            if kind == "assistant":
                self._assistant(line, record, batch)
                return
            if kind == "user":
                self._user(line, record, batch)
                return
        if kind == "stream_event":
            self._partial(record, batch)
        elif kind == "system":
            self._system(decode_system(record.data), record, batch)
        elif kind == "result" or (not kind and b'"total_cost_usd"' in record.data):
            self._result(decode_result(record.data), record, batch)
        elif kind in QUIET_TYPES:
            batch.ignore(kind)
        elif kind in ("rate_limit_event", "tool_use_summary", "conversation_reset", "command_lifecycle", "error"):
            self._other(kind, record, batch)
        elif kind in ("assistant", "user"):
            batch.ignore(f"{kind}/empty")
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits the printed part of a block that was never completed."""
        self._emit_unfinished(batch)

    def _source(self, record: Record, uuid: str | None, time: Time, parent: str | None = None) -> Source:
        return Source(
            self.file,
            record.row,
            record.offset,
            record.size or len(record.data),
            parse_iso(time),
            sidechain(parent) if parent else "main",
            uuid or "",
            PIECES,
        )

    def _assistant(self, line: StreamLine, record: Record, batch: Batch) -> None:
        message, parent = line.message, line.parent_tool_use_id
        assert message is not None
        source = Source(  # inlined: this is the hottest line of the decoder
            self.file,
            record.row,
            record.offset,
            record.size or len(record.data),
            parse_iso(line.timestamp),
            sidechain(parent) if parent else "main",
            line.uuid or "",
            piece_of(line.request_id),
        )
        synthetic = message.model == SYNTHETIC_MODEL
        if parent is None:
            if synthetic:
                self._emit_unfinished(batch)
            else:
                self.state.unfinished.clear()
        message_id = message.id or line.uuid or f"m{record.row}"
        usage = None
        if not synthetic and message.usage:  # decoded before anything is emitted: it may reject the record
            seen = self.state.others if parent else self.state.main
            final = message.stop_reason is not None
            if seen.message_id != message_id or seen.final != final or seen.usage != message.usage:
                counts = decode_member(message.usage, decode_usage, "message.usage")
                usage = token_usage(source, message_id, counts, message.model, final)
                seen.message_id, seen.usage, seen.final = message_id, message.usage, final
        if self.state.session_id is None:
            self._session(source, decode_head(record.data).session_id, batch)
        if line.supersedes:
            batch.events.append(Retract(source, "", tuple(line.supersedes), "superseded"))
        assistant_blocks(message, message_id, source, parent, batch, synthetic)
        if usage is not None:
            batch.events.append(usage)

    def _user(self, line: StreamLine, record: Record, batch: Batch) -> None:
        message = line.message
        assert message is not None
        if line.isReplay and line.uuid is None:
            batch.ignore("user/replay")
            return
        if record.data.find(CLAUDE_ENVELOPE, 0, 64) >= 0:
            batch.strangers.append(record)
        parent = line.parent_tool_use_id
        source = self._source(record, line.uuid, line.timestamp, parent)
        self.state.others.forget()
        if parent is None:
            self.state.main.forget()
        content = message.content
        message_id = line.uuid or ""
        injected = bool(line.isSynthetic)
        if isinstance(content, str):
            user_string(content, source, batch, message_id, injected)
        elif content:
            before, meta, refused = len(batch.events), line.tool_result_meta, self.state.refused
            if meta is None and not refused:
                user_blocks(content, source, line.tool_use_result, batch, message_id, injected, True)
            else:
                alone = len(content) == 1 and meta is not None and len(meta) == 1
                for i, block in enumerate(content):
                    rejected = bool(refused) and refused.pop(block.tool_use_id or "", False)
                    unasked, stated = not rejected, None
                    for decision in meta or ():
                        if decision.non_execution_kind is not None and (alone or decision.id == block.tool_use_id):
                            stated = denial_outcome(decision.non_execution_kind, decision.permission_decision)
                            rejected = rejected or decision.non_execution_kind == REJECTED
                    structured, blocks = line.tool_use_result, (block,)
                    user_blocks(blocks, source, structured, batch, message_id, injected, unasked, stated, rejected, i)
            if content[-1].type == "text" and parent is None and any(map(interrupts, batch.events[before:])):
                # Usually a `result` follows and ends the run; some runs of 2.1.332 print none.
                self.state.interrupted = True
                batch.events.append(SessionEnd(source, "", "interrupted", "interrupted by the user"))
        else:
            batch.ignore("user/empty")

    def _partial(self, record: Record, batch: Batch) -> None:
        data = record.data
        if data.startswith(_DELTA):
            self.state.unfinished.take(record)
            batch.ignore("stream_event")
            return
        if not any(kind in data for kind in _COUNTED):
            batch.ignore("stream_event")
            return
        line = decode_partial(data)
        event = line.event
        source = self._source(record, line.uuid, None, line.parent_tool_use_id)
        if event.type == "message_start" and event.message is not None:
            message = event.message
            self.state.partial_id = message.id or ""
            self.state.unfinished.clear()
            self.state.unfinished.model = message.model
            if self.state.partial_id and message.usage and message.model != SYNTHETIC_MODEL:
                # An empty answer, and one broken off before its first block, reports no other usage.
                usage = decode_member(message.usage, decode_usage, "event.message.usage")
                seen = self.state.others if line.parent_tool_use_id else self.state.main
                seen.message_id, seen.usage, seen.final = self.state.partial_id, message.usage, False
                batch.events.append(token_usage(source, self.state.partial_id, usage, message.model, False))
                return
        elif event.type == "message_delta" and event.usage is not None and self.state.partial_id:
            key, usage = self.state.partial_id, event.usage
            # message_start has the complete input side; only the output is new here.
            batch.events.append(
                TokenUsage(source, "", key, "call", None, None, None, None, None, usage.output_tokens, None, True)
            )
            return
        elif event.type == "content_block_delta":
            self.state.unfinished.take(record)
        batch.ignore("stream_event")

    def _emit_unfinished(self, batch: Batch) -> None:
        unfinished = self.state.unfinished
        if unfinished.row >= 0:
            unfinished.emit(self.file, self.state.partial_id or f"m{unfinished.row}", batch)

    def _session(self, source: Source, session_id: str | None, batch: Batch, part: str = "") -> None:
        if session_id is not None:
            self.state.session_id = session_id
            batch.events.append(SessionInfo(source, part, session_id))

    def _system(self, line: SystemLine, record: Record, batch: Batch) -> None:
        name = line.subtype
        if name in QUIET_SUBTYPES:
            batch.ignore(f"system/{name}")
            return
        source = self._source(record, line.uuid, line.timestamp)
        if name == "init" and not line.qwen_code_version:
            self._begin(line, source, record, batch)
            return
        notice = notice_of(name, line)
        if notice is None:
            batch.unknown_type(f"system/{name}", record)
            return
        message, level = notice
        batch.events.append(Notification(source, "", name, message, level, line.tool_use_id))
        if name == "permission_denied" and line.tool_use_id:
            remember(self.state.refused, line.tool_use_id, True, _REFUSED)
        elif name == "model_refusal_fallback" and line.retracted_message_uuids:
            batch.events.append(Retract(source, "", tuple(line.retracted_message_uuids), name))

    def _begin(self, line: SystemLine, source: Source, record: Record, batch: Batch) -> None:
        """A run begins, for a prompt or for a notice that the program gave the model. Each `init` has a `result`."""
        state = self.state
        another = other_session(record, line.session_id, None if state.reset else state.session_id, batch)
        if another:
            state.forget_spent()
        state.session_id, state.reset = line.session_id, False
        state.begun += 1
        state.interrupted = False
        version, cwd = line.claude_code_version, line.cwd
        batch.events.append(
            SessionInfo(source, "", line.session_id, line.model, version, cwd, another=another, begins=True)
        )

    def _result(self, line: ResultLine, record: Record, batch: Batch) -> None:
        source = self._source(record, line.uuid, None)
        self._emit_unfinished(batch)
        if self.state.session_id is None:
            self._session(source, line.session_id, batch, "-session")
        emit_result(line, source, record, self.state, batch)

    def _other(self, kind: str, record: Record, batch: Batch) -> None:
        line = decode_other(record.data)
        source = self._source(record, line.uuid, None)
        if kind == "conversation_reset":
            self.state.reset = True
            self.state.forget_spent()
            self.state.whole = None  # the totals start from zero (2.1.220, 2.1.332)
            batch.events.append(Notification(source, "", kind, "the conversation was reset"))
            batch.events.append(SessionInfo(source, "", line.new_conversation_id, another=True))
        elif kind == "rate_limit_event":
            status = line.rate_limit_info.status if line.rate_limit_info else None
            if status in (None, "allowed"):
                batch.ignore(kind)
            else:
                batch.events.append(Notification(source, "", kind, f"rate limit: {status}", "warning"))
        elif kind == "command_lifecycle":
            if line.state in DROPPED:
                batch.events.append(Notification(source, "", kind, f"a prompt was {line.state}", "warning"))
            else:
                batch.ignore(kind)
        elif kind == "error":
            batch.events.append(Notification(source, "", kind, short(line.error), "error"))
        else:
            batch.events.append(Notification(source, "", kind, line.summary or "", "debug"))
