"""The JSON that `run` stores."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from agentv_stages.figures.result import Evidence, Outputs
from agentv_stages.model.event import Status
from agentv_stages.schemas import ResultFile
from agentv_stages.trajectory import CaseResult
from agentv_stages.trajectory.trace_events import TraceEvent


class RunFacts(Struct):
    """Facts that only the program that ran the agent knows. Paths are names beside the result."""

    command: list[str]
    started_at: str
    duration_seconds: float
    exit_code: int | None
    signal: str | None
    stopped: Literal["timeout", "stall", "fail-fast", "budget", "signal", "closed"] | None
    timed_out: bool
    stderr_tail: str
    stream_bytes: int
    saved_bytes: int
    stream: str | None
    attempt: int
    prompt: str | None
    agentv_stream_version: str


class RunOutputs(Outputs):
    """Paths of the written files; `result` is in the lines of `run --json` only, null where it could not be written."""

    result: str | UnsetType | None = UNSET


class RunResult(ResultFile):
    """The stored result of an attempt: the result of its session, and how the process ended."""

    outputs: RunOutputs  # pyright: ignore[reportIncompatibleVariableOverride] - a shape is never assigned to
    run: RunFacts | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    approach: str | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET


class NoSession(Struct):
    """In place of a session, if there was none."""

    id: None
    provider: Literal["unknown"]
    dialect: Literal["none"]
    model: None
    version: None


class RunOutput(Struct):
    """The stored result if the agent printed no stream: its one JSON object, or its text, in `result`."""

    schema_version: Literal["agentv_stream.output.v1"]
    session: NoSession
    status: Status
    evidence: Evidence
    tool_use_summary: None
    tokens: None
    cost_usd: float | None
    duration_ms: None
    losses: list[str]
    outputs: RunOutputs
    run: RunFacts
    task_id: str
    approach: str
    attempt: int
    result: Any = UNSET
    verdicts: list[CaseResult] | UnsetType = UNSET
    traces: list[TraceEvent] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET
