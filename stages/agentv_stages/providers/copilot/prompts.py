"""Texts that reach Copilot's model from outside. In: user messages and system notifications. Out: user texts."""

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source, UserText
from agentv_stages.model.payload import text_json
from agentv_stages.model.repeats import checksum
from agentv_stages.providers.copilot import wire
from agentv_stages.providers.copilot.deltas import Events

HUMAN = (None, "", "user")


def user(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A message that a person wrote, or that a program inserted (`injected`)."""
    data = wire.decode_user(line.data)
    if data.content in wire.NOTHING:
        batch.ignore("user.message/empty")
        return
    at.state.failure, at.state.aborted = None, False
    if at.state.repeats.again(line.id, checksum(line.data)):
        batch.ignore("user.message/again")
        return
    origin = data.source
    injected = not (origin in HUMAN or origin.startswith("agent-")) or bool(data.isAutopilotContinuation)
    body = data.content if bytes(data.content)[:1] == b"[" else text_json(data.content)
    batch.events.append(UserText(source, "", body, data.messageId or source.base_id, injected))


def system(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A system notification that the model reads."""
    data = wire.decode_failure(line.data)
    if at.state.repeats.again(line.id, checksum(line.data)):
        batch.ignore("system.notification/again")
        return
    at.state.noticed = line.id
    if data.content in wire.NOTHING:
        batch.ignore("system.notification/empty")
        return
    batch.events.append(UserText(source, "", text_json(data.content), source.base_id, True))
