"""Permission requests in ACP, and the answers to them. In: a message. Out: its events.

Most agents ask under the id of a call. Some ask under an id that no call has, before or after they announce the call
(deepagents 0.0.13): such a request belongs to the open call that asks for the same.
"""

from itertools import islice

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Notification, Source
from agentv_stages.model.recent import remember
from agentv_stages.providers.acp import calls, naming, wire
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.speech import Connection
from agentv_stages.providers.acp.state import MOST, AcpState, PermissionRequest

MOST_SEARCHED = 32  # latest open calls that are compared with a request: each comparison decodes two inputs


def requested(at: Connection, line: wire.Line, params: wire.Params | None, source: Source, batch: Batch) -> None:
    """Handles a request for permission; one for a call that nothing else announces begins that call."""
    state, update = at.state, params.toolCall if params is not None else None
    if params is None or update is None:
        batch.ignore("session/request_permission/empty")
        return
    habits = habits_of(state.agent)
    of_subagent = habits.hides_agents and bool(state.tasks)
    call_id = state.aliases.get(update.toolCallId, update.toolCallId)
    known = call_id in state.calls
    if call_id and not known and not of_subagent:
        joined = _same(state, update) if call_id not in state.closed else None
        if joined is None:
            calls.upsert(at, update.sessionUpdate, update, source, batch)
            if call_id in state.calls:
                remember(state.unannounced, call_id, True, MOST_SEARCHED)
        else:
            remember(state.aliases, call_id, joined, MOST)
            call_id, known = joined, True
    call = state.calls.get(call_id)
    if call is not None:
        call.permission_asked = True
        if known or not habits.asks_by_command:
            calls.emit(at, call_id, call, batch)
    no = [o.optionId for o in params.options or () if o.optionId and (o.kind or "").startswith("reject")]
    remember(state.permissions, str(line.id), PermissionRequest(call_id, no), MOST)
    text = update.title or update.kind or ""
    batch.events.append(Notification(source, "-ask", "permission_request", text, "info", call_id or None))


def decided(state: AcpState, request: str, outcome: wire.Outcome, batch: Batch) -> None:
    """Handles the client's answer to a request."""
    pending = state.permissions.pop(request, None)
    call = state.calls.get(pending.call_id) if pending is not None else None
    if pending is not None and call is not None:
        if outcome.outcome == "cancelled":
            call.verdict = "cancelled"
        elif outcome.optionId in pending.refusals:
            call.verdict = "denied"
    batch.ignore("response")


def _same(state: AcpState, update: wire.Update) -> str | None:
    """The open call that a request under an unknown id belongs to: the oldest call without an earlier request."""
    latest = list(islice(reversed(state.calls.items()), MOST_SEARCHED))
    found = [(i, call) for i, call in reversed(latest) if not call.early and naming.asks_the_same(call, update)]
    return next((i for i, call in found if not call.permission_asked), found[0][0] if found else None)
