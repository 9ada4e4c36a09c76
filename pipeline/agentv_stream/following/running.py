"""The options of a running tail, its progress, and its view of a follower."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agentv_stream.following.follow_plan import Counts, Plan
from agentv_stream.following.known_files import KnownFile
from agentv_stream.following.notify import Notify
from agentv_stream.following.service_log import StandardOutput
from agentv_stream.otel.forward import Forwarder

if TYPE_CHECKING:
    from agentv_stream.following.session_metrics import SessionMetrics


class Rounds(Protocol):
    """Work in rounds, as `Follower` does it; documented there."""

    plan: Plan
    counts: Counts
    warm: dict[str, float]
    last_growth: float
    stopping: bool

    @property
    def entries(self) -> Mapping[str, KnownFile]: ...

    @property
    def backlog(self) -> bool: ...

    @property
    def new_sessions(self) -> bool: ...

    def delay(self) -> float: ...

    def begin(self) -> None: ...

    def round(self, scan: bool = True) -> bool: ...

    def look_around(self, seconds: float) -> bool: ...

    def finish(self, all_read: bool) -> None: ...

    def caught_up(self) -> None: ...


class Feed(Protocol):
    """Writes a data set between rounds, as `DatasetFeed` does it; documented there."""

    trouble: str | None

    def look(self) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class Running:
    """The options and the state of a running tail, for metrics and health.

    `keep` limits the disk space of outputs. `serve` is a task that serves the metrics.
    """

    once: bool = False
    until_idle: float | None = None
    metrics: tuple[str, int] | None = None
    keep: Callable[[], None] | None = None
    serve: Callable[..., Coroutine[Any, Any, None]] | None = None
    sessions: "SessionMetrics | None" = None  # what they used
    notify: Notify = field(default_factory=Notify)
    feed: Feed | None = None  # writes the data set
    output: StandardOutput | None = None  # where events are written
    forwarder: Callable[[], Forwarder] | None = None  # makes what sends spans
    watching: str = "polling"  # or "watchfiles", or "degraded: …"
    last_round: float = 0.0
    scan_seconds: float = 0.0
    broken_pipe: bool = False
