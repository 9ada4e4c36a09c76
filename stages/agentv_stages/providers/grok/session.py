"""Grok Build's sessions on disk (`~/.grok/sessions/<folder>/<session>/updates.jsonl`) to events.

A line is an update of the Agent Client Protocol, or one of Grok's own. The pieces of a text are joined; all pieces of
an answer have the time at which it began (`streamStartMs`), which separates answers. A call's first update has its
arguments, its last one the result. `turn_completed` ends a turn, with the tokens of all its model calls and those of
the sub-agents that finished before it; those of the others are in their own logs. A fork begins with its parent's log
under the fork's own id; the event ids stay the parent's, and events with another session's id are reported only in the
parent.
End rule: `turn_completed`, by its stop reason. 0.1 writes none, but `available_commands_update`, which later versions
do not write: its sessions end as `error` if their last model call was given up, and as `unknown` otherwise.
Source: Grok Build 0.1.220, 1.0.5 and 1.0.41.
"""

from msgspec import Struct, field

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    MAIN,
    AssistantText,
    Notification,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.grok.notices import ended, notice, reason_of
from agentv_stages.providers.grok.parts import answer_spent, author_of, text_block, turn_ledger, working_folder
from agentv_stages.providers.grok.results import OVER, effective_call, returned
from agentv_stages.providers.grok.usage import Bill, of_model, of_turn, only_model, spent
from agentv_stages.providers.grok.wire import (
    Ledger,
    Params,
    ParamsMeta,
    SessionLine,
    Spent,
    Text,
    Update,
    UpdateMeta,
    decode_session,
)

# The last messages of a Grok session, for its rewinds. In: ids. Out: the ids that a rewind retracts.

_MOST = 1_024


