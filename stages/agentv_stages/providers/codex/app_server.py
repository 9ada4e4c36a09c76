"""The notifications of `codex app-server` (JSON-RPC over standard input and output) to events.

In: lines with `method` and `params`, replies with `result`; what a client sends may stand between them. The items are
those of the exec stream in camelCase, with times. Deltas of a text count only where it never comes whole.
End rule: `turn/completed` with its status. Usage: `thread/tokenUsage/updated`, its `last` being one model call.
Threads other than the first are sub-agents: stream `subagent:<thread id>`.
Source: Codex 0.142 recordings by AgentV; openai/codex, app-server README.
"""

from typing import Union

from msgspec import Raw, Struct, ValidationError, defstruct, field
from msgspec.json import Decoder

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    MAIN,
    AssistantText,
    Notification,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    UserText,
)
from agentv_stages.foreign import other_session
from agentv_stages.payload import join_strings, to_raw
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.codex.stream import ItemStream, State
from agentv_stages.providers.codex.wire import ABSENT, Item, first, given, member, plain, word

MOST_THREADS = 256
ENDS: dict[str, Status] = {"completed": "complete", "failed": "error", "interrupted": "interrupted"}
KINDS = {
    "agentMessage": "agent_message",
    "reasoning": "reasoning",
    "commandExecution": "command_execution",
    "fileChange": "file_change",
    "mcpToolCall": "mcp_tool_call",
    "dynamicToolCall": "dynamic_tool_call",
    "collabToolCall": "collab_tool_call",
    "collabAgentToolCall": "collab_tool_call",
    "webSearch": "web_search",
    "imageView": "image_view",
    "todoList": "todo_list",
    "userMessage": "user_message",
    "contextCompaction": "context_compaction",
    "enteredReviewMode": "entered_review_mode",
    "exitedReviewMode": "exited_review_mode",
    "plan": "plan",
    "sleep": "sleep",
    "subAgentActivity": "plan",
    "imageGeneration": "plan",
    "hookPrompt": "plan",
}
BEGUN_QUIETLY = {
    name: f"item.started:{KINDS[name]}" for name in ("agentMessage", "reasoning", "plan", "sleep", "contextCompaction")
}
BEGUN_QUIETLY["userMessage"] = "item/started:userMessage"
AREAS = frozenset({"account", "app", "fs", "fuzzyFileSearch", "hook", "mcpServer", "model", "remoteControl", "skills"})
QUIET = frozenset({"thread", "turn", "item", "rawResponseItem", "command", "windowsSandbox", "process"}) | AREAS
QUIET_METHODS = frozenset({"initialize", "initialized", "serverRequest/resolved"})
NOTICES = frozenset({"configWarning", "deprecationNotice", "guardianWarning", "warning"})
PIECE = "item/agentMessage/delta"
APPROVALS = frozenset({"execCommandApproval", "applyPatchApproval"})
TOLD = (NOTICES | APPROVALS) | {
    "error",
    "item/completed",
    "item/started",
    "model/rerouted",
    "thread/started",
    "thread/tokenUsage/updated",
    "turn/completed",
    PIECE,
}


OFTEN_TOLD = ("item/completed", "item/started", "thread/started", "thread/tokenUsage/updated", "turn/completed")
OFTEN_QUIET = (
    *("account/rateLimits/updated", "hook/completed", "hook/started", "mcpServer/startupStatus/updated"),
    *("item/commandExecution/outputDelta", "item/reasoning/summaryTextDelta", "item/reasoning/textDelta"),
    *("remoteControl/status/changed", "thread/status/changed", "turn/diff/updated", "turn/started"),
)


class AppItem(Struct, gc=False, rename="camel"):
    """A thread item in camelCase."""

    type: str = ""
    id: str = ""
    text: Raw = ABSENT
    content: Raw = ABSENT
    summary: Raw = ABSENT
    command: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    duration_ms: Raw = ABSENT
    status: Raw = ABSENT
    changes: Raw = ABSENT
    server: str | None = None
    tool: str | None = None
    arguments: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT
    prompt: Raw = ABSENT
    receiver_thread_ids: list[str] | None = None
    agents_states: Raw = ABSENT
    query: Raw = ABSENT
    action: Raw = ABSENT
    path: Raw = ABSENT


