"""What a running tail is asked for, and how it does."""

from collections.abc import Callable
from dataclasses import dataclass

from agentv_stream.following.follow import Follower
from agentv_stream.following.told import StandardOutput


@dataclass
class Running:
    """The options and the state of a running tail, for metrics and health."""

    once: bool = False
    until_idle: float | None = None
    metrics: tuple[str, int] | None = None
    keep: Callable[[Follower], None] | None = None
    output: StandardOutput | None = None  # where events are written
    watching: str = "polling"  # or "watchfiles", or "degraded: …"
    last_round: float = 0.0
    scan_seconds: float = 0.0
    broken_pipe: bool = False
