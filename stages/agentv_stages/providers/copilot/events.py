"""GitHub Copilot's session events, from standard output, the SDK or `events.jsonl`, to events.

Source: Copilot CLI 0.0.400 to 1.0.102. A call appears in `assistant.message` and again in `tool.execution_start`: the
first one counts. Deltas are kept until their whole message comes; they are emitted only for an answer that was broken
off for good. Shell output appears three times in the stream; the one in `tool.execution_complete` is used.
"""

from collections.abc import Callable
from functools import partial
from zlib import crc32

import msgspec
from msgspec.structs import replace

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Reasoning, SessionInfo, Source, TokenUsage, ToolCall, ToolResult
from agentv_stages.model.payload import ABSENT, EMPTY_STRING, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import checksum
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.copilot import notices, session, usage, wire
from agentv_stages.providers.copilot.catalogue import KNOWN
from agentv_stages.providers.copilot.results import arguments, ended, mcp_name
from agentv_stages.providers.copilot.state import Events, EventsState, give_up, number_of, pending_of

MOST_OPEN = 10_000
PARTS = tuple(f"-{i}" for i in range(64))
RARE: dict[str, Callable[[Events, wire.Rare, Source, Batch], None]] = {
    "user.message": notices.user,
    "system.notification": notices.system,
    "session.usage_record": usage.recorded,
    "assistant.usage": usage.called,
    "session.start": session.facts,
    "session.resume": session.facts,
    "session.model_change": session.facts,
    "session.context_changed": session.facts,
    "session.title_changed": session.facts,
    "session.tools_updated": session.facts,
    "session.auto_mode_resolved": session.facts,
    "session.info": session.info,
    "session.compaction_complete": usage.compacted,
    "session.error": session.error,
    "session.idle": session.idle,
    "session.shutdown": session.shutdown,
    "abort": session.abort,
    "agent.interrupted": session.abort,
    "subagent.started": notices.subagent,
    "permission.requested": notices.permission_asked,
    "permission.completed": notices.permission_answered,
    "hook.end": notices.hook,
    "tool.user_requested": notices.by_user,
}
"""Handlers of the lines whose data is decoded separately; all other known types become notices."""


