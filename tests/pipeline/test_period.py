"""Periods and time zones as people write them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentv_stream.discovery.period import FORMS, Period, Zone, named_zone, period_of
from agentv_stream.errors import UsageError

HOUR = 3_600_000
NOW = round(datetime(2026, 11, 28, 14, 30, tzinfo=UTC).timestamp() * 1000)  # a Saturday
BERLIN = named_zone("Europe/Berlin")


@pytest.fixture(autouse=True)
def local_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def day(text: str, hours_behind: float = 0) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000 + hours_behind * HOUR)


@pytest.mark.parametrize(
    ("since", "until", "zone", "begin", "end"),
    [
        ("today", None, named_zone(None), day("2026-11-28", 5), None),
        ("yesterday", "yesterday", named_zone(None), day("2026-11-27", 5), day("2026-11-28", 5)),
        ("today", "today", BERLIN, day("2026-11-28", -1), day("2026-11-29", -1)),
        ("7d", None, named_zone(None, utc=True), day("2026-11-21"), None),
        ("2w", "1w", named_zone(None, utc=True), day("2026-11-14"), day("2026-11-22")),
        ("12h", None, BERLIN, NOW - 12 * HOUR, None),
        ("30m", None, BERLIN, NOW - HOUR // 2, None),
        ("2026-11-01", "2026-11-01", named_zone(None), day("2026-11-01", 4), day("2026-11-02", 5)),  # 25 hours
        ("2026-11-01T09:30", None, BERLIN, day("2026-11-01T09:30", -1), None),
        ("2026-11-01T09:30Z", None, BERLIN, day("2026-11-01T09:30"), None),
        ("TODAY ", None, named_zone(None, utc=True), day("2026-11-28"), None),
        (None, None, BERLIN, None, None),
    ],
)
def test_a_bound_means(since: str | None, until: str | None, zone: Zone, begin: int | None, end: int | None) -> None:
    assert period_of(since, until, zone, NOW) == Period(begin, end)


@pytest.mark.parametrize(
    "text", ["", "tomorow", "7", "7x", "2026-13-01", "2026-02-30", "-3d", "999999w", "1e3", "\x1b[2J"]
)
def test_any_other_text_is_one_line_with_the_valid_forms(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        period_of(text, None, BERLIN, NOW)
    assert FORMS in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("since", "until"), [("today", "yesterday"), ("2026-11-02", "2026-11-01"), ("1h", "2h")])
def test_an_empty_period_is_refused(since: str, until: str) -> None:
    with pytest.raises(UsageError, match="the period is empty"):
        period_of(since, until, BERLIN, NOW)


def test_an_unknown_zone_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown time zone 'Europe/Berln'; did you mean 'Europe/Berlin'\?"):
        named_zone("Europe/Berln")
    for hostile in ("../../etc/passwd", "\x00", "/etc/passwd", ""):
        with pytest.raises(UsageError, match="unknown time zone"):
            named_zone(hostile)
    with pytest.raises(UsageError, match="cannot be used together"):
        named_zone("UTC", utc=True)


def test_the_local_zone_has_a_name() -> None:
    assert (named_zone(None).name, BERLIN.name, named_zone("utc").name) == ("America/New_York", "Europe/Berlin", "UTC")


@given(st.integers(0, 4_000_000_000_000), st.sampled_from([Zone(), BERLIN, Zone(UTC), named_zone("Asia/Kathmandu")]))
def test_days_of_a_zone_cover_all_times_once(time_ms: int, zone: Zone) -> None:
    today = zone.at(time_ms).date()
    days = [today + timedelta(days=n) for n in (-1, 0, 1)]
    assert [period_of(str(d), str(d), zone, NOW).holds(time_ms) for d in days] == [False, True, False]


@given(st.integers(-(10**20), 10**20), st.sampled_from([Zone(), BERLIN, Zone(UTC), named_zone("Asia/Kathmandu")]))
@example(-(10**20), Zone())
@example(10**20, Zone())
def test_every_time_has_a_day_in_every_zone(time_ms: int, zone: Zone) -> None:
    assert 1 <= zone.at(time_ms).year <= 9999
