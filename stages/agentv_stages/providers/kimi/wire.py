"""Wire shapes of Kimi Code: only the fields that are used; payloads stay raw.

Source: Kimi Code 0.10.0 to 2.1.0, recordings and the bundled source of 2.1.0 (wire protocol 1.0 to 1.5).
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model import shapes
from agentv_stages.model.payload import ABSENT


class AskedCall(shapes.AskedCall, gc=False):
    """A call; from protocol 1.1 on name and arguments are beside the id."""

    name: str | None = None
    arguments: Raw = ABSENT


class StreamLine(Struct, gc=False):
    """A line of `--output-format stream-json`."""

    role: str = ""
    type: str = ""
    content: Raw = ABSENT
    tool_calls: list[AskedCall] | None = None
    tool_call_id: str | None = None
    session_id: str | None = None
    version: str | None = None
    failed_attempt: int | None = None
    max_attempts: int | None = None
    error_name: str | None = None
    error_message: str | None = None
    status: str | None = None
    reason: str | None = None
    goalId: str | None = None


class Part(Struct, gc=False):
    """A piece of an answer: `text`, `think`, or media."""

    type: str = ""
    text: Raw = ABSENT
    think: Raw = ABSENT


class Result(Struct, gc=False):
    """`output` is a text, or a list of parts if it has media. `note` is for the model and not kept."""

    output: Raw = ABSENT
    isError: bool | None = None
    durationMs: float | None = None


class Display(Struct, gc=False):
    """How a call is shown: a command with its folder."""

    cwd: str | None = None


class LoopEvent(Struct, gc=False):
    """An event within a step: one step is one model call."""

    type: str = ""
    uuid: str | None = None
    stepUuid: str | None = None
    part: Part | None = None
    toolCallId: str | None = None
    name: str | None = None
    args: Raw = ABSENT
    display: Display | None = None
    result: Result | None = None
    finishReason: str | None = None


class Usage(Struct, gc=False):
    """`inputOther` excludes cache reads and writes; `output` includes reasoning."""

    inputOther: int | None = None
    output: int | None = None
    inputCacheRead: int | None = None
    inputCacheCreation: int | None = None


class ErrorInfo(Struct, gc=False):
    code: str | None = None
    message: str | None = None


class Disclosure(Struct, gc=False):
    cwd: str | None = None


class Line(Struct, gc=False):
    """Any record of a wire log. `time` is epoch ms."""

    type: str = ""
    time: float | None = None
    event: LoopEvent | None = None
    agentId: str | None = None
    message: Raw = ABSENT
    model: str | None = None
    modelAlias: str | None = None
    usage: Usage | None = None
    usageScope: str | None = None
    kind: str | None = None
    reason: str | None = None
    target: str | None = None
    error: ErrorInfo | str | None = None
    durationMs: float | None = None
    created_at: float | None = None
    protocol_version: str | None = None
    app_version: str | None = None
    environmentDisclosure: Disclosure | None = None
    cwd: str | None = None
    errorName: str | None = None
    errorMessage: str | None = None
    failedAttempt: int | None = None
    maxAttempts: int | None = None
    toolCallId: str | None = None
    result: Raw = ABSENT
    info: Raw = ABSENT
    subagentId: str | None = None
    parentToolCallId: str | None = None
    count: int | None = None
    compactedCount: int | None = None
    tokensBefore: int | None = None
    tokensAfter: int | None = None
    objective: str | None = None
    status: str | None = None


class Origin(Struct, gc=False):
    """The origin of a message with the role `user`; without one it is the user. Source: `promptOriginSchema`."""

    kind: str | None = None
    name: str | None = None
    trigger: str | None = None
    skillName: str | None = None
    skillArgs: str | None = None
    pluginId: str | None = None
    commandName: str | None = None
    commandArgs: str | None = None
    skillActivations: list[Raw] | None = None


class Message(Struct, gc=False):
    """A message of the context. It has the answers of migrated Kimi CLI sessions; other answers are loop events."""

    role: str = ""
    content: Raw = ABSENT
    id: str | None = None
    origin: Origin | None = None
    toolCalls: list[AskedCall] | None = None
    toolCallId: str | None = None
    isError: bool | None = None


class Approval(Struct, gc=False):
    decision: str | None = None


class Task(Struct, gc=False):
    """A background task: a shell command or a sub-agent."""

    status: str | None = None
    description: str | None = None
    exitCode: int | None = None
    parentToolCallId: str | None = None


decode_stream = Decoder(StreamLine).decode
decode_line = Decoder(Line).decode
decode_message = Decoder(Message).decode
decode_approval = Decoder(Approval).decode
decode_task = Decoder(Task).decode
decode_parts = Decoder(list[Part]).decode
decode_elements = Decoder(list[Raw]).decode
