"""Time zones and periods as people write them: `--since 7d --until yesterday --timezone Europe/Berlin`.

Without a zone, times are local. A day as a bound means the whole day: `--since` begins with it, `--until` ends with it.
"""

import os
import re
from datetime import UTC, datetime, time, timedelta, tzinfo

from msgspec import Struct

from agentv_stages.model.times import nearest_date_ms
from agentv_stream.errors import UsageError
from agentv_stream.names import suggestion

FORMS = "today, yesterday, 12h, 7d, 2w, 2026-11-01 or 2026-11-01T09:30"
_DAYS = {"today": 0, "yesterday": 1}
_BACK = re.compile(r"(\d{1,7}(?:\.\d{1,3})?)([smhdw])")
_DAY = re.compile(r"\d{4}-?\d{2}-?\d{2}")
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000}
_LOCAL_TIME = "/etc/localtime"
_DAY_MS = 86_400_000


class Zone(Struct, frozen=True):
    """A time zone; `zone` is None for the local one of this machine, whose rules the system knows."""

    zone: tzinfo | None = None

    @property
    def name(self) -> str:
        """`Europe/Berlin`, `UTC`; for the local zone its name if the system has it, otherwise its abbreviation."""
        return str(self.zone) if self.zone is not None else _local_name()

    def at(self, time_ms: int) -> datetime:
        """UTC ms as a time in this zone, without zone information; two days at least from the first and last date:
        Python looks a day back for a change of the clocks, and zones differ from UTC by up to a day."""
        near_ms = nearest_date_ms(time_ms, 2 * _DAY_MS)
        return datetime.fromtimestamp(near_ms / 1000, self.zone).replace(tzinfo=None)

    def ms(self, when: datetime) -> int:
        """UTC ms of a time in this zone; a time with a zone of its own keeps it."""
        return round((when if when.tzinfo is not None else when.replace(tzinfo=self.zone)).timestamp() * 1000)


class Period(Struct, frozen=True):
    """From `since_ms` on, before `until_ms` (UTC ms); None: no bound."""

    since_ms: int | None = None
    until_ms: int | None = None

    def holds(self, time_ms: int) -> bool:
        """Whether a time lies in the period."""
        after = self.since_ms is None or time_ms >= self.since_ms
        return after and (self.until_ms is None or time_ms < self.until_ms)


ALWAYS = Period()
IN_UTC = Zone(UTC)


def named_zone(name: str | None, utc: bool = False) -> Zone:
    """The zone for `--timezone NAME` and `--utc`. Raises: UsageError for an unknown name, and for both at once."""
    if name is None:
        return Zone(UTC if utc else None)
    if utc:
        raise UsageError("--utc and --timezone cannot be used together")
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        return Zone(UTC if name.upper() == "UTC" else ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        known = available_timezones()
        hint = suggestion(name, known, ("UTC", "Europe/Berlin", "America/New_York")) if known else "; none is installed"
        raise UsageError(f"--timezone: unknown time zone {name!r}{hint}") from None


def period_of(since: str | None, until: str | None, zone: Zone, now_ms: int) -> Period:
    """The period between two bounds. Raises: UsageError for a bound that is no time, and for an empty period."""
    begin = _bound("--since", since, zone, now_ms, 0) if since is not None else None
    end = _bound("--until", until, zone, now_ms, 1) if until is not None else None
    if begin is not None and end is not None and begin >= end:
        raise UsageError(f"--since {since} is not before --until {until}: the period is empty")
    return Period(begin, end)


def _bound(option: str, text: str, zone: Zone, now_ms: int, days_later: int) -> int:
    """UTC ms of a bound; a day is meant as its beginning, or that of the day `days_later`."""
    word = text.strip().lower()
    back = _BACK.fullmatch(word)
    try:
        if back is not None and back[2] in _UNITS_MS:
            return now_ms - round(float(back[1]) * _UNITS_MS[back[2]])
        if back is not None or word in _DAYS:
            days = _DAYS[word] if back is None else int(back[1]) * (7 if back[2] == "w" else 1)
            day = zone.at(now_ms).date() - timedelta(days=days - days_later)
            return zone.ms(datetime.combine(day, time()))
        when = datetime.fromisoformat(text.strip())
        return zone.ms(when + timedelta(days=days_later) if _DAY.fullmatch(text.strip()) else when)
    except (ValueError, OverflowError):
        raise UsageError(f"{option}: {text!r} is not a time; use {FORMS}") from None


def _local_name() -> str:
    """The name of the local zone, from `TZ` or the link `/etc/localtime`."""
    named = os.environ.get("TZ", "").lstrip(":")
    if not named:
        try:
            named = os.path.realpath(_LOCAL_TIME).partition("/zoneinfo/")[2]
        except OSError:
            named = ""
    return named or datetime.now().astimezone().tzname() or "local time"
