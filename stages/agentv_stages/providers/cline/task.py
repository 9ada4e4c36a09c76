"""Tasks of Cline's editor extension to events, and those of Roo Code and Kilo Code: `ui_messages.json`.

The file is an array of the entries in the chat view, rewritten in place. One `api_req_started` is one model call,
whose texts and calls follow. A tool's entry is its call; it has no id and no result. Whether it failed or was denied
is in the entry behind it and in the next request, and in `api_conversation_history.json` beside the file, where newer
versions keep results.
End rule: `completion_result`; a request that the user cancelled, and a task that waits for being resumed, was stopped.
Source: Cline 3.5x, a real task of February 2026; Roo Code's published source of 2026.
"""

import re

from msgspec import Raw, Struct

from agentv_stages.chain.pruning import read_pruned
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import decode_json, has_value, inner_json, json_in, to_raw
from agentv_stages.model.provider import REFUSED, DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.cline.api_history import DENIED, FILE, Answered, find, read_history
from agentv_stages.providers.cline.task_wire import (
    Entry,
    Request,
    Tool,
    decode_entry,
    decode_request,
    decode_tool,
)

LOSSES = (
    "the ids of calls, and results other than of commands, where no history with them lies beside the file",
    "the exit code of a command",
    "reasoning tokens, the version of the extension, the folder (Roo's and Kilo's history item has it)",
)
PROMPTS = frozenset(("task", "user_feedback"))
OUTPUTS = frozenset(("command_output", "mcp_server_response", "browser_action_result"))
CALLS = frozenset(("tool", "command", "use_mcp_server", "browser_action_launch", "browser_action", "followup"))
FAILURES = frozenset(("error", "diff_error"))
TROUBLE = frozenset(("api_req_failed", "api_req_retried", "api_req_retry_delayed", "error_retry"))
NO_USE = frozenset(
    (
        *("checkpoint_created", "checkpoint_saved", "task_progress", "resume_completed_task", "api_req_finished"),
        *("shell_integration_warning", "load_mcp_documentation", "mcp_server_request_started", "user_feedback_diff"),
    )
)
CANCELLED: dict[str, Status] = {"user_cancelled": "interrupted", "streaming_failed": "error"}
MOST_OUTPUT = 1 << 20
_FOLDER = re.compile(r"(?:\A|/)tasks/([^/]+)/ui_messages\.json(?:\.gz|\.zst)?\Z")


class Open(Struct):
    """The call that waits for the entry behind it. `index` is its place in the history beside the file; `asks`: the
    user's answer is its result."""

    call_id: str
    output: str | None = None
    index: int | None = None
    asks: bool = False


class Held(Struct):
    """An entry that may come again, longer: `partial` was set."""

    data: str
    offset: int
    row: int
    length: int


class State(Struct):
    """`answer` is the id of the current answer, `pair` its place in the history of requests; `cancelled`: its request
    was. `at` is the place in the history beside the file up to which calls were found."""

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
    pair: int | None = None
    open: Open | None = None
    held: Held | None = None
    at: int = 0
    cancelled: str | None = None
    last: Held | None = None


