"""The raw stream log: true JSON lines from which the input can be made again."""

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.sinks.raw_log import render


def lines(*data: bytes, arrived_ms: int | None = 1_700_000_000_123, file: str = "in\nput") -> list[dict[str, Any]]:
    records = [Record(one, i * 10, i) for i, one in enumerate(data)]
    out = render(Batch(file, arrived_ms, records=records))
    out.decode()
    made = out.splitlines(keepends=True)
    assert len(made) == len(data)
    return [json.loads(line, parse_constant=pytest.fail) for line in made]


def back(line: dict[str, Any]) -> bytes:
    return base64.b64decode(line["record_base64"])


def test_a_record_stands_verbatim_with_its_arrival_offset_and_file() -> None:
    data = b'{"b" : 1.50e1,"a":"\\u00e9\xc3\xa9"}'
    rendered = render(Batch("f", 0, records=[Record(data, 7, 0)]))
    assert rendered == b'{"arrived":"1970-01-01T00:00:00.000Z","offset":7,"file":"f","record":' + data + b"}\n"


@pytest.mark.parametrize(
    "data",
    [
        b"words", b"", b'{"a":', b'{"a":1}}', b'{"a":NaN}', b'{"a":"\xff"}', b'{"a":"x\x01"}', b"\x00\x00",
        b'{"a":1}{"b":2}',
        b'{\n"a": 1}', b'{"a":"\xed\xa0\x80"}', b"\xef\xbb\xbf{}",
    ],
)  # fmt: skip
def test_what_a_strict_reader_would_refuse_is_kept_in_base64(data: bytes) -> None:
    (line,) = lines(data)
    assert "record" not in line
    assert back(line) == data


def test_without_a_clock_there_is_no_arrival() -> None:
    (line,) = lines(b"{}", arrived_ms=None)
    assert line == {"offset": 0, "file": "in\nput", "record": {}}


def test_a_batch_without_records_is_no_line() -> None:
    assert render(Batch("f", 5)) == b""


@example([b"\t0"])
@example([b'{"a": 1} '])
@given(st.lists(st.binary(max_size=40), max_size=6))
def test_every_record_of_any_input_can_be_had_back(data: list[bytes]) -> None:
    reader = LineReader("f")
    for batch in (*reader.push(Chunk(b"".join(one + b"\n" for one in data))), *reader.flush()):
        for record, line in zip(batch.records, render(batch).splitlines(), strict=True):
            members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            kept = bytes(members["record"]) if "record" in members else back(json.loads(line))
            assert kept == record.data
