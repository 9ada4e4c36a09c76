"""Codex rollouts with an envelope (`{timestamp, type, payload}`) to events.

In: lines of `rollout-*.jsonl`, Codex 0.4x to 0.169. End rule: `task_complete` (complete, or error where it says so) and
`turn_aborted` (interrupted); versions before 0.10x have no end record, and a file of theirs is complete when no call is
open and the last thing was an answer.
Usage: `token_usage_record` (0.16x), one per model call; else `token_count`, whose cumulative totals are differenced.
A fork begins with a copy of its parent's history, which is not counted again.
"""

import re
from operator import sub

from msgspec import Raw

from agentv_stages.batch import Batch, Record
from agentv_stages.event import Notification, Retract, SessionEnd, SessionInfo, Source, TokenUsage, UserText
from agentv_stages.foreign import other_session
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.codex.conversation import Conversation
from agentv_stages.providers.codex.items import END_EVENTS, Items
from agentv_stages.providers.codex.wire import (
    Payload,
    Tokens,
    decode_old_line,
    decode_rollout,
    first,
    given,
    member,
    plain,
    token_info,
    word,
)
from agentv_stages.times import parse_iso

IGNORED_EVENTS = (
    frozenset({"agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break"})
    | {"thread_settings_applied", "context_compacted", "dynamic_tool_call_request", "thread_goal_updated"}
    | {"plan_update", "turn_diff", "sub_agent_activity", "exec_command_begin"}
    | {"exec_command_output_delta", "patch_apply_begin", "mcp_tool_call_begin", "web_search_begin"}
    | {"item_started", "item_updated", "plan_delta", "turn.completed", "image_generation_begin"}
    | {"undo_started", "mcp_startup_update", "mcp_startup_complete", "skills_update_available"}
    | {"session_configured", "shutdown_complete", "collab_agent_spawn_begin"}
    | {"collab_agent_interaction_begin", "collab_waiting_begin", "collab_close_begin"}
    | {"collab_resume_begin", "hook_started", "hook_completed", "agent_message_delta"}
    | {"agent_reasoning_delta", "agent_message_content_delta", "reasoning_content_delta"}
    | {"raw_response_item", "terminal_interaction", "turn_started_metadata", "thread_settings_updated"}
)
NOTICES = {
    "error": "error",
    "warning": "warning",
    "guardian_warning": "warning",
    "stream_error": "warning",
    "deprecation_notice": "warning",
    "model_reroute": "info",
    "background_event": "info",
    "entered_review_mode": "info",
    "exited_review_mode": "info",
    "undo_completed": "info",
    "guardian_assessment": "info",
    "exec_approval_request": "info",
    "apply_patch_approval_request": "info",
    "request_permissions": "info",
    "request_user_input": "info",
    "elicitation_request": "info",
}
PERMISSIONS = frozenset(("exec_approval_request", "apply_patch_approval_request", "request_permissions"))
IGNORED_LINES = frozenset(("world_state", "inter_agent_communication", "inter_agent_communication_metadata"))
LINES = IGNORED_LINES | {
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "token_usage_record",
}
_VERSION = re.compile(r"0\.(\d+)")
_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")
_BURST_MS = 1000
TOTAL = 5
OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
COPIED = {"agent_message": "assistant", "user_message": "user"}
"""Texts that a response item tells too, and who said them."""