class TaskDecoder:
    """Decoder of `cline-task`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()
        self._history: list[Answered] | None = None

    def decode(self, record: Record, batch: Batch) -> None:
        entry = decode_entry(record.data)
        state = self.state
        if entry.type not in ("say", "ask"):
            self._item(entry, record, batch)
            return
        if state.held is not None:
            before, state.held = state.held, None
            other = decode_entry(before.data.encode("utf-8", "replace"))
            if (other.ts, other.kind) == (entry.ts, entry.kind):
                batch.ignore("partial")
            else:
                self._entry(other, Record(before.data.encode("utf-8", "replace"), before.offset, before.row), batch)
        if entry.partial:
            text = bytes(record.data).decode("utf-8", "replace")
            state.held = Held(text, record.offset, record.row, record.length)
        else:
            self._entry(entry, record, batch)

    def flush(self, batch: Batch) -> None:
        """An entry that stayed partial, and that the last request was cancelled."""
        state = self.state
        if state.held is not None:
            held, state.held = state.held, None
            data = held.data.encode("utf-8", "replace")
            self._entry(decode_entry(data), Record(data, held.offset, held.row), batch)
        status = CANCELLED.get(state.cancelled or "")
        if status is not None and state.last is not None:
            last, state.last = state.last, None
            source = Source(self.context.file, last.row, last.offset, last.length, None, self.context.stream)
            batch.events.append(SessionEnd(source, "-cancelled", status, state.cancelled))

    def _item(self, entry: Entry, record: Record, batch: Batch) -> None:
        """Roo's `history_item.json`, and the lines that the command line of 2.x prints around the entries."""
        source = self.context.source(record)
        if entry.type == "task_started":
            self.state.session_id = entry.taskId or ""
            batch.events.append(SessionInfo(source, "-task", entry.taskId))
            return
        if entry.type == "error":
            batch.events.append(SessionEnd(source, "", "error", entry.message))
            return
        if entry.type is not None or (entry.workspace is None and entry.task is None):
            batch.unknown_type(entry.type or "", record)
            return
        info = SessionInfo(source, "-item", None, None, None, entry.workspace, None, entry.parentTaskId, entry.task)
        batch.events.append(info)

    def _entry(self, entry: Entry, record: Record, batch: Batch) -> None:
        state, kind = self.state, entry.kind
        base = f"{record.row}-{int(entry.ts or 0)}"
        source = self.context.source(record, from_epoch(entry.ts), base)
        state.last = Held("", record.offset, record.row, record.length)
        self._facts(entry, source, batch)
        text = entry.text or ""
        if kind in OUTPUTS:
            if state.open is not None and text and len(state.open.output or "") < MOST_OUTPUT:
                state.open.output = (state.open.output or "") + text
            else:
                batch.ignore(kind)
            return
        if kind not in NO_USE and self._ends_call(kind):
            request = _request(text, record, batch) if kind in ("api_req_started", "deleted_api_reqs") else None
            denied = request is not None and DENIED.search(request.request or "") is not None
            self._close(source, "error" if kind in FAILURES else "denied" if denied else None, batch)
            if request is not None:
                self._requested(kind, request, source, batch)
                return
        if kind in PROMPTS:
            state.answer, state.pair, state.cancelled = "", None, None
            batch.events.append(UserText(source, "", to_raw(text), f"user-{base}"))
        elif kind in CALLS:
            self._call(entry, kind, text, source, batch)
        elif kind in ("text", "reasoning", "completion_result", "plan_mode_respond"):
            self._speech(entry, kind, text, source, batch)
        elif kind in FAILURES or kind in TROUBLE:
            batch.events.append(Notification(source, "", kind, text, "error"))
        elif kind == "condense_context":
            batch.events.append(Notification(source, "", "compact_boundary", text))
            if entry.contextCondense is not None and entry.contextCondense.cost:
                key, cost = f"condensed-{base}", entry.contextCondense.cost
                batch.events.append(TokenUsage(source, "-cost", key, model=state.model, cost_usd=cost))
        elif kind == "resume_task":
            batch.events.append(SessionEnd(source, "", "interrupted", kind))
        elif kind in NO_USE:
            batch.ignore(kind)
        else:
            batch.unknown_type(f"{entry.type}/{kind}", record)

    def _ends_call(self, kind: str) -> bool:
        """Whether the open call has ended. What the user says meanwhile may refuse it, which the next request tells; a
        task that was left has no result of it."""
        state = self.state
        if state.open is None:
            return True
        if kind == "resume_task" and self._known(state.open) is None:
            state.open = None
        return kind not in PROMPTS or state.open is None or state.open.asks

    def _facts(self, entry: Entry, source: Source, batch: Batch) -> None:
        state, context = self.state, self.context
        if state.session_id is None and context.session_id is None:
            found = _FOLDER.search((context.place or context.file).replace("\\", "/"))
            state.session_id = found[1] if found is not None else ""
            if found is not None:
                batch.events.append(SessionInfo(source, "-task", found[1]))
        model = entry.modelInfo.modelId if entry.modelInfo is not None else None
        if model is not None and model != state.model:
            state.model = model
            batch.events.append(SessionInfo(source, "-model", None, model))

    def _requested(self, kind: str, request: Request, source: Source, batch: Batch) -> None:
        state = self.state
        message_id = f"request-{source.base_id}"
        if kind == "api_req_started":
            state.answer, state.pair, state.cancelled = message_id, None, request.cancelReason
        usage = _usage(source, message_id, request, state.model)
        if usage is None:
            batch.ignore(kind)
        else:
            batch.events.append(usage)

    def _answer(self, entry: Entry, source: Source) -> str:
        """The id of the answer that an entry belongs to. Each answer takes two places in the history of requests."""
        state, index = self.state, entry.conversationHistoryIndex
        pair = None if index is None else index // 2
        if not state.answer or (state.pair is not None and pair is not None and pair != state.pair):
            state.answer = f"answer-{source.base_id}"
            state.pair = pair
        elif state.pair is None:
            state.pair = pair
        return state.answer

    def _speech(self, entry: Entry, kind: str, text: str, source: Source, batch: Batch) -> None:
        if kind == "completion_result" and entry.type == "ask":  # repeats the entry before it, with buttons
            batch.ignore("ask/completion_result")
            return
        if not text and kind != "completion_result":
            batch.ignore(f"{kind}/empty")
            return
        answer, model = self._answer(entry, source), self.state.model
        if kind == "reasoning":
            batch.events.append(Reasoning(source, "", answer, to_raw(text), model=model))
        elif text:
            batch.events.append(AssistantText(source, "", answer, to_raw(text), model=model))
        if kind == "completion_result":
            batch.events.append(SessionEnd(source, "", "complete"))

    def _call(self, entry: Entry, kind: str, text: str, source: Source, batch: Batch) -> None:
        state = self.state
        name, arguments, path = _call_of(kind, text)
        index = find(self._calls(), state.at, name, path)
        call_id = f"call-{source.base_id}"
        if index is not None:
            state.at, call_id = index + 1, self._calls()[index].call_id
        state.open = Open(call_id, None, index, kind == "followup")
        parent = self.context.parent_call
        batch.events.append(
            ToolCall(source, "", self._answer(entry, source), call_id, name, arguments, parent, state.model)
        )

    def _close(self, source: Source, outcome: Outcome | None, batch: Batch) -> None:
        """The open call has ended: the history beside the file has its outcome, or the entry behind it shows it."""
        waiting, self.state.open = self.state.open, None
        if waiting is None:
            return
        output, known = None if waiting.output is None else to_raw(waiting.output), self._known(waiting)
        if known is not None:
            outcome, output = known.outcome, known.output
        batch.events.append(ToolResult(source, "-result", waiting.call_id, output, outcome))

    def _known(self, call: Open) -> Answered | None:
        """The call in the history, where it has a result."""
        found = self._calls()[call.index] if call.index is not None else None
        return found if found is not None and found.outcome is not None else None

    def _calls(self) -> list[Answered]:
        if self._history is None:
            kept = self.context.kept
            self._history = read_history(kept(FILE)) if kept is not None else []
        return self._history


