"""JSON payloads that are kept as they are in the log: making, joining and decoding `Raw` values.

Every function takes or returns bytes that are one valid JSON value in UTF-8. Lone surrogate escapes (`\\ud800`), which
agents write and strict parsers refuse, pass through unchanged; decoding turns them into U+FFFD.
"""

import json
from collections.abc import Callable, Iterable
from itertools import accumulate
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
MAX_DEPTH = 400
"""Lists and objects within each other in one payload. Python's parsers stop at its recursion limit: 1,000 minus the
calls on the stack in Python 3.11, about 10,000 later. What is under this cap can be decoded anywhere."""

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = [0] * 256
_STEPS[ord("[")], _STEPS[ord("]")] = 1, -1
_STRETCH = 64  # brackets that are counted together, as long as they cannot reach the cap


class TooDeep(RecursionError):
    """A JSON value is nested deeper than `MAX_DEPTH`. What the parsers themselves raise for it is its base."""


def too_deep(data: bytes) -> bool:
    """Whether a JSON value is nested deeper than `MAX_DEPTH`; without recursion."""
    size, most = len(data), MAX_DEPTH + 1
    if size <= 2 * MAX_DEPTH:
        return False
    # `replace` finds brackets with `memchr`; `count` looks at each byte, which takes five times as long
    if 2 * size - len(data.replace(b"[", b"", most)) - len(data.replace(b"{", b"", most)) <= MAX_DEPTH:
        return False
    outside = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    brackets = outside.translate(_BRACKETS, _NO_BRACKETS)
    depth = 0
    for start in range(0, len(brackets), _STRETCH):
        part = brackets[start : start + _STRETCH]
        opened = part.count(b"[")
        if depth + opened > MAX_DEPTH and max(accumulate(map(_STEPS.__getitem__, part), initial=depth)) > MAX_DEPTH:
            return True
        depth += 2 * opened - len(part)
    return False


def has_value(raw: Raw) -> bool:
    """Whether a raw member is present and not null."""
    return bool(raw) and raw != NULL


def printable_path(path: str) -> str:
    """A path for outputs: bytes that are not UTF-8 become the text `\\udcXX`."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def printable_json(value: Any) -> bytes:
    """JSON of builtin values whose strings may be file names: names become as by `printable_path`."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_with_texts(msgspec.to_builtins(value), printable_path))


def indented_json(value: Any) -> bytes:
    """As `printable_json`, for people: two spaces per level, and a line end at the end."""
    return msgspec.json.format(printable_json(value), indent=2) + b"\n"


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a plain value with every text in it changed, keys included; without recursion."""
    top: list[Any] = [value]
    todo: list[Any] = [top]
    while todo:
        holder = todo.pop()
        for key, member in list(enumerate(holder) if isinstance(holder, list) else holder.items()):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - any JSON
            if isinstance(member, str):
                holder[key] = change(member)
            elif isinstance(member, (list, tuple)):
                holder[key] = list(member)  # pyright: ignore[reportUnknownArgumentType] - any JSON
                todo.append(holder[key])
            elif isinstance(member, dict):
                holder[key] = {change(str(k)): v for k, v in member.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - any JSON
                todo.append(holder[key])
    return top[0]


def replace_surrogates(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD, so that it can be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clean(value: Any) -> Any:
    return _with_texts(value, replace_surrogates)


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

    Raises: ValueError when the bytes are no JSON at all, TooDeep.
    """
    if too_deep(bytes(raw)):
        raise TooDeep(f"nested deeper than {MAX_DEPTH} levels")
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
    """As `text_of`, for a decoded value; without recursion."""
    texts: list[str] = []
    todo: list[Any] = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            part = part.get("text")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
        elif isinstance(part, list):
            todo += reversed(part)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        if isinstance(part, str):
            texts.append(part)
    return "".join(texts)


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
