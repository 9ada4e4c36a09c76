"""The members of an ATIF document, as this project writes it. Source: harbor 0.26, whose models refuse any others.

Members without a known value are left out. `extra` is where the format lets writers put facts of their own.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

VERSION = "ATIF-v1.8"
JsonString = Annotated[Raw, Meta(extra_json_schema={"type": "string"})]
JsonObject = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class CallFacts(Struct):
    """`name` is the agent's own name for the tool where `function_name` is the canonical one."""

    kind: str
    origin: str
    name: str | UnsetType = UNSET
    server: str | UnsetType = UNSET
    files: tuple[str, ...] | UnsetType = UNSET
    command: str | UnsetType = UNSET
    parent_call: str | UnsetType = UNSET


class AtifCall(Struct):
    tool_call_id: str
    function_name: str
    arguments: JsonObject
    extra: CallFacts


class AtifReference(Struct):
    trajectory_id: str


class ResultFacts(Struct):
    """`omitted` counts the blocks that are not text, by type: images are only in the log."""

    outcome: str
    exit_code: int | UnsetType = UNSET
    duration_ms: int | UnsetType = UNSET
    omitted: dict[str, int] | UnsetType = UNSET


class AtifResult(Struct):
    source_call_id: str
    extra: ResultFacts
    content: JsonString | UnsetType = UNSET
    subagent_trajectory_ref: list[AtifReference] | UnsetType = UNSET


class AtifObservation(Struct):
    results: list[AtifResult]


class MetricsFacts(Struct):
    cache_creation_input_tokens: int | UnsetType = UNSET
    reasoning_tokens: int | UnsetType = UNSET


class AtifMetrics(Struct):
    """Tokens of one model call: `prompt_tokens` includes cached ones, `completion_tokens` reasoning."""

    prompt_tokens: int | UnsetType = UNSET
    completion_tokens: int | UnsetType = UNSET
    cached_tokens: int | UnsetType = UNSET
    cost_usd: float | UnsetType = UNSET
    extra: MetricsFacts | UnsetType = UNSET


class StepFacts(Struct, omit_defaults=True):
    """`turn` as in a transcript; `late`: came after its message was emitted; `omitted` as for a result."""

    message_id: str = ""
    turn: int | None = None
    retracted: bool = False
    late: bool = False
    omitted: dict[str, int] | UnsetType = UNSET


class AtifStep(Struct):
    """One message. `llm_call_count` is 0 where the agent's program wrote the text in the model's name."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: JsonString
    timestamp: str | UnsetType = UNSET
    model_name: str | UnsetType = UNSET
    reasoning_content: JsonString | UnsetType = UNSET
    tool_calls: list[AtifCall] | UnsetType = UNSET
    observation: AtifObservation | UnsetType = UNSET
    metrics: AtifMetrics | UnsetType = UNSET
    llm_call_count: int | UnsetType = UNSET
    extra: StepFacts | UnsetType = UNSET


class AtifAgent(Struct):
    name: str
    version: str
    model_name: str | UnsetType = UNSET


class AtifTotals(Struct):
    """Sums of one trajectory; the cost of the root includes that of the sub-agents."""

    total_prompt_tokens: int | UnsetType = UNSET
    total_completion_tokens: int | UnsetType = UNSET
    total_cached_tokens: int | UnsetType = UNSET
    total_cost_usd: float | UnsetType = UNSET
    total_steps: int | UnsetType = UNSET
    extra: MetricsFacts | UnsetType = UNSET


class AtifTrajectory(Struct):
    """A session as one ATIF document; sub-agents are trajectories in it, to which results of calls refer."""

    schema_version: Literal["ATIF-v1.8"]
    agent: AtifAgent
    steps: list[AtifStep]
    session_id: str | UnsetType = UNSET
    trajectory_id: str | UnsetType = UNSET
    notes: str | UnsetType = UNSET
    final_metrics: AtifTotals | UnsetType = UNSET
    extra: dict[str, Any] | UnsetType = UNSET
    subagent_trajectories: list["AtifTrajectory"] | UnsetType = UNSET
