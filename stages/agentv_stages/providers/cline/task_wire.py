"""Wire shapes of the tasks of Cline's editor extension, and of Roo's and Kilo's: only the fields that are used.

Source: `ui_messages.json` of Cline 3.5x (February 2026); Roo Code's published source of 2026.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class ModelInfo(Struct, gc=False):
    modelId: str | None = None


class Condensed(Struct, gc=False):
    """What a compaction cost, in dollars (Roo)."""

    cost: float | None = None


class Entry(Struct, gc=False):
    """An entry of `ui_messages.json`, or Roo's `history_item.json`; `text` is often JSON within a string."""

    ts: float | None = None
    type: str | None = None
    say: str | None = None
    ask: str | None = None
    text: str | None = None
    partial: bool | None = None
    modelInfo: ModelInfo | None = None
    contextCondense: Condensed | None = None
    conversationHistoryIndex: int | None = None
    taskId: str | None = None
    message: str | None = None
    workspace: str | None = None
    task: str | None = None
    parentTaskId: str | None = None
    childIds: list[str] | None = None

    @property
    def kind(self) -> str:
        return (self.say if self.type == "say" else self.ask) or ""


class Request(Struct, gc=False):
    """The text of `api_req_started`: a model call; numbers are there when it has ended."""

    request: str | None = None
    tokensIn: int | None = None
    tokensOut: int | None = None
    cacheWrites: int | None = None
    cacheReads: int | None = None
    cost: float | None = None
    cancelReason: str | None = None
    apiProtocol: str | None = None


class Tool(Struct, gc=False):
    """The text of a tool's entry."""

    tool: str | None = None
    path: str | None = None
    serverName: str | None = None
    toolName: str | None = None
    uri: str | None = None
    arguments: Raw = ABSENT


class Block(Struct, gc=False):
    """A block of a message in `api_conversation_history.json`."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None


class Message(Struct, gc=False):
    role: str = ""
    content: list[Block] | str = ""


class Arguments(Struct, gc=False):
    path: str | None = None
    server_name: str | None = None
    tool_name: str | None = None


decode_entry = Decoder(Entry).decode
decode_request = Decoder(Request).decode
decode_tool = Decoder(Tool).decode
decode_messages = Decoder(list[Message]).decode
decode_arguments = Decoder(Arguments).decode
