"""Dead letters: a fault as one JSON line, its bytes in it where they can be."""

import json
from base64 import b64decode
from typing import Any

import pytest

from agentv_stages.model.batch import Batch
from agentv_stages.model.fault import Fault, Part
from agentv_stages.sinks.dead_letters import MOST_INLINE, render, stands_in_line
from agentv_stages.sinks.output import Append, Put
from agentv_stages.sinks.outputs import Letters


def fault(data: bytes, part: Part = "whole") -> Fault:
    return Fault("not-json", "log", 3, 70, len(data), "why", data, part)


def line(data: bytes, blob: str | None = None, length: int | None = None) -> dict[str, Any]:
    out = render(fault(data), blob, length)
    assert out.count(b"\n") == 1
    value: dict[str, Any] = json.loads(out)
    return value


def test_a_line_names_where_the_record_stands_and_holds_its_text() -> None:
    assert line(b"plain \xc3\xa9\x1b") == {
        "schema_version": "agentv_stream.dead_letter.v1",
        "reason": "not-json", "file": "log", "row": 3, "offset": 70, "length": 9, "detail": "why",
        "text": "plain é\x1b",
    }  # fmt: skip


@pytest.mark.parametrize("data", [b"\xff", b"a\xed\xa0\x80", b"M\xfcll"])
def test_bytes_that_are_no_text_stand_in_the_line_as_base64(data: bytes) -> None:
    """A program that prints Latin-1 would make a file for each of its lines."""
    told = line(data)
    assert b64decode(told["base64"]) == data
    assert "text" not in told


def test_bytes_that_are_too_many_do_not_stand_in_the_line() -> None:
    data = b"x" * MOST_INLINE
    assert not stands_in_line(fault(data))
    told = line(data, "n.dead/70.bin")
    assert told["blob"] == "n.dead/70.bin"
    assert not {"text", "base64"} & told.keys()


def test_a_letter_that_tells_a_place_alone_does_not_say_that_the_record_is_empty() -> None:
    orphan = Fault("orphan-result", "log", 3, 70, 99, "no call has the id 't'", b"")
    told = json.loads(render(orphan, None))
    assert (told["offset"], told["length"]) == (70, 99)
    assert not {"text", "base64", "blob"} & told.keys()
    assert line(b"")["text"] == ""


def test_a_record_in_pieces_has_the_length_of_all_of_them() -> None:
    assert not stands_in_line(fault(b"piece", "begin"))
    assert line(b"piece", "n.dead/70.bin", 1 << 30)["length"] == 1 << 30


def test_the_longest_text_that_fits_stands_in_the_line() -> None:
    assert len(line(b"x" * (MOST_INLINE - 1))["text"]) == MOST_INLINE - 1


def test_pieces_of_a_record_are_never_held_until_the_session_has_a_name() -> None:
    letters = Letters()
    letters.take(Batch("log", faults=[fault(b"short")]))
    assert letters.waiting and not letters.urgent
    letters.take(Batch("log", faults=[fault(b"piece", "begin")]))
    assert letters.urgent


def test_a_record_whose_beginning_was_written_before_has_one_line() -> None:
    letters = Letters("n.dead")
    letters.take(Batch("log", faults=[fault(b"first", "begin"), fault(b"last", "end")]))
    assert [type(operation) for operation in letters.operations()] == [Put, Put, Append]
    letters.take(Batch("log", faults=[fault(b"last", "end")]))
    assert [type(operation) for operation in letters.operations()] == [Put]
