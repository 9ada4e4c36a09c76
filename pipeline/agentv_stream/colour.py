"""Colour for people: on a terminal that takes it, or where `FORCE_COLOR` asks for it; never with `NO_COLOR`."""

import os
import re
from collections.abc import Mapping
from typing import Literal, TextIO, TypeAlias

from agentv_stream.live.terminal import takes_escapes

Style: TypeAlias = Literal["pass", "fail", "error", "warn", "dim", "bold", "match"]
STATUSES: Mapping[str, Style] = {"complete": "pass", "error": "fail", "killed": "fail", "running": "bold"}
"""How a session ended -> its style; `warn` for others."""
MARKS: Mapping[str, str] = {"complete": "✓", "unknown": "?", "running": "●"}
"""How a session ended -> its mark in tables; `✗` for others."""
_WORDS: Mapping[str, Style] = {"PASS": "pass", "FAIL": "fail", "ERROR": "error", "skip": "dim", "warning:": "warn"}
_FIRST_WORD = re.compile(rf"^( *)({'|'.join(_WORDS)})(?![\w-])", re.MULTILINE)
_CODES: Mapping[Style, str] = {
    "pass": "32",
    "fail": "31",
    "error": "1;31",
    "warn": "33",
    "dim": "2",
    "bold": "1",
    "match": "1;35",
}


class Palette:
    """Puts text into a style; with `on` False text stays as it is. The text must be visible already."""

    def __init__(self, on: bool = False) -> None:
        self.on = on

    def __call__(self, style: Style, text: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on and text else text


PLAIN = Palette()


def verdicts_in_colour(text: str, paint: Palette) -> str:
    """Lines of a check with their first words (`PASS`, `FAIL`…) in colour."""
    return _FIRST_WORD.sub(lambda found: found[1] + paint(_WORDS[found[2]], found[2]), text)


def outline_in_colour(text: str, paint: Palette) -> str:
    """Lines in which the headings (those that are not indented) are bold, and labels (`    label:`) dim."""
    if not paint.on:
        return text
    bold = re.sub(r"^(?=\S).+$", lambda found: paint("bold", found[0]), text, flags=re.MULTILINE)
    return re.sub(r"^(    )([a-z]+:)", lambda found: found[1] + paint("dim", found[2]), bold, flags=re.MULTILINE)


def markdown_in_colour(text: str, paint: Palette) -> str:
    """Markdown with bold headings."""
    if not paint.on:
        return text
    return re.sub(r"^#.*$", lambda found: paint("bold", found[0]), text, flags=re.MULTILINE)


def palette(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Palette:
    """The palette for a stream. `NO_COLOR` wins over `FORCE_COLOR`; either counts if it is not empty, `FORCE_COLOR`
    also if it is not `0`."""
    if environment.get("NO_COLOR"):
        return Palette()
    return Palette(environment.get("FORCE_COLOR", "") not in ("", "0") or takes_escapes(stream))
