"""Payloads that stay as they stand: spliced, joined, and read whatever strict parsers think of them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agentv_stages.model.payload import (
    add_key,
    decode_json,
    inner_json,
    join_strings,
    json_in,
    one_line,
    plain_text,
    replace_surrogates,
    text_json,
    text_of,
    to_raw,
)

ANY = st.text(st.characters(codec=None))  # lone surrogates included
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert decode_json(to_raw(value)) == value


@given(ANY)
def test_any_text_can_be_encoded_and_is_valid_utf8(text: str) -> None:
    raw = bytes(to_raw({text: [text]}))
    raw.decode()
    assert decode_json(raw) == {replace_surrogates(text): [replace_surrogates(text)]}


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud800"', "�"),
        (b'{"\\udfff": ["\\ud83d\\ude00"]}', {"�": ["😀"]}),
        (b"[1e400]", [float("inf")]),
        (b"[" + b"9" * 5_000 + b",-" + b"9" * 5_000 + b",1" + b"0" * 40 + b"]", [float("inf"), float("-inf"), 10**40]),
        (b'"a\xffb"', "a�b"),
        (b'"tab\there"', "tab\there"),
    ],
)
def test_what_strict_parsers_refuse_is_read(data: bytes, value: Any) -> None:
    assert decode_json(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"words", b'{"a":1}{'])
def test_what_is_no_json_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        decode_json(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, ""),
        (b'"words"', "words"),
        (b'"\\ud800"', "�"),
        (b"null", ""),
        (b"12", ""),
        (b'[{"type":"text","text":"a"},{"type":"image"},"b",[{"text":"c"}]]', "abc"),
        (b'{"text":"a"}', "a"),
        (b'{"text":5}', ""),
    ],
)
def test_the_text_of_a_payload_is_its_string_or_its_text_blocks(data: bytes | None, text: str) -> None:
    assert text_of(data) == text
    if data is not None:
        assert plain_text(decode_json(data)) == text


@pytest.mark.parametrize(
    ("data", "made"),
    [(b'"a\\u00e9"', b'"a\\u00e9"'), (b"", b'""'), (b"null", b'""'), (b'[{"text":"a"}]', b'"a"'), (b"7", b'""')],
)
def test_a_text_as_json_is_left_alone_where_it_is_one(data: bytes, made: bytes) -> None:
    assert bytes(text_json(Raw(data))) == made


@given(st.lists(st.text(), max_size=5))
def test_joined_strings_are_the_joined_texts(texts: list[str]) -> None:
    assert decode_json(join_strings([to_raw(text) for text in texts])) == "".join(texts)


def test_halves_of_a_pair_that_were_cut_apart_are_joined_again() -> None:
    assert decode_json(join_strings([Raw(b'"\\ud83d"'), Raw(b'"\\ude00"')])) == "😀"


@given(st.dictionaries(st.text(), VALUES, max_size=3), VALUES)
def test_a_key_is_put_in_front_and_the_rest_stays(given_: dict[str, Any], value: Any) -> None:
    given_.pop("new", None)
    raw = json.dumps(given_).encode()
    made = bytes(add_key(Raw(b" " + raw), "new", to_raw(value)))
    assert list(json.loads(made).items()) == [("new", value), *given_.items()]
    assert made.endswith(raw[1:])


def test_a_pretty_document_becomes_one_line_and_anything_else_stays_as_it_is() -> None:
    assert one_line(b'{\n  "a": [1,\n 2]\n}').count(b"\n") == 0
    assert one_line(b'{ "a" : 1 }') == b'{ "a" : 1 }'
    with pytest.raises(msgspec.DecodeError):
        one_line(b'{\n"a"')


def test_json_in_a_string_comes_out_on_one_line() -> None:
    """Models break the lines of their arguments; a payload that does would break the lines of an output."""
    assert inner_json(to_raw('{\n  "a": [1,\r\n 2]\n}')) == Raw(b'{"a":[1,2]}')
    assert inner_json(to_raw('{ "a" : 1 }')) == Raw(b'{ "a" : 1 }')
    for text in ("{broken", '{"x":1}{"y":2}', "", "\n"):
        assert json_in(text) is None
        assert inner_json(to_raw(text)) == to_raw(text)
