"""Converts what Grok Build sends as an agent of the Agent Client Protocol (`grok agent stdio`) to events.

Its updates are those of its sessions on disk, plus its own (`_x.ai/session_notification`): the tokens of each answer,
the ends of turns, which session is a sub-agent's. Updates of a sub-agent's session get their own stream. Recordings may
have one direction or both, bare or in a recorder's wrapper.
End rule: `turn_completed`; if it did not come, as in 0.1, `_x.ai/session/prompt_complete` or the answer to a prompt.
Source: Grok Build 0.1.220 to 1.0.41, `grok agent stdio`.
"""

import msgspec
from msgspec import Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source, UserText
from agentv_stages.model.payload import has_value, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.acp import wire
from agentv_stages.providers.acp.catalogue import FROM_CLIENT, QUIET_METHODS
from agentv_stages.providers.grok import session
from agentv_stages.providers.grok.notices import ended, reason_of
from agentv_stages.providers.grok.tools import SPAWN
from agentv_stages.providers.grok.wire import SessionLine, decode_completed, decode_session

LOSSES = (
    "the agent's version, the title; the prompt is known only where the client's messages were recorded",
    "arguments that are not JSON; calls after one whose refusal ended the turn",
    "costs, as soon as one turn has none",
    "that an answer was cut off and tried again: its two texts become one, with a notice before it",
    "which call started which of two sub-agents that started at once",
    "whether a text, a prompt, or the tokens of an answer are repeated",
)
_UPDATES = frozenset(("session/update", "_x.ai/session_notification", "_x.ai/session/update"))
_MOST = 1_000
_NO_METHOD = -32601


class Child(Struct):
    """The session of a sub-agent, and the call that started it."""

    parent_call: str | None = None
    state: session.State = field(default_factory=session.State)


class State(Struct):
    """`going`: a prompt was sent, or something was done, and no turn has ended since. `over`: one has ended."""

    session_id: str | None = None
    going: bool = False
    over: bool = False
    main: session.State = field(default_factory=session.State)
    children: dict[str, Child] = {}


class AcpDecoder:
    """Decoder of `grok-acp`: one connection."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line, data, path = wire.decode_line(record.data), record.data, "`$"
        side = (line.dir or line.direction or "").lower()
        if line.method is None and line.id is None:
            for name in ("msg", "message", "payload", "data"):
                inner = bytes(getattr(line, name))
                if inner[:1] == b"{":
                    data, path = inner, f"`$.{name}"
                    break
        try:
            if path != "`$":
                line = wire.decode_line(data)
            if line.method in _UPDATES:
                self._update(decode_session(data), record, batch)
            elif line.method is not None:
                self._request(line.method, data, record, batch)
            elif side not in FROM_CLIENT and has_value(line.error):
                self._failed(wire.decode_error(line.error), record, batch)
            elif side not in FROM_CLIENT and bytes(line.result)[:1] == b"{":
                self._response(data, record, batch)
            else:
                batch.ignore("response")
        except msgspec.ValidationError as error:  # the path must name the member by its place in the record
            raise msgspec.ValidationError(str(error).replace("`$", path, 1)) from None

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _update(self, line: SessionLine, record: Record, batch: Batch) -> None:
        """Handles an update of the connection's session, or of a sub-agent's."""
        state, params = self.state, line.params
        session_id = params.sessionId if params is not None else None
        child = state.children.get(session_id) if session_id else None
        if child is not None:
            own = DecodeContext(self.context.file, f"subagent:{session_id}", child.parent_call, state.session_id)
        else:
            own = self.context
            state.session_id = state.session_id or session_id
        decoder = session.SessionDecoder(own)
        decoder.state = state.main if child is None else child.state
        decoder.take(line, record, batch)
        update = params.update if params is not None else None
        if update is None:
            return
        if update.sessionUpdate == "subagent_spawned" and update.child_session_id and len(state.children) < _MOST:
            joined = {known.parent_call for known in state.children.values()}
            open_calls = decoder.state.open.items()
            call = next((call for call, name in open_calls if name == SPAWN and call not in joined), None)
            state.children.setdefault(update.child_session_id, Child(call))
        elif child is None and not (params is not None and params.meta is not None and params.meta.isReplay):
            state.over = state.over or update.sessionUpdate == "turn_completed"
            state.going = update.sessionUpdate != "turn_completed" and (
                state.going or update.sessionUpdate.startswith(("agent_", "tool_"))
            )

    def _request(self, method: str, data: bytes, record: Record, batch: Batch) -> None:
        add, source = batch.events.append, self.context.source(record)
        if method == "session/prompt":
            params = wire.decode_message(data).params
            self.state.going = True
            if params is not None and has_value(params.prompt):
                body = params.prompt if bytes(params.prompt)[:1] == b"[" else text_json(params.prompt)
                add(UserText(source, "", body, f"p{record.row}"))
        elif method == "session/new":
            params = wire.decode_message(data).params
            add(SessionInfo(source, "", cwd=params.cwd if params is not None else None))
        elif method == "session/request_permission":
            params = wire.decode_message(data).params
            call = params.toolCall if params is not None else None
            text = (call.title or call.kind or "") if call is not None else ""
            call_id = call.toolCallId if call is not None else None
            add(Notification(source, "", "permission_request", text, "info", call_id or None))
        elif method == "session/cancel":
            add(Notification(source, "", method, "", "warning"))
        elif method == "_x.ai/session/prompt_complete":
            done = decode_completed(data).params
            known = done is None or done.sessionId in self.state.children or (self.state.over and not self.state.going)
            if done is None or known:
                batch.ignore(method)
            else:
                self.state.session_id = self.state.session_id or done.sessionId
                self._ended(done.stopReason or "", done.agentResult, source, batch)
        elif method in QUIET_METHODS or method.startswith("_"):
            batch.ignore("_extension" if method.startswith("_") else method)
        else:
            batch.unknown_type(method, record)

    def _response(self, data: bytes, record: Record, batch: Batch) -> None:
        result = wire.decode_answer(data).result or wire.Result()
        source, state = self.context.source(record), self.state
        if result.stopReason is not None:
            if state.going:
                self._ended(result.stopReason, None, source, batch)
            else:
                batch.ignore("response")
        elif result.sessionId:
            model = result.models.currentModelId if result.models else None
            state.session_id = state.session_id or result.sessionId
            state.main.session_id, state.main.model = state.session_id, model or state.main.model
            batch.events.append(SessionInfo(source, "", result.sessionId, model))
        else:
            batch.ignore("response")

    def _ended(self, stop_reason: str, message: str | None, source: Source, batch: Batch) -> None:
        """The end of a prompt whose turn has no record for its end."""
        status, reason = ended(stop_reason, None, reason_of(message))
        session.close_calls(self.state.main, status, source, batch)
        batch.events.append(SessionEnd(source, "-end", status, reason))
        self.state.going, self.state.over = False, True

    def _failed(self, error: wire.RpcError, record: Record, batch: Batch) -> None:
        """Handles an error instead of an answer; if it concerns a turn, the turn's end has reported it."""
        source, reason = self.context.source(record), reason_of(error.message)
        if error.code == _NO_METHOD:  # 0.1 answers its own requests with this error
            batch.ignore("response")
            return
        if self.state.going or self.state.session_id is None:
            batch.events.append(SessionEnd(source, "", "error", reason))
        else:
            batch.events.append(Notification(source, "", "error", reason or "", "error"))
        self.state.going = False
