"""`codex exec --json` to events: threads, turns and items (0.44 on), and the short-lived form before them.

In: lines of standard output. Items are complete snapshots, never deltas. There are no times, no model name and no
message ids: an answer begins with the first text, reasoning or call after a tool result.
End rule: `turn.completed` (complete), `turn.failed` (error); a stream that just stops is incomplete. `error` lines
announce retries or a coming `turn.failed`, never an end.
Usage: `turn.completed` has the thread's total so far, earlier runs of a resumed thread included.
"""

from zlib import crc32

from msgspec import Raw, Struct, field

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import ABSENT, has_value, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.codex.outcome import dynamic_output, outcome_of
from agentv_stages.providers.codex.usage import of_thread
from agentv_stages.providers.codex.wire import (
    ExecLine,
    Item,
    decode_exec,
    duration_ms,
    first,
    mcp_name,
    member,
    plain,
    word,
)

MOST_OPEN = 10_000
ITEMS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search", "todo_list"}
) | {"agent_message", "reasoning", "error", "assistant_message"}
LINES = frozenset({"thread.started", "session.created", "turn.started", "turn.completed", "turn.failed", "error"}) | {
    "item.started",
    "item.updated",
    "item.completed",
}
SPAWN = "spawn_agent"
_RETRY = "Reconnecting..."
PASSING = frozenset({"user_message", "context_compaction", "entered_review_mode", "exited_review_mode", "plan"})


class State(Struct):
    """`open` maps running items to the number of their updates, `over` has the ended items; `runs` counts
    `thread.started` lines, because item ids start anew with each. `after_result`: the model's next output begins a new
    answer. `ended`: a turn of this run has ended, and no other one has begun.
    """

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
    after_result: bool = True
    ended: bool = False
    runs: int = 0
    open: dict[str, int] = {}
    over: Repeats = field(default_factory=Repeats)
    silent: dict[str, str] = {}


