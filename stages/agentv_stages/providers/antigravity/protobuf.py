"""Protobuf messages by tables of field numbers: bytes in, plain values out. Fields in no table are skipped.

A table maps a field's number to its name and kind. A message that is cut or damaged gives the fields before the damage.
Source: the encoding is public (protobuf.dev/programming-guides/encoding).
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, Union

Kind: TypeAlias = Union[Literal["int", "text"], "Fields", tuple["Fields"]]
"""A whole number, a text, a message; in a tuple, a message that comes several times."""
Fields: TypeAlias = Mapping[int, tuple[str, Kind]]
Value: TypeAlias = Union[int, str, "Values", "list[Values]"]
Values: TypeAlias = dict[str, Value]

MOST_DEPTH = 16
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_MOST_BITS = 63
_NEGATIVE = 1 << 63  # a negative number is written as one of 64 bits


def read_message(data: bytes, fields: Fields, depth: int = 0) -> Values:
    """The fields of a message that the table names; the last value of a field that comes again, except lists."""
    found: Values = {}
    for number, value in _fields(data) if depth < MOST_DEPTH else ():
        entry = fields.get(number)
        if entry is None:
            continue
        name, kind = entry
        if isinstance(value, int):
            if kind == "int":
                found[name] = value
        elif kind == "text":
            found[name] = value.decode("utf-8", "replace")
        elif isinstance(kind, tuple):
            listed = found.setdefault(name, [])
            if isinstance(listed, list):
                listed.append(read_message(value, kind[0], depth + 1))
        elif not isinstance(kind, str):
            found[name] = read_message(value, kind, depth + 1)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field, up to the first damage."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if tag < 8 or at > end:
            return
        if wire == _VARINT:
            value, at = _varint(data, at)
            if at > end:
                return
            yield number, value if value < _NEGATIVE else value - 2 * _NEGATIVE
            continue
        size = _SIZES.get(wire)
        if wire == _BYTES:
            size, at = _varint(data, at)
        if size is None or at + size > end:
            return
        if wire == _BYTES:
            yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and the place behind it; a place behind the end if it is cut or too large."""
    value = shift = 0
    while at < len(data) and shift <= _MOST_BITS:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, len(data) + 1


# The field numbers of Antigravity's conversations that are used.
#
# Source: two conversations of agy 1.0.x, decoded; names from the descriptors in agy 1.0.16 and 1.1.16.

TIME: Fields = {1: ("seconds", "int"), 2: ("nanos", "int")}
CALL: Fields = {1: ("id", "text"), 2: ("name", "text"), 3: ("arguments", "text")}
USAGE: Fields = {
    2: ("input", "int"),
    3: ("output", "int"),
    4: ("cache_write", "int"),
    5: ("cache_read", "int"),
    9: ("thinking", "int"),
    11: ("response_id", "text"),
}
METADATA: Fields = {
    1: ("created", TIME),
    4: ("call", CALL),
    8: ("completed", TIME),
    9: ("usage", USAGE),
}
STEP: Fields = {
    1: ("type", "int"),
    4: ("status", "int"),
    5: ("metadata", METADATA),
    10: ("code", {2: ("output", "text")}),
    13: ("search", {3: ("output", "text")}),
    14: ("view", {4: ("output", "text"), 9: ("full", "text")}),
    15: ("listing", {1: ("output", "text")}),
    19: ("user", {2: ("text", "text"), 3: ("items", {1: ("text", "text")})}),
    20: (
        "planner",
        {
            1: ("response", "text"),
            3: ("thinking", "text"),
            7: ("calls", (CALL,)),
            12: ("stop", "int"),
        },
    ),
    28: ("command", {4: ("output", "text"), 6: ("exit_code", "int"), 21: ("combined", {1: ("output", "text")})}),
    47: ("mcp", {3: ("output", "text")}),
    140: ("generic", {2: ("result", {1: ("output", "text")})}),
}
GENERATION: Fields = {1: ("call", {4: ("usage", USAGE), 19: ("model", "text")})}
ERROR: Fields = {9: ("text", "text"), 1: ("message", "text"), 2: ("details", "text")}
