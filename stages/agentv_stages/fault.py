"""Faults: records that cannot be used, as items that flow, are counted and land in the dead letters."""

from typing import Literal, TypeAlias

from msgspec import Struct

Reason: TypeAlias = Literal[
    "not-json",  # a line that is no JSON: noise of other programs on the same output
    "torn",  # the last line ended before its JSON did
    "torn-middle",  # a line inside the input that begins as JSON and does not end as it
    "welded",  # two or more records on one line; they were salvaged, the line is kept as evidence
    "nul-run",  # NUL bytes stood in the line; what is left of it was used
    "too-large",  # over the cap; it never stood in memory whole
    "bad-utf8",  # bytes that are no UTF-8
    "not-object",  # JSON, but not an object
    "too-deep",  # nested deeper than the cap
    "schema",  # fields have shapes that the dialect does not know; the rest of the record was used
    "orphan-result",  # a tool result whose call was never seen
    "foreign-record",  # a record of another dialect or session in the same input
    "sink",  # an optional sink failed and was detached
]


Part: TypeAlias = Literal["whole", "begin", "middle", "end"]


class Fault(Struct, frozen=True, gc=False):
    """One record that could not be used, or not whole.

    `offset` and `length` are bytes in `file`. `data` holds the record; a record over the cap comes in pieces, `part`
    telling which (`length` then counts the bytes of the piece).
    """

    reason: Reason
    file: str
    row: int
    offset: int
    length: int
    detail: str
    data: bytes
    part: Part = "whole"
