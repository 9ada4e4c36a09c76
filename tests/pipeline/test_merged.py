"""Events of one session for the merged stream: they wait for its id, and bear the same ids after a restart."""

import json
from itertools import repeat
from typing import Any

from agentv_stream.following.merged import PATIENCE, MergedEvents
from agentv_stream.summary import SessionReader
from support.consuming import STREAM
from support.decoding import FIXTURES

Emitted = list[bytes]


def reader_of(*records: bytes) -> SessionReader:
    """Each record comes in a batch of its own."""
    return SessionReader(records, "log")


def lines(emitted: Emitted) -> list[dict[str, Any]]:
    return [json.loads(line) for data in emitted for line in data.splitlines()]


def whole(data: bytes) -> list[dict[str, Any]]:
    emitted: Emitted = []
    merged, reader = MergedEvents(emitted.append), reader_of(*data.splitlines(keepends=True))
    for batch in reader.batches():
        merged.write(batch, reader.observer)
    merged.release(at_end=True)
    assert merged.ready
    return lines(emitted)


def test_every_event_is_emitted_once_under_the_sessions_id() -> None:
    events = whole(STREAM.read_bytes())
    assert len({event["id"] for event in events}) == len(events) > 20
    assert len({event["session_id"] for event in events}) == 1


def test_a_log_without_an_id_takes_the_hash_of_its_first_record() -> None:
    log = (FIXTURES / "cursor" / "transcript.jsonl").read_bytes()
    once, again, other = whole(log), whole(log), whole(log.replace(b"You are.", b"You are!"))
    assert once == again
    sessions = [{event["session_id"] for event in events} for events in (once, other)]
    assert [len(ids) for ids in sessions] == [1, 1]
    assert sessions[0] != sessions[1]


def test_for_an_id_it_waits_no_longer_than_its_patience() -> None:
    records = (FIXTURES / "cursor" / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    emitted: Emitted = []
    merged, reader = MergedEvents(emitted.append), reader_of(*records, *[records[-1]] * PATIENCE)
    for batch in reader.batches():
        merged.write(batch, reader.observer)
        assert bool(emitted) is (reader.observer.facts.records >= PATIENCE)
    assert merged.ready


def test_a_restart_goes_on_with_ids_and_parents() -> None:
    data = STREAM.read_bytes()
    wanted = whole(data)
    emitted: Emitted = []
    reader = reader_of(*data.splitlines(keepends=True))
    merged = MergedEvents(emitted.append)
    for i, batch in enumerate(reader.batches()):
        if i == 12:
            state = merged.snapshot()
            assert state is not None
            merged = MergedEvents(emitted.append)
            merged.restore(state)
        merged.write(batch, reader.observer)
    assert lines(emitted) == wanted


def test_what_is_passed_over_is_not_emitted_but_later_events_know_it() -> None:
    data = STREAM.read_bytes()
    wanted = whole(data)
    emitted: Emitted = []
    reader = reader_of(*data.splitlines(keepends=True))
    merged = MergedEvents(emitted.append)
    passed = 0
    for i, batch in enumerate(reader.batches()):
        if i < 12:
            merged.write(batch, reader.observer, repeat(False))
            passed += len(batch.events)
        else:
            merged.write(batch, reader.observer)
    assert lines(emitted) == wanted[passed:]
