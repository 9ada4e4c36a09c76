"""The shapes of what commands print and write as JSON, beside those of `agentv_stages.schemas`; all schemas by name.

The writers build plain values; tests hold what they write against these.
"""

from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentv_stages import schemas as of_stages
from agentv_stages.event import Kind, Origin, Status
from agentv_stages.fault import Reason
from agentv_stages.result import Evidence, Outputs
from agentv_stages.schemas import ResultFile, TokenTotals, ToolRowFigures
from agentv_stages.trajectory import CaseResult
from agentv_stages.trajectory.trace_events import TraceEvent
from agentv_stages.trajectory.verdict import Decision, Verdict
from agentv_stages.trajectory.verdict import Result as EvaluatorResult
from agentv_stream.bulk.outcome import Failure
from agentv_stream.provider_table import DialectRow
from agentv_stream.reports.report import Difference


class RunFacts(Struct):
    """What only the one who ran the agent knows. Paths are names beside the result."""

    command: list[str]
    started_at: str
    duration_seconds: float
    exit_code: int | None
    signal: str | None
    stopped: Literal["timeout", "stall", "fail-fast", "signal"] | None
    timed_out: bool
    stderr_tail: str
    stream_bytes: int
    saved_bytes: int
    stream: str | None
    attempt: int
    prompt: str | None
    agentv_stream_version: str


class RunResult(ResultFile):
    """What `run` stores of an attempt: the result of its session, and how the process went."""

    run: RunFacts | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    approach: str | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET


class NoSession(Struct):
    """In the place of a session, where there was none."""

    id: None
    provider: Literal["unknown"]
    dialect: Literal["none"]
    model: None
    version: None


class RunOutput(Struct):
    """What `run` stores where the agent printed no stream: its one JSON object, or its text, in `result`."""

    schema_version: Literal["agentv_stream.output.v1"]
    session: NoSession
    status: Status
    evidence: Evidence
    tool_use_summary: None
    tokens: None
    cost_usd: float | None
    duration_ms: None
    losses: list[str]
    outputs: Outputs
    run: RunFacts
    task_id: str
    approach: str
    attempt: int
    result: Any = UNSET
    verdicts: list[CaseResult] | UnsetType = UNSET
    traces: list[TraceEvent] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET


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
    cases: list[CaseResult]
    specs: list[str]
    warnings: list[str]
    error: str | None


class CheckReport(Struct):
    """What `check --json` prints."""

    schema_version: Literal["agentv_stream.check.v1"]
    summary: CheckSummary
    results: list[CheckedSource]


class CheckLine(Struct):
    """A line of `check --jsonl`: one source and case; of a source that could not be read, the source alone."""

    schema_version: Literal["agentv_stream.check_line.v1"]
    source: str
    provider: str | None
    session_id: str | None
    status: Status | None
    warnings: list[str]
    error: str | None
    spec: str | UnsetType = UNSET
    case: str | UnsetType = UNSET
    score: float | UnsetType | None = UNSET
    verdict: Verdict | UnsetType = UNSET
    threshold: float | UnsetType = UNSET
    evaluators: list[EvaluatorResult] | UnsetType = UNSET
    decided: Decision | UnsetType | None = UNSET
    complete: bool | UnsetType = UNSET


class Apart(Struct):
    """A run that was not compared, and why."""

    path: str
    reason: str


class ReportRun(Struct):
    """One run, as its result file tells of it; what is not known is null."""

    path: str
    task: str
    approach: str
    attempt: int | None
    status: str | None
    model: str | None
    passed: bool | None
    tool_calls: float | None
    tool_errors: float | None
    first_edit_turn: float | None
    turns: float | None
    input: float | None
    cached: float | None
    output: float | None
    cost_usd: float | None
    duration_s: float | None
    watched: dict[str, int]
    by_tool: dict[str, int]
    historical: dict[str, Any]
    apart: str | None


class ReportFile(Struct):
    """What `report --format json` writes. `approaches` and `tasks` hold the number of runs, and each figure's mean."""

    schema_version: Literal["agentv_stream.report.v1"]
    approaches: dict[str, dict[str, float | None]]
    tasks: list[dict[str, str | float | None]]
    baseline: str | None
    candidates: list[str]
    differences: list[Difference]
    set_apart: list[Apart]
    runs: list[ReportRun]
    warnings: list[str]


class SessionLine(Struct):
    """A line of `sessions --json`. Times are ISO 8601, UTC; `children` only with `--tree`."""

    session_id: str
    provider: str
    dialect: str
    project: str | None
    started_at: str | None
    updated_at: str
    model: str | None
    version: str | None
    prompt: str | None
    title: str | None
    parent: str | None
    size_bytes: int
    path: str
    subagents: list[str]
    copies: list[str]
    children: "list[SessionLine] | UnsetType" = UNSET


