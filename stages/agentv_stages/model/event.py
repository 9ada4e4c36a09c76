"""The event model: what any agent's log says, in one vocabulary of frozen Structs.

A decoder turns records into events; every later stage reads them. Event kinds and their JSON form follow agtrace
(user, reasoning, message, tool_call, tool_result, token_usage, notification, slash_command, queue_operation, summary);
session, session_end and retract are our own. Payloads that are only passed on (text, tool input, tool output) stay
`Raw` JSON from the log, byte for byte; properties (`text`, `input`, `output`) decode them on demand.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Raw, Struct

from agentv_stages.model.payload import decode_json, text_of

Kind: TypeAlias = Literal["read", "write", "execute", "search", "plan", "ask", "other"]
Origin: TypeAlias = Literal["system", "mcp"]
Outcome: TypeAlias = Literal["ok", "error", "denied", "cancelled", "unpaired"]
FAILED_OUTCOMES: tuple[Outcome, ...] = ("error", "denied", "cancelled")
Status: TypeAlias = Literal["complete", "error", "incomplete", "interrupted", "stalled", "killed", "unknown", "running"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

if TYPE_CHECKING:
    OptionalRaw: TypeAlias = Raw | None
else:
    # msgspec can write `Raw | None` but not read it back. So None is omitted (`omit_defaults`), which also
    # distinguishes it from a payload that is the JSON value null.
    OptionalRaw = Raw

MAIN = "main"
PIECES = 0
"""`Source.answer` of a record that may hold a piece of an answer, under an id that a server gave it."""
EMPTY_OBJECT = Raw(b"{}")
PAYLOADS = {
    "text_json": "text",
    "body": "text",
    "input_json": "input",
    "output_json": "output",
    "result_json": "result",
}
"""Fields that hold JSON from the log -> their names in decoded form."""


@lru_cache(maxsize=64)
def sidechain(agent_id: str) -> str:
    """A sub-agent's stream. All its events share one string, which saves a hundred bytes for each remembered event."""
    return f"sidechain:{agent_id}"


class Source(Struct, frozen=True, gc=False):
    """Position and time of a record; one object shared by all events of the record.

    `row` counts the records of the file from 0; `offset` and `length` are bytes (without the line end).
    `time_ms` is the log's time in UTC milliseconds since the epoch, None where it gives none.
    `stream` is `main`, `sidechain:<agent id>` or `subagent:<name>`.
    `base_id` is the native id from which event ids are made; "" stands for `<session id>:row_<row>`.
    `answer` says how far the message ids of the record identify answers (`chain.answers`): None for ids that the
    decoder makes; a positive number that distinguishes answers with the same id, such as their time; `PIECES`, or a
    negative number that distinguishes the request.
    """

    file: str
    row: int
    offset: int
    length: int
    time_ms: int | None = None
    stream: str = MAIN
    base_id: str = ""
    answer: int | None = None


