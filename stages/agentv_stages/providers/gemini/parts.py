"""The content of Gemini's messages: a raw payload in, its parts or its text out."""

from typing import Any

from msgspec import Raw, ValidationError

from agentv_stages.chain.pruning import fitting
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source
from agentv_stages.model.fault import Fault
from agentv_stages.model.payload import EMPTY_STRING, decode_json, plain_text, text_of, to_raw
from agentv_stages.providers.gemini.wire import MessageHead, Part, decode_part, decode_parts

EMPTY = (b"", b'""', b"null", b"[]", b"{}")
_FILES = b'"\\n--- Content from referenced files ---"'


def head_of(raw: Raw, size: int = 1) -> bytes:
    """The first bytes of a payload, without copying it: it can be a megabyte long."""
    return bytes(memoryview(raw)[:size])


def is_empty(raw: Raw) -> bool:
    return len(raw) < 5 and bytes(raw) in EMPTY


def begins_files(text: Raw) -> bool:
    """Whether a part of a prompt announces the contents of the files that the prompt names with `@`."""
    return len(text) == len(_FILES) and bytes(text) == _FILES


def parts_of(content: Raw, source: Source, batch: Batch) -> list[Part | str]:
    """The parts of a content; elements of another shape are left out and reported as a fault."""
    if is_empty(content):
        return []
    try:
        found = decode_parts(content)
    except ValidationError as error:
        data, kept = bytes(content), [*fitting(content, decode_part)]
        batch.faults.append(Fault("schema", batch.file, source.row, source.offset, source.length, str(error), data))
        return kept
    return [found] if isinstance(found, Part) else found


def spoken(content: Raw) -> Raw:
    """A content that is only text as one JSON string, as the stream prints it; any other unchanged."""
    if head_of(content) not in (b"[", b"{"):
        return content
    value = decode_json(content)
    elements: list[Any] = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not elements or not all(isinstance(element, str) or _is_text(element) for element in elements):
        return content
    return to_raw(plain_text(elements))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() == {"text"} and isinstance(part["text"], str)  # pyright: ignore[reportUnknownMemberType] - decoded JSON


def message_text(message: MessageHead, source: Source, batch: Batch) -> Raw:
    """The text of a message as one JSON string."""
    content = message.content
    data = bytes(content)
    if data[:1] == b'"' and (len(data) > 2 or not message.parts):
        return content
    if data[:1] not in (b"[", b"{"):
        content = message.parts
    texts = [
        part if isinstance(part, str) else text_of(part.text) if part.text else ""
        for part in parts_of(content, source, batch)
    ]
    return to_raw("".join(texts)) if texts else EMPTY_STRING
