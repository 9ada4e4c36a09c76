"""Wire shapes of Amp: only the fields that are used. Source: a stream of April 2026, threads of August 2026."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Usage(Struct, gc=False):
    """Tokens of a model call; in the stream `input_tokens` excludes cached ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Run(Struct, gc=False):
    """How a thread's call ended."""

    status: str | None = None
    result: Raw = ABSENT
    error: Raw = ABSENT


class Block(Struct, gc=False):
    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    toolUseID: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    run: Run | None = None


class Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: list[Block] | str | None = None
    usage: Usage | None = None


class Line(Struct, gc=False):
    """A line of the stream."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    message: Message | None = None
    parent_tool_use_id: str | None = None
    duration_ms: float | None = None
    num_turns: int | None = None
    is_error: bool | None = None
    error: str | None = None
    usage: Usage | None = None


class Spent(Struct, gc=False):
    """Tokens of a thread's answer: `totalInputTokens` is the sum of the three other inputs."""

    model: str | None = None
    timestamp: Time = None
    inputTokens: int | None = None
    outputTokens: int | None = None
    cacheCreationInputTokens: int | None = None
    cacheReadInputTokens: int | None = None
    totalInputTokens: int | None = None


class Stopped(Struct, gc=False):
    type: str | None = None
    stopReason: str | None = None


class Sent(Struct, gc=False):
    sentAt: float | None = None


class Entry(Struct, gc=False):
    """A message of a thread."""

    role: str = ""
    messageId: int | None = None
    content: list[Block] | str | None = None
    usage: Spent | None = None
    state: Stopped | None = None
    meta: Sent | None = None


class Tree(Struct, gc=False):
    uri: str | None = None


class Initial(Struct, gc=False):
    workingDirectory: str | None = None
    trees: list[Tree] | None = None


class Env(Struct, gc=False):
    initial: Initial | None = None


class Thread(Struct, gc=False):
    id: str | None = None
    created: float | None = None
    title: str | None = None
    env: Env | None = None
    messages: list[Raw] | None = None


class Shell(Struct, gc=False):
    exitCode: int | None = None


decode_line = Decoder(Line).decode
decode_thread = Decoder(Thread).decode
decode_entry = Decoder(Entry).decode
decode_shell = Decoder(Shell).decode