class Event(Struct, frozen=True, gc=False, tag_field="type"):
    """The members of all events. `part` distinguishes the events of one record; it is appended to `source.base_id`."""

    source: Source
    part: str

    def as_dict(self) -> dict[str, Any]:
        """The event as plain values for tables and JSON: `type`, `stream`, `time_ms`, `file`, `row`, `offset`, then its
        own fields. Payloads are decoded (`text`, `input`, `output`, `result`); the call of a result becomes `tool`, its
        tool's name.

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
    """User input: `body` is a JSON string or a list of content blocks as in the log.

    `injected` marks text that the agent's program wrote in the user's name (reminders, compaction summaries, notices).
    Consecutive events with the same non-empty `message_id` form one message.
    """

    body: Raw
    message_id: str = ""
    injected: bool = False
    delta: bool = False

    @property
    def text(self) -> str:
        """The decoded text; for a list of blocks, their texts joined."""
        return text_of(self.body)


class AssistantText(Event, frozen=True, gc=False, tag="message"):
    """A text block of a model message, or a piece of one: with `delta` it continues the text before it.

    `text_json` is a JSON string. `synthetic` marks text from the agent's program ("API Error: …"), which is no turn.
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
    """A tool call requested by the model. Decoders fill the first block of fields, `Normalize` the second.

    `input_json` is the JSON value from the log (mostly an object; a string or array where the agent uses one).
    `Normalize` may add keys to it (`file_path`, `skill`) but never changes one.
    `parent_call` is the call id of the script or task that made this call, where the log has it.
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
    """The result of a tool. `output_json` is any JSON value, None where the log holds no output.

    `outcome` None means that the log only says that the call ended; `Pair` then sets `ok`.
    A call may have several results: `partial` marks all but the last (a background shell, a task only launched so far).
    A partial one with an outcome but no output ends a call whose output may follow from another file.
    `Pair` fills `call` and, where call and result both have a time and the log gives no duration, `duration_ms`.
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
    """Tokens as docs/metrics.md defines them: `input` includes cached and cache-written tokens, `output` reasoning.

    `scope`: `call` is one model call, identified by `key` (a repeated key replaces it; the larger output wins);
    `segment` is the total of a part of the session (parts add up); `session` is the total so far (the last one wins);
    `share` is a part of a total: that of `model` in the session so far or, without a model, that of its stream in this
    run.
    A total (segment or session) replaces the calls it covers: those of its stream, or of all streams with
    `covers_streams`. Calls read after it are added to it, except sub-agents' calls of an earlier time (whose log comes
    later); with `covers_later` (a total at the head of a log), none are added.
    `until_ms` is when a total was made, where it has no time of its own. A process stores a `saved` total for the
    session's next process to continue from; a killed process stores none, so its calls, as far as they exceed the
    growth of the total, are added. `apart` are streams that a total of all streams does not cover, because they went on
    after it: their own totals are added. A call `of_subagent` is reported by the agent that started the sub-agent; if
    the sub-agent's own stream also reports it, it counts there. `output_final` is False where `output` is a
    placeholder. `web_searches` are those that the server made, which are billed per use. None means that the log has no
    figure.
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
    apart: tuple[str, ...] = ()
    web_searches: int | None = None


class Notification(Event, frozen=True, gc=False, tag="notification"):
    """Something notable that is not a message. `name` is the native name (`api_retry`, `compact_boundary`…)."""

    name: str
    message: str
    level: Level = "info"
    call_id: str | None = None


class SlashCommand(Event, frozen=True, gc=False, tag="slash_command"):
    """A command typed at the agent's prompt; `name` includes the leading slash."""

    name: str
    args: str | None = None


class QueueOperation(Event, frozen=True, gc=False, tag="queue_operation"):
    """A prompt put into or taken out of the agent's queue."""

    operation: str
    content: str | None = None
    task_id: str | None = None


class Summary(Event, frozen=True, gc=False, tag="summary"):
    """A title or summary of the session; `leaf_uuid` names the record it refers to."""

    summary: str
    leaf_uuid: str | None = None


class SessionInfo(Event, frozen=True, gc=False, tag="session"):
    """Facts of the session as they become known; of several events, the first session id, folder, branch
    and parent hold, and the last of the other values.

    `another`: the header of another session or run in the same input; the agent's totals restart there.
    `begins`: a run begins here, so an end before it was not the end of the session.
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
    """The agent reports the end of a run; there can be several. `cost_usd` is cumulative, `duration_ms` of this run.

    `result_json` is the agent's closing record as in the log, if there is one. `certain`: calls without a result do not
    change the status, as in a dialect with an end record.
    """

    status: Status
    reason: str | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    agent_num_turns: int | None = None
    result_json: OptionalRaw = None
    certain: bool = False


class Retract(Event, frozen=True, gc=False, omit_defaults=True, tag="retract"):
    """The message ids (and call ids) that the log takes back: they are void from here on.

    With `since`, a record id, all messages of the stream after that record are void; the ids are then the latest ones.
    """

    message_ids: tuple[str, ...]
    reason: str
    since: str | None = None


def call_key(event: ToolCall | ToolResult) -> str:
    """The key of a call, unique among the open ones: its id, with the stream on streams other than `main`.

    Some servers number each agent's calls from the start. For a result with a `call`, use `call_key(result.call)`.
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
