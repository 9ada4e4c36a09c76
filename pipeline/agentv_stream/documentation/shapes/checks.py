"""The JSON that `check` and `validate` print."""

from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentv_stages.model.event import Status
from agentv_stages.trajectory import CaseResult
from agentv_stages.trajectory.trace_events import TraceEvent
from agentv_stages.trajectory.verdict import Decision, Verdict
from agentv_stages.trajectory.verdict import Result as EvaluatorResult


class CheckSummary(Struct):
    """Cases by verdict; `errors` counts sources that could not be read."""

    # `pass` is a keyword: the member is renamed.
    passed: int = msgspec.field(name="pass")
    fail: int
    skipped: int
    errors: int


class CheckedSource(Struct):
    """One source; `specs` name the file of each case, in the same order."""

    source: str
    provider: str | None
    session_id: str | None
    status: Status | None
    reason: str | None
    cases: list[CaseResult]
    specs: list[str]
    warnings: list[str]
    error: str | None
    traces: list[TraceEvent] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET


class CheckReport(Struct):
    """The output of `check --json`."""

    schema_version: Literal["agentv_stream.check.v1"]
    summary: CheckSummary
    results: list[CheckedSource]


class CheckLine(Struct):
    """A line of `check --jsonl`: one source and case; only the source if it could not be read."""

    schema_version: Literal["agentv_stream.check_line.v1"]
    source: str
    provider: str | None
    session_id: str | None
    status: Status | None
    reason: str | None
    warnings: list[str]
    error: str | None
    traces: list[TraceEvent] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET
    spec: str | UnsetType = UNSET
    case: str | UnsetType = UNSET
    score: float | UnsetType | None = UNSET
    verdict: Verdict | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    evaluators: list[EvaluatorResult] | UnsetType = UNSET
    decided: Decision | UnsetType | None = UNSET
    complete: bool | UnsetType = UNSET


class Finding(Struct):
    """An error or a warning; `line` is counted from 1, null if it concerns the whole file."""

    file: str
    line: int | None
    message: str


class ValidatedFile(Struct):
    """A file that was read; if it has errors, `kind` is null and nothing is counted."""

    file: str
    kind: Literal["spec", "targets"] | None
    errors: list[Finding]
    errors_truncated: bool
    warnings: list[Finding]
    cases: int | UnsetType = UNSET
    evaluators: int | UnsetType = UNSET
    skipped: int | UnsetType = UNSET
    skip_reasons: dict[str, str] | UnsetType = UNSET
    targets: int | UnsetType = UNSET
    agents: int | UnsetType = UNSET


class Validation(Struct):
    """The output of `validate --json`."""

    schema_version: Literal["agentv_stream.validation.v1"]
    valid: bool
    files: list[ValidatedFile]
