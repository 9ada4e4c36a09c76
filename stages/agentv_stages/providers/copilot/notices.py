"""Copilot's reports beside its work, and its prompts. In: permissions, hooks, sub-agents, notices, user messages."""

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, Source, UserText
from agentv_stages.model.payload import decode_json, text_json, text_of, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import checksum
from agentv_stages.providers.copilot import wire
from agentv_stages.providers.copilot.catalogue import NOTICES
from agentv_stages.providers.copilot.state import MOST_AGENTS, Events

# Texts that reach Copilot's model from outside. In: user messages and system notifications. Out: user texts.

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


def notice(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """Handles a line of any known type that has no other handler, as the catalogue describes it."""
    row = NOTICES[line.kind]
    data = decode_json(line.data)
    texts = [text_of(to_raw(data.get(key))) for key in row.keys] if isinstance(data, dict) else []  # pyright: ignore[reportUnknownMemberType] - decoded JSON
    call = data.get("toolCallId") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    text = ": ".join(filter(None, texts))
    call_id = call if isinstance(call, str) else None
    batch.events.append(Notification(source, "", row.name or line.kind, text, row.level, call_id))


def permission_asked(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    request = wire.decode_permission(line.data).permissionRequest or wire.PermissionAsked()
    text = ": ".join(filter(None, (request.kind, request.fullCommandText or request.intention)))
    batch.events.append(Notification(source, "", "permission_request", text, "info", request.toolCallId))


def permission_answered(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """Only a refusal is worth reporting."""
    data = wire.decode_permitted(line.data)
    kind = data.result.kind if data.result else ""
    if not kind.startswith(("denied", "cancelled")):
        batch.ignore("permission.completed")
        return
    batch.events.append(Notification(source, "", line.kind, kind, "warning", data.toolCallId))


def hook(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """Only a failed hook is worth reporting."""
    data = wire.decode_hook(line.data)
    if data.success is not False:
        batch.ignore("hook.end")
        return
    text = ": ".join(filter(None, (data.hookType, data.error.message if data.error else None)))
    batch.events.append(Notification(source, "", line.kind, text, "warning"))


def is_automatic(at: Events, line: wire.MessageLine, record: Record, batch: Batch) -> bool:
    """Whether Copilot, not a model, wrote an answer: it reads a shell's output itself when the system reports its end.

    Such a message has neither a model nor an API call, and follows the notification.
    """
    noticed, at.state.noticed = at.state.noticed, None
    data = line.data
    if data.model or data.apiCallId or wire.decode_follows(record.data).parentId != noticed:
        return False
    source = at.source(line, record)
    for i, call in enumerate(data.toolRequests or ()):
        _no_call(at, call.toolCallId)
        batch.events.append(Notification(source, f"-{i}", "tool.automatic", call.name, "info", call.toolCallId))
    return True


def _no_call(at: Events, call_id: str) -> None:
    """Marks a call that no model asked for, so that its start and end are not reported as one."""
    remember(at.state.by_user, call_id, True, MOST_AGENTS)


def by_user(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A command that the user ran: its start and end are not reported as a model's call."""
    data = wire.decode_failure(line.data)
    if data.toolCallId:
        _no_call(at, data.toolCallId)
    text = data.toolName or ""
    batch.events.append(Notification(source, "", line.kind, text, "info", data.toolCallId))


def subagent(at: Events, line: wire.Rare, source: Source, batch: Batch) -> None:
    """A sub-agent began: remembers the call that started it, and its stream."""
    data = wire.decode_subagent(line.data)
    call_id, agent = data.toolCallId, line.agentId
    if call_id:
        remember(at.state.agents, call_id, agent or call_id, MOST_AGENTS)
        remember(at.state.parents, agent or call_id, call_id, MOST_AGENTS)
    name = data.agentDisplayName or data.agentName or ""
    batch.events.append(Notification(source, "", line.kind, name, "info", call_id))
