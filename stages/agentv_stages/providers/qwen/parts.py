"""Reads message parts and their usage, in Gemini's form as Qwen Code writes it."""

from msgspec import Raw, Struct, ValidationError
from msgspec.json import Decoder

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.qwen.wire import Part, decode_response

# Qwen Code's bridge to tools that the model was not shown: a call of `tool_call` is a call of the tool that it names.
#
# Source: Qwen Code 0.24.4, `{"name":"web_fetch","arguments":{…}}`; its telemetry and its ACP name the tool itself.
BRIDGE = "tool_call"


class _Envelope(Struct, gc=False):
    name: str
    arguments: Raw


_decode = Decoder(_Envelope).decode


def effective_call(name: str, arguments: Raw) -> tuple[str, Raw]:
    """Name and arguments of the tool that runs; if the envelope has another shape, those of the bridge."""
    if name != BRIDGE:
        return name, arguments
    try:
        envelope = _decode(arguments)
    except ValidationError:
        return name, arguments
    return (envelope.name, envelope.arguments) if envelope.name else (name, arguments)


EMPTY = (b"", b'""', b"null", b"{}", b"[]")


def body_of(part: Part) -> bytes | None:
    """A part as a content block; None if it is not a person's input."""
    if part.text:
        return b'{"text":' + bytes(part.text) + b"}"
    if part.inlineData:
        return b'{"inlineData":' + bytes(part.inlineData) + b"}"
    if part.fileData:
        return b'{"fileData":' + bytes(part.fileData) + b"}"
    return None


def read_output(raw: Raw) -> tuple[Raw | None, bool]:
    """The part of a function response that the model reads, and whether it is an error."""
    data = bytes(raw)
    if data in EMPTY:
        return None, False
    if data[:1] != b"{":
        return raw, False
    response = decode_response(data)
    if response.output:
        return (None if bytes(response.output) in EMPTY else response.output), False
    if response.error:
        return response.error, True
    return raw, False


def model_call(
    source: Source,
    key: str,
    model: str | None,
    prompt: int | None,
    cached: int | None,
    output: int | None,
    thoughts: int | None,
    total: int | None,
) -> TokenUsage:
    """One model call. Output includes thoughts, unless the total shows that they are counted separately. Where nothing
    shows it, the output is a lower bound.
    """
    shown = not thoughts or (prompt is not None and total is not None)
    if thoughts and output is not None and prompt is not None and total == prompt + output + thoughts:
        output += thoughts
    return TokenUsage(source, "", key, "call", model, prompt, cached, None, None, output, thoughts, shown)
