"""The shapes of a session's outputs as Structs, and the JSON Schemas made from them. Documentation that is checked.

The writers render bytes directly, without these Structs; tests validate their output against them.
"""

from types import UnionType
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentv_stages.figures.result import Evidence, Outputs, SessionFacts
from agentv_stages.figures.summary import ToolUseSummary
from agentv_stages.model.event import Kind, Origin, Outcome, Status
from agentv_stages.model.fault import Reason
from agentv_stages.model.tokens import TokenTotals
from agentv_stages.sinks.atif_document import VERSION as ATIF
from agentv_stages.sinks.atif_document import AtifTrajectory
from agentv_stages.trajectory import CaseResult
from agentv_stages.trajectory.trace_events import TraceEvent


class CallFacts(Struct):
    """Our additions about a call."""

    name: str
    kind: Kind
    origin: Origin
    outcome: Outcome
    exit_code: int | UnsetType = UNSET
    server: str | UnsetType = UNSET
    files: list[str] | UnsetType = UNSET
    command: str | UnsetType = UNSET


class RowFacts(Struct):
    """Our additions about a row."""

    stream: str
    turn: int | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    injected: bool | UnsetType = UNSET
    synthetic: bool | UnsetType = UNSET
    retracted: bool | UnsetType = UNSET
    late: bool | UnsetType = UNSET
    thinking: list[str] | UnsetType = UNSET
    parent_call: str | UnsetType = UNSET
    order: list[int] | UnsetType = UNSET
    calls: dict[str, CallFacts] | UnsetType = UNSET


class RowMetadata(Struct):
    agentv_stream: RowFacts


class RowTokens(Struct):
    """`input` includes cached tokens, `output` reasoning; absent means that the log does not say."""

    input: int | UnsetType = UNSET
    output: int | UnsetType = UNSET
    cached: int | UnsetType = UNSET
    reasoning: int | UnsetType = UNSET


class RowCall(Struct):
    tool: str
    input: Any = UNSET
    output: Any = UNSET
    id: str | UnsetType = UNSET
    status: Literal["ok", "error", "unknown"] | UnsetType = UNSET
    start_time: str | UnsetType = UNSET
    end_time: str | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET


class Capture(Struct):
    content: Literal["none", "metadata", "full"]
    redaction_level: Literal["none", "partial", "full"]


class RowSource(Struct):
    kind: str
    provider: str
    session_id: str
    format: str
    path: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    git_branch: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    version: str | UnsetType = UNSET


class MoreTokens(Struct):
    """Totals for which AgentV's usage has no member."""

    cache_write: int | UnsetType = UNSET
    cache_write_1h: int | UnsetType = UNSET
    output_at_least: int | UnsetType = UNSET


class RowEnd(Struct):
    """How the session ended, according to its log. `certain`: calls without a result do not change the status.

    `first_time` is the earliest time in the log, where that is not the one of its first event.
    """

    status: Status
    reason: str | UnsetType = UNSET
    certain: bool | UnsetType = UNSET
    tokens: MoreTokens | UnsetType = UNSET
    first_time: str | UnsetType = UNSET


class TranscriptRow(Struct):
    """One message. The first row of a finished file also has the totals, and how the session ended."""

    schema_version: Literal["agentv.transcript.v1"]
    test_id: str
    target: str
    message_index: int
    role: Literal["user", "assistant", "system", "tool"]
    metadata: RowMetadata
    capture: Capture
    source: RowSource
    content: str | list[dict[str, Any]] | UnsetType = UNSET
    tool_calls: list[RowCall] | UnsetType = UNSET
    start_time: str | UnsetType = UNSET
    end_time: str | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET
    token_usage: RowTokens | UnsetType = UNSET
    transcript_token_usage: RowTokens | UnsetType = UNSET
    transcript_duration_ms: int | UnsetType = UNSET
    transcript_cost_usd: float | UnsetType | None = UNSET
    agentv_stream: RowEnd | UnsetType = UNSET


class RawLogRow(Struct):
    """One record of the input, verbatim: as `record` where it is valid JSON, otherwise in base64."""

    offset: int
    file: str
    arrived: str | UnsetType = UNSET
    record: Any = UNSET
    record_base64: str | UnsetType = UNSET


