"""What may stand in a log beside what its agent is known to write, and must change no figure.

Line ends of another system, blank lines, lines of other programs on the same output, records of types and members of
records that only a later version has.
"""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from hypothesis import strategies as st
from msgspec import Struct

from support.scenarios.writer import Writer, Written

Kind: TypeAlias = Literal["blank", "text", "record"]
TEXT = b"npm warn deprecated: an odd line"
LATER: dict[str, Any] = {"type": "later", "items": [{"type": "text", "text": "later"}], "n": 1}
HELD = ("input", "arguments", "args", "parameters", "rawInput", "tool_call", "changes")
"""Members whose own members are data: what a model asked for, or names as keys."""


class Noise(Struct, frozen=True):
    """`between`: what stands before which line, its place counted around the file. `members`: each object that
    says what it is has a further member."""

    crlf: bool
    members: bool
    between: tuple[tuple[int, Kind], ...]

    def of(self, kind: Kind) -> int:
        return sum(one == kind for _, one in self.between)


SILENCE = Noise(False, False, ())
places = st.tuples(st.integers(0, 200), st.sampled_from(("blank", "text", "record")))
noises = st.one_of(
    st.just(SILENCE),
    st.builds(Noise, st.booleans(), st.booleans(), st.lists(places, max_size=4).map(tuple)),
)


def disturbed(written: Written, writer: Writer, noise: Noise) -> Written:
    """The session with noise in it; a whole document can have further members alone. The first line stays first,
    for a log without it may begin as another agent's."""
    if not writer.lines:
        widen = _widened_rows if written.session else _widened_line
        return replace(written, data=widen(written.data) if noise.members else written.data)
    lines = written.data.splitlines()
    if noise.members and not writer.ended:
        lines = [_widened_line(line) if line[:1] == b"{" != line else line for line in lines]
    record = json.dumps(writer.later or LATER)
    for number, (place, kind) in enumerate(sorted(noise.between)):
        added: dict[Kind, bytes] = {"blank": b"", "text": TEXT, "record": record.replace("#", str(number)).encode()}
        lines.insert(1 + place % len(lines), added[kind])
    end = b"\r\n" if noise.crlf else b"\n"
    return replace(written, data=b"".join(line + end for line in lines))


def _widened_line(line: bytes) -> bytes:
    return json.dumps(_widened(json.loads(line)), ensure_ascii=False).encode()


def _widened_rows(database: bytes) -> bytes:
    """What stands as JSON in its rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        for table in ("message", "part"):
            rows = list(connection.execute(f"SELECT id, data FROM {table}"))
            told = [(_widened_line(data).decode(), own) for own, data in rows]
            connection.executemany(f"UPDATE {table} SET data = ? WHERE id = ?", told)
        connection.commit()
        return connection.serialize()


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    wide = {name: one if name in HELD else _widened(one) for name, one in members.items()}
    return {**wide, "later": {"type": "later", "n": [1]}} if {"type", "role", "id"} & members.keys() else wide
