"""Wire shapes of Cline's CLI, all dialects: only the fields that are used; payloads stay raw.

Source: Cline CLI 3.0.65, its type declarations (`@cline/shared`, `@cline/core`) and recorded runs.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.shapes import Block as Block
from agentv_stages.model.times import Time


class Usage(Struct, gc=False):
    """Tokens; `inputTokens` includes cache reads and writes. Cost in dollars; 0 if Cline knows no prices."""

    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheReadTokens: int | None = None
    cacheWriteTokens: int | None = None
    totalCost: float | None = None
    cost: float | None = None


class Event(Struct, gc=False):
    """`event` of an `agent_event`, or of a `team_event`, of any type."""

    type: str = ""
    contentType: str = ""
    text: Raw = ABSENT
    reasoning: Raw = ABSENT
    toolName: str | None = None
    toolCallId: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    durationMs: float | None = None
    iteration: int | None = None
    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheReadTokens: int | None = None
    cacheWriteTokens: int | None = None
    cost: float | None = None
    totalInputTokens: int | None = None
    message: str | None = None
    reason: str | None = None
    noticeType: str | None = None
    agentId: str | None = None
    event: "Event | None" = None
    teammate: "Teammate | None" = None


class Teammate(Struct, gc=False):
    """The id that the hooks of a started teammate carry."""

    runtimeAgentId: str | None = None


class Model(Struct, gc=False):
    id: str | None = None
    provider: str | None = None


class Line(Struct, gc=False):
    """A line of `cline --json`."""

    type: str = ""
    ts: Time = None
    event: Event | None = None
    hookEventName: str | None = None
    agentId: str | None = None
    parentAgentId: str | None = None


class Closing(Struct, gc=False):
    """A line about the run as a whole: `run_start`, `run_result`, `run_aborted`, `run_abort_requested`, `error`…"""

    sessionId: str | None = None
    modelId: str | None = None
    model: Model | None = None
    finishReason: str | None = None
    iterations: int | None = None
    usage: Usage | None = None
    durationMs: float | None = None
    text: Raw = ABSENT
    reason: str | None = None
    message: str | None = None
    teamName: str | None = None


class ErrorInfo(Struct, gc=False):
    message: str | None = None


class Entry(Struct, gc=False):
    """The result of one part of a call: of a command, file, query or page; or of an MCP tool (`isError`), of a
    sub-agent (`finishReason`), of a refused call (`error` alone).
    """

    success: bool | None = None
    isError: bool | None = None
    error: str | None = None
    finishReason: str | None = None


class Commands(Struct, gc=False):
    """Input of `run_commands`, in every form that it takes: texts, or a program with its arguments."""

    commands: Raw = ABSENT
    command: Raw = ABSENT
    cmd: Raw = ABSENT
    args: list[str] | None = None


class Program(Struct, gc=False):
    command: str
    args: list[str] | None = None


class File(Struct, gc=False):
    path: str | None = None
    file_path: str | None = None
    filePath: str | None = None


class Files(Struct, gc=False):
    """Input of `read_files` in its usual form."""

    files: list[File]
    file_path: Raw = ABSENT


class Task(Struct, gc=False):
    """Input of a call that gives a task to a sub-agent or to a teammate (`agentId`)."""

    task: str | None = None
    agentId: str | None = None


class Origin(Struct, gc=False):
    version: str | None = None
    parentThreadId: str | None = None
    subagent: str | None = None


class Metadata(Struct, gc=False):
    """`userRunSpan` 0 marks a text that no user wrote; `displayOnly` marks a text that the model never sees."""

    kind: str | None = None
    userRunSpan: int | None = None
    displayOnly: bool | None = None
    displayRole: str | None = None


class Message(Struct, gc=False):
    """`ts` in epoch ms; `metrics` are the tokens of this answer."""

    role: str = ""
    id: str | None = None
    content: list[Block] | str = ""
    ts: float | None = None
    metadata: Metadata | None = None
    modelInfo: Model | None = None
    metrics: Usage | None = None


class Git(Struct, gc=False):
    branch: str | None = None


class Fork(Struct, gc=False):
    forkedFromSessionId: str | None = None


class ManifestMetadata(Struct, gc=False):
    title: str | None = None
    fork: Fork | None = None
    git: Git | None = None
    totalCost: float | None = None


class Document(Struct, gc=False):
    """A session's messages (`messages`), or its manifest (`session_id`)."""

    messages: list[Raw] | None = None
    sessionId: str | None = None
    origin: Origin | None = None
    updated_at: Time = None
    session_id: str | None = None
    started_at: Time = None
    ended_at: Time = None
    status: str | None = None
    exit_code: int | None = None
    model: str | None = None
    cwd: str | None = None
    metadata: ManifestMetadata | None = None


decode_line = Decoder(Line).decode
decode_closing = Decoder(Closing).decode
decode_error = Decoder(ErrorInfo).decode
decode_entry = Decoder(Entry).decode
decode_entries = Decoder(list[Entry]).decode
decode_commands = Decoder(Commands).decode
decode_command_list = Decoder(list[str | Program]).decode
decode_task = Decoder(Task).decode
decode_files = Decoder(Files).decode
decode_document = Decoder(Document).decode
decode_message = Decoder(Message).decode
