"""A text to look for. In: raw bytes of a log, or decoded text. Out: whether the bytes may hold it, where the text does.

Most logs do not hold the text, so raw bytes are examined without decoding them: 1 GB a second on one core, where
decoding takes three to ten times as long.
"""

import re
from itertools import product

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;()\[\]{}*?!#$%@^|~-]+")
"""What every JSON encoder writes as it is. Some escape `/`, `<`, `=`, `+`, `&` or quotes."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_PIECES = (b'"delta"', b'/delta"', b'text_delta"', b'message_delta"', b'_chunk"')
"""Kinds and keys of records that hold a piece of a text."""
MOST_VARIED = 2  # characters beyond ASCII whose upper and lower case are combined


class TextQuery:
    """`text` without regard to case, unless `case_sensitive`. It must not be empty.

    `may_hold` never misses bytes whose decoded text `find` would find, if the text stands within one string of the
    log. It knows UTF-8 and JSON's escapes (`\\u00e9`), also in JSON within JSON. `overlap` is the number of bytes by
    which pieces of one log must overlap.
    """

    def __init__(self, text: str, case_sensitive: bool = False) -> None:
        self.text = text
        self.case_sensitive = case_sensitive
        self._pattern = re.compile("".join(_one_of(self._variants(char)) for char in text))
        self._needles: list[bytes] | None
        self._escaped: re.Pattern[bytes] | None = None
        plain = max(_PLAIN.findall(text), key=len, default="")
        beyond = max(_BEYOND_ASCII.findall(text), key=len, default="")
        if len(plain) >= max(2, len(beyond)):
            self._needles = [(plain if case_sensitive else plain.lower()).encode()]
            self._escaped = _escapes({v for char in plain for v in self._variants(char)})
        elif beyond:
            varied = [self._variants(char) for char in beyond]
            single = all(len(variants) == 1 for variants in varied)
            used = varied if single else varied[:MOST_VARIED]
            needles = ["".join(chosen).encode("utf-8", "replace") for chosen in product(*used)]
            self._needles = needles if case_sensitive else [needle.lower() for needle in needles]
            # of every character, since the first may be a letter of ASCII in its other case (`ı` and `I`)
            self._escaped = _escapes({variant for variants in varied for variant in variants})
        else:
            self._needles = None  # quotes or single letters: any log may hold them
        self.overlap = max([6, *map(len, self._needles or ())]) - 1

    def may_hold(self, data: bytes) -> bool:
        """Whether the decoded form of `data` may contain the text."""
        if self._needles is None:
            return True
        searched = data if self.case_sensitive else data.lower()
        if any(needle in searched for needle in self._needles):
            return True
        return self._escaped is not None and self._escaped.search(searched) is not None

    def find(self, text: str) -> tuple[int, int] | None:
        """The first place of the query in a decoded text: start and end."""
        found = self._pattern.search(text)
        return found.span() if found is not None else None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Every place of a decoded text that contains it, without overlaps."""
        return [found.span() for found in self._pattern.finditer(text)]

    def _variants(self, char: str) -> tuple[str, ...]:
        """A character in both cases. A case that takes two characters (`ß` in capitals) is left out."""
        if self.case_sensitive:
            return (char,)
        return tuple(dict.fromkeys(v for v in (char, char.lower(), char.upper()) if len(v) == 1))


def in_pieces(head: bytes) -> bool:
    """Whether a log that begins with `head` may hold texts in pieces, as streams of deltas do: a text may then cross
    the border of two records."""
    return (b'delta"' in head or b'_chunk"' in head) and any(sign in head for sign in _PIECES)


def _one_of(variants: tuple[str, ...]) -> str:
    return re.escape(variants[0]) if len(variants) == 1 else f"[{''.join(map(re.escape, variants))}]"


def _escapes(chars: set[str]) -> re.Pattern[bytes]:
    """JSON's escapes for the characters, or for the first halves of those beyond U+FFFF."""
    codes = sorted({char.encode("utf-16-be", "surrogatepass")[:2].hex() for char in chars})
    both = dict.fromkeys(form for code in codes for form in (code, code.upper()))
    return re.compile(rb"\\u(?:%s)" % "|".join(both).encode())