class ItemStream:
    """Items to events, for the exec stream and the app-server."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def flush(self, batch: Batch) -> None:
        """Emits the calls that began without details and never ended."""
        silent, self.state.silent = self.state.silent, {}
        for call_id, name in silent.items():
            source = Source(self.context.file, 0, 0, 0, None, self.context.stream)
            self._emit_call(source, call_id, name, EMPTY_OBJECT, batch, f"-{call_id}")

    def _answer(self, source: Source) -> str:
        state = self.state
        if state.after_result or not state.answer:
            state.answer = f"m{source.row}"
            state.after_result = False
        return state.answer

    def started(self, item: Item, source: Source, record: Record, batch: Batch) -> None:
        kind = item.type or item.item_type
        call_id = self._id(item, source)
        if self.state.over.known(call_id, _content_check(item)):
            batch.ignore("item.started, repeated")
        elif kind == "web_search" and not word(item.query):
            self.state.silent[call_id] = kind
        elif kind in CALLS:
            self._begin(kind, item, call_id, source, batch)
        elif kind in ITEMS or kind in PASSING:
            batch.ignore(f"item.started:{kind}")
        else:
            batch.unknown_type(f"item:{kind}", record)

    def updated(self, item: Item, source: Source, record: Record, batch: Batch) -> None:
        """Only plans change: each change is emitted as another call of the plan tool."""
        kind = item.type or item.item_type
        call_id = self._id(item, source)
        if kind == "todo_list" and call_id in self.state.open:
            self.state.open[call_id] += 1
            number = self.state.open[call_id]
            self._emit_call(source, f"{call_id}.{number}", kind, to_raw({"items": item.items}), batch)
            self._emit_result(source, f"{call_id}.{number}", item, batch)
        elif kind in ITEMS:
            batch.ignore(f"item.updated:{kind}")
        else:
            batch.unknown_type(f"item:{kind}", record)

    def completed(self, item: Item, source: Source, record: Record, batch: Batch) -> None:
        kind = item.type or item.item_type
        state = self.state
        if self.repeated(item.id, batch, _content_check(item)):
            return
        if kind == "agent_message" or kind == "assistant_message":
            batch.events.append(AssistantText(source, "", self._answer(source), text(item), False, False, state.model))
        elif kind == "reasoning":
            batch.events.append(Reasoning(source, "", self._answer(source), text(item), False, state.model))
        elif kind in CALLS:
            call_id = self._id(item, source)
            state.silent.pop(call_id, None)
            if call_id not in state.open:
                self._begin(kind, item, call_id, source, batch)
            elif kind == "todo_list":
                del state.open[call_id]
                batch.ignore("item.completed:todo_list")
                return
            self._emit_result(source, call_id, item, batch)
            state.open.pop(call_id, None)
        elif kind == "error":
            batch.events.append(Notification(source, "", "warning", plain(text(item)), "warning"))
        elif kind in PASSING:
            batch.ignore(f"item:{kind}")
        else:
            batch.unknown_type(f"item:{kind}", record)

    def repeated(self, item_id: str, batch: Batch, check: int = 0) -> bool:
        """Whether an item with the same id and the same content (`check`) ended before; marks it as ended."""
        runs = self.state.runs
        if not item_id or not self.state.over.again(f"{item_id}@{runs}" if runs > 1 else item_id, check):
            return False
        batch.ignore("item.completed, repeated")
        return True

    def _id(self, item: Item, source: Source) -> str:
        base = item.id or f"row{source.row}"
        return f"{base}@{self.state.runs}" if self.state.runs > 1 else base

    def _begin(self, kind: str, item: Item, call_id: str, source: Source, batch: Batch) -> None:
        state = self.state
        if call_id in state.open:
            batch.ignore("item.started, repeated")
            return
        if len(state.open) >= MOST_OPEN:
            del state.open[next(iter(state.open))]
        name, value = CALLS[kind](item)
        self._emit_call(source, call_id, name, value, batch)
        if kind == "todo_list":
            self._emit_result(source, call_id, item, batch)
        state.open[call_id] = 0

    def _emit_call(self, source: Source, call_id: str, name: str, value: Raw, batch: Batch, part: str = "") -> None:
        batch.events.append(
            ToolCall(source, part, self._answer(source), call_id, name, value, self._parent_call(), self.state.model)
        )

    def _parent_call(self) -> str | None:
        """The call that started the agent whose calls come now."""
        return self.context.parent_call

    def _emit_result(self, source: Source, call_id: str, item: Item, batch: Batch) -> None:
        self.state.after_result = True
        kind = item.type
        agent = None
        output: Raw | None = None
        outcome = outcome_of(item)
        if kind == "command_execution":
            output = item.aggregated_output if has_value(item.aggregated_output) else None
        elif kind == "mcp_tool_call":
            output = item.error if has_value(item.error) else item.result if has_value(item.result) else None
        elif kind == "collab_tool_call":
            output = item.agents_states if has_value(item.agents_states) else None
            agent = spawned(item)
        elif kind == "todo_list":
            outcome = "ok"
        elif has_value(item.content_items):
            output = dynamic_output(item.content_items)
        elif has_value(item.result):
            output = item.result
        duration = duration_ms(item.duration)
        batch.events.append(ToolResult(source, "", call_id, output, outcome, item.exit_code, duration, agent))


class ExecDecoder(ItemStream):
    """Decoder of `codex-exec`."""

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_exec(record.data)
        if line.data is not None and not line.type:
            line = line.data
        kind, item = line.type, line.item
        source = self.context.source(record)
        if item is not None:
            if kind == "item.completed":
                self.completed(item, source, record, batch)
            elif kind == "item.started":
                self.started(item, source, record, batch)
            elif kind == "item.updated":
                self.updated(item, source, record, batch)
            else:
                batch.unknown_type(kind, record)
        elif kind == "turn.completed":
            used = line.usage
            if used is not None and (used.input_tokens or used.output_tokens):  # a review's are all 0
                batch.events.append(of_thread(source, self.state.session_id or "thread", used))
            self._end(source, record, None, batch)
        elif kind == "thread.started" or kind == "session.created":
            self._begin_thread(line, source, record, batch)
        elif kind == "turn.started":
            self.state.after_result = True
            if self.state.ended:  # the end before it was not the end of the run
                self.state.ended = False
                batch.events.append(SessionInfo(source, "", begins=True))
            else:
                batch.ignore(kind)
        elif kind == "error":
            message = plain(line.message)
            retry = message.startswith(_RETRY)
            name = "retry" if retry else "error"
            batch.events.append(Notification(source, "", name, message, "warning" if retry else "error"))
        elif kind == "turn.failed":
            reason = member(line.error, "message")
            self._end(source, record, reason if isinstance(reason, str) else plain(line.error), batch)
        else:
            batch.unknown_type(kind, record)

    def _begin_thread(self, line: ExecLine, source: Source, record: Record, batch: Batch) -> None:
        state = self.state
        another = other_session(record, line.thread_id or line.session_id, state.session_id, batch)
        state.runs += 1
        state.session_id = line.thread_id or line.session_id
        state.open.clear()
        state.after_result = True
        state.ended = False
        batch.events.append(SessionInfo(source, "", state.session_id, another=another, begins=True))

    def _end(self, source: Source, record: Record, failure: str | None, batch: Batch) -> None:
        status: Status = "complete" if failure is None else "error"
        self.state.after_result = self.state.ended = True
        batch.events.append(SessionEnd(source, "", status, failure, result_json=Raw(record.data)))


def _content_check(item: Item) -> int:
    """A checksum of a text or of a call's input. One word may stand in the place of all ids, and items of the
    app-server carry call ids, which some model servers reuse.

    0 for items whose last form has more than the first.
    """
    kind = item.type or item.item_type
    if kind in ("agent_message", "assistant_message", "reasoning"):
        return crc32(text(item))
    if kind == "command_execution":
        return crc32(bytes(item.command))
    if kind == "file_change":
        return crc32(bytes(item.changes))
    if kind == "mcp_tool_call" or kind == "dynamic_tool_call":
        return crc32(bytes(item.arguments), crc32(f"{item.server} {item.tool}".encode()))
    return 0


def spawned(item: Item) -> str | None:
    """The thread of the sub-agent that a call started."""
    return item.receiver_thread_ids[0] if item.tool == SPAWN and item.receiver_thread_ids else None


def text(item: Item) -> Raw:
    """The text of a message, reasoning or error item, as a JSON string."""
    for raw in (item.text, item.message, item.content):
        if first(raw) == b'"':
            return raw
    return to_raw(plain(item.content))


def _command(item: Item) -> tuple[str, Raw]:
    return "command_execution", to_raw({"command": item.command if has_value(item.command) else None})


def _change(item: Item) -> tuple[str, Raw]:
    return "file_change", to_raw({"changes": item.changes if has_value(item.changes) else []})


def _mcp(item: Item) -> tuple[str, Raw]:
    value = item.arguments if has_value(item.arguments) else EMPTY_OBJECT
    return mcp_name(item), value


def _collab(item: Item) -> tuple[str, Raw]:
    members: dict[str, object] = {"prompt": item.prompt} if has_value(item.prompt) else {}
    if item.agent_path is not None:
        members["agent_path"] = item.agent_path
    if item.receiver_thread_ids and item.tool != SPAWN:
        members["receiver_thread_ids"] = to_raw(item.receiver_thread_ids)
    return item.tool or "collab_tool_call", to_raw(members)


def _search(item: Item) -> tuple[str, Raw]:
    members = {key: raw for key, raw in (("query", item.query), ("action", item.action)) if has_value(raw)}
    return "web_search", to_raw(members)


def _todo(item: Item) -> tuple[str, Raw]:
    return "todo_list", to_raw({"items": item.items if has_value(item.items) else []})


def _image(item: Item) -> tuple[str, Raw]:
    return "view_image", to_raw({"path": item.path}) if item.path is not ABSENT else EMPTY_OBJECT


def _dynamic(item: Item) -> tuple[str, Raw]:
    return item.tool or "dynamic_tool", item.arguments if has_value(item.arguments) else EMPTY_OBJECT


def _sleep(item: Item) -> tuple[str, Raw]:
    return "sleep", EMPTY_OBJECT


def _image_made(item: Item) -> tuple[str, Raw]:
    return "image_generation_call", EMPTY_OBJECT


CALLS = {
    "command_execution": _command,
    "file_change": _change,
    "mcp_tool_call": _mcp,
    "collab_tool_call": _collab,
    "web_search": _search,
    "todo_list": _todo,
    "image_view": _image,
    "dynamic_tool_call": _dynamic,
    "image_generation": _image_made,
    "sleep": _sleep,
}