class RolloutDecoder(Items):
    """Decoder of `codex-rollout`."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_rollout(record.data)
        kind, p, state, context = line.type, line.payload, self.state, self.context
        # Half of the lines say nothing new; they are let go before anything is made of them.
        if kind == "response_item":
            if not state.replay:
                if p.type == "reasoning":
                    if self.reasons_silently(p, record, batch):
                        return
                elif p.type in OUTPUTS and not state.scripts and self.answered_already(p.call_id or "", batch):
                    return
        elif kind == "event_msg":
            event = p.type
            if event in IGNORED_EVENTS:
                batch.ignore(event)
                return
            if not state.replay:
                if event == "token_count":
                    if state.records:
                        batch.ignore(event)
                        return
                    if p.info == state.counted and given(p.info):
                        batch.ignore("token_count, repeated")
                        return
                elif event in COPIED and self.told_again(COPIED[event], p.message, batch):
                    return
        elif kind in IGNORED_LINES:
            batch.ignore(kind)
            return
        elif kind == "turn_context" and not state.replay and (not p.model or p.model == state.model):
            state.started = True
            self.end_answer()
            batch.ignore("turn_context")
            return
        time_ms = parse_iso(line.timestamp)
        source = Source(context.file, record.row, record.offset, len(record.data), time_ms, context.stream)
        if state.replay and self._replayed(kind, p, time_ms):
            batch.ignore("replayed")
            return
        if kind == "response_item":
            self.response_item(p, source, record, batch)
        elif kind == "event_msg":
            self._event(p, source, record, batch)
        elif kind == "token_usage_record":
            self._usage_record(p, source, batch)
        elif kind == "turn_context":
            self._context(p, source, batch)
        elif kind == "session_meta":
            self._meta(p, source, record, batch)
        elif kind == "compacted":
            self._compacted(p, source, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        state = self.state
        self.close(None, batch)
        if not state.ends and (state.started or state.final or state.user_seen or state.open):
            end_of_log(self, batch)

    def _event(self, p: Payload, source: Source, record: Record, batch: Batch) -> None:
        kind = p.type
        if kind == "token_count":
            self._token_count(p.info, source, batch)
        elif kind == "item_completed":
            self.item(p, source, record, batch)
        elif kind in COPIED:
            self.copy(COPIED[kind], p.message, source, batch)
        elif kind in END_EVENTS:
            self.end_event(p, source, batch)
        elif kind == "task_started" or kind == "turn_started":
            self.state.ends = True
            self.state.started = True
            self.end_answer()
            if p.model_context_window and p.model_context_window != self.state.window:
                self.state.window = p.model_context_window
                batch.events.append(SessionInfo(source, "", context_window=p.model_context_window))
        elif kind == "task_complete" or kind == "turn_complete":
            self._complete(p, source, batch)
        elif kind == "turn_aborted":
            self.close(source, batch)
            self.state.ends = True
            duration = None if p.duration_ms is None else round(p.duration_ms)
            batch.events.append(SessionEnd(source, "", "interrupted", p.reason, duration_ms=duration))
        elif kind in NOTICES:
            self._notice(p, source, batch)
        elif kind == "thread_rolled_back":
            self._roll_back(p.num_turns or 0, source, batch)
        elif kind == "thread_name_updated":
            batch.events.append(SessionInfo(source, "", title=p.thread_name or p.name))
        else:
            batch.unknown_type(f"event_msg:{kind}", record)

    def _complete(self, p: Payload, source: Source, batch: Batch) -> None:
        self.close(None, batch)
        self.state.ends = True
        failed = given(p.error)
        reason = (member(p.error, "message") or plain(p.error)) if failed else None
        duration = None if p.duration_ms is None else round(p.duration_ms)
        batch.events.append(SessionEnd(source, "", "error" if failed else "complete", reason, duration_ms=duration))

    def _notice(self, p: Payload, source: Source, batch: Batch) -> None:
        kind = p.type
        name = "permission_request" if kind in PERMISSIONS else "retry" if kind == "stream_error" else kind
        text = plain(p.message) if first(p.message) == b'"' else p.reason or word(p.status) or ""
        batch.events.append(Notification(source, "", name, text, NOTICES[kind], p.call_id))  # type: ignore[arg-type]  # the values are levels

    def _roll_back(self, count: int, source: Source, batch: Batch) -> None:
        turns = self.state.turns
        gone = [message for turn in turns[len(turns) - count if count < len(turns) else 0 :] for message in turn]
        del turns[len(turns) - count if count < len(turns) else 0 :]
        self.end_answer()
        if gone:
            batch.events.append(Retract(source, "", tuple(gone), "thread_rolled_back"))
        else:
            batch.events.append(Notification(source, "", "thread_rolled_back", f"{count} turns"))

    # The session

    def _meta(self, p: Payload, source: Source, record: Record, batch: Batch) -> None:
        state = self.state
        if state.session_id is not None:
            if state.started:
                other_session(record, p.id, state.session_id, batch)
            elif p.id != state.session_id:
                state.replay = True
            batch.ignore("session_meta")
            return
        state.session_id = p.id
        state.begun_ms = source.time_ms
        state.replay = p.forked_from_id is not None
        version = _VERSION.match(p.cli_version or "")
        # Before 0.70 each call stands with its output, and a model answer ends at the next turn_context.
        state.outputs_end = version is None or int(version[1]) >= 70
        parent = p.parent_thread_id or p.forked_from_id or self.context.session_id
        branch = member(p.git, "branch")
        batch.events.append(
            SessionInfo(
                source,
                "",
                p.id,
                None,
                p.cli_version,
                p.cwd,
                branch if isinstance(branch, str) else None,
                parent,
            )
        )

    def _context(self, p: Payload, source: Source, batch: Batch) -> None:
        state = self.state
        state.started = True
        self.end_answer()
        if p.model and p.model != state.model:
            state.model = p.model
            batch.events.append(SessionInfo(source, "", None, p.model))
        else:
            batch.ignore("turn_context")

    def _replayed(self, kind: str, p: Payload, time_ms: int | None) -> bool:
        """Whether a record belongs to the copied history of a fork. Its own turns have ids (UUIDs of version 7, which
        begin with a time) not older than its own; without ids, the copy was written within one second."""
        state = self.state
        event = p.type
        if kind == "event_msg" and event == "token_count":
            self._baseline(p.info)
        own = state.session_id or ""
        if (kind == "turn_context" or event in ("task_started", "turn_started")) and p.turn_id:
            if _UUID7.match(p.turn_id) and _UUID7.match(own):
                state.replay = p.turn_id[:13] < own[:13]
                return state.replay
        if kind != "session_meta" and time_ms is not None and state.begun_ms is not None:
            state.replay = time_ms - state.begun_ms <= _BURST_MS
        return state.replay

    def _compacted(self, p: Payload, source: Source, batch: Batch) -> None:
        self.end_answer()
        batch.events.append(Notification(source, "", "compact_boundary", "the history was replaced by a summary"))
        if first(p.message) == b'"' and len(p.message) > 2:
            batch.events.append(UserText(source, "", p.message, f"c{source.row}", True))

    # Tokens

    def _usage_record(self, p: Payload, source: Source, batch: Batch) -> None:
        usage = p.usage
        self.state.records = True
        if usage is None:
            batch.ignore("token_usage_record")
            return
        key = p.response_id or f"u{source.row}"
        batch.events.append(usage_event(source, key, self.state.model, usage))
        self.end_answer()

    def _baseline(self, raw: Raw) -> None:
        info = token_info(raw)
        if info is not None and info.total_token_usage is not None:
            self.state.totals = counters(info.total_token_usage)
            self.state.counted = raw

    def _token_count(self, raw: Raw, source: Source, batch: Batch) -> None:
        """One model call is the growth of the totals; repeated rows do not grow, and a shrunken total began anew."""
        state, info = self.state, token_info(raw)
        total = info.total_token_usage if info is not None else None
        if info is None or state.records or (total is None and info.last_token_usage is None):
            batch.ignore("token_count")
            return
        if total is None:
            assert info.last_token_usage is not None
            used = info.last_token_usage
        else:
            now, before = counters(total), state.totals
            if now == before:
                batch.ignore("token_count, repeated")
                return
            state.totals, state.counted = now, raw
            if before is not None and now[TOTAL] >= before[TOTAL] and now[0] >= before[0]:
                now = list(map(sub, now, before))
            elif before is None and info.last_token_usage is not None:
                # The first total of a resumed session holds what was spent before this file.
                now = counters(info.last_token_usage)
            written = now[2] if total.cache_write_input_tokens is not None else None
            used = Tokens(now[0], now[1], written, now[3], now[4], now[5])
        if not (used.input_tokens or used.output_tokens):
            batch.ignore("token_count, repeated")
            return
        batch.events.append(usage_event(source, f"{state.session_id}:{source.row}", state.model, used))


class OldRolloutDecoder(Conversation):
    """Decoder of `codex-rollout-old`: bare response items, no times but the first, no tokens, no end record."""

    def __init__(self, context: DecodeContext) -> None:
        super().__init__(context)
        self.state.outputs_end = False

    def decode(self, record: Record, batch: Batch) -> None:
        p = decode_old_line(record.data)
        if p.record_type is not None and not p.type:  # two of five lines
            self.state.answer = ""
            batch.ignore(f"record_type:{p.record_type}")
            return
        context = self.context
        time_ms = parse_iso(p.timestamp)
        source = Source(context.file, record.row, record.offset, len(record.data), time_ms, context.stream)
        if p.type:
            self.response_item(p, source, record, batch)
        elif p.id is not None and p.timestamp is not None:
            if self.state.session_id is None:
                self.state.session_id = p.id
                branch = member(p.git, "branch")
                branch = branch if isinstance(branch, str) else None
                batch.events.append(SessionInfo(source, "", p.id, p.model, None, p.cwd, branch))
            else:
                other_session(record, p.id, self.state.session_id, batch)
                batch.ignore("session header")
        else:
            batch.unknown_type("", record)

    def flush(self, batch: Batch) -> None:
        self.close(None, batch)
        if self.state.session_id is not None or self.state.final or self.state.open:
            end_of_log(self, batch)


def end_of_log(decoder: Conversation, batch: Batch) -> None:
    """The end of a rollout without an end record: complete if its last word was an answer and no call is open."""
    whole = decoder.state.final and not decoder.state.open
    source = Source(decoder.context.file, 0, 0, 0, None, decoder.context.stream)
    batch.events.append(SessionEnd(source, "-flush", "complete" if whole else "unknown", "end of the log"))


def counters(tokens: Tokens) -> list[int]:
    """Input, cached, cache-written, output, reasoning, all; what is not there is 0, for differences only."""
    return [
        tokens.input_tokens or 0,
        tokens.cached_input_tokens or 0,
        tokens.cache_write_input_tokens or 0,
        tokens.output_tokens or 0,
        tokens.reasoning_output_tokens or 0,
        tokens.total_tokens or 0,
    ]


def usage_event(source: Source, key: str, model: str | None, used: Tokens) -> TokenUsage:
    """The tokens of one model call; Codex counts as we do."""
    return TokenUsage(
        source,
        "",
        key,
        "call",
        model,
        used.input_tokens,
        used.cached_input_tokens,
        used.cache_write_input_tokens,
        None,
        used.output_tokens,
        used.reasoning_output_tokens,
    )
