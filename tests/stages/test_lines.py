"""The line reader: records, offsets and rows, for any cut of the input."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Chunk

Row = tuple[bytes, int, int]


Told = tuple[str, int, str]


def read(pieces: list[bytes], cap: int = 1 << 20) -> tuple[list[Row], list[Told]]:
    reader = LineReader("f", cap)
    batches = [batch for piece in pieces for batch in reader.push(Chunk(piece))]
    batches += reader.flush()
    rows = [(r.data, r.offset, r.row) for batch in batches for r in batch.records]
    faults: list[Told] = [(f.reason, f.offset, f.part) for batch in batches for f in batch.faults]
    return rows, faults


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({min(a, len(data)) for a in at})
    return [data[i:j] for i, j in zip([0, *places], [*places, len(data)], strict=True)]


def test_lines_are_cut_at_line_feed_only() -> None:
    data = '{"a":"\u2028\u2029\x85\x0b"}\n{"b":1}\r\n'.encode()
    rows, _ = read([data])
    assert [r[0] for r in rows] == ['{"a":"\u2028\u2029\x85\x0b"}'.encode(), b'{"b":1}']


@pytest.mark.parametrize(
    ("data", "count"),
    [(b'{"a":1}\r\n{"b":1}\r\n', 2), (b'{"a":1}\n{\n{"b":2}\n[\n', 4), (b"x" * 20 + b"\n" + b"y" * 20, 2)],
    ids=["carriage returns", "lone brackets inside", "as long as the cap"],
)
def test_any_one_cut_gives_the_same_records(data: bytes, count: int) -> None:
    whole = read([data], cap=20)
    assert (len(whole[0]), whole[1]) == (count, [])
    for at in range(1, len(data)):
        assert read([data[:at], data[at:]], cap=20) == whole, at


def test_offsets_count_bytes_and_rows_count_records() -> None:
    rows, _ = read([b'{"a":1}\n\n  \n{"b":2}\n'])
    assert rows == [(b'{"a":1}', 0, 0), (b'{"b":2}', 12, 1)]


def test_a_byte_order_mark_is_no_part_of_the_first_record() -> None:
    for pieces in ([b'\xef\xbb\xbf{"a":1}\n'], [b"\xef", b"\xbb", b'\xbf{"a"', b":1}\n"], [b'\xef\xbb\xbf{"a":1}']):
        rows, _ = read(pieces)
        assert rows == [(b'{"a":1}', 3, 0)]


def test_the_last_line_without_an_end_comes_at_flush_and_is_marked() -> None:
    reader = LineReader("f")
    assert [r.data for b in reader.push(Chunk(b'{"a":1}\n{"b":')) for r in b.records] == [b'{"a":1}']
    (last,) = reader.flush()
    assert last.unterminated
    assert [r.data for r in last.records] == [b'{"b":']


def test_a_pretty_printed_document_is_one_record() -> None:
    data = b'{\n  "a": 1,\n  "b": [\n  ]\n}\n'
    for pieces in ([data], [data[:1], data[1:]], [data[:2], data[2:]], [data[i : i + 1] for i in range(len(data))]):
        rows, _ = read(pieces)
        assert rows == [(data, 0, 0)]
    for at in range(len(data) + 3):
        rows, _ = read(cut(b"\n \n" + data, [at]))
        assert rows == [(data, 3, 0)], at


def test_a_blank_rest_is_no_unfinished_record() -> None:
    reader = LineReader("f")
    reader.push(Chunk(b'{"a":1}\n  '))
    assert (reader.peek(), reader.rest()) == (None, None)
    reader.push(Chunk(b"{"))
    peeked = reader.peek()
    assert peeked is not None and (peeked.data, peeked.offset, peeked.row) == (b"  {", 8, 1)


def test_a_record_over_the_cap_goes_on_in_pieces_and_the_next_one_is_read() -> None:
    big = b"x" * 50
    data = b'{"a":1}\n' + big + b'\n{"b":2}\n'
    for size in (1, 7, 16, 1000):
        reader = LineReader("f", 20)
        batches = [b for i in range(0, len(data), size) for b in reader.push(Chunk(data[i : i + size]))]
        batches += reader.flush()
        records = [(r.data, r.offset, r.row) for b in batches for r in b.records]
        faults = [f for b in batches for f in b.faults]
        assert records == [(b'{"a":1}', 0, 0), (b'{"b":2}', 59, 2)], size
        assert b"".join(f.data for f in faults) == big
        assert all(f.data for f in faults[:-1])
        assert (faults[0].part, faults[-1].part, faults[0].offset) == ("begin", "end", 8)


def test_a_byte_order_mark_before_a_record_over_the_cap_is_no_part_of_it_either() -> None:
    data = b"\xef\xbb\xbf" + b"abc" * 9 + b"\n"
    for at in range(len(data)):
        _, faults = read([data[:at], data[at:]], cap=24)
        assert [f for f in faults if f[2] == "begin"] == [("too-large", 3, "begin")], at


def test_a_giant_record_never_stands_in_memory() -> None:
    reader = LineReader("f", 1000)
    for _ in range(1000):
        reader.push(Chunk(b"y" * 100))
        assert reader.held_bytes <= 1000


def test_flush_twice_is_refused() -> None:
    reader = LineReader("f")
    assert list(reader.flush()) == []
    try:
        reader.flush()
    except RuntimeError:
        return
    raise AssertionError("a second flush was accepted")


ALPHABET = st.sampled_from(
    [b"\n", b"\r\n", b"{", b'{"a":1}', b'"', b" ", b"\xef\xbb\xbf", b"\0", b"abc" * 9, "é".encode()]
)


@given(st.lists(ALPHABET, max_size=40), st.lists(st.integers(0, 200), max_size=12))
@example([b"x" * 24, b"\r\n"], [1])  # of the size of the cap: a carriage return makes no record too large
@example([b"x" * 24, b"\r\n"], [25])
@example([b"x" * 24, b"\r", b"\r\n"], [25])
def test_any_cut_gives_the_same_records(parts: list[bytes], at: list[int]) -> None:
    data = b"".join(parts)
    whole, whole_faults = read([data], cap=24)
    pieces, piece_faults = read(cut(data, at), cap=24)
    assert pieces == whole
    assert [f for f in piece_faults if f[2] == "begin"] == [f for f in whole_faults if f[2] == "begin"]


@given(st.lists(ALPHABET, max_size=40), st.lists(st.integers(0, 200), max_size=12))
def test_the_rest_is_what_a_flush_gives(parts: list[bytes], at: list[int]) -> None:
    reader = LineReader("f", 24)
    for piece in cut(b"".join(parts), at):
        reader.push(Chunk(piece))
    rest, again = reader.rest(), reader.rest()
    given = reader.flush()
    assert [(b.records, b.faults, b.unterminated, b.document) for b in (rest, again) if b is not None] == [
        (b.records, b.faults, b.unterminated, b.document) for b in given * 2
    ]


@given(st.lists(ALPHABET, max_size=40), st.lists(st.integers(0, 200), max_size=3))
def test_a_reader_goes_on_from_its_snapshot(parts: list[bytes], at: list[int]) -> None:
    data = b'{"first":1}\n' + b"".join(parts)
    whole, _ = read([data])
    reader = LineReader("f", 1 << 20)
    rows: list[Row] = []
    for piece in cut(data, at):
        rows += [(r.data, r.offset, r.row) for b in reader.push(Chunk(piece)) for r in b.records]
    position = reader.snapshot()
    other = LineReader("f", 1 << 20)
    other.restore(position)
    rest = [*other.push(Chunk(data[position.offset :])), *other.flush()]
    rows += [(r.data, r.offset, r.row) for b in rest for r in b.records]
    assert rows == whole
