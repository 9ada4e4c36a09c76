"""Wire shapes of OpenCode, all dialects: only the fields that are used; payloads stay raw.

Source: opencode 0.3 to 1.18 (`run --format json`, `export`, the JSON store, the SQLite store); 2.0, its published
source (`schema/session-message`), which has a shape of its own for messages.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class Span(Struct, gc=False):
    """Epoch ms. `ran`: when a call of 2.x began to run."""

    start: float | None = None
    end: float | None = None
    created: float | None = None
    completed: float | None = None
    ran: float | None = None


class Cache(Struct, gc=False):
    read: int | None = None
    write: int | None = None


class Tokens(Struct, gc=False):
    """`input` excludes cache reads and writes, `output` excludes `reasoning` (in 1.2 only with some models)."""

    total: int | None = None
    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache: Cache | None = None


class ToolState(Struct, gc=False):
    """`metadata` is free-form; only a shell's exit code and a task's session are read from it."""

    status: str = ""
    input: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    metadata: Raw = ABSENT
    time: Span | None = None


class Part(Struct, gc=False):
    """A part of a message, of any type. In the stream of 2.x a call has its part's id in `partID`, its own in `id`."""

    type: str = ""
    id: str | None = None
    partID: str | None = None
    messageID: str | None = None
    sessionID: str | None = None
    text: Raw = ABSENT
    time: Span | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    tool: str | None = None
    callID: str | None = None
    state: ToolState | None = None
    reason: str | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    attempt: int | None = None
    error: Raw = ABSENT
    auto: bool | None = None
    prompt: Raw = ABSENT
    filename: str | None = None
    mime: str | None = None
    url: Raw = ABSENT


class ErrorData(Struct, gc=False):
    message: str | None = None


class ErrorInfo(Struct, gc=False):
    """An error; 2.x has its kind in `type`."""

    name: str | None = None
    data: ErrorData | None = None
    message: str | None = None
    type: str | None = None


class Line(Struct, gc=False):
    """A line of `run --format json`."""

    type: str = ""
    timestamp: float | None = None
    sessionID: str | None = None
    part: Part | None = None
    error: ErrorInfo | str | None = None


class Model(Struct, gc=False):
    id: str | None = None
    modelID: str | None = None


class Path(Struct, gc=False):
    cwd: str | None = None


class MessageInfo(Struct, gc=False):
    """Facts of a message; `summary` is true for the answer of a compaction, and an object in user messages."""

    id: str | None = None
    role: str = ""
    sessionID: str | None = None
    time: Span | None = None
    modelID: str | None = None
    path: Path | None = None
    cost: float | None = None
    tokens: Tokens | None = None
    finish: str | None = None
    error: ErrorInfo | str | None = None
    summary: Raw = ABSENT


class MessageDoc(Struct, gc=False):
    """A message with its parts: facts in `info` (export), or beside the parts (dumps, decoded separately)."""

    info: MessageInfo | None = None
    parts: list[Part] | None = None


class Location(Struct, gc=False):
    directory: str | None = None


class SessionDoc(Struct, gc=False):
    """Facts of a session. The export uses camel case, a database dump its column names; 2.x puts the folder into
    `location`."""

    id: str | None = None
    parentID: str | None = None
    parent_id: str | None = None
    directory: str | None = None
    title: str | None = None
    version: str | None = None
    time: Span | None = None
    time_created: float | None = None
    model: Model | str | None = None
    location: Location | None = None


class Item(Struct, gc=False):
    """A text, a thought or a call in an answer of 2.x. Early betas of 2.x had `structured` for `metadata`."""

    type: str = ""
    text: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    state: "ItemState | None" = None
    time: Span | None = None


class ItemState(Struct, gc=False):
    status: str = ""
    input: Raw = ABSENT
    content: Raw = ABSENT
    error: ErrorInfo | str | None = None
    metadata: Raw = ABSENT
    structured: Raw = ABSENT


class Attempt(Struct, gc=False):
    attempt: int | None = None


class NewMessage(Struct, gc=False):
    """A message of 2.x, of any type. `time_created` is the column of its row; an export has none."""

    type: str = ""
    id: str | None = None
    sessionID: str | None = None
    time_created: float | None = None
    time: Span | None = None
    text: Raw = ABSENT
    files: Raw = ABSENT
    model: Model | None = None
    content: list[Item] | None = None
    finish: str | None = None
    cost: float | None = None
    tokens: Tokens | None = None
    error: ErrorInfo | str | None = None
    retry: Attempt | None = None
    status: str | None = None
    reason: str | None = None
    outcome: str | None = None
    command: str | None = None
    location: Location | None = None


class Attachment(Struct, gc=False):
    """A file in a prompt of 2.x."""

    mime: str | None = None
    name: str | None = None
    uri: str | None = None


class TextOnly(Struct, gc=False):
    type: str = ""
    text: str | None = None


class Document(Struct, gc=False):
    """Any record of `opencode-export` and `opencode-rows`.

    A whole export (`info` of a session, `messages`), a dump (`session`, `messages`), a row of a session (`info` alone),
    a row of a message (`info` of a message, `parts`), a message file of the JSON store (neither). In rows of a store a
    child session has `parent_call`, and some name a message that was `undone`. A `message` is one of 2.x.
    """

    info: Raw = ABSENT
    message: Raw = ABSENT
    session: SessionDoc | None = None
    messages: list[Raw] | None = None
    parts: list[Part] | None = None
    role: str | None = None
    parent_call: str | None = None
    undone: str | None = None
    sessionID: str | None = None


class Metadata(Struct, gc=False):
    """The exit code of a shell, or the child session of a task (`sessionID` in 2.x)."""

    exit: int | None = None
    sessionId: str | None = None
    sessionID: str | None = None
    interrupted: bool | None = None
    timeout: bool | None = None
    metadata: "Metadata | None" = None


class InvalidInput(Struct, gc=False):
    """The input of the `invalid` tool: the name of the tool that was asked for."""

    tool: str | None = None


class Role(Struct, gc=False):
    role: str | None = None
    type: str | None = None
    sessionID: str | None = None


decode_line = Decoder(Line).decode
decode_document = Decoder(Document).decode
decode_message_doc = Decoder(MessageDoc).decode
decode_message_info = Decoder(MessageInfo).decode
decode_session = Decoder(SessionDoc).decode
decode_metadata = Decoder(Metadata).decode
decode_invalid = Decoder(InvalidInput).decode
decode_error = Decoder(ErrorInfo).decode
decode_role = Decoder(Role).decode
decode_new_message = Decoder(NewMessage).decode
decode_attachment = Decoder(Attachment).decode
decode_text_only = Decoder(TextOnly).decode