class AppTokens(Struct, gc=False, rename="camel"):
    total_tokens: int | None = None
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None


class AppUsage(Struct, gc=False, rename="camel"):
    total: AppTokens | None = None
    last: AppTokens | None = None
    model_context_window: int | None = None


class AppTurn(Struct, gc=False, rename="camel"):
    status: str | None = None
    error: Raw = ABSENT
    duration_ms: float | None = None


class AppThread(Struct, gc=False, rename="camel"):
    id: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    name: str | None = None
    parent_thread_id: str | None = None


class Params(Struct, gc=False, rename="camel"):
    """The parameters of any notification, or the result of a reply."""

    thread_id: str | None = None
    item: AppItem | None = None
    item_id: str | None = None
    delta: Raw = ABSENT
    started_at_ms: int | None = None
    completed_at_ms: int | None = None
    token_usage: AppUsage | None = None
    turn: AppTurn | None = None
    thread: AppThread | None = None
    model: str | None = None
    message: Raw = ABSENT
    reason: Raw = ABSENT
    error: Raw = ABSENT
    will_retry: bool | None = None
    summary: Raw = ABSENT


class Delta(Struct, gc=False, rename="camel"):
    """A piece of a text."""

    thread_id: str | None = None
    item_id: str | None = None
    delta: Raw = ABSENT


class AppLine(Struct, gc=False):
    """`params` are decoded for the methods that are looked into; of most lines the name is enough."""

    id: Raw = ABSENT
    method: str = ""
    type: Raw = ABSENT
    params: Raw = ABSENT
    result: Params | None = None
    error: Raw = ABSENT


class ToldLine(Struct, gc=False, tag_field="method"):
    """A frequent notification that is looked into; msgspec finds its Struct by the method, in one pass."""

    params: Params | None = None


class PieceLine(Struct, gc=False, tag_field="method", tag=PIECE):
    params: Delta | None = None


class QuietLine(Struct, gc=False, tag_field="method"):
    """A frequent notification that carries nothing: not even its members are read."""


class Begun(Struct):
    """A text of which only pieces have come, as JSON strings."""

    source: Source
    answer: str
    pieces: list[Raw]


class AppState(State):
    """`thread` is the one that `answer` belongs to; `others` keeps the answers of the rest. `used` are the totals of
    each thread at its last model call."""

    thread: str = ""
    others: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    used: dict[str, int] = field(default_factory=dict[str, int])
    begun: dict[str, "Begun"] = field(default_factory=dict[str, "Begun"])


_METHODS: dict[type, str] = {
    defstruct("Line", [], bases=(base,), tag_field="method", tag=name, gc=False): name
    for base, names in ((ToldLine, OFTEN_TOLD), (QuietLine, OFTEN_QUIET))
    for name in names
}
_METHODS[PieceLine] = PIECE
_often: Decoder[ToldLine | PieceLine | QuietLine] = Decoder(Union[tuple(_METHODS)])  # noqa: UP007 - made of a tuple
_decode_often = _often.decode
_decode = Decoder(AppLine).decode
_decode_params = Decoder(Params).decode
_decode_delta = Decoder(Delta).decode