class EventsDecoder:
    """Decodes the events of one session."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = EventsState()
        known = wire.lines()
        self._read = known.read
        self._quiet = known.quiet
        self._hot: dict[type, Callable[..., None]] = {  # each handles the lines of its class
            wire.CompleteLine: self._complete,
            wire.StartLine: self._start,
            wire.MessageLine: self._message,
            wire.CallStart: self._attempt,
            wire.TurnRetry: self._attempt,
            wire.ThoughtDelta: self._thought,
            wire.ThoughtWhole: self._thought,
            wire.ResultLine: partial(session.result, self),
        }

    def decode(self, record: Record, batch: Batch) -> None:
        if self.state.begun_ms is not None and session.is_copy(self.state, record, batch):
            return
        try:
            line = self._read(record.data)
        except msgspec.ValidationError:
            kind = wire.decode_head(record.data).type
            if kind in KNOWN:
                raise
            batch.unknown_type(kind or "(no type)", record)
            return
        of = line.__class__
        quiet = self._quiet.get(of)
        if quiet is not None:  # six of seven lines in a stream
            ignored = batch.ignored
            ignored[quiet] = ignored.get(quiet, 0) + 1
        elif isinstance(line, wire.DeltaLine):  # inlined: most of the other lines
            data = line.data
            agent = line.agentId or data.parentToolCallId or ""
            pending = self.state.pending.get(agent) or pending_of(self.state, agent)
            if pending.text_id != data.messageId:
                pending.text_id = data.messageId
                pending.text.clear()  # text of a failed attempt, now retried
            pending.text.append(data.deltaContent)
            pending.record = record.without_raw()
            batch.ignore("assistant.message_delta")
        else:
            self._hot.get(of, self._other)(line, record, batch)

    def _other(self, line: wire.Rare, record: Record, batch: Batch) -> None:
        self.state.release_usage(batch)
        source = self.source(line, record)
        handler = RARE.get(line.kind, notices.notice)
        try:
            if line.kind == "session.start":
                self._begins(line, record, batch)
            handler(self, line, source, batch)
            if line.kind == "session.start" and record.row == 0 and not line.agentId:
                self.state.begun_ms = source.time_ms
        except msgspec.ValidationError as error:  # the path that it names starts in `data`; `Decode` prunes by it
            text = str(error)
            text = text.replace("`$", "`$.data", 1) if "`$" in text else f"{text} - at `$.data`"  # null, or no object
            raise msgspec.ValidationError(text) from None

    def _begins(self, line: wire.Rare, record: Record, batch: Batch) -> None:
        """A log on disk begins. After other records it is another log, of this session or of another."""
        if line.agentId or record.row == 0:
            return
        other_session(record, wire.decode_session(line.data).sessionId, self.state.session_id, batch)
        batch.strangers.append(record)

    def source(self, line: wire.Line | wire.Piece, record: Record, call: str | None = None) -> Source:
        """The source of a line; older versions mark a sub-agent's events only by the call that started it."""
        agent = line.agentId
        if agent:
            stream = f"subagent:{agent}"
        elif call:
            stream = f"subagent:{self.state.agents.get(call, call)}"
        else:
            stream = self.stream
        time = line.timestamp
        return Source(
            self.file,
            record.row,
            record.offset,
            record.length,
            parse_iso(time) if time else None,
            stream,
            line.id or "",
        )

    def flush(self, batch: Batch) -> None:
        """Emits the answers that were never printed whole, from their deltas."""
        self.state.release_usage(batch)
        for agent in list(self.state.pending):
            give_up(self, agent, batch)

    # an agent's texts

    def _message(self, line: wire.MessageLine, record: Record, batch: Batch) -> None:
        data, state = line.data, self.state
        agent, started_by = line.agentId, data.parentToolCallId
        if state.noticed and not agent and notices.is_automatic(self, line, record, batch):
            return
        if state.repeats.again(line.id, checksum(record.data)):
            batch.ignore("assistant.message/again")
            state.failure, state.aborted = None, False
            pending = pending_of(state, agent or started_by)
            pending.clear()
            if data.reasoningText is not ABSENT:
                pending.answer_thought = crc32(to_raw(text_of(text_json(data.reasoningText))))
            return
        source = self.source(line, record, started_by)
        parent = self._parent(agent, started_by) if agent or started_by else None
        pending = state.pending.get(agent or started_by or "") or pending_of(state, agent or started_by)
        message_id = data.messageId or data.apiCallId or source.base_id or f"m{source.row}"
        model, events, part = data.model, batch.events, 0
        if not data.chunkIndex or pending.answer_id != message_id:
            pending.answer_id, pending.answer_number = message_id, number_of(source)
        plain, source = source, replace(source, answer=pending.answer_number)
        if state.usage is not None and state.usage.source.stream != source.stream:
            state.release_usage(batch)
        state.failure, state.aborted = None, False
        if model and state.model is None and parent is None:
            state.model = model
            events.append(SessionInfo(source, "", model=model))
        thought, text = data.reasoningText, data.content
        thought = EMPTY_STRING if thought is ABSENT else text_json(thought)
        if pending.thought and thought == EMPTY_STRING:
            thought = to_raw("".join(pending.thought))
        if thought is not EMPTY_STRING and thought != EMPTY_STRING:
            events.append(Reasoning(source, "-0", message_id, thought, False, model))
            part = 1
        pending.answer_thought = crc32(to_raw(text_of(thought))) if part else 0
        if len(text) != 2:  # `""`
            text = text_json(text)
            if text != EMPTY_STRING:
                more = bool(data.chunkIndex)
                events.append(AssistantText(source, PARTS[part], message_id, text, more, False, model))
                part += 1
        if pending.record is not None:
            pending.clear()
        for call in data.toolRequests or ():
            call_id = call.toolCallId
            if call_id in state.open:
                continue
            server = mcp_name(call.mcpServerName, call.mcpToolName) if call.mcpServerName else None
            name = server or call.name or "unknown"
            at = PARTS[part] if part < len(PARTS) else f"-{part}"
            events.append(ToolCall(source, at, message_id, call_id, name, arguments(call.arguments), parent, model))
            part += 1
            self._open(call_id)
            if agent or started_by:
                state.parent_of[call_id] = parent
        if part == 0:
            batch.ignore("assistant.message/empty")
        state.release_usage(batch)
        if data.apiCallId not in state.usage_keys:
            self._output(data, plain if data.apiCallId else source, message_id, batch)

    def _output(self, data: wire.AssistantMessage, source: Source, message_id: str, batch: Batch) -> None:
        """The output of a model call whose usage has no record. A call without it counts where others have it: their
        sum is a lower bound.
        """
        state, key = self.state, message_id
        if data.apiCallId:
            key = f"{data.apiCallId}:{data.outputTokens}"  # as in `usage`
        if data.outputTokens:
            batch.events.append(TokenUsage(source, "", key, "call", data.model, output=data.outputTokens))
            if not state.output_known and state.silent:
                batch.events.append(TokenUsage(source, "-silent", "silent", "call", data.model))
            state.output_known = True
        elif data.outputTokens is None and not data.chunkIndex:
            state.silent = True
            if state.output_known:
                batch.events.append(TokenUsage(source, "", key, "call", data.model))

    def _open(self, call_id: str) -> None:
        """A call was requested; of too many that are open the oldest is forgotten."""
        opened = self.state.open
        if len(opened) >= MOST_OPEN:
            oldest = next(iter(opened))
            del opened[oldest]
            self.state.parent_of.pop(oldest, None)
        opened[call_id] = None

    def _thought(self, line: wire.ThoughtLine, record: Record, batch: Batch) -> None:
        data = line.data
        pending = pending_of(self.state, line.agentId or data.parentToolCallId)
        if data.content and pending.answer_thought == crc32(to_raw(data.content)):
            batch.ignore(line.kind)  # follows the answer that already contained it
            return
        if pending.thought_id != data.reasoningId or data.content:
            pending.thought_id = data.reasoningId
            pending.thought.clear()
        pending.thought.append(data.content or data.deltaContent)
        pending.record = record.without_raw()
        batch.ignore(line.kind)

    def _attempt(self, line: wire.Attempt, record: Record, batch: Batch) -> None:
        """Begins a new attempt: the output of the previous attempt is void."""
        pending = self.state.pending.get(line.agentId or "")
        if pending is not None:
            pending.answer_thought = 0
            if pending.record is not None:
                pending.clear()
        batch.ignore(line.kind)

    # calls

    def _start(self, line: wire.StartLine, record: Record, batch: Batch) -> None:
        data = line.data
        call_id, opened = data.toolCallId, self.state.open
        if call_id in self.state.by_user:
            batch.ignore("tool.execution_start/user")
            return
        if call_id in opened:
            opened[call_id] = parse_iso(line.timestamp)
            batch.ignore("tool.execution_start")
            return
        agent, started_by = line.agentId, data.parentToolCallId
        source, parent = self.source(line, record, started_by), self._parent(agent, started_by)
        pending = pending_of(self.state, agent or started_by)
        message_id = pending.answer_id or f"m{source.row}"
        if pending.answer_number is not None:
            source = replace(source, answer=pending.answer_number)
        name = mcp_name(data.mcpServerName, data.mcpToolName) or data.toolName or "unknown"
        opened[call_id] = source.time_ms
        if agent or started_by:
            self.state.parent_of[call_id] = parent
        batch.events.append(
            ToolCall(source, "", message_id, call_id, name, arguments(data.arguments), parent, data.model)
        )

    def _complete(self, line: wire.CompleteLine, record: Record, batch: Batch) -> None:
        data, state = line.data, self.state
        call_id = data.toolCallId
        if (state.by_user and state.by_user.pop(call_id, False)) or data.isUserRequested:
            batch.ignore("tool.execution_complete/user")
            return
        if data.parentToolCallId:
            source = self.source(line, record, data.parentToolCallId)
        else:
            agent = line.agentId
            source = Source(  # inlined: this is the hottest line of the decoder
                self.file,
                record.row,
                record.offset,
                record.length,
                parse_iso(line.timestamp),
                f"subagent:{agent}" if agent else self.stream,
                line.id or "",
            )
        output, exit_code, outcome = ended(data)
        started = state.open.pop(call_id, None)
        if state.parent_of:
            state.parent_of.pop(call_id, None)
        took = source.time_ms - started if started is not None and source.time_ms is not None else None
        if took is not None and took < 0:
            took = None
        started_agent = state.agents.get(call_id) if state.agents else None
        batch.events.append(ToolResult(source, "", call_id, output, outcome, exit_code, took, started_agent))

    def _parent(self, agent: str | None, call: str | None) -> str | None:
        """The call that started the agent of a line."""
        return call or self.state.parents.get(agent) if agent else call or None
