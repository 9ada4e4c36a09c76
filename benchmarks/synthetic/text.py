"""Texts for made-up sessions: sources, terminal output, prose, thoughts; rendered once as JSON strings."""

from __future__ import annotations

import json
import math
import random
from typing import NamedTuple

# fmt: off
_WORDS = (  # noqa: SIM905 (one line per word would be a screen of nothing)
    "batch buffer cache call chunk client config cursor decode delta drain encode error event fetch field file "
    "flush format frame handle header id index input item key layer length limit line list load log main map "
    "match merge message meta mode model name node offset open output owner parse patch path payload pipe plan "
    "pool port queue range read record region remote render reply request result retry row run sample scan schema "
    "scope select server session setup shape sink size slot source spec stack stage start state status step stop "
    "store stream table tail task test text thread time token trace tree turn type unit update usage user value "
    "view wait width worker write zone return import from def class self None True False if else for in while try "
    "raise with as not "
).split()
# fmt: on
_MARKS = ("(", ")", " = ", ".", ", ", ": ", " == ", "[0]", '"', "'", "()", " + ", " -> ", "\\n", "{}", " / ", "\t")
# What JSON.stringify leaves as it is and a reader must not break: accents, CJK, emoji outside the BMP, arrows, U+2028.
_FOREIGN = (
    "héllo wörld",
    "日本語のテキスト",
    "naïve café",
    "✓ passed",
    "→ next",
    "😀🚀",
    "Привет, мир",
    "\u2028",
    "│ ├── └──",
)
_ANSI = ("\x1b[32mPASS\x1b[0m ", "\x1b[1;31mFAIL\x1b[0m ", "\x1b[2m", "\x1b[0m")


class Body(NamedTuple):
    """One text in the two forms in which Claude writes it."""

    plain: bytes
    """Escaped for a JSON string, without the quotes."""
    numbered: bytes
    """The same with `<line number><tab>` before each line, as Read shows it to the model."""
    lines: int


def escape(text: str) -> bytes:
    """As JavaScript's JSON.stringify: non-ASCII stays as UTF-8. Without the quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _size(rng: random.Random, median: int, sigma: float, cap: int) -> int:
    return min(cap, max(20, int(rng.lognormvariate(math.log(median), sigma))))


def _code(rng: random.Random, size: int, ansi: bool) -> str:
    lines: list[str] = []
    length = 0
    while length < size:
        count = rng.randint(0, 11)
        parts = [" " * (4 * rng.randint(0, 4))]
        for word in rng.choices(_WORDS, k=count):
            parts.append(word)
            parts.append(rng.choice(_MARKS) if rng.random() < 0.4 else " ")
        if rng.random() < 0.06:
            parts.append(rng.choice(_FOREIGN))
        if ansi and rng.random() < 0.1:
            parts.insert(0, rng.choice(_ANSI))
        line = "".join(parts)
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def _prose(rng: random.Random, size: int) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        words = rng.choices(_WORDS, k=rng.randint(5, 18))
        sentence = " ".join(words).capitalize() + rng.choice((".", ".", ":", "?", ".\n\n", ".\n- ", "`.", "** "))
        if rng.random() < 0.08:
            sentence += rng.choice(_FOREIGN)
        parts.append(sentence)
        length += len(sentence) + 1
    return " ".join(parts)[:size]


def _body(text: str) -> Body:
    lines = text.split("\n")
    numbered = "\n".join(f"{n}\t{line}" for n, line in enumerate(lines, 1))
    return Body(escape(text), escape(numbered), len(lines))


class Texts:
    """The pools of one session. Sizes follow logs from the wild: results with a median of 0.7 KB, a mean of 2 KB."""

    def __init__(self, rng: random.Random, *, long_bytes: int) -> None:
        self.outputs = [_body(_code(rng, _size(rng, 700, 1.4, 60_000), ansi=True)) for _ in range(384)]
        self.files = [_body(_code(rng, _size(rng, 2_500, 1.0, 60_000), ansi=False)) for _ in range(256)]
        self.fragments = [_body(_code(rng, _size(rng, 260, 0.9, 8_000), ansi=False)) for _ in range(384)]
        self.prose = [escape(_prose(rng, _size(rng, 220, 0.9, 6_000))) for _ in range(384)]
        self.thoughts = [escape(_prose(rng, _size(rng, 700, 1.0, 20_000))) for _ in range(192)]
        self.signatures = [escape(_signature(rng)) for _ in range(64)]
        self.long = _body(_code(rng, long_bytes, ansi=True)) if long_bytes else None


def _signature(rng: random.Random) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(rng.choices(alphabet, k=rng.choice((240, 340, 700, 1200)))) + "=="
