"""The text that Python prints of an object: `Name(key=value, …)` with lists, dicts, numbers and strings in it.

In: a line. Out: the same as dicts and lists; the name of a class is the member `type`, of a dataclass as it prints.
Nothing is evaluated, and no depth is a problem: containers are kept on a stack.
Source: `repr` of CPython 3.11; `print(message)` in the examples of Claude's Agent SDK.
"""

import re
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])"
    r"|(?P<word>True|False|None|-?inf|nan)\b|(?P<call>[A-Za-z_]\w*)\(|(?P<open>[\[({])|(?P<close>[\])}])"
    r"|(?P<key>[A-Za-z_]\w*)=|(?P<sign>[,:]))",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"True": True, "False": False}
_BEGINS = re.compile(rb"[A-Z][A-Za-z]*\([a-z_]+=")
_CLOSES = {"[": "]", "(": ")", "{": "}"}
MOST_BYTES = 16 * 1024 * 1024


class _Container:
    """An opened value that is not closed yet. A dict has pairs, a list items."""

    def __init__(self, sign: str, name: str | None = None) -> None:
        self.closes = _CLOSES[sign]
        self.value: dict[str, Any] | list[Any] = [] if name is None and sign != "{" else {}
        if name is not None and isinstance(self.value, dict):
            self.value["type"] = name
        self.key: str | None = None
        self.items = 0

    def add(self, value: object) -> bool:
        """Adds a value; False where none may stand."""
        if isinstance(self.value, list):
            self.value.append(value)
            return True
        if self.key is None:
            if not isinstance(value, str):
                return False
            self.key = value
            return True
        self.value[self.key], self.key = value, None
        return True


def read_repr(data: bytes) -> dict[str, Any] | None:
    """The object that a line prints; None for any other line."""
    if not _BEGINS.match(data) or len(data) > MOST_BYTES:
        return None
    text = data.decode("utf-8", "replace").rstrip()
    stack: list[_Container] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
        kind, word = token.lastgroup, token[token.lastgroup or 0]
        if kind == "call":
            stack.append(_Container("(", word))
        elif kind == "open":
            stack.append(_Container(word))
        elif kind == "key":
            if not stack or not isinstance(stack[-1].value, dict):
                return None
            stack[-1].key = word
        elif kind == "close":
            if not stack or stack[-1].closes != word or stack[-1].key is not None:
                return None
            value = stack.pop().value
            if not stack:
                return value if at == len(text) and isinstance(value, dict) else None
            if not stack[-1].add(value):
                return None
        elif kind != "sign" and (not stack or not stack[-1].add(_scalar(kind or "", word))):
            return None
    return None


def _scalar(kind: str, word: str) -> object:
    if kind == "string":
        return _ESCAPE.sub(_unescaped, word[1:-1]) if "\\" in word else word[1:-1]
    if kind == "number":
        return float(word) if "." in word or "e" in word or len(word) > 300 else int(word)
    return _WORDS.get(word)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _LETTERS.get(match[4], match[4])
    return chr(int(code, 16)) if int(code, 16) < 0x110000 else "\N{REPLACEMENT CHARACTER}"
