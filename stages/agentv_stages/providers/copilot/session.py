"""The session in Copilot's events: its start, copies, changes, errors and ends in; its facts and its end out."""

import re

import msgspec
from msgspec import Raw

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, SessionInfo, Source, Status, ToolResult
from agentv_stages.model.repeats import check, checksum
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.copilot import notices, usage, wire
from agentv_stages.providers.copilot.state import Events, EventsState, give_up_all

# History that a fork copied from its parent's log: it is reported there, and not again here.
#
# Source: sessions that Copilot 1.0.102 forked in its terminal. A fork's log begins with a `session.start` of its own,
# followed by the parent's records with their ids and times, which are earlier than that start. A `session.info` then
# names the parent.

_PARENT = re.compile(r"Forked from .* \(([0-9a-f-]{36})\) as ", re.DOTALL)


def is_copy(state: EventsState, record: Record, batch: Batch) -> bool:
    """Whether a record between a session's start and its first own record was copied from the parent."""
    assert state.begun_ms is not None
    try:
        head = wire.decode_piece(record.data)
    except msgspec.ValidationError:
        return False
    time_ms = parse_iso(head.timestamp)
    if time_ms is None or time_ms >= state.begun_ms:
        state.begun_ms = None
        return False
    state.forked = True
    batch.ignore(COPIED)
    return True


def info(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """Handles a `session.info`, which may report a rewind or, in a fork, name the parent."""
    data, state = wire.decode_notice(line.data), at.state
    notices.notice(at, line, source, batch)
    if data.infoType == "rewind":
        state.rewound = True
    elif data.infoType == "fork" and state.forked:
        parent = _PARENT.match(data.message or "")
        if parent:
            batch.events.append(SessionInfo(source, "-parent", parent_session_id=parent[1]))


def facts(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """The facts of the session, at its start or later."""
    data = wire.decode_session(line.data)
    model = data.newModel or data.chosenModel or data.selectedModel or data.model
    if line.agentId:
        batch.ignore(line.kind + "/sub-agent")
        return
    place = data.context or wire.Place(data.cwd, data.branch)
    parent = data.parentSessionId or data.detachedFromSpawningParentSessionId
    known_id, at.state.session_id = at.state.session_id, data.sessionId or at.state.session_id
    another = line.kind == "session.start" and None is not known_id != at.state.session_id
    at.state.model = model or at.state.model
    known = (data.sessionId, model, data.copilotVersion, place.cwd, place.branch, parent, data.title)
    if not any(known):
        batch.ignore(line.kind)
        return
    batch.events.append(SessionInfo(source, "", *known, another=another))


def shutdown(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """The last line of a log on disk, with the totals of its run."""
    data = wire.decode_shutdown(line.data)
    give_up_all(at, batch)
    if not at.state.repeats.again(line.id, checksum(line.data)):
        usage.of_run(at, data, source, batch)
    status, reason = _verdict(at.state)
    if data.shutdownType == "error" and status == "complete":
        status, reason = "error", data.errorReason
    batch.events.append(SessionEnd(source, "", status, reason, result_json=line.data))


def result(at: Events, data: wire.ResultLine, record: Record, batch: Batch) -> None:
    """The closing line of standard output."""
    source = at.source(data, record)
    give_up_all(at, batch)
    known = at.state.session_id
    if known is not None:  # a stream shows another session at its end, the first line that names the session
        other_session(record, data.sessionId, known, batch)
        batch.strangers.append(record)
    if data.sessionId and data.sessionId != known:
        at.state.session_id = data.sessionId
        batch.events.append(SessionInfo(source, "", data.sessionId))
    status, reason = _verdict(at.state)
    if data.exitCode:
        status, reason = ("error" if status == "complete" else status), reason or f"exit code {data.exitCode}"
    elif data.exitCode == 0 and status == "error":
        status, reason = "complete", None
    again = at.state.repeats.again(check(record, data.timestamp))
    took = data.usage.sessionDurationMs if data.usage and not again else None
    batch.events.append(
        SessionEnd(
            source,
            "",
            status,
            reason,
            duration_ms=whole_ms(took),
            result_json=Raw(record.data),
        )
    )


def _verdict(state: EventsState) -> tuple[Status, str | None]:
    if state.aborted:
        return "interrupted", "abort"
    if state.failure is not None:
        return "error", state.failure
    return "complete", None


def error(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """An error; it ends the run unless the main agent continues."""
    data = wire.decode_failure(line.data)
    give_up_all(at, batch, line.agentId)
    text = ": ".join(filter(None, (data.errorType, data.message)))
    if not line.agentId:
        at.state.failure = text
    batch.events.append(Notification(source, "", line.kind, text, "error"))


def abort(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """An interruption; a sub-agent's does not end the session."""
    data = wire.decode_failure(line.data)
    give_up_all(at, batch, line.agentId)
    if not line.agentId:
        at.state.aborted = True
    batch.events.append(Notification(source, "", line.kind, data.reason or data.message or "", "warning"))
    _cancel(at.state, line.agentId, source, batch)


def _cancel(state: EventsState, agent: str | None, source: Source, batch: Batch) -> None:
    """Cancels the open calls of an interrupted agent, and of the sub-agents that its calls wait for."""
    opened, parent_of = state.open, state.parent_of
    own = state.parents.get(agent) if agent else None
    stopped: dict[str, bool] = {}
    for call_id in opened:  # in the order of the requests: a sub-agent's calls come after the call that started it
        parent = parent_of.get(call_id)
        if (parent == own and (not agent or own is not None)) or (parent is not None and parent in stopped):
            stopped[call_id] = True
    for i, call_id in enumerate(stopped):
        del opened[call_id]
        parent_of.pop(call_id, None)
        batch.events.append(ToolResult(source, f"-{i}", call_id, None, "cancelled"))


def idle(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """The end of a prompt in the SDK, which prints no `result`."""
    data = wire.decode_failure(line.data)
    give_up_all(at, batch, line.agentId)
    status, reason = _verdict(at.state)
    if data.aborted:
        status = "interrupted"
    batch.events.append(SessionEnd(source, "", status, reason))
