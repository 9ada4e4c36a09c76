"""Wire shapes of AgentV's own formats and of ATIF: only the fields that are used; payloads stay raw.

AgentV writes snake case; a few files have its internal camel case (transcripts of 4.15.0 to 4.15.2), so both are read.
Source: AgentV 0.25 to 5.3, harbor 0.25 (ATIF 1.0 to 1.8).
"""

from collections.abc import Callable
from typing import Literal, TypeVar

from msgspec import MsgspecError, Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT, has_value
from agentv_stages.model.times import Time
from agentv_stages.providers.generic.tools import OwnFacts

Shape = TypeVar("Shape")


class Tokens(Struct, gc=False):
    """AgentV's usage; whether `input` includes the cached tokens depends on the writer."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


class Call(Struct, gc=False):
    """A tool call of a message, with its result in it; without `tool` it is not a call."""

    tool: str | None = None
    id: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    status: str | None = None
    start_time: Time = None
    startTime: Time = None
    end_time: Time = None
    endTime: Time = None
    duration_ms: float | None = None
    durationMs: float | None = None


class CallFacts(OwnFacts, gc=False):
    """The facts that our own rows have about a call, in `metadata.agentv_stream.calls`."""

    outcome: str | None = None
    exit_code: int | None = None


class Facts(Struct, gc=False):
    """`metadata.agentv_stream` of our own rows."""

    stream: str | None = None
    message_id: str | None = None
    model: str | None = None
    injected: bool | None = None
    synthetic: bool | None = None
    turn: int | None = None
    retracted: bool | None = None
    thinking: list[Raw] | None = None
    parent_call: str | None = None
    order: list[int] | None = None
    calls: dict[str, CallFacts] | None = None


class Metadata(Struct, gc=False):
    """`metadata` is free-form; one member is ours, another has Pi's model."""

    agentv_stream: Facts | None = None
    model: str | None = None


class RowMessage(Struct, gc=False):
    """A message: a row of shapes B and C, or an element of shape A's `output`."""

    role: str = ""
    name: str | None = None
    content: Raw = ABSENT
    tool_calls: list[Call] | None = None
    toolCalls: list[Call] | None = None
    start_time: Time = None
    startTime: Time = None
    end_time: Time = None
    endTime: Time = None
    metadata: Raw = ABSENT
    token_usage: Tokens | None = None
    tokenUsage: Tokens | None = None


class RowSource(Struct, gc=False):
    provider: str | None = None
    session_id: str | None = None
    model: str | None = None
    timestamp: Time = None
    git_branch: str | None = None
    cwd: str | None = None
    version: str | None = None


class MoreTokens(Struct, gc=False):
    """Totals of a session that we wrote for which AgentV's usage has no member."""

    cache_write: int | None = None
    cache_write_1h: int | None = None
    output_at_least: int | None = None


class Ending(Struct, gc=False):
    """How a session that we wrote ended: `agentv_stream` of a transcript's row, or in a trajectory's `extra`."""

    status: Literal["complete", "error", "incomplete", "interrupted", "stalled", "killed", "unknown"] | None = None
    reason: str | None = None
    certain: bool = False
    tokens: MoreTokens | None = None
    first_time: str | None = None


class Row(RowMessage, gc=False):
    """A record of `agentv-transcript`, of any of its shapes."""

    schema_version: str | None = None
    test_id: str | None = None
    target: str | None = None
    message_index: int | None = None
    transcript_token_usage: Tokens | None = None
    transcript_duration_ms: float | None = None
    transcript_cost_usd: float | None = None
    source: RowSource | None = None
    input: Raw = ABSENT
    output: list[RowMessage] | None = None
    duration_ms: float | None = None
    cost_usd: float | None = None
    turns: list[Raw] | None = None
    agentv_stream: Raw = ABSENT


class TurnResult(Struct, gc=False):
    status: str | None = None
    output: Raw = ABSENT
    duration_ms: float | None = None


