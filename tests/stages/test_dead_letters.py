"""Dead letters: a fault as one JSON line, its bytes in it where they can be."""

import json
from typing import Any

import pytest

from agentv_stages.fault import Fault, Part
from agentv_stages.sinks.dead_letters import MOST_INLINE, inline_text, render


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


@pytest.mark.parametrize("data", [b"\xff", b"a\xed\xa0\x80", b"x" * MOST_INLINE])
def test_bytes_that_are_no_text_or_too_many_do_not_stand_in_the_line(data: bytes) -> None:
    assert inline_text(fault(data)) is None
    assert line(data, "n.dead/70.bin") == {**line(data, "n.dead/70.bin"), "blob": "n.dead/70.bin"}
    assert "text" not in line(data, "n.dead/70.bin")


def test_a_record_in_pieces_has_the_length_of_all_of_them() -> None:
    assert inline_text(fault(b"piece", "begin")) is None
    assert line(b"piece", "n.dead/70.bin", 1 << 30)["length"] == 1 << 30


def test_the_longest_text_that_fits_stands_in_the_line() -> None:
    assert len(line(b"x" * (MOST_INLINE - 1))["text"]) == MOST_INLINE - 1
