"""Session updates in ACP. In: one `session/update` of any kind. Out: its events."""

from msgspec import Raw, ValidationError

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionInfo, Source
from agentv_stages.providers.acp import calls, speech, version2, wire
from agentv_stages.providers.acp.catalogue import LEVELS, QUIET_UPDATES
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.speech import Connection, on_stream

REPLAYED = frozenset(
    ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan",
     "plan_update", "agent_message", "agent_thought", "user_message", "tool_call_content_chunk", "compaction_update")
)  # fmt: skip
"""Updates that are repeated when a session is loaded."""


def updated(at: Connection, params: wire.Params | None, record: Record, source: Source, batch: Batch) -> None:
    """Handles an update; a sub-agent's session has its own stream."""
    if params is None or params.update is None:
        batch.ignore("session/update/empty")
        return
    known, outer = at.state.session_id, at.stream
    if known is None and params.sessionId:
        facts(at, source, batch, session_id=params.sessionId)
    if params.sessionId and params.sessionId in at.state.children:
        at.stream = f"subagent:{params.sessionId}"
        source = on_stream(source, at.stream)
    try:
        _update(at, params.update, record, source, batch)
    except ValidationError:  # the record will be decoded again, without what does not fit
        at.state.session_id = known
        raise
    finally:
        at.stream = outer


def _update(at: Connection, update: wire.Update, record: Record, source: Source, batch: Batch) -> None:
    kind = update.sessionUpdate
    if at.state.replay is not None and kind in REPLAYED:
        batch.ignore(f"{kind}/replayed")
    elif kind == "agent_message_chunk":
        speech.chunk(at, update, False, source, batch)
    elif kind == "tool_call_update" or kind == "tool_call":
        calls.upsert(at, kind, update, source, batch)
    elif kind == "agent_thought_chunk":
        speech.chunk(at, update, True, source, batch)
    elif kind == "usage_update":
        window(at, update, source, batch)
    elif kind == "user_message_chunk":
        speech.user_chunk(at, update, source, batch)
    elif kind == "plan" or kind == "plan_update":
        plan(at, kind, update.entries, source, batch)
    elif kind == "session_info_update":
        titled(at, update.title, source, batch)
    elif kind in version2.UPDATES:
        version2.updated(at, update, record, source, batch)
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


def plan(at: Connection, kind: str, entries: Raw, source: Source, batch: Batch) -> None:
    """Handles a plan, which some agents send instead of a call."""
    tool = habits_of(at.state.agent).plan_tool
    if tool is None or bytes(entries)[:1] != b"[":
        batch.ignore(kind)  # the tool call beside it says the same
        return
    calls.planned(at, tool, entries, source, batch)


def titled(at: Connection, title: str | None, source: Source, batch: Batch) -> None:
    """Emits the session's title when it changes."""
    if title and title != at.state.title:
        at.state.title = title
        batch.events.append(SessionInfo(source, "-title", title=title))  # the record may give the session's id, too
    else:
        batch.ignore("session_info_update")


def window(at: Connection, update: wire.Update | wire.Window, source: Source, batch: Batch) -> None:
    """Emits the size of the context window when it changes; stores the cost so far."""
    if update.cost is not None and update.cost.amount is not None and update.cost.currency in (None, "USD"):
        at.state.cost = update.cost.amount
    if update.size and update.size != at.state.window:
        at.state.window = update.size
        batch.events.append(SessionInfo(source, "", context_window=update.size))
    else:
        batch.ignore("usage_update")


def facts(
    at: Connection,
    source: Source,
    batch: Batch,
    *,
    session_id: str | None = None,
    model: str | None = None,
    version: str | None = None,
    cwd: str | None = None,
) -> None:
    """Emits facts of the session that hold from here on."""
    own_name = habits_of(at.state.agent).model_name
    if model and own_name is not None:
        model = own_name(model) or model
    at.state.session_id = session_id or at.state.session_id
    at.state.model = model or at.state.model
    batch.events.append(SessionInfo(source, "-session", session_id, model, version, cwd))
