"""Codex rollouts with an envelope (`{timestamp, type, payload}`) to events.

In: lines of `rollout-*.jsonl`, Codex 0.4x to 0.171. End rule: `task_complete` (complete, or error if it has one) and
`turn_aborted` (interrupted); versions before 0.10x do not record a good end, so their file is complete if no call is
open and an answer comes last.
Usage: `token_usage_record` (0.16x), one per model call; without it `token_count`, whose cumulative totals are
differenced. A fork begins with a copy of its parent's history (`copied_history`); a fork of 0.169 names it instead. A
rewound thread continues in a further file (0.169), whose ordinals start where the kept history ends.
"""

import re

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, Retract, SessionEnd, SessionInfo, Source, Status, UserText
from agentv_stages.model.payload import has_value
from agentv_stages.model.repeats import check, checksum
from agentv_stages.model.times import Time, parse_iso, whole_ms
from agentv_stages.providers.codex import copied_history, usage
from agentv_stages.providers.codex.conversation import Conversation
from agentv_stages.providers.codex.items import END_EVENTS, Items
from agentv_stages.providers.codex.rollout_catalogue import (
    CALLS,
    COPIED,
    IGNORED_EVENTS,
    IGNORED_LINES,
    NOTICES,
    OUTPUTS,
    PERMISSIONS,
    REVIEWS,
    UNNAMED,
)
from agentv_stages.providers.codex.two_threads import Others, look
from agentv_stages.providers.codex.wire import Payload, decode_rollout, first, member, plain, word

# Ends of turns and logs in Codex's rollouts. In: the event that ends a turn, or the end of the log. Out: a status.


def completed(decoder: Conversation, p: Payload, source: Source, batch: Batch) -> None:
    """A turn that ended by itself, successfully or with an error. The versions that do not say yet when it started
    (to 0.130) do not say either that it failed: one without an answer may have.
    """
    decoder.close(None, batch)
    decoder.state.ends = True
    failed = has_value(p.error)
    message = member(p.error, "message") if failed else None
    reason = message if isinstance(message, str) else plain(p.error) or None
    status: Status = "error" if failed else "complete"
    if bytes(p.last_agent_message) == b"null" and not (failed or decoder.state.final or has_value(p.started_at)):
        status, reason = "unknown", "the turn ended without an answer"
    batch.events.append(SessionEnd(source, "", status, reason, duration_ms=whole_ms(p.duration_ms)))


def aborted(decoder: Conversation, p: Payload, source: Source, batch: Batch) -> None:
    """An interrupted turn. One that a goal began and that did nothing is no end: `exec` exits and leaves it."""
    decoder.close(source, batch)
    if p.turn_id is not None and p.turn_id == decoder.state.idle_turn:
        batch.events.append(Notification(source, "", "turn_aborted", "a turn for the goal was left as it began"))
        return
    decoder.state.over = True
    duration = whole_ms(p.duration_ms)
    batch.events.append(SessionEnd(source, "", "interrupted", p.reason, duration_ms=duration))


def end_of_log(decoder: Conversation, batch: Batch) -> None:
    """The end of a rollout without an end record: complete if it ends with an answer and no call is open."""
    whole = decoder.state.final and not decoder.state.open
    source = Source(decoder.context.file, 0, 0, 0, None, decoder.context.stream)
    batch.events.append(SessionEnd(source, "-flush", "complete" if whole else "unknown", "end of the log"))


_VERSION = re.compile(r"0\.(\d+)")
_TURNS = frozenset(
    ("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted", "thread_rolled_back")
)


