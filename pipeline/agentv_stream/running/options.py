"""The options of `run`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentv_stream.running.standard_input import StandardInput

DEFAULT_TASK = "task"
DEFAULT_FOLDER = Path(".agentv") / "runs"


@dataclass(frozen=True)
class RunOptions:
    """The options of `run`. Times are in seconds; None means no limit.

    `patience` is the time that an agent has to end by itself after the first Ctrl-C, `grace` the time between the
    request to end and the kill, `linger` how long we wait for a pipe that the agent's children still hold open after
    the agent itself has ended. `shown` is the command as the result shows it, if different. `stdin` is the agent's
    standard input, None for nothing. `fixture` is a folder that each attempt gets a copy of, as its `cwd`.
    `budget_usd` is the cost above which the agent is ended. `prompt_file` is where the prompt is written for the
    agent, `output_file` where it may write its answer in place of standard output.
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
    stdin: StandardInput | None = None
    fixture: Path | None = None
    budget_usd: float | None = None
    prompt_file: Path | None = None
    output_file: Path | None = None
