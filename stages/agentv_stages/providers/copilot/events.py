"""GitHub Copilot's session events, from standard output, the SDK or `events.jsonl`, to events.

Source: Copilot CLI 0.0.400 to 1.0.102. A call stands in `assistant.message` and again in `tool.execution_start`: the
first one counts. Deltas are kept until their whole message comes; only an answer that was broken off for good is told
by them. Shell output stands three times in the stream; the one in `tool.execution_complete` is taken.
"""

from collections.abc import Callable

import msgspec
from msgspec import Raw

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.foreign import other_session
from agentv_stages.payload import EMPTY_STRING, decode_json, text_json, text_of, to_raw
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.copilot import wire
from agentv_stages.providers.copilot.catalogue import KNOWN, NOTICES
from agentv_stages.providers.copilot.results import Scope, arguments, ended, known_sum, mcp_name, token_usage
from agentv_stages.providers.copilot.state import EventsState, Pending
from agentv_stages.times import parse_iso

MOST_OPEN = 10_000
MOST_AGENTS = 1_000
MOST_KEYS = 64
PARTS = tuple(f"-{i}" for i in range(64))
HUMAN = (None, "", "user")


class EventsDecoder:
    """Decodes the events of one session."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = EventsState()
        known = wire.lines()
        self._read = known.read
        self._quiet = known.quiet
        self._hot: dict[type, Callable[..., None]] = {  # each takes the line of its class
            wire.CompleteLine: self._complete,
            wire.StartLine: self._start,
            wire.MessageLine: self._message,
            wire.CallStart: self._attempt,
            wire.TurnRetry: self._attempt,
            wire.ThoughtDelta: self._thought,
            wire.ThoughtWhole: self._thought,
            wire.ResultLine: self._result,
        }
        self._rare: dict[str, Callable[[wire.Rare, Source, Batch], None]] = {
            "user.message": self._user,
            "system.notification": self._system,
            "session.usage_record": self._usage_record,
            "assistant.usage": self._usage,
            "session.start": self._session,
            "session.resume": self._session,
            "session.model_change": self._session,
            "session.context_changed": self._session,
            "session.title_changed": self._session,
            "session.tools_updated": self._session,
            "session.auto_mode_resolved": self._session,
            "session.error": self._error,
            "session.idle": self._idle,
            "session.shutdown": self._shutdown,
            "abort": self._abort,
            "agent.interrupted": self._abort,
            "subagent.started": self._subagent,
            "permission.requested": self._asked,
            "permission.completed": self._answered,
            "hook.end": self._hook,
            "tool.user_requested": self._by_user,
        }

    def decode(self, record: Record, batch: Batch) -> None:
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
        if quiet is not None:  # six of seven lines of a stream
            ignored = batch.ignored
            ignored[quiet] = ignored.get(quiet, 0) + 1
        elif isinstance(line, wire.DeltaLine):  # in place: most of the other lines
            data = line.data
            agent = line.agentId or data.parentToolCallId or ""
            pending = self.state.pending.get(agent) or self._pending(agent)
            if pending.text_id != data.messageId:
                pending.text_id = data.messageId
                pending.text.clear()  # those of an attempt that died and was made again
            pending.text.append(data.deltaContent)
            pending.record = record
            batch.ignore("assistant.message_delta")
        else:
            self._hot.get(of, self._other)(line, record, batch)

    def _other(self, line: wire.Rare, record: Record, batch: Batch) -> None:
        source = self._source(line, record)
        handler = self._rare.get(line.kind, self._notice)
        try:
            if line.kind == "session.start":
                self._begins(line, record, batch)
            handler(line, source, batch)
        except msgspec.ValidationError as error:  # the path that it names begins in `data`; `Decode` prunes by it
            told = str(error)
            told = told.replace("`$", "`$.data", 1) if "`$" in told else f"{told} - at `$.data`"  # null, or no object
            raise msgspec.ValidationError(told) from None

    def _begins(self, line: wire.Rare, record: Record, batch: Batch) -> None:
        """A log on disk begins; behind something else it is another one, of this session or of another."""
        if line.agentId or record.row == 0:
            return
        other_session(record, wire.decode_session(line.data).sessionId, self.state.session_id, batch)
        batch.strangers.append(record)

    def _source(self, line: wire.Line | wire.Piece, record: Record, call: str | None = None) -> Source:
        """Where a line stands; older versions mark a sub-agent's events by the call that started it alone."""
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
            len(record.data),
            parse_iso(time) if time else None,
            stream,
            line.id or "",
        )

    def flush(self, batch: Batch) -> None:
        """Answers that were never printed whole end as their deltas left them."""
        for agent in list(self.state.pending):
            self._give_up(agent, batch)

    # what an agent says

    def _user(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_user(line.data)
        if data.content in wire.NOTHING:
            batch.ignore("user.message/empty")
            return
        self.state.failure, self.state.aborted = None, False
        origin = data.source
        injected = not (origin in HUMAN or origin.startswith("agent-")) or bool(data.isAutopilotContinuation)
        body = data.content if bytes(data.content)[:1] == b"[" else text_json(data.content)
        batch.events.append(UserText(source, "", body, data.messageId or source.base_id, injected))

    def _system(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_failure(line.data)
        if data.content in wire.NOTHING:
            batch.ignore("system.notification/empty")
            return
        batch.events.append(UserText(source, "", text_json(data.content), source.base_id, True))

    def _message(self, line: wire.MessageLine, record: Record, batch: Batch) -> None:
        data, state = line.data, self.state
        agent, started_by = line.agentId, data.parentToolCallId
        source = self._source(line, record, started_by)
        parent = self._parent(agent, started_by) if agent or started_by else None
        pending = state.pending.get(agent or started_by or "") or self._pending(agent or started_by)
        message_id = data.messageId or data.apiCallId or source.base_id or f"m{source.row}"
        model, events, part = data.model, batch.events, 0
        pending.answer_id = message_id
        state.failure, state.aborted = None, False
        if model and state.model is None and parent is None:
            state.model = model
            events.append(SessionInfo(source, "", model=model))
        thought, text = data.reasoningText, data.content
        thought = EMPTY_STRING if thought is wire.ABSENT else text_json(thought)
        if pending.thought and thought == EMPTY_STRING:
            thought = to_raw("".join(pending.thought))
        if thought is not EMPTY_STRING and thought != EMPTY_STRING:
            events.append(Reasoning(source, "-0", message_id, thought, False, model))
            part = 1
        if len(text) != 2:  # `""`
            text = text_json(text)
            if text != EMPTY_STRING:
                more = bool(data.chunkIndex)
                events.append(AssistantText(source, PARTS[part], message_id, text, more, False, model))
                part += 1
        if pending.record is not None:
            pending.clear()
        if data.toolRequests:
            opened = state.open
            for call in data.toolRequests:
                call_id = call.toolCallId
                if call_id in opened:
                    continue
                name = (mcp_name(call.mcpServerName, call.mcpToolName) if call.mcpServerName else None) or call.name
                at = PARTS[part] if part < len(PARTS) else f"-{part}"
                events.append(ToolCall(source, at, message_id, call_id, name, arguments(call.arguments), parent, model))
                part += 1
                if len(opened) >= MOST_OPEN:
                    del opened[next(iter(opened))]
                opened[call_id] = None
        if part == 0:
            batch.ignore("assistant.message/empty")
        if data.outputTokens and data.apiCallId not in state.usage_keys:
            key = data.apiCallId or message_id
            events.append(TokenUsage(source, "", key, "call", model, output=data.outputTokens))

    def _thought(self, line: wire.ThoughtLine, record: Record, batch: Batch) -> None:
        data = line.data
        pending = self._pending(line.agentId or data.parentToolCallId)
        if pending.thought_id != data.reasoningId or data.content:
            pending.thought_id = data.reasoningId
            pending.thought.clear()
        pending.thought.append(data.content or data.deltaContent)
        pending.record = record
        batch.ignore(line.kind)

    def _attempt(self, line: wire.Attempt, record: Record, batch: Batch) -> None:
        """A new attempt: what the one before it printed is void."""
        pending = self.state.pending.get(line.agentId or "")
        if pending is not None and pending.record is not None:
            pending.clear()
        batch.ignore(line.kind)

    def _give_up(self, agent: str, batch: Batch) -> None:
        pending = self.state.pending[agent]
        if pending.record is not None:
            line = wire.decode_piece(pending.record.data)
            source = self._source(line, pending.record, line.data.parentToolCallId)
            message_id = pending.text_id or pending.thought_id or f"m{source.row}"
            if any(pending.thought):
                text = to_raw("".join(pending.thought))
                batch.events.append(Reasoning(source, "-0", message_id, text, False, self.state.model))
            if any(pending.text):
                text = to_raw("".join(pending.text))
                batch.events.append(AssistantText(source, "-1", message_id, text, False, False, self.state.model))
        pending.clear()

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
        source, parent = self._source(line, record, started_by), self._parent(agent, started_by)
        message_id = self._pending(agent or started_by).answer_id or f"m{source.row}"
        name = mcp_name(data.mcpServerName, data.mcpToolName) or data.toolName
        opened[call_id] = source.time_ms
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
            source = self._source(line, record, data.parentToolCallId)
        else:
            agent = line.agentId
            source = Source(  # in place: this is the hottest line of the decoder
                self.file,
                record.row,
                record.offset,
                len(record.data),
                parse_iso(line.timestamp),
                f"subagent:{agent}" if agent else self.stream,
                line.id or "",
            )
        output, exit_code, outcome = ended(data)
        started = state.open.pop(call_id, None)
        took = source.time_ms - started if started is not None and source.time_ms is not None else None
        if took is not None and took < 0:
            took = None
        started_agent = state.agents.get(call_id) if state.agents else None
        batch.events.append(ToolResult(source, "", call_id, output, outcome, exit_code, took, started_agent))

    def _by_user(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_failure(line.data)
        if data.toolCallId:
            if len(self.state.by_user) >= MOST_AGENTS:
                del self.state.by_user[next(iter(self.state.by_user))]
            self.state.by_user[data.toolCallId] = True
        text = data.toolName or ""
        batch.events.append(Notification(source, "", line.kind, text, "info", data.toolCallId))

    def _subagent(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_subagent(line.data)
        call_id, agent = data.toolCallId, line.agentId
        if call_id:
            for known in (self.state.parents, self.state.agents):
                if len(known) >= MOST_AGENTS:
                    del known[next(iter(known))]
            self.state.agents[call_id] = agent or call_id
            self.state.parents[agent or call_id] = call_id
        name = data.agentDisplayName or data.agentName or ""
        batch.events.append(Notification(source, "", line.kind, name, "info", call_id))

    def _asked(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        asked = wire.decode_permission(line.data).permissionRequest or wire.PermissionAsked()
        text = ": ".join(filter(None, (asked.kind, asked.fullCommandText or asked.intention)))
        batch.events.append(Notification(source, "", "permission_request", text, "info", asked.toolCallId))

    def _answered(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_permitted(line.data)
        kind = data.result.kind if data.result else ""
        if not kind.startswith(("denied", "cancelled")):
            batch.ignore("permission.completed")
            return
        batch.events.append(Notification(source, "", line.kind, kind, "warning", data.toolCallId))

    def _hook(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_hook(line.data)
        if data.success is not False:
            batch.ignore("hook.end")
            return
        text = ": ".join(filter(None, (data.hookType, data.error.message if data.error else None)))
        batch.events.append(Notification(source, "", line.kind, text, "warning"))

    # the session

    def _session(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_session(line.data)
        model = data.newModel or data.chosenModel or data.selectedModel or data.model
        if line.agentId:
            batch.ignore(line.kind + "/sub-agent")
            return
        place = data.context or wire.Place(data.cwd, data.branch)
        parent = data.parentSessionId or data.detachedFromSpawningParentSessionId
        self.state.session_id = data.sessionId or self.state.session_id
        self.state.model = model or self.state.model
        facts = (data.sessionId, model, data.copilotVersion, place.cwd, place.branch, parent, data.title)
        if not any(facts):
            batch.ignore(line.kind)
            return
        batch.events.append(SessionInfo(source, "", *facts))

    def _usage_record(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        self._tokens(line, source, wire.decode_record(line.data).usage, batch)

    def _usage(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        self._tokens(line, source, wire.decode_usage(line.data), batch)

    def _tokens(self, line: wire.Rare, source: Source, usage: wire.Usage | None, batch: Batch) -> None:
        if usage is None:
            batch.ignore(line.kind + "/empty")
            return
        if usage.parentToolCallId and not line.agentId:
            stream = f"subagent:{self.state.agents.get(usage.parentToolCallId, usage.parentToolCallId)}"
            source = msgspec.structs.replace(source, stream=stream)
        key = usage.apiCallId or source.base_id or f"u{source.row}"
        self.state.usage_keys.append(key)
        del self.state.usage_keys[:-MOST_KEYS]
        batch.events.append(token_usage(source, key, "call", usage.model, usage))

    def _shutdown(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_shutdown(line.data)
        self._give_up_all(batch)
        parts = [m.usage for m in (data.modelMetrics or {}).values() if m.usage is not None]
        if parts:
            total = wire.Usage(
                inputTokens=known_sum(p.inputTokens for p in parts),
                outputTokens=known_sum(p.outputTokens for p in parts),
                cacheReadTokens=known_sum(p.cacheReadTokens for p in parts),
                cacheWriteTokens=known_sum(p.cacheWriteTokens for p in parts),
                reasoningTokens=known_sum(p.reasoningTokens for p in parts),
            )
            # with the accounting of 1.0 a resumed session goes on counting; before it each run counted anew
            scope: Scope = "session" if data.accountingSnapshot not in wire.NOTHING else "segment"
            model = next(iter(data.modelMetrics or {})) if len(parts) == 1 else data.currentModel
            key = source.base_id or f"u{source.row}"
            batch.events.append(token_usage(source, key, scope, model, total, True))
        status, reason = self._verdict()
        if data.shutdownType == "error" and status == "complete":
            status, reason = "error", data.errorReason
        batch.events.append(SessionEnd(source, "", status, reason, result_json=line.data))

    def _result(self, data: wire.ResultLine, record: Record, batch: Batch) -> None:
        source = self._source(data, record)
        self._give_up_all(batch)
        known = self.state.session_id
        if known is not None:  # a stream is told by its end, which is the first line to name the session
            other_session(record, data.sessionId, known, batch)
            batch.strangers.append(record)
        if data.sessionId and data.sessionId != known:
            self.state.session_id = data.sessionId
            batch.events.append(SessionInfo(source, "", data.sessionId))
        status, reason = self._verdict()
        if data.exitCode:
            status, reason = ("error" if status == "complete" else status), reason or f"exit code {data.exitCode}"
        elif data.exitCode == 0 and status == "error":
            status, reason = "complete", None
        took = data.usage.sessionDurationMs if data.usage else None
        batch.events.append(
            SessionEnd(
                source,
                "",
                status,
                reason,
                duration_ms=round(took) if took is not None else None,
                result_json=Raw(record.data),
            )
        )

    def _verdict(self) -> tuple[Status, str | None]:
        if self.state.aborted:
            return "interrupted", "abort"
        if self.state.failure is not None:
            return "error", self.state.failure
        return "complete", None

    def _error(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_failure(line.data)
        self._give_up_all(batch, line.agentId)
        text = ": ".join(filter(None, (data.errorType, data.message)))
        if not line.agentId:
            self.state.failure = text
        batch.events.append(Notification(source, "", line.kind, text, "error"))

    def _abort(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        data = wire.decode_failure(line.data)
        self._give_up_all(batch, line.agentId)
        if not line.agentId:
            self.state.aborted = True
        batch.events.append(Notification(source, "", line.kind, data.reason or data.message or "", "warning"))

    def _idle(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        """The end of a prompt for a program that uses the SDK, which prints no `result`."""
        data = wire.decode_failure(line.data)
        self._give_up_all(batch, line.agentId)
        status, reason = self._verdict()
        if data.aborted:
            status = "interrupted"
        batch.events.append(SessionEnd(source, "", status, reason))

    def _notice(self, line: wire.Rare, source: Source, batch: Batch) -> None:
        notice = NOTICES[line.kind]
        data = decode_json(line.data)
        texts = [text_of(to_raw(data.get(key))) for key in notice.keys] if isinstance(data, dict) else []  # pyright: ignore[reportUnknownMemberType] - decoded JSON
        call = data.get("toolCallId") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        text = ": ".join(filter(None, texts))
        call_id = call if isinstance(call, str) else None
        batch.events.append(Notification(source, "", notice.name or line.kind, text, notice.level, call_id))

    # places

    def _give_up_all(self, batch: Batch, agent: str | None = None) -> None:
        for name in [agent] if agent else list(self.state.pending):
            if name in self.state.pending:
                self._give_up(name, batch)

    def _pending(self, agent: str | None) -> Pending:
        known = self.state.pending
        found = known.get(agent or "")
        if found is None:
            if len(known) >= MOST_AGENTS:
                del known[next(iter(known))]
            found = known[agent or ""] = Pending()
        return found

    def _parent(self, agent: str | None, call: str | None) -> str | None:
        """The call that started a line's stream."""
        return call or self.state.parents.get(agent) if agent else call or None
