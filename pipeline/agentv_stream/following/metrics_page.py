"""The metrics of a follower as one page in Prometheus' text format."""

import os
import platform
import resource
from collections.abc import Sized
from pathlib import Path
from typing import Protocol, get_args

from agentv_stream.following.metric_families import Page
from agentv_stream.following.running import Rounds, Running
from agentv_stream.following.standings import Standings
from agentv_stream.live.stall import Reason
from agentv_stream.release import running_version


class Metered(Rounds, Protocol):
    """A follower, as far as its metrics show it; documented there."""

    standings: Standings | None

    @property
    def hot(self) -> Sized: ...

    @property
    def troubles(self) -> Sized: ...

    @property
    def store_trouble(self) -> str | None: ...

    @property
    def sessions_known(self) -> int: ...

    def lag(self) -> tuple[int, float]: ...


def metrics_text(follower: Metered, running: Running) -> str:
    """All metrics; counters since the start, gauges of the current state."""
    counts = follower.counts
    lag_bytes, lag_seconds = follower.lag()
    page = Page()
    add = page.add
    build = {"version": running_version(), "python_version": platform.python_version()}
    add("build_info", "gauge", "The version that runs.", (build, 1))
    machine = follower.plan.settings.machine
    if machine is not None:
        add("machine_info", "gauge", "The name of this machine.", ({"machine": machine}, 1))
    add("records_total", "counter", "Records read and processed.", ({}, counts.records))
    add("events_total", "counter", "Events decoded from the records.", ({}, counts.events))
    add("read_bytes_total", "counter", "Bytes read from logs.", ({}, counts.bytes))
    faults = sorted(counts.faults.items())
    add("faults_total", "counter", "Records that could not be used.", *[({"reason": r}, n) for r, n in faults])
    changes = sorted(counts.changes.items())
    add(
        "file_changes_total",
        "counter",
        "Files that were cut, rewritten, replaced, moved or removed.",
        *[({"change": c}, n) for c, n in changes],
    )
    add("tool_calls_total", "counter", "Tool calls that have a result.", *counts.calls.series())
    add("commits_total", "counter", "Times that cursors were written to disk.", ({}, counts.commits))
    add("commit_seconds_total", "counter", "Time spent writing cursors.", ({}, counts.commit_seconds))
    add("failures_total", "counter", "Sessions set aside because of a bug.", ({}, counts.failures))
    add("rounds_total", "counter", "Scans of the files.", ({}, counts.rounds))
    add("lag_bytes", "gauge", "Bytes in the files that have not been read yet.", ({}, lag_bytes))
    add("lag_seconds", "gauge", "Age of the oldest byte that has not been read.", ({}, lag_seconds))
    add("sessions", "gauge", "Sessions followed.", ({}, follower.sessions_known))
    _add_standings(page, follower)
    if running.sessions is not None:
        running.sessions.write(page)
    redactor = follower.plan.parts.redactor
    secrets = sorted(redactor.counts.copy().items()) if redactor is not None else ()
    add(
        "redactions_total",
        "counter",
        "Secrets replaced by markers; again when they are read again.",
        *[({"kind": kind}, count) for kind, count in secrets],
    )
    add("sessions_in_memory", "gauge", "Sessions held in memory because they grow.", ({}, len(follower.hot)))
    add("files", "gauge", "Log files known.", ({}, len(follower.entries)))
    add("blocked_sessions", "gauge", "Sessions that cannot be read or written for now.", ({}, len(follower.troubles)))
    add(
        "commit_blocked", "gauge", "1 while cursors cannot be written.", ({}, float(follower.store_trouble is not None))
    )
    add("watching", "gauge", "How changes are noticed; the mode is a label.", ({"mode": running.watching}, 1))
    add("scan_seconds", "gauge", "Duration of the last full scan.", ({}, running.scan_seconds))
    add("resident_memory_bytes", "gauge", "Resident memory.", ({}, resident_bytes()))
    add("open_files", "gauge", "Open file descriptors.", ({}, open_descriptors()))
    return page.text()


def _add_standings(page: Page, follower: Metered) -> None:
    """How the sessions stand now."""
    standings = follower.standings
    if standings is None:
        return
    standings.keep_only({entry.number for entry in list(follower.entries.values())})
    statuses = sorted(standings.by_status().items())
    page.add(
        "sessions_by_status",
        "gauge",
        "Sessions followed, by provider and status.",
        *[({"provider": provider, "status": status}, count) for (provider, status), count in statuses],
    )
    stalled = standings.stalled()
    page.add(
        "stalled_sessions",
        "gauge",
        "Sessions that make no progress, by reason.",
        *[({"reason": reason}, stalled[reason]) for reason in get_args(Reason)],
    )


def resident_bytes() -> int:
    """Memory in use now; on systems that do not report that, the peak."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def open_descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    except OSError:
        return 0
