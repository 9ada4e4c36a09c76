"""Messages of Kimi's context to events: prompts, texts written by the program in the user's name, migrated answers.

Source: Kimi Code 2.1.0, `context.append_message`, `context.undo`, `promptOriginSchema`.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    Retract,
    SlashCommand,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, join_array, text_json
from agentv_stages.providers.kimi.results import named_call
from agentv_stages.providers.kimi.wire import Line, Message, Origin, decode_elements, decode_message, decode_parts

_MOST = 1024
_PROMPT = "user:"
_USER = Origin("user")
_ARRAY = b"["


class RecentMessages(Struct):
    """Ids of the last messages, oldest first, for an undo; a prompt's has the prefix `user:`."""

    ids: list[str] = []

    def add(self, message_id: str) -> None:
        """Adds a message; a message that continues is in the list already."""
        ids = self.ids
        if not ids or ids[-1] != message_id:
            if len(ids) >= _MOST:
                del ids[: _MOST // 4]
            ids.append(message_id)


def read_message(line: Line) -> Message:
    """The message of a `context.append_message`.

    Raises: msgspec.ValidationError.
    """
    return decode_member(line.message, decode_message, "message") if has_value(line.message) else Message()


def append_message(message: Message, record: Record, source: Source, recent: RecentMessages, batch: Batch) -> None:
    """Appends one message of the context."""
    role = message.role
    if role == "user":
        _user(message, source, recent, batch)
    elif role == "assistant":
        _answer(message, source, recent, batch)
    elif role == "tool":
        output = message.content if has_value(message.content) else None
        outcome: Outcome | None = None if message.isError is None else "error" if message.isError else "ok"
        batch.events.append(ToolResult(source, "", message.toolCallId or "", output, outcome))
    elif role == "system":
        batch.ignore("context.append_message/system")
    else:
        batch.unknown_type(f"context.append_message/{role}", record)


def _user(message: Message, source: Source, recent: RecentMessages, batch: Batch) -> None:
    origin = message.origin or _USER
    kind, body = origin.kind or "user", message.content
    message_id = message.id or f"u{source.row}"
    if not has_value(body):
        batch.ignore("context.append_message/empty")
        return
    command = _command(origin)
    prompt = kind == "user" or (kind == "system_trigger" and origin.name == "subagent")
    skills: list[Raw] = []
    if prompt and origin.skillActivations and bytes(body)[:1] == _ARRAY:
        parts = decode_elements(body)  # the skills that the prompt names precede it
        first = len(origin.skillActivations)
        skills, body = parts[:first], join_array(parts[first:])
    recent.add(_PROMPT + message_id if prompt or command is not None else message_id)
    if command is not None:
        batch.events.append(SlashCommand(source, "", *command))
    if skills:
        batch.events.append(UserText(source, "-skills", join_array(skills), f"{message_id}-skills", True))
    batch.events.append(UserText(source, "", body, message_id, not prompt))


def _command(origin: Origin) -> tuple[str, str | None] | None:
    """A skill or a plug-in's command that the user called by its name."""
    if origin.trigger != "user-slash":
        return None
    if origin.kind == "skill_activation" and origin.skillName:
        return f"/{origin.skillName}", origin.skillArgs or None
    if origin.kind == "plugin_command" and origin.commandName:
        return f"/{origin.pluginId or ''}:{origin.commandName}", origin.commandArgs or None
    return None


def _answer(message: Message, source: Source, recent: RecentMessages, batch: Batch) -> None:
    """An answer as Kimi CLI stored it: parts, then calls."""
    message_id = message.id or f"m{source.row}"
    events, before = batch.events, len(batch.events)
    content = message.content
    if bytes(content)[:1] == _ARRAY:
        for i, part in enumerate(decode_member(content, decode_parts, "message.content")):
            text = text_json(part.think if part.type == "think" else part.text)
            if text == EMPTY_STRING:
                continue
            if part.type == "think":
                events.append(Reasoning(source, f"-p{i}", message_id, text))
            else:
                events.append(AssistantText(source, f"-p{i}", message_id, text))
    elif (text := text_json(content)) != EMPTY_STRING:
        events.append(AssistantText(source, "", message_id, text))
    for i, call in enumerate(message.toolCalls or ()):
        name, arguments = named_call(call)
        events.append(ToolCall(source, f"-{i}", message_id, call.id or f"{message_id}-{i}", name, arguments))
    if len(events) == before:
        batch.ignore("context.append_message/empty")
    else:
        recent.add(message_id)


def undo(count: int | None, source: Source, recent: RecentMessages, batch: Batch) -> None:
    """Retracts the last `count` prompts and everything after them."""
    ids, left = recent.ids, max(count or 1, 1)
    start = len(ids)
    while start and left:
        start -= 1
        left -= ids[start].startswith(_PROMPT)
    void = tuple(message_id.removeprefix(_PROMPT) for message_id in ids[start:])
    del ids[start:]
    if void:
        batch.events.append(Retract(source, "", void, "undo"))
    else:
        batch.events.append(Notification(source, "", "undo", "went back to an earlier prompt"))
