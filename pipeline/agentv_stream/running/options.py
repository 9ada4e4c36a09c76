"""What `run` is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_FOLDER = Path(".agentv") / "runs"


@dataclass(frozen=True)
class RunOptions:
    """What `run` was told. Times are seconds; None is without limit.

    `patience` is the time that an agent has to end by itself after the first Ctrl-C, `grace` the time between the
    request to end and the kill, `linger` how long a pipe may stay open that children of the agent hold when the agent
    itself has gone. `shown` is the command as the result names it, where that differs.
    """

    command: tuple[str, ...]
    task: str
    approach: str
    folder: Path = DEFAULT_FOLDER
    cwd: Path | None = None
    environment: Mapping[str, str] | None = None
    timeout: float | None = None
    stall: float | None = None
    grace: float = 5.0
    linger: float = 5.0
    patience: float = 10.0
    save_stream: bool = True
    dump_traces: bool = False
    include_trace: bool = False
    shown: tuple[str, ...] = ()
