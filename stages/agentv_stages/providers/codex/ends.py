"""Ends of turns and logs in Codex's rollouts. In: the event that ends a turn, or the end of the log. Out: a status."""

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Notification, SessionEnd, Source, Status
from agentv_stages.model.payload import given
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.codex.conversation import Conversation
from agentv_stages.providers.codex.wire import Payload, member, plain


def completed(decoder: Conversation, p: Payload, source: Source, batch: Batch) -> None:
    """A turn that ended by itself, successfully or with an error. The versions that do not say yet when it started
    (to 0.130) do not say either that it failed: one without an answer may have.
    """
    decoder.close(None, batch)
    decoder.state.ends = True
    failed = given(p.error)
    message = member(p.error, "message") if failed else None
    reason = message if isinstance(message, str) else plain(p.error) or None
    status: Status = "error" if failed else "complete"
    if bytes(p.last_agent_message) == b"null" and not (failed or decoder.state.final or given(p.started_at)):
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
