"""Calls and messages that oh-my-pi has and Pi does not: devices, refusals, messages that no model wrote.

A tool that is not in the request is a device: `write` to `xd://NAME` with its arguments as the text. Such a write is a
call of NAME.
Source: oh-my-pi 18.2.3, `tools/xdev.ts`.
"""

from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.model.arguments import loose_json
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Source, ToolCall, ToolResult, UserText
from agentv_stages.model.payload import has_value, to_raw
from agentv_stages.providers.oh_my_pi.wire import OwnMessage, decode_message
from agentv_stages.providers.pi.messages import other as pi_other
from agentv_stages.providers.pi.messages import unwrapped
from agentv_stages.providers.pi.wire import PiMessage, first_byte

_DEVICE = "xd://"
_MARK = _DEVICE.encode()
_MOST_NAME = 200
_OBJECT = 123
_REFUSED = (b" requires approval but ", b"Tool call denied by user", b"Tool call rejected by user")
_HEAD = 300
_SYNTHETIC = b'"synthetic":true'  # inside a text its quotes would be escaped


def refine(batch: Batch, begin: int, record: Record) -> None:
    """Corrects the events of a record, from `begin` on: calls of devices, calls that were not allowed, prompts that no
    person wrote (`synthetic`: what an advisor is shown).
    """
    events = batch.events
    for i in range(begin, len(events)):
        event = events[i]
        if isinstance(event, ToolCall):
            if event.name == "write" and _MARK in memoryview(event.input_json).tobytes():
                events[i] = _device(event)
        elif isinstance(event, ToolResult) and event.outcome == "error" and event.output_json is not None:
            head = bytes(memoryview(event.output_json)[:_HEAD])
            if any(mark in head for mark in _REFUSED):
                events[i] = replace(event, outcome="denied")
        elif isinstance(event, UserText) and not event.injected and _SYNTHETIC in record.data:
            events[i] = replace(event, injected=True)


def _device(call: ToolCall) -> ToolCall:
    """The call of the tool behind a device; a write whose text merely contains the mark stays a write."""
    arguments = loose_json(call.input_json)
    path = arguments.get("path") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    if not isinstance(path, str) or not path.startswith(_DEVICE):
        return call
    name = path[len(_DEVICE) :].partition("?")[0].strip("/ ")
    if not name or len(name) > _MOST_NAME:
        return call
    content = arguments.get("content")  # pyright: ignore[reportOptionalMemberAccess,reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    inner = unwrapped(to_raw(content)) if isinstance(content, str) else Raw(b"")
    is_object = has_value(inner) and first_byte(inner) == _OBJECT
    return replace(call, name=name, input_json=inner if is_object else call.input_json)


def other(message: PiMessage, message_id: str, source: Source, batch: Batch, record: Record) -> None:
    """A message that is not a prompt, an answer or a result."""
    if message.role not in ("developer", "pythonExecution", "fileMention"):
        pi_other(message, message_id, source, batch, record)
        return
    own = decode_message(record.data).message or OwnMessage()
    body = _body(message.role, own)
    if has_value(body):
        batch.events.append(UserText(source, "", body, message_id, True))


def _body(role: str, own: OwnMessage) -> Raw:
    if role == "developer":
        return own.content
    if role == "pythonExecution":
        mark = "$$" if own.exclude_from_context else "$"
        code = "" if own.exit_code is None else f"\n(exit code {own.exit_code})"
        return to_raw(f"{mark}{own.code or ''}\n{own.output or ''}{chr(10) + '(cancelled)' if own.cancelled else code}")
    files = own.files or []
    return to_raw("\n\n".join(f"@{f.path or ''}\n{f.content or f.skipped_reason or ''}" for f in files))
