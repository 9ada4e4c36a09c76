"""What a bulk run has finished, read back."""

import tracemalloc
from pathlib import Path

import msgspec

from agentv_stream.bulk.state import Progress
from agentv_stream.bulk.unit import Done, Unit

MIB = 1024 * 1024


def _write(place: Path, name: str, lines: list[bytes]) -> None:
    (place / "done").mkdir(parents=True, exist_ok=True)
    (place / "done" / name).write_bytes(b"\n".join(lines))


def _line(source: str, result: object) -> bytes:
    return msgspec.json.encode(Done(unit=Unit(source), result=msgspec.Raw(msgspec.json.encode(result))))


def test_entries_with_large_results_are_read_a_line_at_a_time(tmp_path: Path) -> None:
    _write(tmp_path, "a.jsonl", [_line(f"/{i}", "x" * MIB) for i in range(24)])
    state = Progress(str(tmp_path))
    tracemalloc.start()
    entries = state.entries()
    lengths = [len(result) for result in state.results(entries.values())]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lengths == [MIB + 2] * 24
    assert peak < 8 * MIB


def test_a_damaged_line_costs_itself_alone_and_a_later_file_replaces_entries(tmp_path: Path) -> None:
    _write(tmp_path, "a.jsonl", [_line("/1", 1), b'{"unit":{"sou\0\0', b"", _line("/2", 2), _line("/3", 3)])
    state = Progress(str(tmp_path))
    before = state.entries()
    assert list(state.results(before.values())) == [b"1", b"2", b"3"]
    _write(tmp_path, "b.jsonl", [_line("/2", 22)])
    assert list(state.results(state.entries().values())) == [b"1", b"22", b"3"]
    assert list(state.results(before.values())) == [b"1", b"2", b"3"]
