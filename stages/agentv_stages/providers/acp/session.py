"""ACP messages, one or both directions, to events. Source: see `wire.py`; recordings in docs/providers/acp.md.

The protocol has no times, no model names in messages and no end but the answer to a prompt. Text comes in chunks; a
message ends where a call's result or a new prompt comes. Text of sub-agents is not marked: while one runs, text waits
for the next message that tells whose it was.
"""

from typing import TypeVar

import msgspec
from msgspec import Raw

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    AssistantText,
    Level,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    UserText,
)
from agentv_stages.foreign import other_session
from agentv_stages.payload import EMPTY_STRING, text_json, text_of
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.acp import calls, terminals, usage, version2, wire
from agentv_stages.providers.acp.catalogue import (
    ENDS,
    FAILURE_TEXT,
    FROM_AGENT,
    FROM_CLIENT,
    INFO_TEXT,
    LEVELS,
    QUIET_METHODS,
    QUIET_UPDATES,
)
from agentv_stages.providers.acp.naming import PLAN_TOOLS, agent_of
from agentv_stages.providers.acp.state import AcpState, Answer, Asked, Held
from agentv_stages.times import from_epoch

T = TypeVar("T")
MOST = 10_000
UPDATE = b'"method":"session/update"'
FIRST = b'{"jsonrpc":"2.0",' + UPDATE
SAID = frozenset(
    ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan",
     "plan_update", "agent_message", "agent_thought", "user_message", "tool_call_content_chunk", "compaction_update")
)  # fmt: skip
"""Updates that are said again when a session is loaded."""