class ToolTableRow(Struct):
    """A row of `tools --json`: which native tool is which canonical one."""

    provider: str
    native: str
    prefix: bool
    tool: str
    kind: Kind
    origin: Origin
    edit: bool
    shell: bool
    keys: dict[str, list[str]]
    rest_key: str | None
    variants: dict[str, str]
    source: str


class FaultLine(Struct):
    """A line of `faults list --json`; `letter` is what `faults show` takes."""

    letter: str
    reason: Reason
    file: str
    row: int
    offset: int
    length: int
    detail: str
    text: str | None
    blob: str | None


class CursorInput(Struct):
    """One file of a followed session, and how far it was read."""

    path: str
    state: str
    generation: int
    offset: int
    row: int
    skipped: int
    device: int | None
    inode: int | None
    size: int | None
    stream: str


class CursorLine(Struct):
    """A line of `cursors list --json`; `cursors show` adds the outputs and the state of the stages."""

    id: int
    consumer: str
    session_id: str | None
    provider: str | None
    dialect: str | None
    path: str
    settled: bool
    committed_at: str
    inputs: list[CursorInput]
    outputs: dict[str, Any] | UnsetType | None = UNSET
    state_bytes: int | UnsetType = UNSET
    state: Any = UNSET


class GroupFigures(Struct):
    """What a group of sessions comes to; what no session told is null."""

    sessions: int
    turns: int
    tool_calls: int
    edits: int
    sessions_with_edits: int
    records: int
    events: int
    duration_ms: int | None
    tokens: TokenTotals
    cost_usd: float | None
    sessions_with_cost: int
    by_status: dict[str, int]
    by_kind: dict[str, int]
    by_outcome: dict[str, int]
    faults: dict[str, int]
    tools: dict[str, ToolRowFigures] | UnsetType = UNSET
    estimated_cost_usd: float | UnsetType = UNSET
    sessions_with_estimate: int | UnsetType = UNSET


class StatsReport(Struct):
    """What `stats --json` writes: figures in total, and by group."""

    schema_version: Literal["agentv_stream.stats.v1"]
    by: Literal["all", "provider", "project", "model", "day"]
    sources: int
    failures: list[Failure]
    others: int
    seconds: float
    groups: dict[str, GroupFigures]
    total: GroupFigures


class StatsByTool(Struct):
    """What `stats --by tool --json` writes: the groups are the tools."""

    schema_version: Literal["agentv_stream.stats.v1"]
    by: Literal["tool"]
    sources: int
    failures: list[Failure]
    others: int
    seconds: float
    groups: dict[str, ToolRowFigures]
    total: GroupFigures


class ImportReport(Struct):
    """What `import --json` writes. `parts` belong to other sessions, `others` are no sessions."""

    schema_version: Literal["agentv_stream.import_report.v1"]
    found: int
    done: int
    skipped: int
    parts: list[str]
    others: list[str]
    failures: list[Failure]
    bytes: int
    seconds: float
    records: int
    faults: dict[str, int]
    by_provider: dict[str, GroupFigures]
    outputs: dict[str, str]


class PlannedSource(Struct):
    """A source that would be read; bytes."""

    source: str
    size: int


class ImportPlan(Struct):
    """What `import --dry-run --json` writes."""

    schema_version: Literal["agentv_stream.import_plan.v1"]
    found: int
    sources: list[PlannedSource]


class Health(Struct):
    """What `/health` of `tail --metrics` answers."""

    status: Literal["ok", "failing"]
    problems: list[str]
    watching: str
    sessions: int


SHAPES: dict[str, Any] = {
    **of_stages.SHAPES,
    "run-result": RunResult,
    "output": RunOutput,
    "trace": TraceEvent,
    "check": CheckReport,
    "check-line": CheckLine,
    "report": ReportFile,
    "sessions": SessionLine,
    "tools": list[ToolTableRow],
    "providers": list[DialectRow],
    "faults": FaultLine,
    "cursors": CursorLine,
    "stats": StatsReport | StatsByTool,
    "import-report": ImportReport,
    "import-plan": ImportPlan,
    "health": Health,
}
VERSIONS: dict[str, str] = {
    **of_stages.VERSIONS,
    "run-result": "agentv_stream.result.v1",
    **{
        name: f"agentv_stream.{name.replace('-', '_')}.v1"
        for name in SHAPES
        if name not in of_stages.SHAPES and name != "run-result"
    },
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output.

    Raises: KeyError for a name that there is none of.
    """
    return of_stages.titled(SHAPES[name], VERSIONS[name])


def about(name: str) -> str:
    """One sentence about an output."""
    struct = (*get_args(SHAPES[name]), SHAPES[name])[0]
    text = " ".join((struct.__doc__ or "").split("\n\n", maxsplit=1)[0].split())
    return text.split(". ")[0].rstrip(".") + "."
