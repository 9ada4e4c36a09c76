"""Wire shapes of Gemini CLI, stream and chat recordings: only the fields that are used; payloads stay raw.

Source: Gemini CLI 0.1 to 0.61, `--output-format stream-json` and `chats/session-*.json[l]`.
"""

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

ABSENT = Raw(b"")


class Stats(Struct, gc=False):
    """Totals of a run: `input_tokens` includes `cached`, `output_tokens` excludes thoughts, `total_tokens` has all."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    duration_ms: float | None = None
    models: Raw = ABSENT


class ModelShare(Struct, gc=False):
    """One model's part of the totals; a model that was asked for and not used stands there with zeros."""

    total_tokens: int | None = None


class StreamLine(Struct, gc=False):
    """A line of stream-json of any type."""

    type: str = ""
    timestamp: str | None = None
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
    """What failed, of a tool or of the run."""

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


class _Read(Struct, gc=False):
    output: Raw


class _Responded(Struct, gc=False):
    response: _Read


class PlainResult(Struct, gc=False):
    """A part of a result whose response has an `output`: all that has to be known of nearly every result."""

    functionResponse: _Responded


class Thought(Struct, gc=False):
    subject: str | None = None
    description: str | None = None


class Call(Struct, gc=False):
    """A tool call with its state and, once it has ended, its result; `timestamp` is that of the state."""

    id: str | None = None
    name: str | None = None
    displayName: str | None = None
    args: Raw = ABSENT
    result: Raw = ABSENT
    resultDisplay: Raw = ABSENT
    status: str | None = None
    timestamp: str | None = None
    agentId: str | None = None


class Tokens(Struct, gc=False):
    """Tokens of one answer: `input` includes `cached`, `output` excludes `thoughts`; `tool` was added to the prompt."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None
    tool: int | None = None
    total: int | None = None


class ChatMessage(Struct, gc=False):
    """A message record. Older third-party writers put `parts` in the place of `content`."""

    id: str | int | None = None
    type: str | None = None
    timestamp: str | None = None
    content: Raw = ABSENT
    parts: Raw = ABSENT
    thoughts: list[Thought] | None = None
    toolCalls: list[Call] | None = None
    tokens: Tokens | None = None
    model: str | None = None


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
    startTime: str | None = None
    messages: list[ChatMessage] | None = None
    directories: list[str] | None = None
    summary: Raw = ABSENT


class AgentArguments(Struct, gc=False):
    agent_name: str | None = None
    name: str | None = None


decode_stream = Decoder(StreamLine).decode
decode_models = Decoder(dict[str, ModelShare]).decode
decode_failure = Decoder(Failure).decode
decode_response = Decoder(Response).decode
decode_plain_result = Decoder(tuple[PlainResult]).decode
decode_part = Decoder(Part | str).decode
decode_parts = Decoder(list[Part | str] | Part).decode
decode_chat = Decoder(ChatLine).decode
decode_agent = Decoder(AgentArguments).decode
