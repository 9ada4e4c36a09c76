"""The members of ACP messages that are used. Source: Agent Client Protocol v1 (0.4.5 to 0.11), the v2 draft.

The protocol has no native tool names. `naming.py` takes the first name that a message allows:
1. `name`, or a member of `_meta` (`toolName`, `claudeCode.toolName`, `tool_name`);
2. the name that the agent's habits derive from ids, titles and arguments (`Provider.acp`);
3. the title, where it is a name;
4. the kind (`read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`).
"""

from typing import TYPE_CHECKING, TypeAlias, Union

import msgspec
from msgspec import Raw, Struct, defstruct, field

from agentv_stages.model.payload import ABSENT, NULL
from agentv_stages.model.times import Time
from agentv_stages.providers.acp.catalogue import QUIET_UPDATES

NOTHING = (ABSENT, NULL)


class CopilotMeta(Struct, gc=False):
    agentId: str | None = None


class ClaudeMeta(Struct, gc=False):
    toolName: str | None = None


class Usage(Struct, gc=False):
    inputTokens: int | None = None
    outputTokens: int | None = None
    totalTokens: int | None = None
    thoughtTokens: int | None = None
    cachedReadTokens: int | None = None
    cachedWriteTokens: int | None = None


class CallUsage(Usage, gc=False):
    """Tokens of one model call, from Qwen. The last four are the names of older versions (0.10)."""

    promptTokens: int | None = None
    completionTokens: int | None = None
    thoughtsTokens: int | None = None
    cachedTokens: int | None = None

    @property
    def input(self) -> int | None:
        return self.promptTokens if self.inputTokens is None else self.inputTokens

    @property
    def output(self) -> int | None:
        return self.completionTokens if self.outputTokens is None else self.outputTokens

    @property
    def cached(self) -> int | None:
        return self.cachedTokens if self.cachedReadTokens is None else self.cachedReadTokens

    @property
    def thoughts(self) -> int | None:
        return self.thoughtsTokens if self.thoughtTokens is None else self.thoughtTokens


