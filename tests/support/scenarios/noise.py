"""What may stand in a log beside what its agent is known to write, and must change no figure.

Line ends of another system, blank lines, lines of other programs on the same output, records of types and members of
records that only a later version has, records that come again.
"""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from hypothesis import strategies as st
from msgspec import Struct

from support.protobuf import message
from support.scenarios.scenario import Call, Scenario
from support.scenarios.writer import Writer, Written

Kind: TypeAlias = Literal["blank", "text", "record"]
Where: TypeAlias = Literal["at once", "later", "at the end"]
TEXT = b"npm warn deprecated: an odd line"
LATER: dict[str, Any] = {"type": "later", "items": [{"type": "text", "text": "later"}], "n": 1}
LATER_FIELD = 1_000
HELD = ("input", "arguments", "args", "parameters", "rawInput", "tool_call", "changes")
"""Members whose own members are data: what a model asked for, or names as keys."""


class Noise(Struct, frozen=True):
    """`between`: what stands before which line, its place counted around the file. `members`: each object that
    says what it is has a further member. `escaped`: letters but ASCII are escaped; `halved`: of each `WHOLE` there is
    the first half alone, as a program cuts a text that counts in halves. `reused`: where it is not 0, it decides which
    later call has the id of an earlier one. `again`: of which record on, counted around the file, how many come again
    and where; then no id is reused, for a repetition of the earlier call may be a third one."""

    crlf: bool
    members: bool
    between: tuple[tuple[int, Kind], ...]
    escaped: bool = False
    halved: bool = False
    reused: int = 0
    again: tuple[int, int, Where] | None = None

    def of(self, kind: Kind) -> int:
        return sum(one == kind for _, one in self.between)


WHOLE = "😀"
ID = re.compile(rb"(call_|toolu_)(\d{4})")
SILENCE = Noise(False, False, ())
repetitions = st.tuples(st.integers(0, 200), st.integers(1, 8), st.sampled_from(("at once", "later", "at the end")))
places = st.tuples(st.integers(0, 200), st.sampled_from(("blank", "text", "record")))
noises = st.one_of(
    st.just(SILENCE),
    st.builds(
        Noise,
        st.booleans(),
        st.booleans(),
        st.lists(places, max_size=4).map(tuple),
        st.booleans(),
        st.booleans(),
        st.integers(0, 9),
        st.none() | repetitions,
    ),
)


def disturbed(written: Written, writer: Writer, noise: Noise, heard: Scenario) -> Written:
    """The session with noise in it; a whole document can be written otherwise alone. The first line stays first, for a
    log without it may begin as another agent's. `heard` is what the log tells."""
    shared = None if writer.marks_ids or noise.again else reused(heard, noise.reused)
    if written.session:
        return replace(written, data=_rewritten_cells(written.data, noise, shared))
    if not writer.lines:
        return replace(written, data=_renamed(_rewritten(written.data, noise, noise.members), shared))
    members = noise.members and not writer.ended
    lines = [
        _rewritten(line, noise, members) if line[:1] == b"{" != line else line for line in written.data.splitlines()
    ]
    lines = _renamed(b"\n".join(lines), shared).split(b"\n")
    if noise.again is not None:
        lines = _repeated(lines, *noise.again, writer)
    record = json.dumps(writer.later or LATER)
    for number, (place, kind) in enumerate(sorted(noise.between)):
        added: dict[Kind, bytes] = {"blank": b"", "text": TEXT, "record": record.replace("#", str(number)).encode()}
        lines.insert(1 + place % len(lines), added[kind])
    end_of_line = b"\r\n" if noise.crlf else b"\n"
    return replace(written, data=b"".join(line + end_of_line for line in lines))


def reused(heard: Scenario, seed: int) -> tuple[int, int] | None:
    """The numbers of a call that was answered and of one of a later answer that asks for something else. Calls to tools
    that do not exist have no part in it: some agents tell their results alone."""
    known: list[tuple[int, int]] = []
    before: list[Call] = []
    for answer in heard.answers:
        calls = [call for call in answer.calls if call.verb not in ("delegate", "unknown")]
        known += [(old.number, call.number) for call in calls for old in before if old.verb != call.verb]
        before += [call for call in calls if call.outcome != "unpaired"]
    return known[seed % len(known)] if seed and known else None


def _renamed(data: bytes, shared: tuple[int, int] | None) -> bytes:
    """The later of the two calls has the id of the earlier one."""
    if shared is None:
        return data
    old, new = (b"%04d" % number for number in shared)
    return ID.sub(lambda found: found[1] + (old if found[2] == new else found[2]), data)


def _repeated(lines: list[bytes], first: int, count: int, where: Where, writer: Writer) -> list[bytes]:
    """With some of the records once more: those of a run that are told from others."""
    records: list[list[bytes]] = []
    for line in lines:
        if records and line[:1] in (b" ", b"}"):  # of a record that takes several lines
            records[-1].append(line)
        else:
            records.append([line])
    first %= len(records)
    behind = min(first + count, len(records))
    run = [record for record in records[first:behind] if not _is_nameless(b"\n".join(record), writer)]
    place = {"at once": behind, "later": (behind + len(records) + 1) // 2, "at the end": len(records)}[where]
    while place and _is_nameless(b"\n".join(records[place - 1]), writer):
        place -= 1  # what is told in pieces goes on behind what came again
    return [line for record in (*records[:place], *run, *records[place:]) for line in record]


def _is_nameless(data: bytes, writer: Writer) -> bool:
    return data[:1] == b"{" and writer.nameless.which(json.loads(data))


def _rewritten(data: bytes, noise: Noise, members: bool) -> bytes:
    """A JSON value in other words."""
    if not (members or noise.escaped or noise.halved):
        return data
    value = json.loads(data)
    told = json.dumps(_widened(value) if members else value, ensure_ascii=noise.escaped or noise.halved)
    whole = json.dumps(WHOLE)[1:-1]
    return (told.replace(whole, whole[: len(whole) // 2]) if noise.halved else told).encode()


def _rewritten_cells(database: bytes, noise: Noise, shared: tuple[int, int] | None) -> bytes:
    """The JSON in its cells in other words, its protobuf messages with a further field."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            read = connection.execute(f"SELECT rowid, * FROM {table}")
            columns = [name for name, *_ in read.description][1:]
            for row, *cells in read.fetchall():
                told = [_rewritten_cell(cell, noise, shared) for cell in cells]
                sets = ", ".join(f"{name} = ?" for name in columns)
                connection.execute(f"UPDATE {table} SET {sets} WHERE rowid = ?", (*told, row))
        connection.commit()
        return connection.serialize()


def _rewritten_cell(cell: Any, noise: Noise, shared: tuple[int, int] | None) -> Any:
    if isinstance(cell, bytes):
        return _renamed(cell + message((LATER_FIELD, 1)) if noise.members else cell, shared)
    if not isinstance(cell, str) or cell[:1] not in ("{", "["):
        return cell
    return _renamed(_rewritten(cell.encode(), noise, noise.members), shared).decode()


def _widened(value: Any) -> Any:
    if isinstance(value, list):
        return [_widened(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    wide = {name: one if name in HELD else _widened(one) for name, one in members.items()}
    return {**wide, "later": {"type": "later", "n": [1]}} if {"type", "role", "id"} & members.keys() else wide
