"""The JSON that `stats` and `import` write."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from agentv_stages.figures.summary import ToolRowFigures
from agentv_stages.model.tokens import TokenTotals
from agentv_stream.bulk.outcome import Failure


class GroupFigures(Struct):
    """The figures of a group of sessions; null if unknown for every session.

    `sessions_not_telling`: by figure, the number of sessions whose log does not contain it; the sum is then a lower
    bound.
    """

    sessions: int
    turns: int
    tool_calls: int
    edits: int
    sessions_with_edits: int
    records: int
    events: int
    duration_ms: int | None
    tokens: TokenTotals
    web_searches: int | None
    cost_usd: float | None
    sessions_with_cost: int
    by_status: dict[str, int]
    by_kind: dict[str, int]
    by_outcome: dict[str, int]
    faults: dict[str, int]
    sessions_not_telling: dict[str, int]
    tools: dict[str, ToolRowFigures] | UnsetType = UNSET
    estimated_cost_usd: float | UnsetType = UNSET
    sessions_with_estimate: int | UnsetType = UNSET
    unreported_cost_usd: float | UnsetType = UNSET


class StatsGroup(GroupFigures):
    """A group of sessions, with the groups within it if there are two groupings."""

    groups: dict[str, GroupFigures] | UnsetType = UNSET


class ToolGroup(ToolRowFigures, frozen=True):
    """A group of tool calls, with the groups within it if there are two groupings."""

    groups: dict[str, ToolRowFigures] | UnsetType = UNSET


class StatsReport(Struct):
    """The output of `stats --json`: figures in total, and by group.

    `since` and `until` are UTC; days, weeks and months are those of `timezone`, and hours the UTC time of their
    beginning. `cached`: sessions whose figures an earlier run kept. `price_table_date`: of the prices of estimates.
    """

    schema_version: Literal["agentv_stream.stats.v1"]
    by: str
    timezone: str
    since: str | None
    until: str | None
    price_table_date: str | None
    sources: int
    failures: list[Failure]
    others: int
    cached: int
    seconds: float
    groups: dict[str, StatsGroup]
    total: GroupFigures


class StatsByTool(Struct):
    """The output of `stats --json` if tools are a grouping: the figures of groups are those of their calls."""

    schema_version: Literal["agentv_stream.stats.v1"]
    by: str
    timezone: str
    since: str | None
    until: str | None
    price_table_date: str | None
    sources: int
    failures: list[Failure]
    others: int
    cached: int
    seconds: float
    groups: dict[str, ToolGroup]
    total: GroupFigures


class ImportReport(Struct):
    """The output of `import --json`. `parts` belong to other sessions, `others` are no sessions."""

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
    """The output of `import --dry-run --json`."""

    schema_version: Literal["agentv_stream.import_plan.v1"]
    found: int
    sources: list[PlannedSource]
