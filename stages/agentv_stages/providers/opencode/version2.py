"""Messages of OpenCode 2.x, whose content is in them: answers as the message and parts of 1.x, all others as events.

Source: opencode 2.0, published source (`schema/session-message`, September 2026), and reports of users.
"""

from msgspec import Raw

from agentv_stages.chain.pruning import fitting
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import EMPTY_OBJECT, Notification, SessionEnd, SessionInfo, Source, Status, UserText
from agentv_stages.model.payload import ABSENT, has_value, text_json, to_raw
from agentv_stages.providers.opencode.parts import usage_event
from agentv_stages.providers.opencode.wire import (
    Item,
    MessageInfo,
    NewMessage,
    Part,
    Span,
    ToolState,
    decode_attachment,
    decode_text_only,
)

NO_TIME = Span()
INJECTED = frozenset({"synthetic", "system", "skill"})
SILENT = frozenset({"agent-switched", "model-switched"})
OUTCOMES: dict[str, Status] = {"succeeded": "complete", "failed": "error", "interrupted": "interrupted"}


def created_ms(message: NewMessage) -> float | None:
    """When a message was created: a fork's copies keep the time of the original."""
    return message.time_created if message.time_created is not None else (message.time or NO_TIME).created


def answer_of(message: NewMessage) -> tuple[MessageInfo, list[Part]]:
    """An answer in the shape of 1.x."""
    parts = [_part(item) for item in message.content or ()]
    if message.retry is not None:
        parts.append(Part(type="retry", attempt=message.retry.attempt))
    info = MessageInfo(
        message.id,
        "assistant",
        message.sessionID,
        Span(created=created_ms(message), completed=(message.time or NO_TIME).completed),
        message.model.id if message.model else None,
        None,
        message.cost,
        message.tokens,
        message.finish,
        message.error,
    )
    return info, parts


def other(
    message: NewMessage, message_id: str, source: Source, failure: str | None, record: Record, batch: Batch
) -> None:
    """Appends the events of a message that is no answer. `failure` is the error of the last answer, if it had one."""
    kind, events = message.type, batch.events
    if kind == "user":
        events.append(UserText(source, "-0", text_json(message.text), message_id))
        for i, file in enumerate(fitting(message.files, decode_attachment), 1):
            block = {"type": "file", "mime": file.mime, "filename": file.name, "url": file.uri}
            events.append(UserText(source, f"-{i}", to_raw([block]), message_id))
    elif kind in INJECTED:
        events.append(UserText(source, "-0", text_json(message.text), f"{message_id}-injected", True))
    elif kind == "shell":
        events.append(Notification(source, "", "user_shell", message.command or ""))
    elif kind == "compaction":
        events.append(Notification(source, "", "compact_boundary", message.reason or ""))
        if message.tokens is not None:
            model = message.model.id if message.model else None
            events.append(usage_event(source, message_id, message.tokens, message.cost, model))
    elif kind == "location-switched":
        events.append(SessionInfo(source, "", cwd=message.location.directory if message.location else None))
    elif kind == "idle":
        status = OUTCOMES.get(message.outcome or "")
        if status is None:
            batch.unknown_type(f"message/idle/{message.outcome or ''}", record)
        reason = failure if failure and status != "complete" else message.outcome
        events.append(SessionEnd(source, "-end", status or "unknown", reason, certain=True))
    elif kind in SILENT:
        batch.ignore(f"message/{kind}")
    else:
        batch.unknown_type(f"message/{kind}", record)


def _part(item: Item) -> Part:
    time = item.time
    if item.type != "tool":
        return Part(type=item.type, text=item.text, time=Span(time.created, time.completed) if time else None)
    state = item.state
    if state is None:
        return Part(type="tool", tool=item.name, callID=item.id)
    begun = (time.ran if time.ran is not None else time.created) if time else None
    span = Span(begun, time.completed) if time else None
    status = "pending" if state.status == "streaming" else state.status
    arguments = state.input if bytes(state.input)[:1] == b"{" else EMPTY_OBJECT
    facts = state.metadata if has_value(state.metadata) else state.structured
    error = to_raw(state.error) if state.error is not None else ABSENT
    return Part(
        type="tool",
        tool=item.name,
        callID=item.id,
        state=ToolState(status, arguments, _output(state.content), error, facts, span),
    )


def _output(content: Raw) -> Raw:
    """The content of a result: its text if it has nothing else, otherwise the list as it is in the log."""
    if bytes(content)[:1] != b"[":
        return content if has_value(content) else ABSENT
    blocks = list(fitting(content, decode_text_only))
    if all(block.type == "text" for block in blocks):
        return to_raw("\n".join(block.text or "" for block in blocks))
    return content
