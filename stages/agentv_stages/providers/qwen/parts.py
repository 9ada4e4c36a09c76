"""Reads message parts and their usage, in Gemini's form as Qwen Code writes it."""

from msgspec import Raw

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.providers.qwen.wire import Part, decode_response

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
    """What the model reads of a function response, and whether it is an error."""
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
    """One model call. Output includes thoughts, unless the total shows that they are counted separately."""
    if thoughts and output is not None and prompt is not None and total == prompt + output + thoughts:
        output += thoughts
    return TokenUsage(source, "", key, "call", model, prompt, cached, None, None, output, thoughts)