class AcpDecoder:
    """Decodes one connection."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = AcpState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        # Nearly every line; any other order of members takes the longer way.
        if data.startswith(FIRST) or UPDATE in data[:120]:
            if self._hot(data, record, batch):
                return
            message = wire.decode_message(data)
            if message.method == "session/update":
                self._updated(message.params, record, self._source(message, record), batch)
                return
        line = wire.decode_line(data)
        path = "`$"
        time = line.timestamp or line.time or line.ts
        side = (line.dir or line.direction or "").lower()
        if line.method is None and line.id is None:
            for name, inner in (
                ("msg", line.msg),
                ("message", line.message),
                ("payload", line.payload),
                ("data", line.data),
            ):
                if bytes(inner)[:1] == b"{":
                    data, path = bytes(inner), f"`$.{name}"
                    break
        try:
            if path != "`$":
                line = wire.decode_line(data)
            source = Source(self.file, record.row, record.offset, len(record.data), from_epoch(time), self.stream)
            if line.method is not None:
                self._called(line, data, record, source, batch)
            elif line.error not in wire.NOTHING:
                self._failed(line, side, source, batch)
            elif line.id is not None and (line.jsonrpc is not None or bytes(line.result)):
                self._answered(line, data, side, record, source, batch)
            else:
                batch.unknown_type("(no method)", record)
        except msgspec.ValidationError as error:  # the path must name the member as it stands in the record
            raise msgspec.ValidationError(str(error).replace("`$", path, 1)) from None

    def _hot(self, data: bytes, record: Record, batch: Batch) -> bool:
        """An update of a frequent kind, in one pass; False for all that has to be looked at more closely."""
        try:
            message = wire.decode_hot(data)
        except msgspec.ValidationError:
            return False
        params, state = message.params, self.state
        if message.method != "session/update" or params is None or state.session_id is None:
            return False
        if state.replay is not None or state.children:
            return False
        update = params.update
        if isinstance(update, wire.CallUpdate):
            name = "tool_call" if isinstance(update, wire.CallBegun) else "tool_call_update"
            calls.upsert(self, name, update, self._source(message, record), batch)
        elif isinstance(update, wire.Chunk):
            text, meta = update.content.text, update.meta
            if state.tasks or state.held or (state.calls and state.agent == "copilot"):
                return False
            if len(text) > 2 and meta is None and bytes(text)[:1] == b'"':  # text of the main agent
                thought = isinstance(update, wire.Thought)
                self.say(text, thought, update.messageId, self._source(message, record), batch)
            elif len(text) == 2 and meta is not None and meta.usage is not None:  # Qwen: the end of an answer
                self._marked(meta, self._source(message, record), batch)
            else:
                return False
        elif isinstance(update, wire.Window):
            self._window(update, self._source(message, record), batch)
        elif isinstance(update, wire.Title):
            self._titled(update.title, self._source(message, record), batch)
        elif isinstance(update, wire.Plan):
            self._plan("plan", update.entries, self._source(message, record), batch)
        elif update is None:
            return False
        else:
            batch.ignore(wire.QUIET[type(update)])
        return True

    def _source(self, line: wire.Line | wire.Message | wire.HotMessage, record: Record) -> Source:
        time = line.timestamp or line.time or line.ts
        time_ms = None if time is None else from_epoch(time)
        return Source(self.file, record.row, record.offset, len(record.data), time_ms, self.stream)

    def flush(self, batch: Batch) -> None:
        """Text of unknown origin is the main agent's; calls whose arguments never came are told as they are."""
        self.release(batch)
        for call_id, call in self.state.calls.items():
            calls.emit(self, call_id, call, batch)

    # requests and notifications

    def _called(self, line: wire.Line, data: bytes, record: Record, source: Source, batch: Batch) -> None:
        method = line.method or ""
        if method == "session/update":
            self._updated(wire.decode_message(data).params, record, source, batch)
        elif method == "session/request_permission":
            self._permission(line, wire.decode_message(data).params, source, batch)
        elif method == "session/prompt":
            params = wire.decode_message(data).params
            self._request(line, method)
            self.release(batch)
            self.state.prompting, self.state.called, self.state.failure = True, False, None
            self.state.answers.clear()
            if params is not None and params.prompt not in wire.NOTHING:
                body = params.prompt if bytes(params.prompt)[:1] == b"[" else text_json(params.prompt)
                batch.events.append(UserText(source, "", body, f"p{source.row}"))
        elif method == "session/cancel":
            batch.events.append(Notification(source, "", method, "", "warning"))
        elif method in ("terminal/output", "terminal/wait_for_exit"):
            params = wire.decode_message(data).params
            if line.id is not None and params is not None and params.terminalId:
                _put(self.state.waits, str(line.id), params.terminalId)
            batch.ignore(method)
        elif method in ("session/new", "session/set_model"):
            params = wire.decode_message(data).params
            self._request(line, method)
            if params is not None and (params.cwd or params.modelId):
                self._session(source, batch, cwd=params.cwd, model=params.modelId)
            else:
                batch.ignore(method)
        elif method in QUIET_METHODS or method.startswith("_"):
            self._request(line, method)
            batch.ignore("_extension" if method.startswith("_") else method)
        else:
            batch.unknown_type(method, record)

    def _updated(self, params: wire.Params | None, record: Record, source: Source, batch: Batch) -> None:
        if params is None or params.update is None:
            batch.ignore("session/update/empty")
            return
        if self.state.session_id is None and params.sessionId:
            self._session(source, batch, session_id=params.sessionId)
        if params.sessionId and params.sessionId in self.state.children:
            outer, self.stream = self.stream, f"subagent:{params.sessionId}"
            self._update(params.update, record, _on(source, self.stream), batch)
            self.stream = outer
            return
        self._update(params.update, record, source, batch)

    def _request(self, line: wire.Line, method: str) -> None:
        """Only requests of the client are remembered; those of the agent have an id space of their own."""
        if line.id is not None and not method.startswith(("fs/", "terminal/", "_", "elicitation/")):
            _put(self.state.requests, str(line.id), method)
            if method == "session/load":
                self.state.replay = str(line.id)

    def _permission(self, line: wire.Line, params: wire.Params | None, source: Source, batch: Batch) -> None:
        asked = params.toolCall if params is not None else None
        if params is None or asked is None:
            batch.ignore("session/request_permission/empty")
            return
        if asked.toolCallId and asked.toolCallId not in self.state.calls:
            calls.upsert(self, asked.sessionUpdate, asked, source, batch)
        call = self.state.calls.get(asked.toolCallId)
        if call is not None:
            calls.emit(self, asked.toolCallId, call, batch)
        no = [o.optionId for o in params.options or () if o.optionId and (o.kind or "").startswith("reject")]
        _put(self.state.asked, str(line.id), Asked(asked.toolCallId, no))
        text = asked.title or asked.kind or ""
        batch.events.append(Notification(source, "-ask", "permission_request", text, "info", asked.toolCallId or None))

    # answers

    def _answered(self, line: wire.Line, data: bytes, side: str, record: Record, source: Source, batch: Batch) -> None:
        if side not in FROM_CLIENT and self.state.replay == str(line.id):
            self.state.replay = None
        if bytes(line.result)[:1] != b"{":
            batch.ignore("response")
            return
        try:
            result = wire.decode_answer(data).result
        except msgspec.ValidationError:
            if side in FROM_CLIENT:  # what the client gives back is not looked into
                batch.ignore("response")
                return
            raise
        if result is None:
            batch.ignore("response")
        elif result.outcome is not None and side not in FROM_AGENT:
            self._decided(str(line.id), result.outcome, batch)
        elif side not in FROM_AGENT and str(line.id) in self.state.waits and _of_terminal(result):
            terminals.answered(self.state, self.state.waits.pop(str(line.id)), result)
            batch.ignore("response")
        elif result.stopReason is not None:
            self.state.requests.pop(str(line.id), None)
            self.end(result, line.result, source, batch)
        elif result.agentInfo is not None or result.agentCapabilities not in wire.NOTHING or result.info is not None:
            info = result.agentInfo or result.info or wire.AgentInfo()
            offers = tuple(a.id for a in result.authMethods or () if a.id)
            self.state.agent = agent_of(info.name, offers) or self.state.agent
            if info.version:
                self._session(source, batch, version=info.version)
            else:
                batch.ignore("response")
        elif result.sessionId or result.models is not None or result.configOptions:
            model = result.models.currentModelId if result.models else None
            for option in result.configOptions or ():
                if option.id == "model" and bytes(option.currentValue)[:1] == b'"':
                    model = model or text_of(option.currentValue)
            other_session(record, result.sessionId, self.state.session_id, batch)
            self._session(source, batch, session_id=result.sessionId, model=model)
        else:
            batch.ignore("response")

    def _decided(self, request: str, outcome: wire.Outcome, batch: Batch) -> None:
        asked = self.state.asked.pop(request, None)
        call = self.state.calls.get(asked.call_id) if asked is not None else None
        if asked is not None and call is not None:
            if outcome.outcome == "cancelled":
                call.verdict = "cancelled"
            elif outcome.optionId in asked.refusals:
                call.verdict = "denied"
        batch.ignore("response")

    def _failed(self, line: wire.Line, side: str, source: Source, batch: Batch) -> None:
        text = reason_of(line.error)
        if side not in FROM_CLIENT and self.state.replay == str(line.id):
            self.state.replay = None
        method = self.state.requests.pop(str(line.id), None) if side not in FROM_CLIENT else "client"
        if method in (None, "session/prompt", "session/new"):
            self.release(batch)
            batch.events.append(SessionEnd(source, "", "error", text, self.state.cost, result_json=line.error))
            self.state.prompting = False
        else:
            batch.events.append(Notification(source, "", f"{method} error", text, "error"))

    def end(self, result: wire.Result, raw: Raw, source: Source, batch: Batch) -> None:
        """The end of a prompt."""
        self.release(batch)
        reason = result.stopReason or ""
        status, why = ENDS.get(reason, "complete"), None if reason == "end_turn" else reason
        if status == "interrupted":
            calls.cancel(self, source, batch)
        elif self.state.failure is not None and status == "complete":
            status, why = "error", self.state.failure
        total = usage.of_prompt(self.state, result, source)
        if total is not None:
            batch.events.append(total)
        batch.events.append(SessionEnd(source, "", status, why, self.state.cost, result_json=raw))
        self.state.prompting = self.state.called = self.state.thoughts = False
        self.state.failure = None
        self.state.answers.clear()
        self.state.tasks.clear()

    # updates

    def _update(self, update: wire.Update, record: Record, source: Source, batch: Batch) -> None:
        kind = update.sessionUpdate
        if self.state.replay is not None and kind in SAID:
            batch.ignore(f"{kind}/replayed")
        elif kind == "agent_message_chunk":
            self._chunk(update, False, source, batch)
        elif kind == "tool_call_update" or kind == "tool_call":
            calls.upsert(self, kind, update, source, batch)
        elif kind == "agent_thought_chunk":
            self._chunk(update, True, source, batch)
        elif kind == "usage_update":
            self._window(update, source, batch)
        elif kind == "user_message_chunk":
            self._user(update, source, batch)
        elif kind == "plan" or kind == "plan_update":
            self._plan(kind, update.entries, source, batch)
        elif kind == "session_info_update":
            self._titled(update.title, source, batch)
        elif kind in version2.UPDATES:
            version2.updated(self, update, record, source, batch)
        elif kind == "notice":
            text = ": ".join(filter(None, (update.title, update.description)))
            batch.events.append(Notification(source, "", kind, text, LEVELS.get(update.severity or "", "info")))
        elif kind == "compaction_update":
            if update.status in ("completed", "failed"):
                batch.events.append(Notification(source, "", "compact_boundary", update.status))
            else:
                batch.ignore(kind)
        elif kind in QUIET_UPDATES:
            batch.ignore(kind)
        else:
            batch.unknown_type(kind or "(no sessionUpdate)", record)

    def _chunk(self, update: wire.Update, thought: bool, source: Source, batch: Batch) -> None:
        state, meta = self.state, update.meta
        if meta is None and not (state.tasks or state.held or (state.calls and state.agent == "copilot")):
            if bytes(update.content)[:1] == b"{":
                piece = wire.decode_text(update.content).text
                if len(piece) > 2 and bytes(piece)[:1] == b'"':  # nearly every chunk: text of the main agent
                    self.say(piece, thought, update.messageId, source, batch)
                    return
        marker = meta is not None and meta.usage is not None
        block = wire.decode_text(update.content) if bytes(update.content)[:1] == b"{" else wire.Text("empty")
        text = text_json(block.text)
        if text == EMPTY_STRING:
            if not marker:
                batch.ignore(update.sessionUpdate + ("/empty" if block.type in ("text", "empty") else "/media"))
        elif state.tasks and not marker and (meta is None or meta.parentToolCallId is None):
            state.held.append(Held(source, Raw(bytes(text)), thought))
            if len(state.held) > MOST:
                self.release(batch)
        elif state.agent == "copilot" and state.calls and INFO_TEXT.match(text_of(text)):
            name, _, told = text_of(text).partition(": ")
            level: Level = "warning" if name == "Warning" else "info"
            batch.events.append(Notification(source, "", "session.info", told, level))
        else:
            stream = self.stream_of(meta)[0]
            self.release(batch, stream)
            self.say(text, thought, update.messageId, _on(source, stream), batch)
        if marker:
            assert meta is not None
            self._marked(meta, source, batch)

    def _marked(self, meta: wire.Meta, source: Source, batch: Batch) -> None:
        """Qwen: the tokens of an answer, which ends with them."""
        state = self.state
        stream = self.stream_of(meta)[0]
        self.release(batch, stream)
        state.usage_marks = True
        known = state.answers.get(stream)
        answer = self.answer(stream, source, known is not None and known.marked)
        batch.events.append(usage.of_call(state, meta, answer.id, _on(source, stream)))
        answer.marked = True

    def say(self, text: Raw, thought: bool, native: str | None, source: Source, batch: Batch) -> None:
        """Appends a piece of an answer's text or reasoning."""
        state = self.state
        answer = state.answers.get(source.stream)
        if answer is None or answer.ended > 0 or answer.marked or (native and native != answer.native):
            answer = self._speaking(thought, native, source)
        if thought:
            state.thoughts = True
            batch.events.append(Reasoning(source, "", answer.id, text, True, state.model))
            return
        failed = False
        if not answer.spoke:
            answer.spoke = True
            found = None
            if state.agent == "copilot" and source.stream == self.stream:
                found = FAILURE_TEXT.match(text_of(text)) if bytes(text)[1:8] == b"Error: " else None
            failed = found is not None
            state.failure = None if found is None else found.string
        elif state.failure is not None:
            state.failure = None
        batch.events.append(AssistantText(source, "", answer.id, text, True, failed, state.model))

    def _speaking(self, thought: bool, native: str | None, source: Source) -> Answer:
        known = self.state.answers.get(source.stream)
        fresh = known is None or known.ended > 0 or known.marked
        if native and not thought and known is not None and known.native and known.native != native:
            fresh = True
        answer = self.answer(source.stream, source, fresh) if fresh or known is None else known
        if native and not thought and not answer.native:
            answer.native = native
            if fresh:
                answer.id = native
        return answer

    def _user(self, update: wire.Update, source: Source, batch: Batch) -> None:
        if self.state.prompting:
            batch.ignore("user_message_chunk/echo")
            return
        if update.content in wire.NOTHING:
            batch.ignore("user_message_chunk/empty")
            return
        if self.state.answers or not self.state.user_id:
            self.state.answers.clear()
            self.state.user_id = update.messageId or f"u{source.row}"
        block = wire.decode_text(update.content) if bytes(update.content)[:1] == b"{" else None
        text = block is not None and block.type == "text"
        body = text_json(block.text) if text and block is not None else Raw(b"[" + bytes(update.content) + b"]")
        batch.events.append(UserText(source, "", body, self.state.user_id, False, text))

    def _plan(self, kind: str, entries: Raw, source: Source, batch: Batch) -> None:
        tool = PLAN_TOOLS.get(self.state.agent)
        if tool is None or bytes(entries)[:1] != b"[":
            batch.ignore(kind)  # the tool call beside it tells the same
            return
        calls.planned(self, tool, entries, source, batch)

    def _titled(self, title: str | None, source: Source, batch: Batch) -> None:
        if title and title != self.state.title:
            self.state.title = title
            self._session(source, batch, title=title)
        else:
            batch.ignore("session_info_update")

    def _window(self, update: wire.Update | wire.Window, source: Source, batch: Batch) -> None:
        if update.cost is not None and update.cost.amount is not None and update.cost.currency in (None, "USD"):
            self.state.cost = update.cost.amount
        if update.size and update.size != self.state.window:
            self.state.window = update.size
            batch.events.append(SessionInfo(source, "", context_window=update.size))
        else:
            batch.ignore("usage_update")

    # what calls.py uses too

    def answer(self, stream: str, source: Source, fresh: bool) -> Answer:
        """The answer that the stream is in, a new one where it begins here."""
        known = self.state.answers.get(stream)
        if known is None or fresh:
            known = Answer(f"m{source.row}")
            self.state.user_id = ""
            _put(self.state.answers, stream, known)
        return known

    def stream_of(self, meta: wire.Meta | None) -> tuple[str, str | None]:
        """The stream that a message is marked with, and the call that started it."""
        if meta is None:
            return self.stream, None
        if meta.parentToolCallId:
            return f"subagent:{meta.parentToolCallId}", meta.parentToolCallId
        agent = meta.copilot.agentId if meta.copilot is not None else None
        if not agent:
            return self.stream, None
        tasks = self.state.tasks
        parent = next((call for call, known in tasks.items() if known == agent), None)
        if parent is None:
            waiting = [call for call, known in tasks.items() if not known]
            if len(waiting) == 1:
                parent = waiting[0]
                tasks[parent] = agent
        return f"subagent:{agent}", parent

    def release(self, batch: Batch, stream: str | None = None) -> None:
        """Says what was held back, in the stream that it turned out to belong to."""
        held = self.state.held
        if held:
            self.state.held = []
            for one in held:
                self.say(one.text, one.thought, None, _on(one.source, stream or self.stream), batch)

    def _session(
        self,
        source: Source,
        batch: Batch,
        *,
        session_id: str | None = None,
        model: str | None = None,
        version: str | None = None,
        cwd: str | None = None,
        title: str | None = None,
    ) -> None:
        self.state.session_id = session_id or self.state.session_id
        self.state.model = model or self.state.model
        batch.events.append(SessionInfo(source, "-session", session_id, model, version, cwd, title=title))


def _of_terminal(result: wire.Result) -> bool:
    return result.exitCode is not None or result.signal is not None or result.output not in wire.NOTHING


def reason_of(error: Raw) -> str:
    """The message of an error, with the details that Qwen puts beside it."""
    if bytes(error)[:1] != b"{":
        return text_of(error) if bytes(error)[:1] == b'"' else ""
    value = wire.decode_error(error)
    data = value.data if bytes(value.data)[:1] == b"{" else wire.EMPTY
    details = wire.decode_details(data).details if value.message == "Internal error" else None
    return ": ".join(filter(None, (value.message, details)))


def _on(source: Source, stream: str) -> Source:
    return source if source.stream == stream else msgspec.structs.replace(source, stream=stream)


def _put(table: dict[str, T], key: str, value: T) -> None:
    if len(table) >= MOST and key not in table:
        del table[next(iter(table))]
    table[key] = value
