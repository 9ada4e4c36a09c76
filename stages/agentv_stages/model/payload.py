"""JSON payloads that are kept as they are in the log: making, joining and decoding `Raw` values.

Every function takes or returns bytes that are one valid JSON value in UTF-8. Lone surrogate escapes (`\\ud800`), which
agents write and strict parsers refuse, pass through unchanged; decoding turns them into U+FFFD.
"""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_decode_str = msgspec.json.Decoder(str).decode
_check = msgspec.json.Decoder(Raw).decode

_MOST_DIGITS = 4_300  # the default of `sys.get_int_max_str_digits()`, which a user may have raised
EMPTY_STRING = Raw(b'""')
NULL = Raw(b"null")
ABSENT = Raw(b"")
"""The value of a wire Struct's field for an absent member."""


def given(raw: Raw) -> bool:
    """Whether a raw member is present and not null."""
    return bool(raw) and raw != NULL


def told_path(path: str) -> str:
    """A path for outputs: bytes that are not UTF-8 become the text `\\udcXX`."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def told_json(value: Any) -> bytes:
    """JSON of builtin values whose strings may be file names: bytes that are not UTF-8 become as by `told_path`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_told(msgspec.to_builtins(value)))


def indented_json(value: Any) -> bytes:
    """As `told_json`, for people: two spaces per level, and a line end at the end."""
    return msgspec.json.format(told_json(value), indent=2) + b"\n"


def _told(value: Any) -> Any:
    if isinstance(value, str):
        return told_path(value)
    if isinstance(value, (list, tuple)):
        return [_told(v) for v in value]  # pyright: ignore[reportUnknownVariableType] - any JSON
    if isinstance(value, dict):
        return {told_path(str(k)): _told(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - any JSON
    return value


def replace_surrogates(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_clean(v) for v in value]  # pyright: ignore[reportUnknownVariableType] - json.loads
    if isinstance(value, dict):
        return {replace_surrogates(str(k)): _clean(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - json.loads
    return value


def number(digits: str) -> int | float:
    """An integer; one of more digits than Python converts by default (4,300) is too large, as 1e400 is."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def read_json(text: str) -> Any:
    """As `json.loads`, but accepts control characters in strings and numbers of any size.

    Raises: json.JSONDecodeError, RecursionError.
    """
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, strict=False, parse_int=number)


def decode_json(raw: Raw | bytes) -> Any:
    """Decodes one JSON value; what msgspec refuses (lone surrogates, 1e400, NaN) the standard library reads.

    Raises: ValueError when the bytes are no JSON at all.
    """
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _clean(read_json(bytes(raw).decode("utf-8", "replace")))


def to_raw(value: Any) -> Raw:
    """Encodes any plain value as a JSON payload."""
    try:
        return Raw(_encode(value))
    except UnicodeEncodeError:
        return Raw(_encode(_clean(value)))


def text_of(raw: Raw | bytes | None) -> str:
    """The plain text of a payload: a JSON string, or the `text` members of a list of content blocks, joined."""
    if raw is None:
        return ""
    data = bytes(raw)
    if data[:1] == b'"':
        try:
            return _decode_str(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            value = decode_json(data)
            return value if isinstance(value, str) else ""
    return plain_text(decode_json(data))


def plain_text(value: Any) -> str:
    """As `text_of`, for a decoded value."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(plain_text(v) for v in value)  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if isinstance(value, dict):
        text: Any = value.get("text")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        return text if isinstance(text, str) else ""
    return ""


def text_json(raw: Raw) -> Raw:
    """A text as a JSON string, whatever its type in the log; `""` if absent or null."""
    data = bytes(raw)
    if data[:1] == b'"':
        return raw
    return to_raw(text_of(raw)) if data not in (b"", b"null") else EMPTY_STRING


def json_in(text: str) -> Raw | None:
    """The JSON value in a text, on one line; None if the text is not JSON."""
    data = text.encode("utf-8", "surrogatepass")  # a text with a lone surrogate cannot be read
    try:
        _check(data)
        return Raw(one_line(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def inner_json(raw: Raw) -> Raw:
    """The JSON value inside a JSON string, as in arguments of calls; `raw` itself if there is none.

    Models may put line breaks into their arguments; the payload that is returned is on one line.
    """
    if bytes(raw)[:1] != b'"':
        return raw
    inner = json_in(text_of(raw))
    return raw if inner is None else inner


def join_strings(parts: Iterable[Raw]) -> Raw:
    """Joins JSON strings into one without decoding them: `"ab"` and `"c"` give `"abc"`."""
    return Raw(b'"' + b"".join([bytes(p)[1:-1] for p in parts]) + b'"')


def join_array(values: Iterable[Raw | bytes]) -> Raw:
    """A JSON array of values, which are kept byte for byte."""
    return Raw(b"[" + b",".join(map(bytes, values)) + b"]")


def one_line(data: bytes) -> bytes:
    """A JSON value without line breaks: payloads of a pretty-printed document must not break the lines of an output.

    Raises: msgspec.DecodeError when it is not JSON.
    """
    return msgspec.json.format(data, indent=-1) if b"\n" in data else data


def add_key(raw: Raw, key: str, value: Raw) -> Raw:
    """The JSON object `raw` with one more key, in front; the rest is kept byte for byte.

    The caller makes sure that `raw` is an object and does not have the key.
    """
    body = bytes(raw).lstrip()[1:]
    comma = b"" if body.lstrip()[:1] == b"}" else b","
    return Raw(b"{" + _encode(key) + b":" + bytes(value) + comma + body)
