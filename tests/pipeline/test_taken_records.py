"""What a log repeats is skipped, as often as it was taken; what only looks alike is not."""

import gzip
from pathlib import Path

from agentv_stages.model.batch import Batch, Record
from agentv_stream.following.growing import GrowingFile, OpenFiles
from agentv_stream.following.session_files import read_again
from agentv_stream.following.taken_records import LONG, Counts, Repeated, TakenRecords, record_hash

A, B, C = (letter * LONG for letter in (b"a", b"b", b"c"))
SHORT = b'{"type":"turn.started"}'


def told(
    seen: TakenRecords, one: Repeated, *records: bytes, others: list[Repeated] | None = None, row: int = 0
) -> list[Record]:
    batch = Batch("log", records=[Record(data, 0, row + n) for n, data in enumerate(records)])
    seen.keep_new(batch, one, others or [])
    return batch.records


def growing(path: Path) -> GrowingFile:
    return GrowingFile(str(path), OpenFiles())


def nothing() -> Counts:
    return {}


def test_a_first_file_repeats_nothing_whatever_it_says_twice() -> None:
    seen = TakenRecords(nothing)
    assert [r.data for r in told(seen, Repeated(), A, A, B)] == [A, A, B]
    assert seen.counts() == {record_hash(A): 2, record_hash(B): 1}


def test_a_further_generation_is_skipped_as_often_as_it_was_told_and_its_rows_go_on() -> None:
    seen = TakenRecords(nothing)
    told(seen, Repeated(), A, A, B)
    again = Repeated()
    again.begin(seen.counts())
    kept = told(seen, again, A, A, A, C, row=3)
    assert [(r.data, r.row) for r in kept] == [(A, 3), (C, 4)]
    assert (again.skipped, seen.repeated) == (2, 2)


def test_a_short_record_counts_as_repeated_only_among_others() -> None:
    seen = TakenRecords(nothing)
    told(seen, Repeated(), SHORT, A)
    again = Repeated()
    again.begin(seen.counts())
    assert [r.data for r in told(seen, again, SHORT, A, SHORT)] == [SHORT]
    fresh = Repeated()
    fresh.begin(seen.counts())
    assert [r.data for r in told(seen, fresh, C, SHORT, A)] == [C, SHORT]


def test_what_one_file_tells_another_one_may_repeat() -> None:
    seen = TakenRecords(nothing)
    first, second = Repeated(), Repeated()
    first.begin({})
    second.begin({})
    told(seen, first, A, others=[second])
    assert told(seen, second, A, others=[first]) == []
    assert [r.data for r in told(seen, second, A)] == [A]
    assert [r.data for r in told(seen, second, B, others=[first])] == [B]
    assert told(seen, first, B, others=[second]) == []


def test_after_a_session_is_read_again_the_cursors_hashes_count_no_more() -> None:
    seen = TakenRecords(lambda: {record_hash(A): 1})
    assert seen.counts() == {record_hash(A): 1}
    seen.drop()
    assert seen.counts() == {}


def test_after_a_restart_what_stands_before_the_position_is_no_repetition_any_more(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\n".join([A, B]) + b"\n")
    stored = {record_hash(A): 2, record_hash(B): 1, record_hash(C): 1}
    one = Repeated()
    TakenRecords(lambda: dict(stored)).may_still_repeat(one, read_again(growing(path), len(A) + 1))
    assert one.known == {record_hash(A): 1, record_hash(B): 1, record_hash(C): 1}
    TakenRecords(lambda: dict(stored)).may_still_repeat(one, read_again(growing(tmp_path / "gone"), 10))
    assert one.known == stored
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    TakenRecords(lambda: dict(stored)).may_still_repeat(one, read_again(growing(packed), len(A) + 1))
    assert one.known == {record_hash(A): 1, record_hash(B): 1, record_hash(C): 1}


def test_after_a_restart_a_stretch_of_repetitions_goes_on_where_it_was_in_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(A + b"\n")
    stored = {record_hash(A): 1, record_hash(SHORT): 1}
    for repeating, kept in ((True, []), (False, [SHORT])):
        seen, one = TakenRecords(lambda: dict(stored)), Repeated(None, 1, repeating)
        seen.may_still_repeat(one, read_again(growing(path), len(A) + 1))
        assert [r.data for r in told(seen, one, SHORT)] == kept


def test_a_row_of_a_store_is_taken_once() -> None:
    seen, one = TakenRecords(nothing), Repeated()
    assert not seen.row_taken(one, look=True)("m1")
    assert not seen.row_taken(one, look=False)("m1")
    assert seen.row_taken(one, look=False)("m1")
    assert seen.counts() == {record_hash(b"m1"): 1}