class AppServerDecoder(ItemStream):
    """Decoder of `codex-app-server`."""

    def __init__(self, context: DecodeContext) -> None:
        super().__init__(context)
        self.state: AppState = AppState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        line = _frequent(data) if data[2:3] == b"m" else None  # a reply has an `id` there
        if line is None:
            self._any(record, batch)
            return
        method = _METHODS[line.__class__]
        if isinstance(line, QuietLine) or line.params is None:
            batch.ignore(method)
        elif isinstance(line, PieceLine):
            self._piece(line.params, record, batch)
        else:
            self._told(method, line.params, record, batch)

    def _any(self, record: Record, batch: Batch) -> None:
        """A reply, or a notification of a rarer method or of another shape."""
        line = _decode(record.data)
        method = line.method
        if not method:
            self._reply(line, record, batch)
        elif not given(line.params):
            batch.ignore(method)
        elif method in TOLD or method.endswith("/requestApproval"):
            try:
                if method != PIECE:
                    self._told(method, _decode_params(line.params), record, batch)
                else:
                    self._piece(_decode_delta(line.params), record, batch)
            except ValidationError as error:  # the path that it names begins in `params`; `Decode` prunes by it
                text = str(error) if "`$" in str(error) else f"{error} - at `$`"
                raise ValidationError(text.replace("`$", "`$.params", 1)) from None
        elif method.partition("/")[0] in QUIET or method in QUIET_METHODS:
            batch.ignore(method)
        else:
            batch.unknown_type(method, record)

    def _told(self, method: str, p: Params, record: Record, batch: Batch) -> None:
        if method == "item/started" and p.item is not None and p.item.type in BEGUN_QUIETLY:
            batch.ignore(BEGUN_QUIETLY[p.item.type])
            return
        source = self._placed(p.thread_id, p.completed_at_ms or p.started_at_ms, record)
        if p.item is not None and method in ("item/completed", "item/started"):
            self._item(method, p.item, source, record, batch)
        elif method == "thread/tokenUsage/updated" and p.token_usage is not None:
            self._usage(p, p.token_usage, source, batch)
        elif method == "turn/completed" and p.turn is not None:
            self._end(p.turn, source, record, batch)
        elif method == "thread/started" and p.thread is not None:
            self._thread(p.thread, None, source, record, batch)
        elif method.endswith("/requestApproval") or method in APPROVALS:
            text = plain(p.reason)
            batch.events.append(Notification(source, "", "permission_request", text, "info", p.item_id))
        elif method == "error":
            text = member(p.error, "message")
            name, level = ("retry", "warning") if p.will_retry else ("error", "error")
            batch.events.append(Notification(source, "", name, str(text or ""), level))  # type: ignore[arg-type]  # the values are levels
        elif method == "model/rerouted" or method in NOTICES:
            text = plain(p.summary) or plain(p.message) or plain(p.reason)
            batch.events.append(Notification(source, "", method, text, "warning"))
        else:
            batch.ignore(method)

    def flush(self, batch: Batch) -> None:
        self._tell_begun(batch)
        super().flush(batch)

    def _piece(self, p: Delta, record: Record, batch: Batch) -> None:
        batch.ignore(PIECE)
        item_id, begun = p.item_id or "", self.state.begun
        if first(p.delta) != b'"':
            return
        if item_id in begun:
            begun[item_id].pieces.append(p.delta)
            return
        source = self._placed(p.thread_id, None, record)
        if len(begun) >= MOST_THREADS:
            self._tell_begun(batch)
        self.state.begun[item_id] = Begun(source, self._answer(source), [p.delta])

    def _tell_begun(self, batch: Batch) -> None:
        """Texts that will not come whole any more."""
        begun, self.state.begun = self.state.begun, {}
        for text in begun.values():
            whole = join_strings(text.pieces)
            batch.events.append(AssistantText(text.source, "", text.answer, whole, False, False, self.state.model))

    def _placed(self, thread: str | None, time_ms: int | None, record: Record) -> Source:
        state = self.state
        source = self.source(record, time_ms)
        if thread is None or state.session_id is None or thread == state.session_id:
            self._switch(state.session_id or "")
            return source
        self._switch(thread)
        stream = f"subagent:{thread}" if source.stream == MAIN else source.stream
        return Source(source.file, source.row, source.offset, source.length, source.time_ms, stream)

    def _switch(self, thread: str) -> None:
        """Threads speak in turn; each goes on with its own answer."""
        state = self.state
        if thread == state.thread:
            return
        if len(state.others) >= MOST_THREADS:
            del state.others[next(iter(state.others))]
        state.others[state.thread] = (state.answer, state.after_result)
        state.answer, state.after_result = state.others.pop(thread, ("", True))
        state.thread = thread

    def _reply(self, line: AppLine, record: Record, batch: Batch) -> None:
        if line.result is not None and line.result.thread is not None:
            self._thread(line.result.thread, line.result.model, self.source(record), record, batch)
        elif given(line.error):
            text = str(member(line.error, "message") or "")
            batch.events.append(Notification(self.source(record), "", "error", text, "error"))
        elif given(line.id) and line.type is ABSENT and b'"result"' in record.data:
            batch.ignore("reply")
        else:
            batch.unknown_type(word(line.type), record)

    def _thread(self, thread: AppThread, model: str | None, source: Source, record: Record, batch: Batch) -> None:
        state = self.state
        if state.session_id is None:
            state.session_id = state.thread = thread.id or ""
        elif thread.id != state.session_id:
            if not thread.parent_thread_id:
                other_session(record, thread.id, state.session_id, batch)
            text = f"{thread.id} of {thread.parent_thread_id}" if thread.parent_thread_id else thread.id or ""
            batch.events.append(Notification(source, "", "thread_started", text))
            return
        elif model is None:
            batch.ignore("thread/started")
            return
        state.model = model or state.model
        batch.events.append(
            SessionInfo(source, "", thread.id, model, thread.cli_version, thread.cwd, None, thread.parent_thread_id)
        )

    def _item(self, method: str, item: AppItem, source: Source, record: Record, batch: Batch) -> None:
        kind = KINDS.get(item.type)
        begun = method == "item/started"
        if kind == "user_message":
            self.state.after_result = True
            batch.events.append(UserText(source, "", item.content, item.id))
            return
        if kind == "reasoning" and not begun:
            text = "\n\n".join(t for t in (_joined(item.content) or _joined(item.summary)) if t)
            if not text:
                batch.ignore("reasoning, encrypted")
                return
            item.text = to_raw(text)
        if kind == "context_compaction" and not begun:
            batch.events.append(Notification(source, "", "compact_boundary", "the history was compacted"))
            return
        if kind is None:
            batch.unknown_type(f"item:{item.type}", record)
            return
        same = Item(
            type=kind,
            id=item.id,
            text=item.text,
            command=item.command,
            aggregated_output=item.aggregated_output,
            exit_code=item.exit_code,
            duration=item.duration_ms if first(item.duration_ms) not in (b"", b"n") else ABSENT,
            status=item.status,
            changes=item.changes,
            server=item.server,
            tool=item.tool,
            arguments=item.arguments,
            result=item.result,
            error=item.error,
            prompt=item.prompt,
            receiver_thread_ids=item.receiver_thread_ids,
            agents_states=item.agents_states,
            query=item.query,
            action=item.action,
            path=item.path,
        )
        if self.state.begun:
            self.state.begun.pop(item.id, None)
        if begun:
            self.started(same, source, record, batch)
        else:
            self.completed(same, source, record, batch)

    def _usage(self, p: Params, usage: AppUsage, source: Source, batch: Batch) -> None:
        """A repeated total is no further call."""
        state, thread = self.state, p.thread_id or ""
        total = usage.total.total_tokens if usage.total is not None else None
        last = usage.last
        if last is None or total is None or state.used.get(thread) == total:
            batch.ignore("thread/tokenUsage/updated")
            return
        if len(state.used) >= MOST_THREADS:
            del state.used[next(iter(state.used))]
        state.used[thread] = total
        batch.events.append(
            TokenUsage(
                source,
                "",
                f"{thread}:{total}",
                "call",
                state.model,
                last.input_tokens,
                last.cached_input_tokens,
                None,
                None,
                last.output_tokens,
                last.reasoning_output_tokens,
            )
        )

    def _end(self, turn: AppTurn, source: Source, record: Record, batch: Batch) -> None:
        self._tell_begun(batch)
        self.state.after_result = True
        reason = member(turn.error, "message")
        duration = None if turn.duration_ms is None else round(turn.duration_ms)
        status = ENDS.get(turn.status or "", "unknown")
        text = reason if isinstance(reason, str) else None
        batch.events.append(SessionEnd(source, "", status, text, duration_ms=duration, result_json=Raw(record.data)))


_parts = Decoder(list[Raw]).decode


def _frequent(data: bytes) -> ToldLine | PieceLine | QuietLine | None:
    try:
        return _decode_often(data)
    except ValidationError:
        return None


def _joined(raw: Raw) -> list[str]:
    """The strings of a list of strings or of parts with a text."""
    if len(raw) < 3 or first(raw) != b"[":
        return []
    return [word(part) or plain(part) for part in _parts(raw)]
