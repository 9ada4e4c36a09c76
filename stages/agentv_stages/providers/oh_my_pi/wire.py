"""Wire shapes of oh-my-pi's own entries, lines and messages. Source: oh-my-pi 18.2.3."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.providers.pi.wire import Usage


class Exit(Struct, gc=False, rename="camel"):
    """How a process ended: `kind` normal, signal, fatal or process_exit."""

    reason: str | None = None
    kind: str | None = None
    pending_tool_calls: list[Raw] | None = None


class OwnEntry(Struct, gc=False, rename="camel"):
    """An entry of a type that Pi does not have, or a marker. `model` is `provider/model`."""

    type: str = ""
    custom_type: str | None = None
    data: Raw = ABSENT
    title: str | None = None
    model: str | None = None
    role: str | None = None
    usage: Usage | None = None
    error_message: str | None = None


class File(Struct, gc=False, rename="camel"):
    path: str | None = None
    content: str | None = None
    skipped_reason: str | None = None


class OwnMessage(Struct, gc=False, rename="camel"):
    """A message that the person or the agent added: Python run by hand, mentioned files, a reminder."""

    content: Raw = ABSENT
    code: str | None = None
    output: str | None = None
    exit_code: int | None = None
    cancelled: bool | None = None
    exclude_from_context: bool | None = None
    files: list[File] | None = None


class MessageRecord(Struct, gc=False):
    message: OwnMessage | None = None


class OwnLine(Struct, gc=False, rename="camel"):
    """A line of a type that Pi does not have."""

    level: str | None = None
    message: Raw = ABSENT
    source: str | None = None
    model: str | None = None
    to: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None


decode_exit = Decoder(Exit).decode
decode_own_entry = Decoder(OwnEntry).decode
decode_message = Decoder(MessageRecord).decode
decode_own_line = Decoder(OwnLine).decode
