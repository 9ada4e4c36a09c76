"""Claude Code stream-json: lines of `claude -p … --output-format stream-json --verbose` to events.

Also the single object of `--output-format json`. Source: Claude Code 1.0.128 to 2.1.330.
Every line of an API message carries its own blocks and repeats its usage; with partial messages the deltas come before
the whole block, which is the one that counts. Lines of a sub-agent bear the id of the call that started it.
"""

import re

from msgspec import Raw, Struct, ValidationError, field
from msgspec.structs import replace

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    AssistantText,
    Level,
    Notification,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
)
from agentv_stages.foreign import CLAUDE_ENVELOPE, other_session
from agentv_stages.payload import decode_json, plain_text, text_of
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.claude.blocks import (
    SYNTHETIC_MODEL,
    Seen,
    assistant_blocks,
    less,
    model_shares,
    more,
    read_usage,
    session_usage,
    token_usage,
    user_blocks,
    user_string,
)
from agentv_stages.providers.claude.catalogue import INTERNAL_SUBTYPES, TOLD_SUBTYPES
from agentv_stages.providers.claude.wire import (
    ModelUsage,
    ResultLine,
    StreamLine,
    SystemLine,
    decode_head,
    decode_other,
    decode_partial,
    decode_result,
    decode_stream,
    decode_system,
)
from agentv_stages.repeats import Repeats
from agentv_stages.times import parse_iso, whole_ms

