"""Times of foreign logs: what is no time is None, whatever its shape or size."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentv_stages.model.times import epoch_ms, from_epoch, iso, parse_iso, whole_ms

FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("2026-01-31T09:30:00.250Z", 1_769_851_800_250),
        ("2026-01-31T09:30:00Z", 1_769_851_800_000),
        ("2026-01-31T10:30:00.250+01:00", 1_769_851_800_250),
        ("2026-01-31T09:30:00.250", 1_769_851_800_250),
        ("2026-01-31T09:30:00.250123456Z", 1_769_851_800_250),
        ("9999-12-31T23:59:59.999Z", LAST),
        ("0001-01-01T00:00:00Z", FIRST),
    ],
)
def test_iso_times_are_utc_milliseconds(text: str, time_ms: int) -> None:
    assert parse_iso(text) == time_ms


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "soon",
        "2026-02-30T00:00:00Z",
        "2026-01-31T09:30:99.000Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "\u0662\u0660\u0662\u0666",
    ],
)
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert parse_iso(text) is None


@pytest.mark.parametrize("seconds", ["99.000", "5x.000", "00.00x", "-1.000", "+1.000", "60.000"])
def test_a_minute_that_was_read_before_makes_no_time_of_nonsense(seconds: str) -> None:
    assert parse_iso("2026-01-31T09:30:01.000Z") is not None
    assert parse_iso(f"2026-01-31T09:30:{seconds}Z") is None


@pytest.mark.parametrize("value", [1e30, -1e30, 10**400, math.nan, math.inf, -math.inf, 1e21, True, None, "x"])
def test_numbers_that_no_date_can_name_are_none(value: float | str | None) -> None:
    assert from_epoch(value) is None


@pytest.mark.parametrize("value", [1_769_851_800, 1_769_851_800_000, 1_769_851_800_000_000, 1_769_851_800_000_000_000])
def test_the_unit_of_an_epoch_is_told_by_its_size(value: int) -> None:
    assert from_epoch(value) == 1_769_851_800_000


@pytest.mark.parametrize("value", [1_769_851_800, 1_769_851_800_000, 1_769_851_800.0, "1769851800", "1769851800000"])
def test_a_number_in_the_place_of_an_iso_time_is_an_epoch(value: float | str) -> None:
    assert parse_iso(value) == 1_769_851_800_000


@given(st.floats() | st.integers() | st.text())
def test_every_number_gives_a_time_that_can_be_shown_or_none(value: float | int | str) -> None:
    time_ms = from_epoch(value)
    assert time_ms is None or (FIRST <= time_ms <= LAST and len(iso(time_ms)) >= 24)


@given(st.integers(0, LAST))
def test_what_is_shown_reads_back(time_ms: int) -> None:
    assert parse_iso(iso(time_ms)) == time_ms


@pytest.mark.parametrize("value", [1e300, -1e300, 10**400, math.nan, math.inf, -math.inf, None])
def test_what_no_time_and_no_duration_can_be_is_none(value: float | None) -> None:
    assert epoch_ms(value) is None
    assert whole_ms(value) is None


def test_what_ends_before_it_began_has_no_duration() -> None:
    assert (whole_ms(-1), whole_ms(-3.7)) == (None, None)


def test_durations_and_times_are_whole_ms() -> None:
    assert (epoch_ms(1000.4), whole_ms(0.6), whole_ms(0)) == (1000, 1, 0)


def test_times_of_more_minutes_than_are_remembered_are_right() -> None:
    for minute in range(5_000):
        assert parse_iso(iso(minute * 60_000 + 250)) == minute * 60_000 + 250
