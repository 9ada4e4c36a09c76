"""Texts of agents as HTML: escaped, Markdown, terminal output with colours, diffs. Nothing in them can act."""

import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_LINKS = re.compile(r"(?:https?://|mailto:)", re.I)
_ESCAPE = re.compile(r"\x1b(?:\[([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "b", 2: "dim", 3: "i", 4: "u", 7: "inv", 9: "s"}
_STYLES_OFF = {22: ("b", "dim"), 23: ("i",), 24: ("u",), 27: ("inv",), 29: ("s",)}


def shown(text: str) -> str:
    """Text with control characters and changes of direction made visible; lines and tabs stay."""
    return _ACTING.sub(_name, text.replace("\r\n", "\n")) if not text.isprintable() else text


def _name(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def escaped(text: str) -> str:
    """Text for HTML, on one line: `&#10;` is a line end, also within `pre`."""
    return html.escape(shown(text)).replace("\n", "&#10;")


def markdown(text: str) -> str:
    """Markdown as HTML on one line. HTML in it is text, images are links, and only web and mail addresses are links."""
    return str(_parser().render(shown(text))).replace("\n", "&#10;")


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt  # 50 ms that only pages need

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _LINKS.match(url) is not None  # type: ignore[method-assign]
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    return parser


def _image(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """An image would be loaded from elsewhere, so it becomes a link to it."""
    token = tokens[index]
    name, url = token.content or "image", str(token.attrs.get("src", ""))
    return f'<a href="{html.escape(url)}" rel="noopener noreferrer nofollow">[{html.escape(name)}]</a>'


def _link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, index, options, env))


def terminal(text: str) -> str:
    """The output of a program as HTML on one line: its colours as classes, other escape sequences left out."""
    if "\x1b" not in text:
        return escaped(_overwritten(text))
    pieces: list[str] = []
    classes: dict[str, str] = {}
    begin = 0
    for found in _ESCAPE.finditer(text):
        pieces.append(_span(text[begin : found.start()], classes))
        begin = found.end()
        if found[2] == "m":
            _set_style(classes, found[1])
    pieces.append(_span(text[begin:], classes))
    return "".join(pieces)


def _overwritten(text: str) -> str:
    """The last state of lines that a program wrote again and again, as progress bars do."""
    return re.sub(r"[^\n]*\r(?=[^\r\n])", "", text.replace("\r\n", "\n")) if "\r" in text else text


def _span(text: str, classes: dict[str, str]) -> str:
    if not text:
        return ""
    body = escaped(_overwritten(text))
    return f'<span class="{" ".join(classes.values())}">{body}</span>' if classes else body


def _set_style(classes: dict[str, str], parameters: str) -> None:
    """Applies a sequence of select graphic rendition; colours beyond the first 16 are left out."""
    codes = [int(code) if code else 0 for code in re.split("[;:]", parameters) if len(code) < 4]
    skip = 0
    for i, code in enumerate(codes):
        if skip:
            skip -= 1
        elif code == 0:
            classes.clear()
        elif code in (38, 48):  # 5;N or 2;R;G;B
            skip = {5: 2, 2: 4}.get(codes[i + 1] if i + 1 < len(codes) else 0, 0)
            classes.pop("fg" if code == 38 else "bg", None)
        elif code in _STYLES:
            classes[_STYLES[code]] = _STYLES[code]
        elif code in _STYLES_OFF:
            for name in _STYLES_OFF[code]:
                classes.pop(name, None)
        elif code in (39, 49):
            classes.pop("fg" if code == 39 else "bg", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            classes["fg"] = _COLOURS[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            classes["bg"] = f"on-{_COLOURS[code % 10]}"


def diff(lines: Iterable[str]) -> str:
    """Lines of a diff as HTML on one line; the signs stay, so that it can be read without colours."""
    return "&#10;".join(_diff_line(line) for line in lines)


def _diff_line(line: str) -> str:
    kind = {"+": "ins", "-": "del", "@": "at"}.get(line[:1])
    body = escaped(line)
    return f'<span class="{kind}">{body}</span>' if kind and not line.startswith(("+++", "---")) else body


def replaced(old: str, new: str, most: int = 2_000) -> Iterator[str]:
    """A unified diff of two texts, without its head; of long texts, all old lines and then all new ones."""
    import difflib

    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > most:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    for line in difflib.unified_diff(before, after, lineterm="", n=3):
        if not line.startswith(("---", "+++")):
            yield line


def duration_text(duration_ms: int) -> str:
    """`4.2 s`, `6 min 20 s`, `2 h 5 min`."""
    seconds = duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"
