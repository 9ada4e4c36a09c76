"""The content of a message or of a result as one text, for formats that can hold only text."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.payload import EMPTY_STRING, text_of, to_raw

_MEDIA = frozenset(("image", "input_image", "image_url", "audio", "document"))


class _Block(Struct, gc=False):
    type: str = ""
    text: str | None = None

    @property
    def is_content(self) -> bool:
        """Whether it is a content block, not a structured result."""
        return self.type in _MEDIA or (self.text is not None and self.type != "")


_decode = msgspec.json.Decoder(str | _Block | list[str | _Block]).decode


def plain_content(blocks: list[Raw]) -> tuple[Raw, dict[str, int]]:
    """The text as a JSON string, blocks separated by an empty line, and the number of other blocks, by type.

    A structured result becomes text as JSON.
    """
    if len(blocks) == 1 and bytes(blocks[0])[:1] == b'"':
        return blocks[0], {}
    texts: list[str] = []
    omitted: dict[str, int] = {}
    for block in blocks:
        for part in _parts(block):
            if isinstance(part, str):
                texts.append(part)
            elif part.text is not None:
                texts.append(part.text)
            else:
                omitted[part.type] = omitted.get(part.type, 0) + 1
    return (to_raw("\n\n".join(texts)) if texts else EMPTY_STRING), omitted


def _parts(block: Raw) -> Sequence[str | _Block]:
    value: str | _Block | list[str | _Block]
    try:
        value = _decode(block)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        value = text_of(block) if bytes(block)[:1] == b'"' else []
    parts = value if isinstance(value, list) else [value]
    if parts and all(isinstance(part, str) or part.is_content for part in parts):
        return parts
    return [bytes(block).decode("utf-8", "replace")]
