"""A log that is written anew, slowly, while followers come and go: a restart breaks no stretch of what it repeats."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentv_stream.following.taken_records import LONG
from support.following import Desk, catch_up, split

SESSION = "22222222-3333-4444-5555-666666666666"


def gemini(turns: int) -> list[bytes]:
    """A stream of Gemini CLI: some of its records are so short that each alone may be equal by chance."""
    at = "2026-01-01T00:00:00.000Z"
    told: list[Mapping[str, object]] = [
        {"type": "init", "timestamp": at, "session_id": SESSION, "model": "gemini-2.5-pro"}
    ]
    for turn in range(turns):
        call = f"call-{turn}"
        told += [
            {"type": "message", "timestamp": at, "role": "user", "content": "on"},
            {
                "type": "tool_use",
                "timestamp": at,
                "tool_name": "list_directory",
                "tool_id": call,
                "parameters": {"path": "."},
            },
            {"type": "tool_result", "timestamp": at, "tool_id": call, "status": "success", "output": f"files {turn}"},
            {"type": "message", "timestamp": at, "role": "assistant", "content": f"step {turn} " * 9, "delta": True},
        ]
    return [json.dumps(one, separators=(",", ":")).encode() for one in told]


RECORDS = gemini(4)
SHORT = [n for n, record in enumerate(RECORDS) if len(record) < LONG]


def lines(records: list[bytes]) -> bytes:
    return b"".join(record + b"\n" for record in records)


def test_the_log_has_short_records_in_its_middle() -> None:
    assert len(SHORT) >= 4
    assert SHORT[0] > 0


@pytest.mark.parametrize("cut", SHORT)
def test_a_short_record_after_a_restart_is_a_repetition_as_those_before_it(cut: int, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "live")
    log = desk.logs / "stream.jsonl"
    log.write_bytes(lines(RECORDS[:-2]))
    desk.catch_up()
    log.write_bytes(lines(RECORDS[:cut]))  # truncated, and written anew
    desk.catch_up()
    with log.open("ab") as file:
        file.write(lines(RECORDS[cut:]))
    desk.catch_up()
    clean = Desk(tmp_path / "clean")
    (clean.logs / log.name).write_bytes(lines(RECORDS))
    clean.catch_up()
    found, expected = desk.transcripts(), clean.transcripts()
    assert {s: split(rows) for s, rows in found.items()} == {s: split(rows) for s, rows in expected.items()}
    assert desk.event_ids() == clean.event_ids()


def test_a_short_record_after_new_ones_is_new_after_a_restart_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "live")
    log = desk.logs / "stream.jsonl"
    # Without a time: with one, the decoder itself knows the record again.
    records = [record.replace(b'"timestamp":"2026-01-01T00:00:00.000Z",', b"") for record in RECORDS]
    records = [short if n in SHORT else record for n, (short, record) in enumerate(zip(records, RECORDS, strict=True))]
    log.write_bytes(lines(records))
    desk.catch_up()
    more = [record.replace(b"-01-01T", b"-01-02T").replace(b"call-", b"again-") for record in records]
    assert len(more[SHORT[0] + 1]) > LONG
    log.write_bytes(lines([records[0], *more[SHORT[0] + 1 : SHORT[0] + 4]]))
    desk.catch_up()
    before = len(desk.event_ids())
    with log.open("ab") as file:
        file.write(lines([records[SHORT[0]]]))
    desk.catch_up()
    assert len(desk.event_ids()) > before


def test_a_last_line_that_never_got_its_end_is_a_record_and_the_rows_of_the_new_content_go_on_behind_it(
    tmp_path: Path,
) -> None:
    """Gemini's records have no ids of their own: those of their events hang on the row."""
    desk = Desk(tmp_path / "live")
    log = desk.logs / "stream.jsonl"
    first, second = RECORDS[:9], [RECORDS[9].replace(b'"on"', b'"and now"'), *RECORDS[10:13]]
    log.write_bytes(lines(first)[:-1])
    follower = desk.follower()
    catch_up(follower)
    log.write_bytes(lines(second))
    catch_up(follower)
    follower.settle_all()
    follower.close()
    desk.close()
    clean = Desk(tmp_path / "clean")
    (clean.logs / log.name).write_bytes(lines(first + second))
    clean.catch_up()
    found, expected = desk.transcripts(), clean.transcripts()
    assert {s: split(rows) for s, rows in found.items()} == {s: split(rows) for s, rows in expected.items()}
    assert desk.event_ids() == clean.event_ids()
