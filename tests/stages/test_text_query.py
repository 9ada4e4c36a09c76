"""A text to look for: raw bytes that may hold it are never missed, whatever an encoder escapes."""

import json

from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentv_stages.model.text_query import TextQuery, in_pieces

LETTERS = st.sampled_from('abKz0 _"\\/<=\n\téÉßſıαΩжЖ日本👍🏽\u200d.-')
TEXTS = st.text(LETTERS, max_size=30)
WANTED = st.text(LETTERS, min_size=1, max_size=6)


def escaped_by(text: str, style: int) -> str:
    """A JSON string as different encoders write it."""
    if style == 0:
        return json.dumps(text)
    if style == 1:
        return json.dumps(text, ensure_ascii=False)
    if style == 2:  # PHP, Go
        return json.dumps(text).replace("/", "\\/").replace("<", "\\u003c").replace("=", "\\u003D")
    return '"' + "".join(f"\\u{unit:04X}" for unit in _units(text)) + '"'


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]


@given(TEXTS, WANTED, TEXTS, st.integers(0, 3), st.integers(1, 3), st.booleans(), st.booleans())
@example("", "é", "", 3, 1, False, True)
@example("", "ſ", "", 1, 1, False, True)
@example("", "ıÉ", "", 1, 1, False, True)
def test_bytes_whose_text_holds_it_are_never_missed(
    before: str, wanted: str, after: str, style: int, depth: int, case_sensitive: bool, capitals: bool
) -> None:
    query = TextQuery(wanted, case_sensitive)
    text = before + (wanted.upper() if capitals else wanted) + after
    assume(query.find(text) is not None)
    assume(style < 3 or depth == 1)  # the letters of an escape are never escaped themselves
    data = text
    for _ in range(depth):  # JSON in a string of JSON, as arguments of calls are
        data = escaped_by(data, style)
    assert query.may_hold(data.encode())


def test_what_is_not_there_is_seen_without_decoding() -> None:
    data = json.dumps({"text": "the parser failed at line 7 <b>"}).encode()
    for absent in ("parser fails", "größe", "日本", "👍"):
        assert not TextQuery(absent).may_hold(data)
    assert TextQuery("PARSER FAILED").may_hold(data)
    assert not TextQuery("PARSER FAILED", case_sensitive=True).may_hold(data)


def test_a_text_is_found_in_either_case_and_where_it_stands() -> None:
    query = TextQuery("größe (x)")
    assert query.find("die GRößE (X) und größe (x)") == (4, 13)
    assert query.spans("die GRößE (X) und größe (x)") == [(4, 13), (18, 27)]
    assert TextQuery("größe (x)", case_sensitive=True).find("die GRößE (X)") is None


@given(TEXTS, WANTED, st.integers(1, 40))
def test_pieces_that_overlap_miss_nothing(before: str, wanted: str, size: int) -> None:
    query = TextQuery(wanted)
    data = json.dumps(before + wanted).encode()
    pieces = [data[max(0, i - query.overlap) : i + size] for i in range(0, len(data), size)]
    assert any(query.may_hold(piece) for piece in pieces)


def test_a_stream_of_deltas_is_told_by_its_beginning() -> None:
    assert in_pieces(b'{"type":"message","delta":true}')
    assert in_pieces(b'{"sessionUpdate":"agent_message_chunk"}')
    assert not in_pieces(b'{"attachment":{"type":"deferred_tools_delta"}}')
    assert not in_pieces(json.dumps({"text": 'the word "delta" in a text'}).encode())
