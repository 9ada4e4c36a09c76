"""The JSON that `report` writes."""

from typing import Any, Literal

from msgspec import Struct

from agentv_stream.reports.report import Difference
from agentv_stream.reports.report_runs import KindTotal


class Apart(Struct):
    """A run that is in no difference, and why. `counted`: whether it counts under Approaches and Tasks."""

    path: str
    reason: str
    counted: bool


class ReportRun(Struct):
    """One run, as its result file describes it; unknown values are null."""

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
    first_failure: str | None
    transcript: str | None
    silent: bool
    findings: dict[str, KindTotal] | None


class ReportFile(Struct):
    """The output of `report --format json`. `approaches` and `tasks` hold the number of runs, and each figure's mean;
    `compared` is how many of an approach's runs are in the differences, null without a baseline.
    """

    schema_version: Literal["agentv_stream.report.v1"]
    approaches: dict[str, dict[str, float | None]]
    tasks: list[dict[str, str | float | None]]
    baseline: str | None
    candidates: list[str]
    differences: list[Difference]
    set_apart: list[Apart]
    runs: list[ReportRun]
    warnings: list[str]
    notes: list[str]
