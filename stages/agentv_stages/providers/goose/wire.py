"""Wire shapes of Goose: only the fields that are used. Source: Goose, published source of 2026."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class Inference(Struct, gc=False):
    requestedModel: str | None = None
    resolvedModel: str | None = None


class Metadata(Struct, gc=False):
    userVisible: bool | None = None
    inference: Inference | None = None
    total_tokens: int | None = None
    status: str | None = None


class Requested(Struct, gc=False):
    name: str | None = None
    arguments: Raw = ABSENT


class ToolRequest(Struct, gc=False):
    status: str | None = None
    value: Requested | None = None
    error: Raw = ABSENT


class Structured(Struct, gc=False):
    exit_code: int | None = None


class Returned(Struct, gc=False):
    content: Raw = ABSENT
    structuredContent: Structured | None = None
    isError: bool | None = None


class ToolResponse(Struct, gc=False):
    """`value` is an object with the content; in older versions the content itself."""

    status: str | None = None
    value: Raw = ABSENT
    error: Raw = ABSENT


class Block(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    toolCall: ToolRequest | None = None
    toolResult: ToolResponse | None = None
    notificationType: str | None = None
    msg: Raw = ABSENT


class Message(Struct, gc=False):
    id: str | None = None
    role: str = ""
    created: float | None = None
    content: list[Block] | None = None
    metadata: Metadata | None = None


class Line(Struct, gc=False):
    """A line of the stream."""

    type: str = ""
    message: Message | None = None
    extension_id: str | None = None
    model: str | None = None
    error: Raw = ABSENT
    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cost_usd: float | None = None


class Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class Document(Struct, gc=False):
    """The output of `--output-format json`, an exported session, or a line of a session before 1.10."""

    id: str | None = None
    name: str | None = None
    description: str | None = None
    working_dir: str | None = None
    messages: list[Raw] | None = None
    conversation: list[Raw] | None = None
    metadata: Metadata | None = None
    accumulated_usage: Usage | None = None
    accumulated_cost: float | None = None
    role: str | None = None


class StoredMessage(Struct, gc=False):
    """A row of `messages`."""

    id: int | None = None
    message_id: str | None = None
    session_id: str | None = None
    role: str = ""
    created_timestamp: float | None = None
    content_json: list[Block] | None = None
    metadata_json: Metadata | None = None


class StoredSession(Struct, gc=False):
    """A row of `sessions`."""

    id: str | None = None
    name: str | None = None
    description: str | None = None
    working_dir: str | None = None
    directory: str | None = None
    created_at: str | None = None
    parent_session_id: str | None = None


class Totals(Struct, gc=False):
    session_id: str | None = None
    updated_at: str | None = None
    accumulated_input_tokens: int | None = None
    accumulated_output_tokens: int | None = None
    accumulated_cache_read_tokens: int | None = None
    accumulated_cache_write_tokens: int | None = None
    accumulated_cost: float | None = None


class Row(Struct, gc=False):
    """A line of the store."""

    session: StoredSession | None = None
    message: StoredMessage | None = None
    totals: Totals | None = None


decode_line = Decoder(Line).decode
decode_document = Decoder(Document).decode
decode_message = Decoder(Message).decode
decode_row = Decoder(Row).decode
decode_returned = Decoder(Returned).decode
