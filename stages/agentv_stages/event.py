"""The event model: what any agent's log says, in one vocabulary of frozen Structs.

A decoder turns records into events; every later stage reads them. Event kinds and their JSON form follow agtrace
(user, reasoning, message, tool_call, tool_result, token_usage, notification, slash_command, queue_operation, summary);
session, session_end and retract are ours. Payloads that are only passed on (text, tool input, tool output) stay `Raw`
JSON from the log, byte for byte; the properties beside them decode on demand.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Raw, Struct

from agentv_stages.payload import decode_json, text_of

Kind: TypeAlias = Literal["read", "write", "execute", "search", "plan", "ask", "other"]
Origin: TypeAlias = Literal["system", "mcp"]
Outcome: TypeAlias = Literal["ok", "error", "denied", "cancelled", "unpaired"]
FAILED_OUTCOMES: tuple[Outcome, ...] = ("error", "denied", "cancelled")
Status: TypeAlias = Literal["complete", "error", "incomplete", "interrupted", "stalled", "killed", "unknown", "running"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

if TYPE_CHECKING:
    OptionalRaw: TypeAlias = Raw | None
else:
    # msgspec writes `Raw | None` and cannot read it back. None is left out instead (`omit_defaults`), which also tells
    # it from a payload that is the JSON value null.
    OptionalRaw = Raw

MAIN = "main"
EMPTY_OBJECT = Raw(b"{}")
PAYLOADS = {
    "text_json": "text",
    "body": "text",
    "input_json": "input",
    "output_json": "output",
    "result_json": "result",
}
"""Fields that hold JSON from the log, and their names once it is decoded."""


class Source(Struct, frozen=True, gc=False):
    """Where a record stands and when it happened; one object shared by all events of the record.

    `row` counts the records of the file from 0, `offset` and `length` are bytes (the line end not included).
    `time_ms` is UTC milliseconds since the epoch as the log says it, None where it does not.
    `stream` is `main`, `sidechain:<agent id>` or `subagent:<name>`.
    `base_id` is the native id that event ids are made of; "" stands for `<session id>:row_<row>`.
    """

    file: str
    row: int
    offset: int
    length: int
    time_ms: int | None = None
    stream: str = MAIN
    base_id: str = ""


class Event(Struct, frozen=True, gc=False, tag_field="type"):
    """What all events share. `part` tells events of one record apart; it is appended to `source.base_id`."""

    source: Source
    part: str

    def as_dict(self) -> dict[str, Any]:
        """The event as plain values for tables and JSON: `type`, `stream`, `time_ms`, `file`, `row`, `offset`, then its
        own fields. Payloads are decoded (`text`, `input`, `output`, `result`); of a result's call there is the `tool`.

        Values may be nested (`input`); None where the log does not say.
        """
        source = self.source
        out: dict[str, Any] = {"type": self.__struct_config__.tag, "stream": source.stream, "time_ms": source.time_ms}
        out |= {"file": source.file, "row": source.row, "offset": source.offset}
        for name in self.__struct_fields__:
            value: Any = getattr(self, name)
            if name in PAYLOADS:
                to = PAYLOADS[name]
                out[to] = None if value is None else text_of(value) if to == "text" else decode_json(value)
            elif name == "call":
                out["tool"] = None if value is None else value.tool or value.name
            elif name not in ("source", "part"):
                out[name] = list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType] - a tuple of texts
        return out


class UserText(Event, frozen=True, gc=False, tag="user"):
    """A user input: `body` is a JSON string or a list of content blocks as in the log.

    `injected` marks text that the agent's program wrote in the user's name (reminders, compaction summaries, notices).
    Consecutive events with one non-empty `message_id` make one message.
    """

    body: Raw
    message_id: str = ""
    injected: bool = False
    delta: bool = False

    @property
    def text(self) -> str:
        """The decoded text; of a list of blocks their texts, joined."""
        return text_of(self.body)


class AssistantText(Event, frozen=True, gc=False, tag="message"):
    """A text block of a model message, or a piece of one: with `delta` it continues the text before it.

    `text_json` is a JSON string. `synthetic` marks a text that the agent's program made ("API Error: …"): no turn.
    """

    message_id: str
    text_json: Raw
    delta: bool = False
    synthetic: bool = False
    model: str | None = None

    @property
    def text(self) -> str:
        """The decoded text."""
        return text_of(self.text_json)


class Reasoning(Event, frozen=True, gc=False, tag="reasoning"):
    """A thinking block of a model message, or a piece of one (`delta`). `text_json` is a JSON string."""

    message_id: str
    text_json: Raw
    delta: bool = False
    model: str | None = None

    @property
    def text(self) -> str:
        """The decoded text."""
        return text_of(self.text_json)


class ToolCall(Event, frozen=True, gc=False, tag="tool_call"):
    """The model asks for a tool. Decoders fill the first block of fields; `Normalize` adds the second.

    `input_json` is the JSON value as the log has it (an object for most; a string or array where the agent uses one).
    After `Normalize` keys may have been added to it (`file_path`, `skill`), never changed.
    `parent_call` is the call id of the script or task that made this call, where the log says so.
    """

    message_id: str
    call_id: str
    name: str
    input_json: Raw
    parent_call: str | None = None
    model: str | None = None

    tool: str = ""
    kind: Kind = "other"
    origin: Origin = "system"
    server: str | None = None
    command: str | None = None
    files: tuple[str, ...] = ()
    edit: bool = False
    shell_edit: bool = False

    @property
    def input(self) -> Any:
        """The decoded arguments."""
        return decode_json(self.input_json)


class ToolResult(Event, frozen=True, gc=False, omit_defaults=True, tag="tool_result"):
    """What a tool gave back. `output_json` is any JSON value, None where the log holds no output.

    `outcome` None means that the log only says that the call ended; `Pair` then says `ok`.
    Several results of one call: `partial` marks all but the last (a background shell, a task that was only launched);
    a partial one with an outcome and no output is the end of a call whose output may come from another file.
    `Pair` fills `call` and, where both ends have a time and the log gives none, `duration_ms`.
    """

    call_id: str
    output_json: OptionalRaw = None
    outcome: Outcome | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    agent_id: str | None = None
    partial: bool = False
    call: ToolCall | None = None

    @property
    def output(self) -> Any:
        """The decoded output, None where there is none."""
        return None if self.output_json is None else decode_json(self.output_json)


class TokenUsage(Event, frozen=True, gc=False, tag="token_usage"):
    """Tokens, in the one meaning of docs/metrics.md: `input` holds cached and cache-written tokens, `output` reasoning.

    `scope`: `call` is one model call, identified by `key` (a repeated key replaces, the larger output wins);
    `segment` is a total of a part of the session (parts add up); `session` is the total so far (the last one wins).
    A total of scope segment or session replaces the calls it covers: those of its own stream, or with
    `covers_streams` those of all streams; calls that come after it count beside it, unless they are sub-agents' of an
    earlier time, whose log is read behind it, or it says that it `covers_later` ones (it stands at the head of a log).
    Where a total has no time of its own, `until_ms` is when it was made. A total that is `saved` is what a process
    left for the next one of the session to go on from. Of a process that was killed there is none: its calls, more
    than the total grew by, count beside it.
    A `share` stands beside a total and is a part of it: what the `model` had of the session so far, or without one
    what its stream had of this run. A call `of_subagent` is told by whoever began it: it counts on the sub-agent's own
    stream where that tells it, too. `output_final` is False where `output` is a placeholder. None means that the log
    does not say.
    """

    key: str
    scope: Literal["call", "segment", "session", "share"] = "call"
    model: str | None = None
    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    output_final: bool = True
    covers_streams: bool = False
    cost_usd: float | None = None
    covers_later: bool = False
    saved: bool = False
    until_ms: int | None = None
    of_subagent: bool = False


class Notification(Event, frozen=True, gc=False, tag="notification"):
    """Something worth telling that is no message. `name` is the native name (`api_retry`, `compact_boundary`…)."""

    name: str
    message: str
    level: Level = "info"
    call_id: str | None = None


class SlashCommand(Event, frozen=True, gc=False, tag="slash_command"):
    """A command of the agent's own command line, `name` with its leading slash."""

    name: str
    args: str | None = None


