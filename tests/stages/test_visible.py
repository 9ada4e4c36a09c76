"""Hostile text on a terminal: nothing of it acts, whatever it is."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from agentv_stages.visible import visible


def test_controls_are_shown_and_not_sent() -> None:
    assert visible("a\x1b[2J\x07\x00\x9b\u202e\u200b\n\tz") == "a\\x1b[2J\\x07\\x00\\x9b\\u202e\\u200b⏎ z"


def test_cuts_are_marked() -> None:
    assert visible("x" * 300, 10) == "x" * 9 + "…"
    assert visible("short", 10) == "short"


@given(st.text(max_size=200), st.integers(1, 80))
def test_any_text_becomes_one_printable_line_of_at_most_the_width(text: str, width: int) -> None:
    shown = visible(text, width)
    assert len(shown) <= width
    assert shown.isprintable()
    assert not any(unicodedata.category(c) in ("Cf", "Cc", "Zl", "Zp", "Cs") for c in shown)
