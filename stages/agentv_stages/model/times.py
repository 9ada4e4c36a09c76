"""Converts times of logs to UTC milliseconds and back. None in, None out; an unreadable time is None, never now."""

from datetime import UTC, datetime
from typing import TypeAlias

Time: TypeAlias = str | int | float | None
"""A time as logs write it: ISO 8601, or seconds, ms, µs or ns since the epoch."""

_minutes: dict[str, int] = {}
_SECONDS = {f"{second:02d}.": second * 1000 for second in range(60)}
_MILLISECONDS = {f"{ms:03d}Z": ms for ms in range(1000)}
_SECONDS_OUT = tuple(text.encode() for text in _SECONDS)
_MILLISECONDS_OUT = tuple(text.encode() for text in _MILLISECONDS)
_prefixes: dict[int, bytes] = {}
_KEEP = 512  # minutes
_FIRST = -62_135_596_800_000  # 0001-01-01; the first and the last ms that a date can represent
_LAST = 253_402_300_799_999
ARRIVAL = "arrival"
"""Where a time is from that no log says: the moment at which the bytes arrived."""


def parse_iso(text: Time) -> int | None:
    """ISO 8601, or a number as `from_epoch` takes it, to UTC ms; a time without zone is taken as UTC.

    The times of a log are close together and have one form (`2026-01-31T09:30:00.250Z`), so minutes are cached.
    """
    if not text:
        return None
    try:
        return _minutes[text[:17]] + _SECONDS[text[17:20]] + _MILLISECONDS[text[20:]]  # type: ignore[index]  # as below
    except KeyError:
        return _parse(str(text))
    except TypeError:  # a number
        return from_epoch(text)


def _parse(text: str) -> int | None:
    """A time in any ISO form; caches its minute."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return _of_digits(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    elif text[-1] == "Z" and len(text) > 17 and text[10] == "T":
        if len(_minutes) >= _KEEP:
            _minutes.clear()
        _minutes[text[:17]] = round(when.replace(second=0, microsecond=0).timestamp()) * 1000
    time_ms = round(when.timestamp() * 1000)
    return time_ms if _FIRST <= time_ms <= _LAST else None


def _of_digits(text: str) -> int | None:
    """A number that was written as text."""
    try:
        return from_epoch(float(text)) if text.isascii() and text[:1].isdigit() and len(text) < 32 else None
    except ValueError:
        return None


def from_epoch(value: float | int | str | None) -> int | None:
    """Epoch seconds, ms, µs or ns (distinguished by size), or an ISO text, to UTC ms; None out of range."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return parse_iso(value)
    size = abs(value)
    if not size < 1e21:  # NaN, infinity, nonsense
        return None
    if size < 1e11:
        value = value * 1000
    elif size >= 1e14:
        value = value / 1000 if size < 1e17 else value / 1_000_000
    time_ms = round(value)
    return time_ms if _FIRST <= time_ms <= _LAST else None


def epoch_ms(value: float | None) -> int | None:
    """Epoch ms as a whole number; None out of range."""
    return round(value) if value is not None and _FIRST <= value <= _LAST else None


def nearest_date_ms(time_ms: int, margin_ms: int = 0) -> int:
    """The nearest UTC ms that a date can represent: a file's time may be tens of thousands of years ahead.

    `margin_ms` keeps a distance from the first and the last date.
    """
    return min(max(time_ms, _FIRST + margin_ms), _LAST - margin_ms)


def whole_ms(duration_ms: float | None) -> int | None:
    """A duration as whole ms; None for an impossible one: a log can claim any number, and if the clock is set back
    while something runs, it ends before it began."""
    return round(duration_ms) if duration_ms is not None and 0 <= duration_ms < 1e15 else None


def iso(time_ms: int) -> str:
    """UTC ms as ISO 8601 with milliseconds and `Z`: `2026-01-31T09:30:00.250Z`."""
    return iso_bytes(time_ms).decode()


def iso_bytes(time_ms: int) -> bytes:
    """As `iso`, in ASCII bytes."""
    minute, ms = divmod(time_ms, 60_000)
    prefix = _prefixes.get(minute)
    if prefix is None:
        if len(_prefixes) >= _KEEP:
            _prefixes.clear()
        prefix = datetime.fromtimestamp(minute * 60, UTC).isoformat()[:17].encode()
        _prefixes[minute] = prefix
    return prefix + _SECONDS_OUT[ms // 1000] + _MILLISECONDS_OUT[ms % 1000]
