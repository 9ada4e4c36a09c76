"""Makes hostile text safe for a terminal: control and format characters become visible, long text is cut.

JSON keeps its meaning: whatever a terminal could act on is escaped in JSON's own way.
"""

import re
import unicodedata

_UNUSUAL = re.compile(
    "\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f"  # a flag: its letters are format characters
    "|(?<=[^\\x00-\\x7f])([\u200c\u200d])(?=[^\\x00-\\x7f])"  # joiners within an emoji, or a word
    "|[^ -~]"
)
_JOINERS = frozenset(("\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))))
_KEPT = ("Zs", "Co")  # blanks, and what fonts define: they take their column, and do nothing
_PICTURES = range(0x1F000, 0x1FC00)  # also emoji that this Python does not know yet
_NARROW = re.compile("[ -~\u00a1-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u23ce\u2500-\u25fc\u2713-\u2718]*")

_ACTING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]"  # DEL, and the controls of U+0080 to U+009F: U+009B begins a sequence, as ESC [ does
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"  # changes of direction, line separators
)
"""In UTF-8, what JSON may contain unescaped and a terminal acts on."""


def escaped(data: bytes) -> bytes:
    """JSON with the same meaning, in which nothing acts on a terminal; `data` itself if nothing could."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTING.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data)


def visible(text: str, width: int | None = None) -> str:
    """One line of printable text, at most `width` terminal columns; a cut is marked by an ellipsis.

    Line ends show as `⏎`, tabs as blanks, other control and format characters (escapes, bidi overrides) as `\\x1b`.
    Emoji stay as they are, also those that joiners and tags put together.
    """
    longer = width is not None and len(text) > width * 4
    if width is not None and longer:
        text = text[: width * 4]
    text = text.replace("\n", "⏎").replace("\t", " ")
    if not text.isprintable():
        text = _UNUSUAL.sub(_shown, text)
    if width is None or (columns(text) <= width and not longer):
        return text
    return text[: fitting(text, max(width - 1, 0))] + "…"


def padded(text: str, width: int, right: bool = False) -> str:
    """As `visible`, padded with blanks to `width` columns, on the left with `right`: a cell of a table."""
    shown = visible(text, width)
    blanks = " " * (width - columns(shown))
    return blanks + shown if right else shown + blanks


def columns(text: str) -> int:
    """How many terminal columns a printable text takes: wide East Asian characters and emoji two, accents none."""
    return len(text) if _NARROW.fullmatch(text) else sum(map(_columns, text))


def fitting(text: str, width: int) -> int:
    """How many characters of a text fit into `width` columns."""
    if _NARROW.fullmatch(text):
        return min(len(text), max(width, 0))
    used = 0
    for n, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return n
    return len(text)


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF" or (ord(char) in _PICTURES and not char.isprintable()):
        return 2
    # U+FE0F turns the character before it into an emoji, which takes two columns.
    if char in _JOINERS:
        return 0
    return 0 if unicodedata.category(char) in ("Mn", "Me") and char != "\ufe0f" else 1


def _shown(found: re.Match[str]) -> str:
    text = found[0]
    if text.isprintable() or len(text) > 1 or found[1] is not None:
        return text
    code = ord(text)
    if unicodedata.category(text) in _KEPT or code in _PICTURES:
        return text
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def counted(n: int, noun: str) -> str:
    """`1 run`, `2 runs`, `1,000 approaches`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}{'es' if noun.endswith('ch') else 's'}"
