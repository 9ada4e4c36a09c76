"""The memory of all records: exact at any distance, and small."""

from random import Random

import msgspec

from agentv_stages.chain.known_records import MOST_NAMES, MOST_NOTED, KnownRecords, KnownState
from agentv_stages.model.event import Source

BEGUN = 1_790_000_000_000


def record(record_id: str, time_ms: int | None) -> Source:
    return Source("log", 0, 0, 0, time_ms, "main", record_id)


def note(known: KnownRecords, record_id: str, time_ms: int) -> None:
    """As `Identity` does for the newest record of a stream."""
    assert time_ms > known.newest_ms
    known.newest_ms = time_ms
    known.noted.append(record(record_id, time_ms))
    if len(known.noted) > MOST_NOTED:
        known.compress()


def size_of(known: KnownRecords) -> int:
    state = known.snapshot()
    return len(state.timed) + len(state.timeless) + len(state.marked)


def test_a_record_is_known_however_far_back_it_came() -> None:
    known = KnownRecords()
    for n in range(3 * MOST_NOTED):
        note(known, f"r{n}", BEGUN + 7 * n)
    for n in (0, 1, MOST_NOTED, 3 * MOST_NOTED - 1):
        assert known.has(record(f"r{n}", BEGUN + 7 * n))
        assert not known.has(record(f"r{n}", BEGUN + 7 * n + 1))
        assert not known.has(record(f"other{n}", BEGUN + 7 * n))
        assert not known.has_contents(f"r{n}", BEGUN + 7 * n, 12345)
        assert known.has_contents(f"r{n}", BEGUN + 7 * n, 12345)


def test_records_in_any_order_are_known() -> None:
    known, chance = KnownRecords(), Random(5)
    order = [record(f"r{n}", BEGUN + n // 3) for n in range(5_000)]
    chance.shuffle(order)
    for n, one in enumerate(order):
        assert not known.has(one)
        if n % 700 == 699:
            known.compress()
    assert all(map(known.has, order))
    again = KnownRecords()
    again.restore(known.snapshot())
    assert all(map(again.has, order))


def test_a_record_out_of_order_does_not_make_the_numbers_of_all_noted_ones() -> None:
    known = KnownRecords()
    for n in range(100):
        note(known, f"r{n}", BEGUN + 10 * n)
    assert not known.has(record("late", BEGUN + 905))
    assert not known.has(record("same time", BEGUN + 900))
    assert known.has(record("r90", BEGUN + 900))
    assert [one.base_id for one in known.noted[89:93]] == ["r89", "r90", "same time", "late"]
    assert not known.has(record("first", BEGUN - 1))
    assert len(known.noted) == 102
    assert known.has(record("first", BEGUN - 1))


def test_records_without_a_time_are_known_by_their_ids() -> None:
    known = KnownRecords()
    ids = [f"id-{n}" for n in range(2 * MOST_NAMES + 5)]
    assert not any(known.has(record(one, None)) for one in ids)
    assert all(known.has(record(one, None)) for one in (ids[0], ids[MOST_NAMES], ids[-1]))
    assert not known.has_contents(ids[0], None, 77)


def test_a_million_records_take_less_than_sixteen_megabytes() -> None:
    timed, timeless = KnownRecords(), KnownRecords()
    for n in range(1_000_000):
        note(timed, "r", BEGUN + 90 * n)
    assert 8_000_000 <= size_of(timed) < 16_000_000
    for n in range(100_000):
        timeless.has(record(f"{n:x}", None))
    assert 800_000 <= size_of(timeless) < 1_600_000
    assert len(timed.noted) + len(timeless.names) <= MOST_NOTED + MOST_NAMES


def test_a_saved_memory_knows_the_same() -> None:
    known, again = KnownRecords(), KnownRecords()
    for n in range(1_000):
        note(known, f"r{n}", BEGUN + n)
        known.has(record(f"t{n}", None))
    again.restore(msgspec.json.decode(msgspec.json.encode(known.snapshot()), type=KnownState))
    assert again.snapshot() == known.snapshot()
    assert all(again.has(record(f"r{n}", BEGUN + n)) and again.has(record(f"t{n}", None)) for n in range(1_000))
    assert not again.has(record("r1000", BEGUN + 1_000))


def test_impossible_times_and_ids_are_no_trouble() -> None:
    known = KnownRecords()
    for time_ms in (-1, -(10**15) - 7, 0, (1 << 42) + 5, (1 << 80) + 9):
        assert not known.has(record("\ud800", time_ms))
        assert known.has(record("\ud800", time_ms))
    assert not known.has(record("\ud800", None))


def test_a_clock_far_ahead_does_not_hide_what_came_before() -> None:
    known = KnownRecords()
    for time_ms in (BEGUN, BEGUN + 5, (1 << 42) + 3, (1 << 43) + 1):
        note(known, "r", time_ms)
    assert known.has(record("r", BEGUN))
    assert known.has(record("r", BEGUN + 5))
    assert known.has(record("r", (1 << 42) + 3))
