"""Wire shapes of Mistral Vibe: only the fields that are used; payloads stay raw.

Source: Mistral Vibe 1.0.0 to 3.0.3, recordings and the package's source (`core/types.py`, `app_server/models.py`,
`mistralai_vibe_local_harness/vibe/_storage.py`).
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model import shapes
from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Display(Struct, gc=False):
    """How the terminal shows a call. `statusText` is the only mark of an MCP tool in 2.23 to 2.26."""

    success: bool | None = None
    statusText: str | None = None


class Presentation(Struct, gc=False):
    display: Display | None = None


class AskedCall(shapes.AskedCall, gc=False):
    """`presentation` exists since 2.23."""

    presentation: Presentation | None = None


class Stats(Struct, gc=False):
    """Statistics of one session so far. The cost comes from the configured prices, and is 0.0 without them."""

    session_prompt_tokens: int | None = None
    session_completion_tokens: int | None = None
    session_cost: float | None = None


class Environment(Struct, gc=False):
    working_directory: str | None = None


class Model(Struct, gc=False):
    name: str | None = None
    alias: str | None = None


class Config(Struct, gc=False):
    """`active_model` is an alias; 3.x writes the model's name beside it, older versions list it among the models, those
    since 2.23 by alias.
    """

    active_model: str | None = None
    model_name: str | None = None
    models: list[Model] | dict[str, Model] | None = None


class Meta(Struct, gc=False):
    """Facts of a session: `meta.json`, in 1.x `metadata` of the one document. Times in ISO 8601, in 1.x local ones."""

    session_id: str | None = None
    parent_session_id: str | None = None
    start_time: Time = None
    end_time: Time = None
    git_branch: str | None = None
    environment: Environment | None = None
    title: str | None = None
    bumped_at: str | None = None
    stats: Stats | None = None
    config: Config | None = None
    agent_config: Config | None = None


class Lasted(Struct, gc=False):
    """How long a call ran, in seconds."""

    duration: float | None = None


class Message(Struct, gc=False):
    """A message of 1.x and 2.x. `injected` exists since 2.7, `tool_result` since 2.23; results have no `message_id`
    (2.x).
    """

    role: str = ""
    content: Raw = ABSENT
    injected: bool | None = None
    reasoning_content: Raw = ABSENT
    tool_calls: list[AskedCall] | None = None
    name: str | None = None
    tool_call_id: str | None = None
    message_id: str | None = None
    tool_result: Lasted | None = None


class Document(Struct, gc=False):
    """The session of 1.x."""

    metadata: Meta | None = None
    messages: list[Raw] | None = None


class Kind(Struct, gc=False):
    """The members that distinguish the records of sessions of 1.x and 2.x."""

    role: str | None = None
    messages: Raw = ABSENT
    session_id: str | None = None


class Outcome(Struct, gc=False):
    """The outcome of an answer: `committed`, or `discarded` with its cause."""

    type: str | None = None
    cause: str | None = None


class ErrorInfo(Struct, gc=False):
    code: str | None = None
    message: str | None = None


class Kept(Struct, gc=False):
    """A call's output on disk, which wraps the tool's own. For MCP tools it is in `content`."""

    type: str | None = None
    structured_content: Raw = ABSENT


class Ran(Struct, gc=False):
    """A shell's output, on disk."""

    returncode: int | None = None


class EffectState(Struct, gc=False):
    """`decision` (since 2.25) is `skip` if a call was not allowed to run. `durationMs` is 0.0 in 3.x."""

    status: str | None = None
    output: Raw = ABSENT
    outputText: str | None = None
    decision: str | None = None
    display: Display | None = None
    error: ErrorInfo | None = None
    reason: str | None = None
    durationMs: float | None = None


class Decision(Struct, gc=False):
    type: str | None = None


class Approval(Struct, gc=False):
    """The answer to a question (`callback`) whether a call may run."""

    decision: Decision | None = None


class Detail(Struct, gc=False):
    """For a call its tool and its arguments, which the output names differently (`filePath`); for a notice its kind."""

    toolName: str | None = None
    input: Raw = ABSENT
    kind: str | None = None
    display: Display | None = None


class Entry(Struct, gc=False):
    """An entry of the public history of 3.x, as its stream prints it and its sessions keep it. Times in epoch ms."""

    type: str = ""
    id: str | None = None
    sessionId: str | None = None
    turnId: str | None = None
    createdAt: float | None = None
    updatedAt: float | None = None
    relatedEntryId: str | None = None
    role: str | None = None
    source: str | None = None
    content: Raw = ABSENT
    text: Raw = ABSENT
    detail: Detail | None = None
    state: EffectState | None = None
    outcome: Outcome | None = None
    kind: str | None = None
    message: str | None = None
    level: str | None = None


class TokenUsage(Struct, gc=False):
    """Tokens of the session so far; `inputTokens` includes cached ones."""

    inputTokens: int | None = None
    cachedInputTokens: int | None = None
    outputTokens: int | None = None


class Turn(Struct, gc=False):
    """`stopReason` is `limit` if the run's own limit ended it. Times in epoch ms."""

    id: str | None = None
    status: str | None = None
    completedAt: float | None = None
    stopReason: str | None = None
    reason: str | None = None
    error: ErrorInfo | None = None


class Session(Struct, gc=False):
    id: str | None = None
    updatedAt: float | None = None
    tokenUsage: TokenUsage | None = None


class Envelope(Struct, gc=False):
    """The public state of a session without its history."""

    session: Session | None = None
    latestTurn: Turn | None = None


class Change(Struct, gc=False):
    """A step of a journal's `projection_delta`."""

    op: str = ""
    entry: Entry | None = None
    entries: list[Entry] | None = None
    state: Envelope | None = None


class Payload(Struct, gc=False):
    delta: list[Change] | None = None
    snapshot: Envelope | None = None


class Stored(Struct, gc=False):
    """Any record of a session of 3.x: `meta.json`, an entry, a record of the journal, a state; and `CURRENT`."""

    type: str | None = None
    id: str | None = None
    session_id: str | None = None
    generation: str | None = None
    start_time: Time = None
    recovery_journal_record_version: int | None = None
    payload: Raw = ABSENT
    snapshot: Envelope | None = None


class Pool(Struct, gc=False):
    """The names of the files that hold the history, in order."""

    chunks: list[str] | None = None


class Segment(Struct, gc=False):
    path: str | None = None


class Manifest(Struct, gc=False):
    """The parts of a session's checkpoint."""

    projection_state: Pool | None = None
    recovery_journal_segment: Segment | None = None


decode_stored = Decoder(Stored).decode
decode_payload = Decoder(Payload).decode
decode_manifest = Decoder(Manifest).decode
decode_kind = Decoder(Kind).decode
decode_message = Decoder(Message).decode
decode_meta = Decoder(Meta).decode
decode_document = Decoder(Document).decode
decode_kept = Decoder(Kept).decode
decode_ran = Decoder(Ran).decode
decode_approval = Decoder(Approval).decode
decode_entry = Decoder(Entry).decode
