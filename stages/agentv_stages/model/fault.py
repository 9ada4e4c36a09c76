"""Faults: records that cannot be used, as items that flow through the pipeline, are counted and become dead letters."""

from typing import Literal, TypeAlias

from msgspec import Struct

Reason: TypeAlias = Literal[
    "not-json",  # a line that is not JSON: noise of other programs on the same output
    "torn",  # the last line ended before its JSON did
    "torn-middle",  # a line inside the input that begins as JSON but does not end as JSON
    "welded",  # two or more records on one line; they were salvaged, the line is kept as evidence
    "nul-run",  # the line contained NUL bytes; the rest of it was used
    "too-large",  # over the cap; it was never in memory as a whole
    "bad-utf8",  # bytes that are not UTF-8
    "not-object",  # JSON, but not an object
    "too-deep",  # nested deeper than the cap
    "schema",  # fields have shapes that the dialect does not know; the rest of the record was used
    "orphan-result",  # a tool result without an open call: never seen, or let go long before
    "foreign-record",  # a record of another dialect or session in the same input
    "interleaved",  # a record of a session after another one began: several runs wrote into one input at a time
    "sink",  # an optional sink failed and was detached
]


Part: TypeAlias = Literal["whole", "begin", "middle", "end"]


class Fault(Struct, frozen=True, gc=False):
    """One record that could not be used, or only in part.

    `offset` and `length` are bytes in `file`. `data` holds the record; a record over the cap comes in pieces, and
    `part` says which (`length` is then that of the piece).
    """

    reason: Reason
    file: str
    row: int
    offset: int
    length: int
    detail: str
    data: bytes
    part: Part = "whole"