class TurnBlock(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    tool_name: str | None = None
    input: Raw = ABSENT
    result: TurnResult | None = None


class Turn(Struct, gc=False):
    """A turn of `agentv.normalized_transcript.v1`."""

    type: str = ""
    ts: Time = None
    id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    content: list[TurnBlock] | None = None


class TraceTool(Struct, gc=False):
    name: str | None = None
    call_id: str | None = None
    callId: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    status: str | None = None
    error: Raw = ABSENT


class TraceMessage(Struct, gc=False):
    role: str | None = None
    content: Raw = ABSENT
    token_usage: Tokens | None = None


class TraceModel(Struct, gc=False):
    name: str | None = None
    token_usage: Tokens | None = None


class TraceFacts(Struct, gc=False):
    """The `metadata` of our own trace events. `timestamp_source` is "arrival" where the log has no time."""

    timestamp_source: str | None = None
    stream: str | None = None
    role: str | None = None
    status: str | None = None
    duration_ms: float | None = None


class TraceEvent(Struct, gc=False):
    """A record of `agentv-trace`: an event of 0.25 or of the read model, or a document with a list of them."""

    type: str = ""
    timestamp: Time = None
    startTime: Time = None
    start_time: Time = None
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    text: Raw = ABSENT
    event_id: str | None = None
    eventId: str | None = None
    turn_index: int | None = None
    duration_ms: float | None = None
    durationMs: float | None = None
    tool: TraceTool | None = None
    message: TraceMessage | str | None = None
    model: TraceModel | str | None = None
    error: Raw = ABSENT
    metadata: Raw = ABSENT
    trace: Raw = ABSENT
    events: Raw = ABSENT


class AtifAgent(Struct, gc=False):
    name: str | None = None
    version: str | None = None
    model_name: str | None = None


class AtifExtra(Struct, gc=False):
    reasoning_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class AtifMetrics(Struct, gc=False):
    """`prompt_tokens` includes the cached ones, `completion_tokens` the reasoning."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    extra: Raw = ABSENT


class AtifTotals(Struct, gc=False):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    extra: Raw = ABSENT


class AtifCallExtra(OwnFacts, gc=False):
    """Our additions to a call."""

    parent_call: str | None = None


class AtifCall(Struct, gc=False):
    tool_call_id: str | None = None
    function_name: str | None = None
    arguments: Raw = ABSENT
    extra: Raw = ABSENT


class AtifReference(Struct, gc=False):
    trajectory_id: str | None = None
    session_id: str | None = None


class AtifResultExtra(Struct, gc=False):
    """Additions of writers to a result: `outcome` is ours, `is_error` comes from Harbor's converters of some agents."""

    outcome: Literal["ok", "error", "denied", "cancelled"] | None = None
    is_error: bool | None = None
    tool_result_is_error: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class AtifResult(Struct, gc=False):
    source_call_id: str | None = None
    content: Raw = ABSENT
    extra: Raw = ABSENT
    subagent_trajectory_ref: list[AtifReference] | None = None


class AtifObservation(Struct, gc=False):
    results: list[AtifResult] = []


class AtifStep(Struct, gc=False):
    timestamp: Time = None
    source: str = ""
    message: Raw = ABSENT
    model_name: str | None = None
    reasoning_content: Raw = ABSENT
    tool_calls: list[AtifCall] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None


class AtifSession(Ending, gc=False):
    """Our additions about the session in documents that we wrote: its end, folder and time."""

    cwd: str | None = None
    duration_ms: int | None = None


class AtifDocument(Struct, gc=False):
    """A trajectory. `subagent_trajectories` are documents of the same form."""

    schema_version: str | None = None
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AtifAgent | None = None
    steps: list[AtifStep] | None = None
    final_metrics: AtifTotals | None = None
    extra: Raw = ABSENT
    subagent_trajectories: list[Raw] | None = None


decode_row = Decoder(Row).decode
decode_turn = Decoder(Turn).decode
decode_metadata = Decoder(Metadata).decode
decode_blocks = Decoder(list[TurnBlock]).decode
decode_event = Decoder(TraceEvent).decode
decode_events = Decoder(list[Raw]).decode
decode_trace_facts = Decoder(TraceFacts).decode
decode_atif = Decoder(AtifDocument).decode
decode_extra = Decoder(AtifExtra).decode
decode_call_extra = Decoder(AtifCallExtra).decode
decode_result_extra = Decoder(AtifResultExtra).decode
decode_session = Decoder(AtifSession).decode
decode_ending = Decoder(Ending).decode


def read_free(raw: Raw, decode: Callable[[Raw], Shape]) -> Shape | None:
    """Decodes a member that writers may fill freely; None if its shape is unknown."""
    if not has_value(raw):
        return None
    try:
        return decode(raw)
    except (MsgspecError, UnicodeDecodeError):
        return None


def first_byte(raw: Raw) -> int:
    """The byte that shows the JSON type: 34 string, 91 array, 123 object; 0 if empty. Copies no payload."""
    return memoryview(raw)[0] if raw else 0