class RecentMessages(Struct):
    """Ids of the last messages, oldest first, and the messages at which prompts began."""

    ids: list[str] = []
    prompts: list[tuple[int, str]] = []

    def add(self, message_id: str, prompt: int | None = None) -> None:
        """Adds a message; a message that continues is in the list already."""
        ids = self.ids
        if not ids or ids[-1] != message_id:
            if len(ids) >= _MOST:
                del ids[: _MOST // 4]
            ids.append(message_id)
        if prompt is not None:
            if len(self.prompts) >= _MOST:
                del self.prompts[: _MOST // 4]
            self.prompts.append((prompt, message_id))

    def since(self, prompt: int) -> tuple[str, ...]:
        """Removes and returns the messages from a prompt on, as far as they are remembered."""
        first = next((i for i, (index, _) in enumerate(self.prompts) if index >= prompt), None)
        if first is None:
            return ()
        message_id = self.prompts[first][1]
        at = self.ids.index(message_id) if message_id in self.ids else 0
        retracted = tuple(self.ids[at:])
        del self.ids[at:], self.prompts[first:]
        return retracted


LOSSES = (
    "the agent's version, the title",
    "tokens of single answers, and of turns that never ended",
    "the main agent's own share of its tokens, where it had sub-agents",
    "the text of an answer that was killed while it was written",
    "arguments that are not JSON; calls after one whose refusal ended the turn",
    "costs, as soon as one turn has none",
    "that an answer was cut off and tried again: its two texts become one, with a notice before it",
    "in version 0.1 tokens, how a turn ended, the end of its last text",
)
_MOST_OPEN = 10_000
_MOST_AGENTS = 1_000
_BANG = "bash-mode-"
_INJECTED = (b'"<system-reminder>', b'"<monitor-event')
_NO_META, _NO_UPDATE_META = ParamsMeta(), UpdateMeta()


class State(Struct):
    """The state between lines. `open`: calls of the current turn without a result, with their names.

    `counted`: this session's answers report their tokens, so those of turns are not needed; `ran`: the turn is a
    command that the user ran. `endless`: a version wrote the log that has no records for the ends of turns; then `last`
    is its last record, and `failure` why the last model call was given up. `running`: the sessions of sub-agents that
    have not finished.
    """

    session_id: str | None = None
    parent_id: str | None = None
    model: str | None = None
    answer: str = ""
    answered: bool = False
    counted: bool = False
    ran: bool = False
    endless: bool = False
    last: Source | None = None
    failure: str | None = None
    recent: RecentMessages = field(default_factory=RecentMessages, name="heard")
    open: dict[str, str] = {}
    running: dict[str, bool] = {}
    bill: Bill = field(default_factory=Bill)
    repeats: Repeats = field(default_factory=Repeats, name="told")


class SessionDecoder:
    """Decoder of `grok-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        self.take(decode_session(record.data), record, batch)

    def take(self, line: SessionLine, record: Record, batch: Batch) -> None:
        """Handles a decoded line."""
        params = line.params
        if params is None or params.update is None:
            batch.unknown_type(line.method or "(no method)", record)
            return
        update, meta, state = params.update, params.meta or _NO_META, self.state
        author = author_of(meta.eventId)
        if author is not None and params.sessionId is not None and author != params.sessionId:
            state.parent_id = author
            batch.ignore(COPIED)
            return
        if meta.isReplay:  # ACP: a loaded session is repeated
            batch.ignore(f"{update.sessionUpdate}/replayed")
            return
        again = f"{meta.eventId} {meta.agentTimestampMs}" if meta.eventId else None
        if state.repeats.again(again, checksum(record.data)):
            batch.ignore(f"{update.sessionUpdate}/again")
            return
        block, used, answered = text_block(update), turn_ledger(update), answer_spent(update)  # first: they may not fit
        source = self._source(line, meta, record)
        if state.endless:
            state.last = source
        if other_session(record, params.sessionId, state.session_id, batch, header=False):
            state.session_id = params.sessionId
        self._info(params, update, source, batch)
        kind = update.sessionUpdate
        if kind == "agent_message_chunk":
            message_id = self._answer(meta, record)
            batch.events.append(AssistantText(source, "", message_id, text_json(block.text), True, model=state.model))
        elif kind == "agent_thought_chunk":
            message_id = self._answer(meta, record)
            batch.events.append(Reasoning(source, "", message_id, text_json(block.text), True, state.model))
        elif kind == "user_message_chunk":
            self._user(update, block, source, batch)
        elif (update.toolCallId or "").startswith(_BANG):
            self._ran(update, source, batch)
        elif kind == "tool_call":
            self._call(update, meta, source, record, batch)
        elif kind == "tool_call_update":
            self._update(update, source, batch)
        elif kind == "turn_completed":
            self._turn(update, used, meta, source, batch)
        elif kind == "response_completed":
            self._response(answered, source, batch)
        elif kind == "available_commands_update":
            state.endless = True
            batch.ignore(kind)
        elif kind == "rewind_marker":
            self._rewind(update, source, batch)
        else:
            if kind == "retry_state":
                state.failure = update.message if update.type == "failed" else None
            elif kind == "subagent_spawned" and update.child_session_id:
                remember(state.running, update.child_session_id, True, _MOST_AGENTS)
            elif kind == "subagent_finished" and update.child_session_id:
                state.running.pop(update.child_session_id, None)
            notice(update, source, record, batch)

    def flush(self, batch: Batch) -> None:
        """In 0.1 no record ends a turn: whether the last one failed is known, but not whether it was complete."""
        state = self.state
        if state.endless and state.last is not None and self.context.stream == MAIN:
            failed = state.failure is not None
            end = SessionEnd(state.last, "-end", "error" if failed else "unknown", state.failure)
            batch.events.append(end)

    def _source(self, line: SessionLine, meta: ParamsMeta, record: Record) -> Source:
        context = self.context
        seconds = None if line.timestamp is None else line.timestamp * 1000
        time_ms = epoch_ms(meta.agentTimestampMs if meta.agentTimestampMs is not None else seconds)
        return Source(context.file, record.row, record.offset, record.length, time_ms, context.stream)

    def _info(self, params: Params, update: Update, source: Source, batch: Batch) -> None:
        """Emits the session's id, folder and model when they become known or change."""
        state, context = self.state, self.context
        model = (update.meta or _NO_UPDATE_META).modelId
        session_id = params.sessionId if state.session_id is None else None
        model = model if model != state.model else None
        if not session_id and not model:
            return
        state.session_id = session_id or state.session_id
        state.model = model or state.model
        if context.stream == MAIN:
            cwd = working_folder(context.place or context.file) if session_id else None
            batch.events.append(
                SessionInfo(source, "-info", session_id, model, cwd=cwd, parent_session_id=state.parent_id)
            )

    def _answer(self, meta: ParamsMeta, record: Record) -> str:
        """The id of the answer that a record belongs to."""
        state = self.state
        if meta.streamStartMs is not None:
            state.answer = f"s{meta.streamStartMs}"
        elif state.answered or not state.answer:  # another client's: an answer ends with its calls' results
            state.answer = f"m{record.row}"
        state.answered = False
        state.failure = None
        state.recent.add(state.answer)
        return state.answer

    def _user(self, update: Update, block: Text, source: Source, batch: Batch) -> None:
        """A prompt; or a text that the agent's program wrote as one, or a command that the user ran with `!`."""
        state, meta, text = self.state, update.meta or _NO_UPDATE_META, text_json(block.text)
        ran = block.meta is not None and block.meta.bash_command is not None
        injected = bool(meta.hideFromScrollback) or ran or bytes(text).startswith(_INJECTED)
        state.answered, state.ran = True, ran
        message_id = f"u{source.row}"
        state.recent.add(message_id, meta.promptIndex)
        batch.events.append(UserText(source, "", text, message_id, injected))

    def _rewind(self, update: Update, source: Source, batch: Batch) -> None:
        """Retracts a prompt and everything after it."""
        void = self.state.recent.since(update.target_prompt_index or 0)
        if void:
            batch.events.append(Retract(source, "", void, "rewind"))
        else:
            batch.events.append(Notification(source, "", "rewind", "went back to an earlier prompt"))

    def _ran(self, update: Update, source: Source, batch: Batch) -> None:
        """The output of a command that the user ran: not a call, as no model asked for it."""
        if update.status not in OVER:
            batch.ignore("tool_call/of the user")
            return
        output = returned(update.status, update.rawOutput, update.content).output
        message_id = f"u{source.row}"
        self.state.recent.add(message_id)
        batch.events.append(UserText(source, "", text_json(output or EMPTY_STRING), message_id, True))

    def _call(self, update: Update, meta: ParamsMeta, source: Source, record: Record, batch: Batch) -> None:
        state, tool = self.state, (update.meta or _NO_UPDATE_META).tool
        call_id = update.toolCallId or f"call-{record.row}"
        name, arguments = effective_call((tool and tool.name) or update.title or "unknown", update.rawInput)
        message_id = self._answer(meta, record)
        remember(state.open, call_id, name, _MOST_OPEN)
        parent = self.context.parent_call
        batch.events.append(ToolCall(source, "", message_id, call_id, name, arguments, parent, state.model))

    def _update(self, update: Update, source: Source, batch: Batch) -> None:
        call_id, status = update.toolCallId or "", update.status or ""
        if status not in OVER:
            batch.ignore("tool_call_update/progress")
            return
        gave_back = returned(status, update.rawOutput, update.content)
        self.state.open.pop(call_id, None)
        self.state.answered = True
        output, code, outcome, agent_id, _ = gave_back
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code, agent_id=agent_id))

    def _response(self, used: Spent | None, source: Source, batch: Batch) -> None:
        """The tokens of one answer, which only ACP reports."""
        usage = spent(source, f"r{source.row}", self.state.model, used)
        if usage is None:
            batch.ignore("response_completed/empty")
            return
        self.state.counted = True
        batch.events.append(usage)

    def _turn(self, update: Update, used: Ledger | None, meta: ParamsMeta, source: Source, batch: Batch) -> None:
        state, add = self.state, batch.events.append
        if state.ran and used is None:
            batch.ignore("turn_completed/of the user")
            return
        status, reason = ended(update.stop_reason or "", meta.cancellationCategory, reason_of(update.agent_result))
        close_calls(state, status, source, batch)
        state.endless = False
        main = self.context.stream == MAIN
        if used is not None:
            if not state.counted:
                add(of_turn(source, used, state.running))
            if main:
                state.bill.turn(used)
                model = only_model(used.modelUsage)
                if model is not None and model != state.model:  # ACP gives the name as in the configuration
                    state.model = model
                    add(SessionInfo(source, "-model", model=model))
            if main and not state.counted:
                for i, (name, share) in enumerate(state.bill.models.items()):
                    add(of_model(source, f"-model-{i}", name, share))
        cost = state.bill.cost_usd if main else None
        turns = used.numTurns if used is not None and main else None
        add(SessionEnd(source, "-end", status, reason, cost or None, whole_ms(update.elapsed_ms), turns))


def close_calls(state: State, status: Status, source: Source, batch: Batch) -> None:
    """Closes the open calls of a turn that has ended; they are cancelled if the turn was."""
    if status == "interrupted":
        for i, call_id in enumerate(state.open):
            batch.events.append(ToolResult(source, f"-{i}", call_id, None, "cancelled"))
    state.open.clear()
    state.answered = True
