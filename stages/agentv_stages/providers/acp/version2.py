"""Updates that only version 2 of ACP has: whole messages, the state of a session, pieces of calls, terminals, children.

Source: the v2 draft of the protocol. The answer to a prompt is empty there; a prompt ends with the update that the
session is idle, which gives the reason.
"""

from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, Source, UserText
from agentv_stages.model.payload import text_of, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.providers.acp import calls, endings, terminals, wire
from agentv_stages.providers.acp.speech import Connection, add_text, release

UPDATES = frozenset(
    ("agent_message", "agent_thought", "user_message", "state_update", "tool_call_content_chunk", "terminal_update",
     "terminal_output_chunk", "subagent_update")
)  # fmt: skip
MOST = 1_000


def updated(at: Connection, update: wire.Update, record: Record, source: Source, batch: Batch) -> None:
    """Handles one of `UPDATES`."""
    kind = update.sessionUpdate
    if kind == "state_update":
        _state(at, update, record, source, batch)
    elif kind == "tool_call_content_chunk":
        calls.piece(at, update.toolCallId, update.content, batch)
    elif kind in ("terminal_update", "terminal_output_chunk"):
        terminals.update(at.state, update)
        batch.ignore(kind)
    elif kind == "subagent_update":
        _child(at, update, source, batch)
    elif kind == "user_message":
        _user_message(at, update, source, batch)
    else:
        _whole(at, update, kind == "agent_thought", source, batch)


def _state(at: Connection, update: wire.Update, record: Record, source: Source, batch: Batch) -> None:
    if update.state != "idle" or not (update.stopReason or update.error not in wire.NOTHING):
        batch.ignore(f"state_update/{update.state}")
    elif update.error not in wire.NOTHING:
        release(at, batch)
        value = wire.decode_error(update.error) if bytes(update.error)[:1] == b"{" else wire.RpcError()
        batch.events.append(SessionEnd(source, "", "error", value.message, at.state.cost, result_json=Raw(record.data)))
        at.state.prompting = False
    else:
        endings.end(
            at, wire.Result(stopReason=update.stopReason, usage=update.usage), Raw(record.data), source, False, batch
        )


def _child(at: Connection, update: wire.Update, source: Source, batch: Batch) -> None:
    """A sub-agent's session: its updates come under its own id."""
    if update.sessionId and update.sessionId not in at.state.children:
        remember(at.state.children, update.sessionId, True, MOST)
        text = update.title or update.description or ""
        batch.events.append(Notification(source, "", "subagent", text))
    else:
        batch.ignore("subagent_update")


def _user_message(at: Connection, update: wire.Update, source: Source, batch: Batch) -> None:
    """The user's message as the agent received it; skipped if the client's messages were recorded."""
    if at.state.prompting or update.content in wire.NOTHING:
        batch.ignore("user_message/echo" if at.state.prompting else "user_message/empty")
        return
    at.state.answers.clear()
    body = update.content if bytes(update.content)[:1] == b"[" else to_raw(text_of(update.content))
    batch.events.append(UserText(source, "", body, update.messageId or f"u{source.row}"))


def _whole(at: Connection, update: wire.Update, thought: bool, source: Source, batch: Batch) -> None:
    """A whole message or thought, after its chunks or instead of them."""
    known = at.state.answers.get(at.stream)
    if known is not None and known.native and known.native == update.messageId:
        batch.ignore(update.sessionUpdate)
        return
    text = text_of(update.content) if update.content not in wire.NOTHING else ""
    if text:
        add_text(at, to_raw(text), thought, update.messageId, source, batch)
    else:
        batch.ignore(f"{update.sessionUpdate}/empty")
