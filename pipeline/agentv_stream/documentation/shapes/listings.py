"""The JSON of lists: sessions, tools, faults, cursors; and the state of a follower."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from agentv_stages.model.event import Kind, Origin, Status
from agentv_stages.model.fault import Reason


class SessionLine(Struct):
    """A line of `sessions --json`. Times are ISO 8601, UTC; `children` only with `--tree`, the figures from `status` on
    not with `--no-figures`."""

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
    further: list[str]
    copies: list[str]
    status: Status | UnsetType | None = UNSET
    turns: int | UnsetType | None = UNSET
    tool_calls: int | UnsetType | None = UNSET
    failed_calls: int | UnsetType | None = UNSET
    input_tokens: int | UnsetType | None = UNSET
    output_tokens: int | UnsetType | None = UNSET
    cost_usd: float | UnsetType | None = UNSET
    estimated_cost_usd: float | UnsetType | None = UNSET
    children: "list[SessionLine] | UnsetType" = UNSET


class WatchLine(Struct):
    """A line of `watch --json`: the state of a session. Times are ISO 8601, UTC; for a log without times, when its file
    was last changed. Tokens, cost and context (the share of the window last in use) are null if the log does not say;
    `estimated_cost_usd` is by list prices, if they are installed and the log names no cost, and `estimated_context` the
    share of the model's largest window, if the log names none. `last_tool` has the target of the call while the session
    runs. `stalled` is the reason why it makes no progress, null if it does, or has ended."""

    time: str
    session_id: str
    provider: str
    project: str | None
    model: str | None
    path: str
    status: Status
    stalled: str | None
    turns: int
    tool_calls: int
    open_calls: int
    errors: int
    last_tool: str | None
    last_tool_at: str | None
    last_event_at: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    estimated_cost_usd: float | None
    context: float | None
    estimated_context: float | None
    first_edit_turn: int | None


class ToolTableRow(Struct):
    """A row of what `tools --json` prints: which native tool is which canonical one."""

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
    base64: str | None
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


class Health(Struct):
    """The answer of `/health` of `tail --metrics`."""

    status: Literal["ok", "failing"]
    problems: list[str]
    watching: str
    sessions: int
