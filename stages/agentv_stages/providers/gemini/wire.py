"""Wire shapes of Gemini CLI, stream and chat recordings: only the fields that are used; payloads stay raw.

Source: Gemini CLI 0.1 to 0.61, `--output-format stream-json` and `chats/session-*.json[l]`.
"""

from typing import Literal

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Stats(Struct, gc=False):
    """Totals of a run: `input_tokens` includes `cached`, `output_tokens` excludes thoughts, `total_tokens` has all."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    duration_ms: float | None = None
    models: Raw = ABSENT


class ModelShare(Struct, gc=False):
    """One model's part of the totals; a model that was requested but not used appears with zeros."""

    total_tokens: int | None = None


class StreamLine(Struct, gc=False):
    """A line of stream-json of any type."""

    type: str = ""
    timestamp: Time = None
    role: str | None = None
    content: Raw = ABSENT
    delta: bool | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    parameters: Raw = ABSENT
    status: str | None = None
    output: Raw = ABSENT
    error: Raw = ABSENT
    severity: str | None = None
    message: str | None = None
    session_id: str | None = None
    model: str | None = None
    stats: Stats | None = None


class Failure(Struct, gc=False):
    """The error of a tool or of the run."""

    type: str | None = None
    message: str | None = None


class FunctionResponse(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    response: Raw = ABSENT


class Response(Struct, gc=False):
    """The part of a function response that the model reads."""

    output: Raw = ABSENT
    error: Raw = ABSENT


class Part(Struct, gc=False):
    """A part of a message's content."""

    text: Raw = ABSENT
    functionResponse: FunctionResponse | None = None


class Responded(Struct, gc=False):
    response: Response


class PlainResult(Struct, gc=False):
    """A part of a result that is a response to a call, as nearly all are."""

    functionResponse: Responded


class _Named(Struct, gc=False):
    id: str


class Answered(Struct, gc=False):
    """The id of the call that a part of a user's record answers."""

    functionResponse: _Named


class Answers(Struct, gc=False):
    """A user's record that only gives results, as the model receives them."""

    id: str
    type: Literal["user"]
    content: list[Answered]


class Thought(Struct, gc=False):
    subject: str | None = None
    description: str | None = None


class CallHead(Struct, gc=False):
    """A tool call with its state, without its result; `timestamp` is that of the state."""

    id: str | None = None
    name: str | None = None
    displayName: str | None = None
    args: Raw = ABSENT
    resultDisplay: Raw = ABSENT
    status: str | None = None
    timestamp: Time = None
    agentId: str | None = None


class Call(CallHead, gc=False):
    """A call with a result of any shape, once it has ended."""

    result: Raw = ABSENT


class PlainCall(CallHead, gc=False):
    """A call whose result consists of responses, so that its record is decoded in one pass."""

    result: list[PlainResult] = []


class Tokens(Struct, gc=False):
    """Tokens of one answer: `input` includes `cached`, `output` excludes `thoughts`; `tool` counts the tokens that the
    results of the server's own tools (search, code) added to the prompt.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None
    total: int | None = None


class MessageHead(Struct, gc=False):
    """A message record without its calls. Older third-party writers put `parts` in place of `content`.

    `displayContent` is the text that a person typed, if something else was sent (0.61).
    """

    timestamp: Time = None
    content: Raw = ABSENT
    displayContent: list[Raw] | None = None
    parts: Raw = ABSENT
    thoughts: list[Thought] | None = None
    tokens: Tokens | None = None
    model: str | None = None


class ChatMessage(MessageHead, gc=False):
    id: str | int | None = None
    type: str | None = None
    toolCalls: list[Call] | None = None


class PlainMessage(MessageHead, gc=False, kw_only=True):
    """Nearly every line of a mutation log; others are decoded as `ChatLine`."""

    id: str
    type: str
    toolCalls: list[PlainCall] | None = None


class Patch(Struct, gc=False):
    """`$set`: new values of the header's fields. `messages` is the model's context, not the record of what happened."""

    messages: list[ChatMessage] | None = None
    sessionId: str | None = None
    summary: Raw = ABSENT
    directories: list[str] | None = None


class ChatLine(ChatMessage, gc=False):
    """A line of the mutation log, or the whole document of the older form."""

    set: Patch | None = field(name="$set", default=None)
    rewind: str | None = field(name="$rewindTo", default=None)
    sessionId: str | None = None
    startTime: Time = None
    messages: list[ChatMessage] | None = None
    directories: list[str] | None = None
    summary: Raw = ABSENT


decode_stream = Decoder(StreamLine).decode
decode_models = Decoder(dict[str, ModelShare]).decode
decode_failure = Decoder(Failure).decode
decode_response = Decoder(Response).decode
decode_plain_result = Decoder(tuple[PlainResult]).decode
decode_part = Decoder(Part | str).decode
decode_plain = Decoder(PlainMessage).decode
decode_answers = Decoder(Answers).decode
decode_elements = Decoder(list[Raw]).decode
decode_parts = Decoder(list[Part | str] | Part).decode
decode_chat = Decoder(ChatLine).decode
