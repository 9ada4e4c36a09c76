"""Makes hostile text safe for a terminal: control and format characters become visible, long text is cut."""

import re
import unicodedata

_PLAIN = re.compile(r"[ -~]*")


def visible(text: str, width: int | None = None) -> str:
    """One line of printable text, at most `width` characters, a cut marked by an ellipsis.

    Line ends show as `⏎`, tabs as blanks, other control and format characters (escapes, bidi overrides) as `\\x1b`.
    """
    if width is not None and len(text) > width * 4:
        text = text[: width * 4]
    if not _PLAIN.fullmatch(text):
        text = "".join(c if c.isprintable() and unicodedata.category(c) != "Cf" else _shown(c) for c in text)
    if width is not None and len(text) > width:
        return text[: max(width - 1, 0)] + "…"
    return text


def _shown(char: str) -> str:
    if char == "\n":
        return "⏎"
    if char == "\t":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