class QueueOperation(Event, frozen=True, gc=False, tag="queue_operation"):
    """A prompt put into or taken out of the agent's queue."""

    operation: str
    content: str | None = None
    task_id: str | None = None


class Summary(Event, frozen=True, gc=False, tag="summary"):
    """A title or summary of the session; `leaf_uuid` names the record it speaks of."""

    summary: str
    leaf_uuid: str | None = None


class SessionInfo(Event, frozen=True, gc=False, tag="session"):
    """Facts of the session as they become known; of several events the last value that is not None holds.

    `another`: the header of another session or run in the same input, with which the agent's totals begin anew.
    `begins`: a run begins here; one that ended before was not the last.
    """

    session_id: str | None = None
    model: str | None = None
    version: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    parent_session_id: str | None = None
    title: str | None = None
    context_window: int | None = None
    another: bool = False
    begins: bool = False


class SessionEnd(Event, frozen=True, gc=False, omit_defaults=True, tag="session_end"):
    """The agent says that a run ended; there can be several. `cost_usd` is cumulative, `duration_ms` of this run alone.

    `result_json` is the agent's closing record as it stands in the log, where it has one.
    """

    status: Status
    reason: str | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    agent_num_turns: int | None = None
    result_json: OptionalRaw = None


class Retract(Event, frozen=True, gc=False, omit_defaults=True, tag="retract"):
    """What the log takes back: the message ids (and call ids) that are void from here on.

    With `since`, the id of a record, all messages of the stream behind it are; the ids are then those of the last ones.
    """

    message_ids: tuple[str, ...]
    reason: str
    since: str | None = None


def call_key(event: ToolCall | ToolResult) -> str:
    """What tells a call from all others that are open: its id, and on other streams than `main` the stream, too.

    Some servers count each agent's calls anew. Of a result that bears its call the key is `call_key(result.call)`.
    """
    stream = event.source.stream
    return event.call_id if stream == MAIN else f"{stream}\0{event.call_id}"


AnyEvent: TypeAlias = (
    UserText
    | AssistantText
    | Reasoning
    | ToolCall
    | ToolResult
    | TokenUsage
    | Notification
    | SlashCommand
    | QueueOperation
    | Summary
    | SessionInfo
    | SessionEnd
    | Retract
)

Events: TypeAlias = Sequence[AnyEvent]

SUFFIXES: dict[type[Event], str] = {
    UserText: "user",
    AssistantText: "message",
    Reasoning: "reasoning",
    ToolCall: "call",
    ToolResult: "result",
    TokenUsage: "usage",
    Notification: "notify",
    SlashCommand: "slashcmd",
    QueueOperation: "queue",
    Summary: "summary",
    SessionInfo: "session",
    SessionEnd: "end",
    Retract: "retract",
}
