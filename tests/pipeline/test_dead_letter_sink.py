"""Dead letters on disk: lines, and files for what cannot stand in a line; giants never in memory whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.lines import LineReader
from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.fault import Fault, Part, Reason
from agentv_stages.providers import get_provider
from agentv_stages.sinks.dead_letters import MOST_INLINE
from agentv_stages.sinks.outputs import Letters
from agentv_stages.sinks.transcript import Identity
from agentv_stream.errors import SinkError
from agentv_stream.outputs.output_file import OutputFile
from agentv_stream.outputs.output_sink import OutputSink


def fault(offset: int, data: bytes, part: Part = "whole", reason: Reason = "not-json") -> Fault:
    return Fault(reason, "log", 0, offset, len(data), "why", data, part)


def letter_sink(path: Path, finished: bool = False) -> OutputSink:
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0])
    identity = Identity.of(observer, test_id="t", target="t", session_id="s", path=None, started_ms=0)
    return OutputSink("dead letters", Letters(), observer, lambda: (path, identity), finished=finished)


async def letters(folder: Path, *batches: list[Fault]) -> list[dict[str, Any]]:
    sink = letter_sink(folder / "name.dead-letters.jsonl")
    for faults in batches:
        await sink.write(Batch("log", faults=faults))
    await sink.close(True)
    if sink.path is None:
        return []
    return [json.loads(line) for line in sink.path.read_bytes().splitlines()]


async def test_without_faults_there_is_no_file(tmp_path: Path) -> None:
    assert await letters(tmp_path, [], []) == []
    assert not list(tmp_path.iterdir())


async def test_small_records_stand_in_the_line_and_large_ones_in_files_of_their_own(tmp_path: Path) -> None:
    large = b"\xff\xfe" * MOST_INLINE
    text, data, blob = await letters(tmp_path, [fault(0, b"words")], [fault(9, b"\xff\xfe")], [fault(70, large)])
    assert text["text"] == "words"
    assert data["base64"] == "//4="
    assert blob["blob"].startswith("name.dead/70-")
    assert (tmp_path / blob["blob"]).read_bytes() == large
    assert (tmp_path / blob["blob"]).stat().st_mode & 0o777 == 0o600


async def test_a_record_in_pieces_is_one_line_and_one_file(tmp_path: Path) -> None:
    pieces = [
        fault(5, b"aa", "begin", "too-large"),
        fault(7, b"bb", "middle", "too-large"),
        fault(9, b"c", "end", "too-large"),
    ]
    (line,) = await letters(tmp_path, pieces[:1], pieces[1:])
    assert (line["offset"], line["length"], line["reason"]) == (5, 5, "too-large")
    assert (tmp_path / line["blob"]).read_bytes() == b"aabbc"


async def test_a_giant_of_the_line_reader_is_on_disk_byte_for_byte(tmp_path: Path) -> None:
    giant = b'{"a":"' + b"x" * 5_000 + b'"}'
    data = b'{"b":1}\n' + giant + b"\n" + b"words \n"
    reader = LineReader("log", 1_000)
    batches = [batch for at in range(0, len(data), 300) for batch in reader.push(Chunk(data[at : at + 300]))]
    (line,) = await letters(tmp_path, *[batch.faults for batch in batches])
    assert (line["reason"], line["offset"], line["length"]) == ("too-large", 8, len(giant))
    assert (tmp_path / line["blob"]).read_bytes() == giant


async def test_a_giant_that_breaks_off_leaves_what_came_of_it(tmp_path: Path) -> None:
    assert await letters(tmp_path, [fault(0, b"first")], [fault(5, b"half", "begin")]) != []
    (blob,) = (tmp_path / "name.dead").iterdir()
    assert blob.read_bytes() == b"half"


async def test_large_records_of_several_files_or_of_one_line_keep_files_of_their_own(tmp_path: Path) -> None:
    records = {file + letter: letter.encode() * MOST_INLINE for file, letter in ("xa", "ya", "yb")}
    faults = [Fault("not-json", name[0], 0, 0, MOST_INLINE, "why", data) for name, data in records.items()]
    giants = [Fault("too-large", file, 0, 0, 4, "why", b"half", part) for file in "xy" for part in ("begin", "end")]
    found = await letters(tmp_path, faults + giants)
    assert [(tmp_path / one["blob"]).read_bytes() for one in found] == [*records.values(), b"halfhalf", b"halfhalf"]
    assert len({one["blob"] for one in found[-2:]}) == 2


async def test_the_lines_of_a_batch_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    write = OutputFile.write

    async def counted(file: OutputFile, data: bytes) -> None:
        writes.append(data.count(b"\n"))
        await write(file, data)

    monkeypatch.setattr(OutputFile, "write", counted)
    found = await letters(tmp_path, [fault(n * 10, b"noise") for n in range(1_000)], [fault(20_000, b"x" * 60_000)] * 9)
    assert [line["offset"] for line in found[:1_000]] == [n * 10 for n in range(1_000)]
    assert writes == [1_000, 9]  # a call for each line took nine tenths of the time


async def test_what_stands_before_a_file_that_cannot_be_written_is_written(tmp_path: Path) -> None:
    (tmp_path / "name.dead").write_bytes(b"in the way")
    sink = letter_sink(tmp_path / "name.dead-letters.jsonl")
    with pytest.raises(SinkError):
        await sink.write(Batch("log", faults=[fault(0, b"words"), fault(7, b"x" * MOST_INLINE)]))
    await sink.close(False)
    (line,) = (tmp_path / "name.dead-letters.jsonl").read_bytes().splitlines()
    assert json.loads(line)["text"] == "words"


@pytest.mark.parametrize("keep", [False, True])
async def test_the_letters_of_an_earlier_reading_stand_until_these_are_whole(tmp_path: Path, keep: bool) -> None:
    path = tmp_path / "name.dead-letters.jsonl"
    path.write_bytes(b"before")
    sink = letter_sink(path, finished=True)
    await sink.write(Batch("log", faults=[fault(0, b"words"), fault(7, b"x" * MOST_INLINE)]))
    assert (path.read_bytes(), sink.path) == (b"before", path)
    await sink.close(True)
    await sink.settle(keep)
    assert path.read_bytes().count(b"\n") == (0 if keep else 2)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["name.dead", path.name]
