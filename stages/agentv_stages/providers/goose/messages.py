"""A message of Goose to events; the stream, exports and the database have the same ones.

The stream prints an answer under one id. A session keeps each of its requests as a message of its own, under an id that
Goose makes, with a copy of the thoughts, and the response behind it. A response has the time of its request: it is made
before the tool runs.
Source: Goose, published source of 2026; no real log was seen.
"""

import re

from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, text_json, text_of, to_raw
from agentv_stages.model.provider import REFUSED
from agentv_stages.providers.goose.wire import Block, Message, Returned, ToolResponse, decode_returned

LIMIT = "I've reached the maximum number of actions"
_DECLINED = re.compile(r"\s*(?:the )?user (?:has )?declined", re.IGNORECASE)
_SPLIT = re.compile(r"msg_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_INTERRUPTED = "Interrupted by the user"
_CREDITS = "creditsExhausted"
_NO_USE = frozenset(("toolConfirmationRequest", "actionRequired", "frontendToolRequest", "redactedThinking"))


class Speech(Struct):
    """The answer that is read: `answer` is our id of it, `native` its own. `texts`: it has a text. `limit`: the last
    text says that the limit of actions was reached. `last` is the answer before the responses that are read, `asked`
    the time of its last request."""

    model: str | None = None
    answer: str = ""
    native: str | None = None
    texts: bool = False
    thoughts: bool = False
    limit: bool = False
    last: str = ""
    asked: float | None = None

    def goes_on(self, message: Message) -> str:
        """The answer that a message of the assistant belongs to; empty for a new one."""
        if self.answer and message.id == self.native:
            return self.answer
        if not _SPLIT.match(message.id or "") or any(block.type == "text" for block in message.content or ()):
            return ""
        same = message.created is not None and message.created == self.asked
        return self.answer or (self.last if same else "")


def is_hidden(message: Message) -> bool:
    """Whether the user does not see a message: it is injected, or a compaction's copy."""
    return message.metadata is not None and message.metadata.userVisible is False


def add_message(message: Message, place: str, source: Source, speech: Speech, batch: Batch, parent: str | None) -> bool:
    """Appends the events of a message; returns whether it is an answer that asks for no tool."""
    metadata = message.metadata
    inference = metadata.inference if metadata is not None else None
    model = (inference.resolvedModel or inference.requestedModel) if inference is not None else None
    if model is not None and model != speech.model:
        speech.model = model
        batch.events.append(SessionInfo(source, f"{place}-model", model=model))
    if message.role == "assistant":
        if is_hidden(message):
            batch.ignore("message/hidden")
            return False
        return _answer(message, place, source, speech, batch, parent)
    hidden, speech.last, speech.answer = is_hidden(message), speech.answer or speech.last, ""
    untimed = replace(source, time_ms=None)
    for i, block in enumerate(message.content or ()):
        part = f"{place}-{i}"
        if block.type == "toolResponse":
            output, outcome, code = _ending(block.toolResult or ToolResponse())
            batch.events.append(ToolResult(untimed, part, block.id or "", output, outcome, code))
        elif block.type == "text":
            body, speech.last = text_json(block.text), ""
            batch.events.append(UserText(source, part, body, f"user{place}-{source.row}", hidden))
        elif block.type == "image":
            batch.events.append(
                UserText(source, part, to_raw([{"type": "image"}]), f"user{place}-{source.row}", hidden)
            )
        else:
            batch.ignore(f"user/{block.type}")
    return False


def _answer(message: Message, place: str, source: Source, speech: Speech, batch: Batch, parent: str | None) -> bool:
    known = speech.goes_on(message)
    if not known:
        speech.native, speech.texts, speech.thoughts = message.id, False, False
    speech.answer = known or message.id or f"answer{place}-{source.row}"
    copied = known and message.id != speech.native and speech.thoughts
    answer, model, add = speech.answer, speech.model, batch.events.append
    calls, spoken = 0, False
    for i, block in enumerate(message.content or ()):
        part, kind = f"{place}-{i}", block.type
        if kind == "text":
            text = text_json(block.text)
            if text != EMPTY_STRING:
                add(AssistantText(source, part, answer, text, speech.texts, model=model))
                speech.texts = spoken = True
                speech.limit = text_of(text).startswith(LIMIT)
        elif kind in ("thinking", "reasoning"):
            if copied:
                batch.ignore("assistant/thinking again")
                continue
            text = text_json(block.thinking if kind == "thinking" else block.text)
            add(Reasoning(source, part, answer, text, speech.thoughts, model=model))
            speech.thoughts = True
        elif kind == "toolRequest":
            calls, speech.asked = calls + 1, message.created
            _call(block, part, answer, source, model, batch, parent)
        elif kind == "systemNotification":
            add(Notification(source, part, block.notificationType or kind, text_of(text_json(block.msg))))
            if block.notificationType == _CREDITS:
                add(SessionEnd(source, part, "error", _CREDITS))
        else:
            batch.ignore(f"assistant/{kind}")
    return spoken and not calls


def _call(
    block: Block, part: str, answer: str, source: Source, model: str | None, batch: Batch, parent: str | None
) -> None:
    """A call; the program refuses a malformed one itself."""
    request, call_id = block.toolCall, block.id or f"{answer}{part}"
    value = request.value if request is not None else None
    name, arguments = (value.name or "unknown", value.arguments or EMPTY_OBJECT) if value else ("unknown", EMPTY_OBJECT)
    batch.events.append(ToolCall(source, part, answer, call_id, name, arguments, parent, model))
    if request is not None and request.status == "error":
        error = request.error if has_value(request.error) else None
        batch.events.append(ToolResult(source, part, call_id, error, "error"))


def _ending(response: ToolResponse) -> tuple[Raw | None, Outcome, int | None]:
    if response.status == "error":
        error = response.error if has_value(response.error) else None
        text = text_of(error) if error is not None and bytes(error)[:1] == b'"' else ""
        return error, _failure(text), None
    value = response.value
    try:
        returned = decode_returned(value) if bytes(value)[:1] == b"{" else Returned(value)
    except REFUSED:
        returned = Returned(value)
    content = returned.content if has_value(returned.content) else None
    code = returned.structuredContent.exit_code if returned.structuredContent is not None else None
    if returned.isError or code:
        return content, "error" if code else _failure(text_of(content)), code
    text = text_of(content) if content is not None and bytes(content)[:1] in b'"[' else ""
    return content, "denied" if _DECLINED.match(text) else "ok", code


def _failure(text: str) -> Outcome:
    if _DECLINED.match(text):
        return "denied"
    return "cancelled" if text.startswith(_INTERRUPTED) else "error"
