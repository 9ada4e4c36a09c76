"""Wire shapes of VS Code's chat sessions: only the fields that are used; payloads stay raw.

Source: VS Code 1.9x to 1.10x, `chatSessions/*.json[l]` and "Chat: Export…", versions 1 to 3 of the document.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT


class Part(Struct, gc=False):
    """A part of a response, of any kind; markdown has none."""

    kind: str | None = None
    value: Raw = ABSENT
    content: Raw = ABSENT
    toolId: str | None = None
    toolCallId: str | None = None
    isComplete: bool | None = None
    isConfirmed: Raw = ABSENT
    toolSpecificData: Raw = ABSENT
    resultDetails: Raw = ABSENT
    resultError: Raw = ABSENT
    invocationMessage: Raw = ABSENT
    pastTenseMessage: Raw = ABSENT
    source: Raw = ABSENT
    subAgentInvocationId: str | None = None
    inlineReference: Raw = ABSENT
    name: str | None = None
    stopReason: str | None = None
    systemMessage: str | None = None


class ModelCall(Struct, gc=False):
    """A call as the model made it; `arguments` is a JSON string."""

    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class Thinking(Struct, gc=False):
    text: Raw = ABSENT


class Round(Struct, gc=False):
    """One answer of the model with its calls; `thinking` is an object with its text, or the text."""

    response: Raw = ABSENT
    toolCalls: list[ModelCall] | None = None
    thinking: Raw = ABSENT
    timestamp: float | None = None


class ToolOutput(Struct, gc=False):
    content: Raw = ABSENT


class Metadata(Struct, gc=False):
    """Copilot chat's own data about a request."""

    toolCallRounds: list[Round] | None = None
    toolCallResults: dict[str, Raw] | None = None
    promptTokens: int | None = None
    outputTokens: int | None = None
    resolvedModel: str | None = None


class ErrorDetails(Struct, gc=False):
    message: str | None = None


class Timings(Struct, gc=False):
    totalElapsed: float | None = None


class Result(Struct, gc=False):
    metadata: Metadata | None = None
    errorDetails: ErrorDetails | None = None
    timings: Timings | None = None


class ModelState(Struct, gc=False):
    """The state of the answer: 0 pending, 1 complete, 2 cancelled, 3 failed, 4 waiting for the user."""

    value: int | str | None = None
    completedAt: float | None = None


class Agent(Struct, gc=False):
    """The chat participant that answered, and its extension's version."""

    extensionVersion: str | None = None


class Command(Struct, gc=False):
    name: str | None = None


class Request(Struct, gc=False):
    """One prompt and everything that answered it. Some tools write `prompt` and `completion` as plain texts.

    `promptTokens` is the input of the last model call, `completionTokens` the output of all of them.
    """

    requestId: str | None = None
    timestamp: float | None = None
    message: Raw = ABSENT
    response: list[Part] | str | None = None
    result: Result | None = None
    isCanceled: bool | None = None
    modelState: ModelState | None = None
    elapsedMs: float | None = None
    agent: Agent | None = None
    modelId: str | None = None
    slashCommand: Command | None = None
    isSystemInitiated: bool | None = None
    promptTokens: int | None = None
    completionTokens: int | None = None
    prompt: Raw = ABSENT
    completion: Raw = ABSENT


class Session(Struct, gc=False):
    """A whole session."""

    sessionId: str | None = None
    creationDate: float | None = None
    customTitle: str | None = None
    workingDirectory: str | None = None
    requests: list[Raw] | None = None


class Mutation(Struct, gc=False):
    """A line of the log: 0 whole session, 1 set at a path, 2 cut to `i` and append at a path, 3 delete at a path."""

    kind: int
    v: Raw = ABSENT
    k: list[str | int] | None = None
    i: int | None = None


class MessageText(Struct, gc=False):
    text: Raw = ABSENT


class Value(Struct, gc=False):
    value: Raw = ABSENT


class Reference(Struct, gc=False):
    """The target of an inline reference: a location, a symbol, a URI."""

    name: str | None = None
    path: str | None = None
    fsPath: str | None = None


class CommandLine(Struct, gc=False):
    original: str | None = None
    toolEdited: str | None = None
    userEdited: str | None = None


class CommandState(Struct, gc=False):
    exitCode: int | None = None
    duration: float | None = None


class CommandOutput(Struct, gc=False):
    text: Raw = ABSENT


class ToolData(Struct, gc=False):
    """A tool part's data about its call: a terminal's command and its end, a sub-agent's task and its answer, an
    input (`rawInput`, `input`), a list of to-dos."""

    kind: str | None = None
    commandLine: CommandLine | None = None
    command: str | None = None
    rawInput: Raw = ABSENT
    todoList: Raw = ABSENT
    description: str | None = None
    prompt: str | None = None
    agentName: str | None = None
    input: Raw = ABSENT
    output: Raw = ABSENT
    result: Raw = ABSENT
    duration: float | None = None
    terminalCommandState: CommandState | None = None
    terminalCommandOutput: CommandOutput | None = None


class ResultDetails(Struct, gc=False):
    input: Raw = ABSENT
    output: Raw = ABSENT
    isError: bool | None = None


class Confirmed(Struct, gc=False):
    type: int | None = None


class ToolSource(Struct, gc=False):
    """The provider of a tool: `internal`, `extension`, `mcp` (with the server's label), `external`."""

    type: str | None = None
    label: str | None = None


decode_session = Decoder(Session).decode
decode_request = Decoder(Request).decode
decode_mutation = Decoder(Mutation).decode
decode_message = Decoder(MessageText).decode
decode_value = Decoder(Value).decode
decode_values = Decoder(list[Value]).decode
decode_reference = Decoder(Reference).decode
decode_tool_data = Decoder(ToolData).decode
decode_details = Decoder(ResultDetails).decode
decode_confirmed = Decoder(Confirmed).decode
decode_source = Decoder(ToolSource).decode
decode_thinking = Decoder(Thinking).decode
decode_output = Decoder(ToolOutput).decode
decode_items = Decoder(list[Raw]).decode
