"""Wire shapes of OpenClaw's own messages. Source: OpenClaw 2026.6.11 and 2026.9.6."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class Details(Struct, gc=False, rename="camel"):
    """Details of a result: how a command ended. Of `openclaw.nested-tool.v1`: a call by a script or `tool_call`."""

    status: str | None = None
    exit_code: int | None = None
    duration_ms: float | None = None
    parent_tool_call_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    input: Raw = ABSENT
    result: Raw = ABSENT
    is_error: bool | None = None
    started_at: float | None = None
    timestamp: float | None = None


class OwnMessage(Struct, gc=False, rename="camel"):
    role: str = ""
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    custom_type: str | None = None
    tool_name: str | None = None
    details: Details | None = None


class MessageRecord(Struct, gc=False):
    id: str | None = None
    message: OwnMessage | None = None


class Code(Struct, gc=False):
    """The arguments of a call, as far as they distinguish a script from a command."""

    code: str | None = None
    command: Raw = ABSENT


decode_message = Decoder(MessageRecord).decode
decode_code = Decoder(Code).decode