class RolloutDecoder(Items):
    """Decoder of `codex-rollout`."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_rollout(record.data)
        kind, p, state, context = line.type, line.payload, self.state, self.context
        # Half of the lines contain nothing new; they are dropped before any object is made from them.
        if kind == "response_item":
            if line.metadata is not None and line.metadata.compaction_output:
                batch.ignore("summary for a compaction")  # 0.169 on; `compacted` has its text, the live stream has not
                return
            if not state.replay:
                if p.type == "reasoning":
                    if self.reasons_silently(p, record, batch):
                        return
                if p.type in OUTPUTS:
                    if not state.scripts and self.answered_already(p.call_id or "", batch):
                        return
                elif p.type in UNNAMED:
                    state.ordinal = line.ordinal
                    mark = checksum(record.data)  # also part of the key: all reviews have the same ids
                    if state.repeats.again(f"{p.id} {mark}" if p.id else check(record, line.timestamp), mark):
                        self.repeated(p)
                        batch.ignore(f"{p.type or 'message'}, repeated")
                        return
                elif p.type in CALLS and state.repeats.again(check(record, line.timestamp)):
                    if p.call_id in state.answered and p.call_id not in state.open:  # its output would end an answer
                        batch.ignore(f"{p.type}, repeated")
                        return
        elif kind == "event_msg":
            event = p.type
            if event in IGNORED_EVENTS:
                if event != "thread_settings_applied" or not self._settings(p, record, line.timestamp, batch):
                    batch.ignore(event)
                return
            if not state.replay:
                if event == "token_count":
                    if state.records or state.reviewing:
                        batch.ignore(event)
                        return
                    if p.info == state.counted and has_value(p.info):
                        batch.ignore("token_count, repeated")
                        return
                elif event in COPIED:
                    if state.reviewing:
                        batch.ignore("text of a review")
                        return
                    again = state.repeats.again(check(record, line.timestamp))
                    if self.told_again(COPIED[event], p.message, batch) or again:
                        return
        elif kind in IGNORED_LINES:
            batch.ignore(kind)
            return
        elif kind == "turn_context" and not state.replay and state.repeats.again(check(record, line.timestamp)):
            batch.ignore("turn_context, repeated")
            return
        elif kind == "turn_context" and not state.replay and (not p.model or p.model == state.model):
            state.started, state.turn = True, p.turn_id or state.turn
            self.end_answer()
            batch.ignore("turn_context")
            return
        time_ms = parse_iso(line.timestamp)
        source = Source(context.file, record.row, record.offset, record.length, time_ms, context.stream)
        copied = state.replay and copied_history.copied(self, kind, copied_history.original(record, p), time_ms)
        if state.others is not None and look(state.others, state.thread, p, record, batch, copied):
            state.others = None  # once is enough
        if copied:
            batch.ignore("replayed")
            return
        if kind == "response_item":
            self.response_item(p, source, record, batch)
        elif kind == "event_msg":
            if p.type == "task_started":
                state.ordinal = line.ordinal
            self._event(p, source, record, batch)
        elif kind == "token_usage_record":
            usage.recorded(self, p, source, batch)
        elif kind == "turn_context":
            self._context(p, source, batch)
        elif kind == "session_meta":
            self._meta(p, line.ordinal, source, record, batch)
        elif kind == "compacted":
            if self._again(source, record):
                batch.ignore("compacted, repeated")
            else:
                self._compacted(p, source, batch)
        elif kind == "realtime_item":
            self._voice(p, source, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        state = self.state
        self.close(None, batch)
        if not (state.ends or state.over) and (state.started or state.final or state.user_seen or state.open):
            end_of_log(self, batch)

    def _event(self, p: Payload, source: Source, record: Record, batch: Batch) -> None:
        kind = p.type
        if kind in _TURNS and self._again(source, record):
            batch.ignore(f"{kind}, repeated")
        elif kind == "token_count":
            usage.counted(self.state, p.info, source, batch)
        elif kind == "item_completed":
            self.item(p, source, record, batch)
        elif kind in COPIED:
            self.copy(COPIED[kind], p.message, source, batch)
        elif kind in END_EVENTS:
            self.end_event(p, source, batch)
        elif kind == "task_started" or kind == "turn_started":
            self.state.ends = True
            self.state.started, self.state.turn = True, p.turn_id
            self.state.idle_turn = p.turn_id if member(p.turn_attribution, "turn_trigger") == "goal" else None
            self.end_answer()
            if self.state.scripts:
                self.leave(batch)
            if self.state.open:
                self.state.left = list(self.state.open)
            if p.model_context_window and p.model_context_window != self.state.window:
                self.state.window = p.model_context_window
                batch.events.append(SessionInfo(source, "", context_window=p.model_context_window))
        elif kind == "task_complete" or kind == "turn_complete":
            completed(self, p, source, batch)
        elif kind == "turn_aborted":
            aborted(self, p, source, batch)
        elif kind in NOTICES:
            self._notice(p, source, batch)
        elif kind == "thread_rolled_back":
            self._roll_back(p.num_turns or 0, source, batch)
        elif kind == "thread_name_updated":
            batch.events.append(SessionInfo(source, "", title=p.thread_name or p.name))
        else:
            batch.unknown_type(f"event_msg:{kind}", record)

    def _again(self, source: Source, record: Record) -> bool:
        return self.state.repeats.again(check(record, source.time_ms))

    def _notice(self, p: Payload, source: Source, batch: Batch) -> None:
        kind = p.type
        if kind in REVIEWS:
            self.state.reviewing = REVIEWS[kind]
        name = "permission_request" if kind in PERMISSIONS else "retry" if kind == "stream_error" else kind
        text = plain(p.message) if first(p.message) == b'"' else p.reason or word(p.status) or ""
        batch.events.append(Notification(source, "", name, text, NOTICES[kind], p.call_id))  # type: ignore[arg-type]  # the values are levels

    def _roll_back(self, count: int, source: Source, batch: Batch) -> None:
        if not self._take_back(max(len(self.state.turns) - count, 0), "thread_rolled_back", source, batch):
            batch.events.append(Notification(source, "", "thread_rolled_back", f"{count} turns"))

    def _take_back(self, left: int, reason: str, source: Source, batch: Batch) -> bool:
        """Retracts all remembered turns but the first `left`; False if there are none to retract."""
        turns = self.state.turns
        reverted = tuple(message for turn in turns[left:] for message in turn)
        del turns[left:], self.state.begins[left:]
        self.end_answer()
        if reverted:
            batch.events.append(Retract(source, "", reverted, reason))
        return bool(reverted)

    # The session

    def _meta(self, p: Payload, ordinal: int | None, source: Source, record: Record, batch: Batch) -> None:
        state = self.state
        if state.session_id is not None:
            if p.id != state.thread:
                state.others = state.others or Others()
                state.others.begins(state.thread, state.turn, state.totals)
            if state.started or (not state.replay and copied_history.is_later(p.id, state.session_id)):
                other_session(record, p.id, state.session_id, batch)
                if p.id != state.thread:
                    state.totals = None  # another thread counts from 0
                state.thread = p.id
                if p.id == state.session_id and self._rewound(ordinal, source, batch):
                    return
            elif p.id != state.session_id:
                copied_history.begins(state, p.id, declared=True)
            batch.ignore("session_meta")
            return
        state.session_id = state.thread = p.id
        state.begun_ms = source.time_ms
        parent = p.parent_thread_id or p.forked_from_id or self.context.session_id
        if (p.forked_from_id or p.parent_thread_id) and not has_value(p.history_base):
            copied_history.begins(state, p.forked_from_id or parent, declared=p.forked_from_id is not None)
        version = _VERSION.match(p.cli_version or "")
        state.itemized = ordinal is not None
        # Before 0.70 each call is logged with its output, and a model answer ends at the next turn_context.
        state.outputs_end = version is None or int(version[1]) >= 70
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

    def _rewound(self, ordinal: int | None, source: Source, batch: Batch) -> bool:
        """Whether the thread continues in another file; its lines replace those from its first ordinal on."""
        state = self.state
        if ordinal is None or source.time_ms is None or source.time_ms <= (state.begun_ms or 0):
            return False
        state.begun_ms = source.time_ms
        left = next((i for i, begin in enumerate(state.begins) if begin >= ordinal), len(state.begins))
        return self._take_back(left, "rewound", source, batch)

    def _context(self, p: Payload, source: Source, batch: Batch) -> None:
        state = self.state
        state.started, state.turn = True, p.turn_id or state.turn
        self.end_answer()
        if p.model and p.model != state.model:
            state.model = p.model
            batch.events.append(SessionInfo(source, "", None, p.model))
        else:
            batch.ignore("turn_context")

    def _voice(self, p: Payload, source: Source, batch: Batch) -> None:
        """A text of a voice session (0.171): a notification, as it is no turn of the thread's own model."""
        voice = p.channels.voice_transcript if p.channels is not None else None
        role, text = (p.role, p.text) if voice is None else (voice.role, voice.text)
        if word(text):
            batch.events.append(Notification(source, "", f"voice_{role}", word(text)))
        else:
            batch.ignore("realtime_item")

    def _settings(self, p: Payload, record: Record, time: Time, batch: Batch) -> bool:
        """Takes the model from the thread's settings: a thread that only reviews (0.171) has no `turn_context`."""
        state = self.state
        if state.model is not None or state.replay or p.thread_id not in (None, state.session_id):
            return False
        model = member(p.thread_settings, "model")
        if not isinstance(model, str):
            return False
        state.model = model
        batch.events.append(SessionInfo(self.context.source(record, parse_iso(time)), "", None, model))
        return True

    def _compacted(self, p: Payload, source: Source, batch: Batch) -> None:
        self.end_answer()
        batch.events.append(Notification(source, "", "compact_boundary", "the history was replaced by a summary"))
        if first(p.message) == b'"' and len(p.message) > 2:
            batch.events.append(UserText(source, "", p.message, f"c{source.row}", True))
