"""Dead letters read back: those that `consume` wrote, listed, shown, decoded once more."""

import json
import os
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import pytest

from agentv_stream.discovery.dead_letter_files import (
    data_of,
    fault_bytes,
    fault_lines,
    letter_files,
    letters,
    retry_faults,
)
from agentv_stream.errors import SourceError, UsageError
from support.consuming import consume
from support.growing_logs import claude_records

RECORDS = claude_records("aaaa-1", 3)
BROKEN = [b"not json \x1b[2J", RECORDS[0].replace(b"please work", b"please \xff\xfe work")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run over a log with two broken lines left behind."""
    place = tmp_path_factory.mktemp("letters")
    log = place / "log.jsonl"
    log.write_bytes(b"\n".join([*RECORDS[:2], BROKEN[0], *RECORDS[2:4], BROKEN[1], *RECORDS[4:]]) + b"\n")
    consume(place, log, "--out", place / "out")
    return place


def test_letters_hold_the_bytes_that_stood_in_the_log(folder: Path) -> None:
    (path,) = letter_files([folder / "out"])
    log = (folder / "log.jsonl").read_bytes()
    found = list(letters(path))
    assert [letter.reason for letter in found] == ["not-json", "bad-utf8"]
    assert [data_of(letter, path) for letter in found] == BROKEN
    assert [log[letter.offset : letter.offset + letter.length] for letter in found] == BROKEN


def test_a_list_for_people_acts_on_no_terminal_and_one_for_programs_is_json(folder: Path) -> None:
    told = list(fault_lines([folder / "out"], as_json=False))
    assert [line.count("\n") for line in told] == [1, 1]
    assert "\x1b" not in "".join(told)
    assert next(fault_bytes(line.split("  ")[0]) for line in told) == "not json \\x1b[2J\n"
    rows = [json.loads(line) for line in fault_lines([folder / "out"], as_json=True)]
    assert [row["row"] for row in rows] == [2, 5]
    assert fault_bytes(rows[0]["letter"]) == "not json \\x1b[2J\n"


def test_pipes_among_the_letters_are_not_waited_for(tmp_path: Path) -> None:
    """An agent may write where its letters are."""
    blobs, pipe = tmp_path / "a.dead", tmp_path / "b.dead-letters.jsonl"
    blobs.mkdir()
    os.mkfifo(blobs / "1.bin")
    os.mkfifo(pipe)
    letter = {"reason": "x", "file": "log", "row": 0, "offset": 0, "length": 9, "detail": "", "blob": "a.dead/1.bin"}
    path = tmp_path / "a.dead-letters.jsonl"
    path.write_text(json.dumps(letter) + "\n")
    assert letter_files([tmp_path]) == [path]
    held = os.open(blobs / "1.bin", os.O_RDWR | os.O_NONBLOCK)
    os.write(held, b"from a pipe")
    try:
        assert data_of(next(letters(path)), path) == b""
        assert os.read(held, 20) == b"from a pipe"
    finally:
        os.close(held)


def test_of_bytes_that_stand_in_the_log_alone_the_place_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"\n".join([*RECORDS[:2], RECORDS[3]]) + b"\n")  # a result whose call was cut out
    consume(tmp_path, log, "--out", tmp_path / "out")
    (path,) = letter_files([tmp_path / "out"])
    (letter,) = letters(path)
    assert (letter.reason, letter.text) == ("orphan-result", None)
    offset = len(RECORDS[0]) + len(RECORDS[1]) + 2
    assert fault_bytes(f"{path}:0") == f"not kept: {len(RECORDS[3])} bytes at offset {offset} of {letter.file}\n"


def test_where_there_is_none_that_is_said(tmp_path: Path) -> None:
    assert list(fault_lines([tmp_path], as_json=False)) == ["no faults\n"]
    assert list(fault_lines([tmp_path], as_json=True)) == []


def test_half_a_line_of_a_writer_at_work_is_passed_over(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes()[:-20])
    assert [letter.reason for letter in letters(copy)] == ["not-json"]


@pytest.mark.parametrize("place", ["nothing", ":1", "x.jsonl:one", "x.jsonl:²"])
def test_a_place_that_is_none_is_a_wrong_call(place: str) -> None:
    with pytest.raises(UsageError, match="expected FILE:NUMBER"):
        fault_bytes(place)


def test_letters_that_are_not_there(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    with pytest.raises(UsageError, match="has no letter 9"):
        fault_bytes(f"{path}:9")
    with pytest.raises(SourceError, match="no such file"):
        letter_files([tmp_path / "nowhere"])


def test_a_record_that_can_be_used_by_now_gives_its_events(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    told: list[str] = []
    assert list(retry_faults([path], told.append))
    assert told == ["1 of 2 records can be used"]  # of bad UTF-8 the record was used all the time
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows[0] |= {"text": RECORDS[-1].decode()}
    copy = tmp_path / path.name
    copy.write_text(json.dumps(rows[0]) + "\n")
    rows = [json.loads(line) for line in retry_faults([copy], told.append)]
    assert told[1:] == ["1 of 1 records can be used"]
    assert "tool_result" in [row["type"] for row in rows]
    assert {row["session_id"] for row in rows} == {str(uuid5(NAMESPACE_OID, "aaaa-1"))}


def test_without_the_log_nothing_can_be_used(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    row = json.loads(path.read_bytes().splitlines()[0]) | {"file": str(tmp_path / "gone.jsonl")}
    copy = tmp_path / path.name
    copy.write_text(json.dumps(row) + "\n")
    told: list[str] = []
    assert list(retry_faults([copy], told.append)) == []
    assert told == ["0 of 1 records can be used"]


def test_a_list_is_printed_line_by_line(folder: Path, tmp_path: Path) -> None:
    """Not held until the last letter is read: here the second file of letters has gone."""
    (path,) = letter_files([folder / "out"])
    for name in ("a", "b"):
        (tmp_path / f"{name}.dead-letters.jsonl").write_bytes(path.read_bytes())
    lines = fault_lines([tmp_path], as_json=False)
    first = next(lines)
    (tmp_path / "b.dead-letters.jsonl").unlink()
    with pytest.raises(SourceError, match=r"b\.dead-letters"):
        list(lines)
    assert "not-json" in first


def test_a_hostile_file_of_letters_is_told_in_plain_text(tmp_path: Path) -> None:
    letter = {"reason": "\x1b[2J\n", "file": "\x1b]0;x\x07", "row": 1, "offset": 0, "length": 1, "detail": "\x1b[1m"}
    place = tmp_path / os.fsdecode(b"\xff.dead-letters.jsonl")
    place.write_text(json.dumps(letter) + "\n")
    (line,) = fault_lines([tmp_path], as_json=False)
    assert line.count("\n") == 1
    assert "\x1b" not in line
    (row,) = fault_lines([place], as_json=True)
    assert json.loads(row)["letter"].endswith("\\udcff.dead-letters.jsonl:0")
