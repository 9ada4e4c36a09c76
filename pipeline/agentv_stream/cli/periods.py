"""The period and the time zone of a command: its options `--since`, `--until`, `--utc` and `--timezone`."""

import time
from typing import TypeAlias

from agentv_stream.discovery.period import Period, Zone, named_zone, period_of

When: TypeAlias = tuple[str | None, str | None, str | None, bool]
"""`--since`, `--until`, `--timezone`, `--utc`."""


def chosen_period(since: str | None, until: str | None, timezone: str | None, utc: bool) -> tuple[Period, Zone]:
    """The period, seen from now, and the zone. Raises: UsageError, as `named_zone` and `period_of`."""
    zone = named_zone(timezone, utc)
    return period_of(since, until, zone, time.time_ns() // 1_000_000), zone
