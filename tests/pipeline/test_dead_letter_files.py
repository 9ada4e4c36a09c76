"""Dead letters read back: those that `consume` wrote, listed, shown, decoded once more."""

import json
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import pytest

from agentv_stream.dead_letter_files import (
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
    told = fault_lines([folder / "out"], as_json=False)
    assert told.count("\n") == 2
    assert "\x1b" not in told
    rows = [json.loads(line) for line in fault_lines([folder / "out"], as_json=True).splitlines()]
    assert [row["row"] for row in rows] == [2, 5]
    assert fault_bytes(rows[0]["letter"]) == "not json \\x1b[2J\n"


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
    assert fault_lines([tmp_path], as_json=False) == "no faults\n"
    assert fault_lines([tmp_path], as_json=True) == ""


def test_half_a_line_of_a_writer_at_work_is_passed_over(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes()[:-20])
    assert [letter.reason for letter in letters(copy)] == ["not-json"]


@pytest.mark.parametrize("place", ["nothing", ":1", "x.jsonl:one"])
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
    _, told = retry_faults([path])
    assert told == "agentv-stream: 1 of 2 records can be used\n"  # of bad UTF-8 the record was used all the time
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    rows[0] |= {"text": RECORDS[-1].decode()}
    copy = tmp_path / path.name
    copy.write_text(json.dumps(rows[0]) + "\n")
    events, told = retry_faults([copy])
    assert told == "agentv-stream: 1 of 1 records can be used\n"
    rows = [json.loads(line) for line in events.splitlines()]
    assert "tool_result" in [row["type"] for row in rows]
    assert {row["session_id"] for row in rows} == {str(uuid5(NAMESPACE_OID, "aaaa-1"))}


def test_without_the_log_nothing_can_be_used(folder: Path, tmp_path: Path) -> None:
    (path,) = letter_files([folder / "out"])
    row = json.loads(path.read_bytes().splitlines()[0]) | {"file": str(tmp_path / "gone.jsonl")}
    copy = tmp_path / path.name
    copy.write_text(json.dumps(row) + "\n")
    assert retry_faults([copy]) == ("", "agentv-stream: 0 of 1 records can be used\n")