def _request(text: str, record: Record, batch: Batch) -> Request:
    """The request that a text is; its members that do not fit are a fault."""
    data = text.encode("utf-8", "replace")
    try:
        return decode_request(data)
    except REFUSED:
        pass
    try:  # half an emoji, which strict parsers refuse, costs no tokens
        found, problem = read_pruned(to_raw(decode_json(data)), decode_request)
    except (ValueError, RecursionError):
        return Request()
    if problem is not None:
        batch.fault("schema", record, f"text: {problem}")
    return found or Request()


def _call_of(kind: str, text: str) -> tuple[str, Raw, str | None]:
    """The name of a call, its input, and the file that it is about."""
    if kind == "command":
        return "execute_command", to_raw({"command": text}), None
    arguments = json_in(text)
    if arguments is None or bytes(arguments)[:1] != b"{":
        arguments = to_raw({"text": text})
    try:
        tool = decode_tool(arguments)
    except REFUSED:
        tool = Tool()
    if kind == "followup":
        return "ask_followup_question", arguments, None
    if kind == "use_mcp_server":
        if tool.serverName and tool.toolName:
            return f"{tool.serverName}__{tool.toolName}", _inner(tool.arguments), None
        return "access_mcp_resource" if tool.uri else "use_mcp_tool", arguments, None
    if kind == "tool":
        return tool.tool or "unknown", arguments, tool.path
    return "browser_action", arguments, None


def _inner(value: Raw) -> Raw:
    """Arguments of an MCP tool, which may be JSON within a string."""
    found = inner_json(value)
    if not has_value(found):
        return EMPTY_OBJECT
    return found if bytes(found)[:1] == b"{" else to_raw({"arguments": bytes(found).decode("utf-8", "replace")})


def _usage(source: Source, key: str, request: Request, model: str | None) -> TokenUsage | None:
    """Tokens of a model call. `tokensIn` excludes cached ones, except under Roo's protocol `openai`."""
    if not any((request.tokensIn, request.tokensOut, request.cacheReads, request.cacheWrites, request.cost)):
        return None
    cached = (request.cacheReads or 0) + (request.cacheWrites or 0) if request.apiProtocol != "openai" else 0
    prompt = None if request.tokensIn is None else request.tokensIn + cached
    return TokenUsage(
        source, "", key, "call", model, prompt, request.cacheReads, request.cacheWrites, None, request.tokensOut,
        cost_usd=request.cost or None,
    )  # fmt: skip