LOSSES = (
    "the prompt is not in the stream (--prompt puts it in)",
    "texts of sub-agents that ran in the foreground are not printed",
    "in older versions (2.1.197) most lines have no time",
    "an answer that an error broke off is not printed",
    "with --output-format json only the last answer is printed, and no call",
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
_NOTICE = re.compile(rb'\s*\{\s*"type"\s*:\s*"system"')
ABORTED = ("aborted_streaming", "aborted_tools")


class StreamState(Struct):
    """What is remembered between lines. `reset`: the next session is this one, begun anew. `earlier`: what runs
    before this one spent, where the totals go on counting in a resumed session. `results`: those that came."""

    session_id: str | None = None
    reset: bool = False
    partial_id: str = ""
    earlier: TokenUsage | None = None
    told: TokenUsage | None = None
    before: TokenUsage | None = None
    results: Repeats = field(default_factory=Repeats)
    main: Seen = field(default_factory=Seen)
    others: Seen = field(default_factory=Seen)


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
            self._result(record, batch)
        elif kind in QUIET_TYPES:
            batch.ignore(kind)
        elif kind in ("rate_limit_event", "tool_use_summary", "conversation_reset", "error"):
            self._other(kind, record, batch)
        elif kind in ("assistant", "user"):
            batch.ignore(f"{kind}/empty")
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _source(self, record: Record, uuid: str | None, time: str | None, parent: str | None = None) -> Source:
        return Source(
            self.file,
            record.row,
            record.offset,
            len(record.data),
            parse_iso(time),
            f"sidechain:{parent}" if parent else "main",
            uuid or "",
        )

    def _assistant(self, line: StreamLine, record: Record, batch: Batch) -> None:
        message, parent = line.message, line.parent_tool_use_id
        assert message is not None
        source = Source(  # in place: this is the hottest line of the decoder
            self.file,
            record.row,
            record.offset,
            len(record.data),
            parse_iso(line.timestamp),
            f"sidechain:{parent}" if parent else "main",
            line.uuid or "",
        )
        synthetic = message.model == SYNTHETIC_MODEL
        message_id = message.id or line.uuid or f"m{record.row}"
        usage = None
        if not synthetic and message.usage:  # decoded before anything is told: it may refuse the record
            seen = self.state.others if parent else self.state.main
            final = message.stop_reason is not None
            if seen.message_id != message_id or seen.final != final or seen.usage != message.usage:
                usage = token_usage(source, message_id, read_usage(message.usage), message.model, final)
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
            user_blocks(content, source, line.tool_use_result, batch, message_id, injected, True)
        else:
            batch.ignore("user/empty")

    def _partial(self, record: Record, batch: Batch) -> None:
        data = record.data
        if b'"message_delta"' not in data and b'"message_start"' not in data:
            batch.ignore("stream_event")
            return
        line = decode_partial(data)
        event = line.event
        if event.type == "message_start" and event.message is not None:
            self.state.partial_id = event.message.id or ""
        elif event.type == "message_delta" and event.usage is not None and self.state.partial_id:
            source = self._source(record, line.uuid, None, line.parent_tool_use_id)
            key, usage = self.state.partial_id, event.usage
            # The input side stands whole in message_start and the message's own lines; only the output is new here.
            batch.events.append(
                TokenUsage(source, "", key, "call", None, None, None, None, None, usage.output_tokens, None, True)
            )
            return
        batch.ignore("stream_event")

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
            state = self.state
            another = other_session(record, line.session_id, None if state.reset else state.session_id, batch)
            if another:
                state.earlier = state.told = state.before = None
            state.session_id, state.reset = line.session_id, False
            batch.events.append(
                SessionInfo(
                    source, "", line.session_id, line.model, line.claude_code_version, line.cwd, another=another
                )
            )
            return
        told = _tell(name, line)
        if told is None:
            batch.unknown_type(f"system/{name}", record)
            return
        message, level = told
        batch.events.append(Notification(source, "", name, message, level, line.tool_use_id))
        if name == "model_refusal_fallback" and line.retracted_message_uuids:
            batch.events.append(Retract(source, "", tuple(line.retracted_message_uuids), name))

    def _result(self, record: Record, batch: Batch) -> None:
        line = decode_result(record.data)
        again = self.state.results.again(line.uuid, len(record.data))  # an end all the same, maybe of a repeated log
        source = self._source(record, line.uuid, None)
        if self.state.session_id is None:
            self._session(source, line.session_id, batch, "-session")
        cost = line.total_cost_usd if line.total_cost_usd is not None else line.cost_usd
        if line.modelUsage:
            window = max((m.context_window or 0 for m in line.modelUsage.values()), default=0)
            if window:
                batch.events.append(SessionInfo(source, "", context_window=window))
            spent = session_usage(source, line.modelUsage, cost)
            if line.result_index == 0 and line.model_usage_since_last_result is not None:
                since = line.model_usage_since_last_result
                own = session_usage(source, since, _cost(since))
                self.state.earlier = less(spent, own) if spent.input != own.input else None
            if self.state.earlier is not None:
                spent = less(spent, self.state.earlier)
                cost = spent.cost_usd
            else:
                batch.events.extend(model_shares(source, line.modelUsage))
            if not again:
                self._run(spent, line)
            if self.state.before is not None:
                spent = more(spent, self.state.before)
                cost = spent.cost_usd
            batch.events.append(spent)
        if not again and line.usage is not None and (line.usage.input_tokens or line.usage.output_tokens):
            key = line.uuid or f"result{record.row}"
            usage = token_usage(source, key, line.usage, None, True)
            # Of the main thread alone: the whole of it only where no total stands beside it.
            part, scope = ("-main", "share") if line.modelUsage else ("", "segment")
            batch.events.append(replace(usage, part=part, scope=scope))
        status: Status = "complete"
        if record.row == 0 and len(line.result) > 2 and bytes(line.result)[:1] == b'"':
            # `--output-format json` prints nothing else: the answer stands here alone
            key = line.uuid or f"result{record.row}"
            batch.events.append(AssistantText(source, "-result", key, line.result, False, bool(line.is_error)))
        if line.terminal_reason in ABORTED:
            status = "interrupted"
        elif line.is_error or line.subtype not in ("success", ""):
            status = "error"
        reason = line.terminal_reason or line.subtype or None
        if status == "error" and (line.result or line.errors):
            reason = f"{reason}: {_short(line.result) or _errors(line.errors)}"
        duration = None if again else whole_ms(line.duration_ms)
        turns = None if again else line.num_turns
        batch.events.append(SessionEnd(source, "", status, reason, cost, duration, turns, Raw(record.data)))

    def _run(self, spent: TokenUsage, line: ResultLine) -> None:
        """Notes what the run spent so far, and whether it is another one than told before.

        Another run of the session, its output appended to the same file, counts from nothing; a result of the same run
        holds what the one before it told.
        """
        state, told = self.state, self.state.told
        state.told = spent
        if told is None:
            return
        if line.result_index is not None:
            fresh = line.result_index == 0
        else:
            own = token_usage(spent.source, "", line.usage, None, True).input if line.usage is not None else None
            fresh = (spent.input or 0) < (told.input or 0) + (own or 0) // 2
        if fresh:
            state.before = told if state.before is None else more(state.before, told)

    def _other(self, kind: str, record: Record, batch: Batch) -> None:
        line = decode_other(record.data)
        source = self._source(record, line.uuid, None)
        if kind == "conversation_reset":
            self.state.reset = True
            batch.events.append(Notification(source, "", kind, "the conversation was reset"))
            if line.new_conversation_id:
                batch.events.append(SessionInfo(source, "", line.new_conversation_id))
        elif kind == "rate_limit_event":
            status = line.rate_limit_info.status if line.rate_limit_info else None
            if status in (None, "allowed"):
                batch.ignore(kind)
            else:
                batch.events.append(Notification(source, "", kind, f"rate limit: {status}", "warning"))
        elif kind == "error":
            batch.events.append(Notification(source, "", kind, _short(line.error), "error"))
        else:
            batch.events.append(Notification(source, "", kind, line.summary or "", "debug"))


def _cost(by_model: dict[str, ModelUsage]) -> float | None:
    known = [m.cost_usd for m in by_model.values() if m.cost_usd is not None]
    return sum(known) if known else None


def _short(raw: Raw) -> str:
    if not raw:
        return ""
    return text_of(raw)[:300] or bytes(raw)[:300].decode("utf-8", "replace")


def _errors(raw: Raw) -> str:
    """A list of errors as one text; what is no list of texts as it stands."""
    value = decode_json(raw)
    errors = list(map(plain_text, value)) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON
    return "; ".join(filter(None, errors))[:300] or _short(raw)


def _tell(name: str, line: SystemLine) -> tuple[str, Level] | None:
    """Message and level of a notice; None for a subtype that is new."""
    if name == "compact_boundary":
        return f"context compaction {_short(line.compact_metadata)}".strip(), "info"
    if name == "api_retry":
        why = _short(line.error) or _short(line.error_status)
        return f"retry {line.attempt or '?'} of {line.max_retries or '?'}: {why}", "warning"
    if name == "hook_response":
        level: Level = "warning" if line.outcome == "error" else "debug"
        return f"hook {line.hook_name or line.hook_event or ''}: {line.outcome or 'done'}", level
    if name == "task_started":
        return line.description or line.task_id or "", "info"
    if name == "task_notification":
        return f"task {line.status or 'ended'}: {line.summary or ''}", "info"
    if name == "permission_denied":
        why = _short(line.message)
        return f"permission denied for {line.tool_name or 'a tool'}{': ' if why else ''}{why}", "warning"
    if name in ("informational", "notification", "local_command_output", "local_command"):
        return _short(line.content or line.text or line.message), "info"
    if name.startswith("model_refusal"):
        return "the model refused", "warning"
    if name in TOLD_SUBTYPES:
        return _short(line.content or line.message) or TOLD_SUBTYPES[name], "warning"
    return None