class TokenCount(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None


class Quota(Struct, gc=False):
    token_count: TokenCount | None = None


class TerminalExit(Struct, gc=False):
    exit_code: int | None = None
    signal: str | int | None = None


class TerminalText(Struct, gc=False):
    data: str | None = None


class Meta(Struct, gc=False):
    """Additions of agents to the protocol: Copilot, Claude, Qwen, Vibe in updates, Gemini in the answer to a prompt."""

    toolName: str | None = None
    tool_name: str | None = None
    parentToolCallId: str | None = None
    source: str | None = None
    usage: CallUsage | None = None
    quota: Quota | None = None
    claudeCode: ClaudeMeta | None = None
    terminal_exit: TerminalExit | None = None
    terminal_output: TerminalText | None = None
    copilot: CopilotMeta | None = field(name="github.com/copilot", default=None)


class Location(Struct, gc=False):
    path: str | None = None


class Cost(Struct, gc=False):
    amount: float | None = None
    currency: str | None = None


class ExitStatus(Struct, gc=False):
    exitCode: int | None = None
    signal: str | int | None = None


class CallMembers(Struct, gc=False):
    """The members of an update about a call."""

    toolCallId: str = ""
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    rawInput: Raw = ABSENT
    rawOutput: Raw = ABSENT
    content: Raw = ABSENT
    locations: list[Location] | None = None
    meta: Meta | None = field(name="_meta", default=None)


class Update(CallMembers, gc=False):
    """`params.update` of `session/update`, all variants in one, and the `toolCall` of a permission request."""

    sessionUpdate: str = ""
    messageId: str | None = None
    entries: Raw = ABSENT
    used: int | None = None
    size: int | None = None
    cost: Cost | None = None
    severity: str | None = None
    description: str | None = None
    error: Raw = ABSENT
    state: str | None = None
    stopReason: str | None = None
    usage: Usage | None = None
    sessionId: str | None = None
    terminalId: str | None = None
    data: str | None = None
    output: Raw = ABSENT
    exitStatus: ExitStatus | None = None


class Option(Struct, gc=False):
    optionId: str | None = None
    kind: str | None = None


class Params(Struct, gc=False):
    sessionId: str | None = None
    update: Update | None = None
    prompt: Raw = ABSENT
    toolCall: Update | None = None
    options: list[Option] | None = None
    cwd: str | None = None
    modelId: str | None = None
    terminalId: str | None = None


class Line(Struct, gc=False):
    """A message, or a recorder's wrapper around one."""

    id: int | str | float | None = None
    method: str | None = None
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT
    jsonrpc: str | None = None
    dir: str | None = None
    direction: str | None = None
    msg: Raw = ABSENT
    message: Raw = ABSENT
    data: Raw = ABSENT
    payload: Raw = ABSENT
    timestamp: Time = None
    time: Time = None
    ts: Time = None


class Message(Struct, gc=False):
    """A message with its parameters: the line, decoded for a method whose content is used."""

    method: str | None = None
    params: Params | None = None
    timestamp: Time = None
    time: Time = None
    ts: Time = None


class Text(Struct, gc=False):
    """A content block."""

    type: str = "text"
    text: Raw = ABSENT


class Chunk(Struct, gc=False, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A piece of an answer; anything but a single block is decoded as `Update`."""

    content: Text
    messageId: str | None = None
    meta: Meta | None = field(name="_meta", default=None)


class Thought(Chunk, tag="agent_thought_chunk"):
    pass


class CallUpdate(CallMembers, gc=False, tag_field="sessionUpdate", tag="tool_call_update"):
    pass


class CallBegun(CallUpdate, tag="tool_call"):
    pass


class Plan(Struct, gc=False, tag_field="sessionUpdate", tag="plan"):
    entries: Raw = ABSENT


class Title(Struct, gc=False, tag_field="sessionUpdate", tag="session_info_update"):
    title: str | None = None


class Window(Struct, gc=False, tag_field="sessionUpdate", tag="usage_update"):
    size: int | None = None
    cost: Cost | None = None


_silent = {
    name: defstruct("Quiet", [], tag_field="sessionUpdate", tag=name, gc=False) for name in sorted(QUIET_UPDATES)
}
QUIET: dict[type, str] = {kind: name for name, kind in _silent.items()}
"""The Structs of updates without useful content: their members are not even read."""
if TYPE_CHECKING:
    HotUpdate: TypeAlias = Chunk | Thought | CallUpdate | CallBegun | Plan | Title | Window
else:
    HotUpdate = Union[(Chunk, Thought, CallUpdate, CallBegun, Plan, Title, Window, *QUIET)]


class HotParams(Struct, gc=False):
    sessionId: str | None = None
    update: HotUpdate | None = None


class HotMessage(Struct, gc=False):
    """A `session/update` of a frequent kind, each kind with its own Struct: msgspec picks it by name."""

    method: str | None = None
    params: HotParams | None = None
    timestamp: Time = None
    time: Time = None
    ts: Time = None


class AgentInfo(Struct, gc=False):
    name: str | None = None
    version: str | None = None


class Models(Struct, gc=False):
    currentModelId: str | None = None


class ConfigOption(Struct, gc=False):
    id: str | None = None
    currentValue: Raw = ABSENT


class Outcome(Struct, gc=False):
    outcome: str | None = None
    optionId: str | None = None


class AuthMethod(Struct, gc=False):
    id: str | None = None


class Result(Struct, gc=False):
    """The answer to any request: `initialize`, `session/new`, `session/prompt`, `session/request_permission`, and those
    of the client to `terminal/output` and `terminal/wait_for_exit`.
    """

    stopReason: str | None = None
    usage: Usage | None = None
    sessionId: str | None = None
    agentInfo: AgentInfo | None = None
    info: AgentInfo | None = None
    agentCapabilities: Raw = ABSENT
    authMethods: list[AuthMethod] | None = None
    models: Models | None = None
    configOptions: list[ConfigOption] | None = None
    outcome: Outcome | None = None
    output: Raw = ABSENT
    exitCode: int | None = None
    signal: str | int | None = None
    exitStatus: ExitStatus | None = None
    meta: Meta | None = field(name="_meta", default=None)


class Answer(Struct, gc=False):
    result: Result | None = None


class RpcError(Struct, gc=False):
    code: int | float | None = None
    message: str | None = None
    data: Raw = ABSENT


class Details(Struct, gc=False):
    details: str | None = None


class Piece(Struct, gc=False):
    """An element of a call's `content`: `content` holds a block, `diff` the change of a file (or of several, in version
    2), `terminal` names the terminal that the command ran in.
    """

    type: str = ""
    content: Text | None = None
    terminalId: str | None = None
    changes: list[Location] | None = None
    path: str | None = None
    oldText: Raw = ABSENT
    newText: Raw = ABSENT


class Exit(Struct, gc=False):
    exitCode: int | None = None


class OutputMetadata(Struct, gc=False):
    """OpenCode: a shell's exit code, or the session of a sub-agent."""

    exit: int | None = None
    sessionId: str | None = None


class Observation(Struct, gc=False):
    """The result of an OpenHands tool; an exit code of -1 means none."""

    content: Raw = ABSENT
    exit_code: int | None = None


class Output(Struct, gc=False):
    """`rawOutput`: Copilot's `content`, `contents`, `message`, `code`; OpenCode's `output`, `error`, `metadata`;
    OpenHands' `observation`."""

    content: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    message: Raw = ABSENT
    code: str | int | None = None
    contents: list[Exit] | None = None
    metadata: OutputMetadata | None = None
    exitCode: int | None = None
    exit_code: int | None = None
    observation: Observation | None = None


decode_line = msgspec.json.Decoder(Line).decode
decode_hot = msgspec.json.Decoder(HotMessage).decode
decode_message = msgspec.json.Decoder(Message).decode
decode_answer = msgspec.json.Decoder(Answer).decode
decode_error = msgspec.json.Decoder(RpcError).decode
decode_details = msgspec.json.Decoder(Details).decode
decode_text = msgspec.json.Decoder(Text).decode
decode_pieces = msgspec.json.Decoder(list[Piece]).decode
decode_terminal_text = msgspec.json.Decoder(TerminalText).decode
decode_output = msgspec.json.Decoder(Output).decode