class DeadLetter(Struct):
    """One record that could not be used, or only in part: its bytes as `text`, as `base64`, or in the file `blob`.

    Without any of these, the bytes are only in the log, at `offset`: for a result without a call, which is used, and
    for what `import` did not write a second time.
    """

    schema_version: Literal["agentv_stream.dead_letter.v1"]
    reason: Reason
    file: str
    row: int
    offset: int
    length: int
    detail: str
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    blob: str | UnsetType = UNSET


class ResultFile(Struct):
    """The result of a session: written by `--stats`, stored by `run` and `import`."""

    schema_version: Literal["agentv_stream.result.v1"]
    session: SessionFacts
    status: Status
    evidence: Evidence
    tool_use_summary: ToolUseSummary
    tokens: TokenTotals
    cost_usd: float | None
    duration_ms: int | None
    records: int
    events: int
    faults: dict[str, int]
    unknown: dict[str, int]
    ignored: dict[str, int]
    losses: list[str]
    outputs: Outputs
    tokens_by_model: dict[str, TokenTotals]
    tokens_by_stream: dict[str, TokenTotals]
    model_calls: int
    estimated_cost_usd: float | UnsetType | None = UNSET
    price_table_date: str | UnsetType = UNSET
    agent_num_turns: int | UnsetType = UNSET
    verdicts: list[CaseResult] | UnsetType = UNSET
    traces: list[TraceEvent] | UnsetType = UNSET
    traces_truncated: bool | UnsetType = UNSET
    target: str | UnsetType = UNSET
    test_id: str | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    source: str | UnsetType = UNSET
    machine: str | UnsetType = UNSET


class StreamId(Struct):
    stream_type: Literal["main", "sidechain", "subagent"]
    stream_data: dict[str, str] | UnsetType = UNSET


class EventSource(Struct):
    file: str
    row: int
    offset: int
    length: int


class EventLine(Struct):
    """One event, as `tail` prints it. `id` is the same for every reading of the log."""

    schema_version: Literal["agentv_stream.event.v1"]
    id: str
    session_id: str
    parent_id: str | None
    timestamp: str | None
    stream_id: StreamId
    type: Literal[
        "user", "message", "reasoning", "tool_call", "tool_result", "token_usage", "notification", "slash_command",
        "queue_operation", "summary", "session", "session_end", "retract",
    ]  # fmt: skip
    content: dict[str, Any]
    source: EventSource


class CaseMessage(Struct):
    """A message in AgentV 4.15's case line; its members are in camel case."""

    role: str
    content: str | list[dict[str, Any]] | UnsetType = UNSET
    toolCalls: list[dict[str, Any]] | UnsetType = UNSET
    startTime: str | UnsetType = UNSET
    endTime: str | UnsetType = UNSET
    durationMs: int | UnsetType = UNSET


class CaseLine(Struct):
    """One case on one line (AgentV's shape A)."""

    input: str
    output: list[CaseMessage]
    source: dict[str, Any]
    cost_usd: float | None
    token_usage: RowTokens | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET


SHAPES: dict[str, type[Struct]] = {
    "transcript": TranscriptRow,
    "case": CaseLine,
    "trajectory": AtifTrajectory,
    "stream-log": RawLogRow,
    "tool-use-summary": ToolUseSummary,
    "result": ResultFile,
    "event": EventLine,
    "dead-letter": DeadLetter,
}
VERSIONS = {
    "transcript": "agentv.transcript.v1",
    "case": "agentv.transcript.case",
    "trajectory": ATIF,
    "stream-log": "agentv_stream.stream_log.v1",
    "tool-use-summary": "agentv_stream.tool_use_summary.v1",
    "result": "agentv_stream.result.v1",
    "event": "agentv_stream.event.v1",
    "dead-letter": "agentv_stream.dead_letter.v1",
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output of a session. Those of commands: `agentv_stream.documentation.schemas`.

    Raises: KeyError for an unknown name.
    """
    return titled(SHAPES[name], VERSIONS[name])


def titled(shape: Any, version: str) -> dict[str, Any]:
    """The JSON Schema of a type, or of a union of Structs of which one fits, with the version as its title."""
    # msgspec makes no schema of a union of Structs without tags, so each gets its own.
    forms, parts = msgspec.json.schema_components(get_args(shape) if get_origin(shape) is UnionType else (shape,))
    schema = forms[0] if len(forms) == 1 else {"anyOf": list(forms)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": version, **schema, "$defs": parts}
