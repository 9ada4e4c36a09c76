"""Hostile text on a terminal: nothing of it acts, whatever it is."""

import unicodedata

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from agentv_stages.model.visible import _NARROW, columns, counted, escaped, fitting, padded, visible  # pyright: ignore[reportPrivateUsage]


def test_controls_are_shown_and_not_sent() -> None:
    assert visible("a\x1b[2J\x07\x00\x9b\u202e\u200b\n\tz") == "a\\x1b[2J\\x07\\x00\\x9b\\u202e\\u200b⏎ z"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
@example("\x9b31m \x7f \u202e \u2066 \u2028 \u061c \x1b[0m ü 漢 👍")
def test_json_says_the_same_where_nothing_in_it_acts(text: str) -> None:
    data = msgspec.json.encode({"text": text})
    shown = escaped(data)
    assert msgspec.json.decode(shown) == {"text": text}
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in "\u202e\u2066" for c in shown.decode())
    assert shown is data or any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cf") for c in text)


JOINING = {"\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))}


def test_emoji_and_blanks_stay_readable() -> None:
    for text in (
        "👩\u200d💻 👍🏽 ❤\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U0001fae8",
        "a\u00a0b",
    ):
        assert visible(text) == text
    assert visible("می\u200cخواهم \u3000日本\ue0b0") == "می\u200cخواهم \u3000日本\ue0b0"


def test_format_characters_that_join_nothing_are_shown() -> None:
    assert visible("pay\u200dpal \u00ad\ufeff") == "pay\\u200dpal \\xad\\ufeff"
    assert visible("\U000e0041x") == "\\U000e0041x"  # text that nobody sees


def test_cuts_are_marked() -> None:
    assert visible("x" * 300, 10) == "x" * 9 + "…"
    assert visible("short", 10) == "short"


@given(st.text(max_size=200), st.integers(1, 80))
def test_any_text_becomes_one_printable_line_of_at_most_the_width(text: str, width: int) -> None:
    shown = visible(text, width)
    assert columns(shown) <= width
    assert not any(unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs") for c in shown)
    assert not any(unicodedata.category(c) == "Cf" and c not in JOINING for c in shown)


def test_a_width_counts_columns_of_the_terminal() -> None:
    assert visible("読み取り", 8) == "読み取り"
    assert visible("読み取り", 7) == "読み取…"
    assert visible("読み取り", 6) == "読み…"  # the half of a letter cannot be shown
    assert visible("cafe\u0301", 4) == "cafe\u0301"
    assert visible("⚠\ufe0f x", 4) == "⚠\ufe0f x"
    assert visible("👍👍", 3) == "👍…"
    assert visible("a" + "\u0301" * 90, 10)[-1] == "…"  # accents on accents: no more than four of a column are sent
    assert padded("読", 4) + "|" == "読  |"
    assert padded("ab", 1) == "…"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60), st.integers(0, 40))
def test_what_fits_is_the_longest_beginning_that_does(text: str, width: int) -> None:
    n = fitting(text, width)
    assert columns(text[:n]) <= width
    assert n == len(text) or columns(text[: n + 1]) > width


def test_what_is_told_as_narrow_takes_one_column() -> None:
    """The fast way gives what the slow one does."""
    for code in range(0x3000):
        char = chr(code)
        if _NARROW.fullmatch(char):
            assert columns(char + "読") == 3, hex(code)


def test_a_count_has_its_noun_in_the_right_number() -> None:
    assert [counted(n, "call") for n in (0, 1, 1000)] == ["0 calls", "1 call", "1,000 calls"]
    assert [counted(n, "approach") for n in (1, 2)] == ["1 approach", "2 approaches"]
