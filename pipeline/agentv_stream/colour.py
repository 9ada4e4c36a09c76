"""Colour for people: on a terminal that takes it, or where `FORCE_COLOR` asks for it; never with `NO_COLOR`."""

import os
from collections.abc import Mapping
from typing import Literal, TextIO, TypeAlias

from agentv_stream.live.terminal import takes_escapes

Style: TypeAlias = Literal["pass", "fail", "error", "warn", "dim", "bold", "match"]
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


def palette(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Palette:
    """The palette for a stream. `NO_COLOR` wins over `FORCE_COLOR`; either counts if it is not empty, `FORCE_COLOR`
    also if it is not `0`."""
    if environment.get("NO_COLOR"):
        return Palette()
    return Palette(environment.get("FORCE_COLOR", "") not in ("", "0") or takes_escapes(stream))
