"""cursor-agent's stream-json to events. Source: cursor-agent 2025.08 to 2026.03, recordings and published types.

Three kinds of lines have text: with a time and no `model_call_id` it is a delta, with both a segment before a call,
with neither the last segment. If deltas were printed, the other two repeat them.
"""

from contextlib import suppress

from msgspec import MsgspecError, Raw, Struct, ValidationError

from agentv_stages.chain.foreign import CLAUDE_ENVELOPE, other_session
from agentv_stages.chain.pruning import decode_member
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
from agentv_stages.model.payload import EMPTY_STRING, decode_json, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.times import from_epoch, whole_ms
from agentv_stages.providers.cursor import wire

MOST = 10_000
MOST_CLOSED = 1_000
NOTICES = frozenset(("connection", "retry", "error", "warning"))
OUTCOMES: dict[str, Outcome] = {
    "success": "ok",
    "failure": "error",
    "error": "error",
    "timeout": "error",
    "spawnError": "error",
    "fileNotFound": "error",
    "rejected": "denied",
    "permissionDenied": "denied",
    "cancelled": "cancelled",
    "aborted": "cancelled",
}


class StreamState(Struct):
    """The state between lines: open calls (id to answer id), the current answer, the deltas of the current segment and
    the whole segment before it, whether a thought had deltas.
    """

    session_id: str | None = None
    model: str | None = None
    open: dict[str, str] = {}
    closed: dict[str, bool] = {}
    answer_id: str = ""
    model_call: str = ""
    ended: bool = False
    segment: list[str] = []
    before: str = ""
    thinking: bool = False
    results: list[str] = []


class StreamDecoder:
    """Decodes the output of one run, or of several in a row."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = StreamState()

    def decode(self, record: Record, batch: Batch) -> None:
        line: wire.Line | wire.OddLine
        try:
            line = wire.decode_line(record.data)
        except ValidationError:
            line = wire.decode_odd_line(record.data)
        kind = line.type
        source = Source(self.file, record.row, record.offset, record.length, from_epoch(line.timestamp_ms), self.stream)
        if kind == "thinking":
            self._thinking(line, source, batch)
        elif kind == "tool_call":
            self._call(line, source, batch)
        elif kind == "assistant":
            self._assistant(line, source, batch)
        elif kind == "user":
            if record.data.find(CLAUDE_ENVELOPE, 0, 64) >= 0:
                batch.strangers.append(record)
            self._user(line, source, batch)
        elif kind == "system":
            self._system(line, source, record, batch)
        elif kind == "result":
            self._result(record, source, batch)
        elif kind == "interaction_query":
            if line.subtype == "request":
                text = line.query_type or ""
                batch.events.append(Notification(source, "", "permission_request", text, "info", line.call_id))
            else:
                batch.ignore("interaction_query/response")
        elif kind in NOTICES:
            text = ": ".join(filter(None, (line.subtype, text_of(line.text) if line.text not in wire.NOTHING else "")))
            batch.events.append(Notification(source, "", kind, text, "error" if kind == "error" else "warning"))
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _system(self, line: wire.LineHead, source: Source, record: Record, batch: Batch) -> None:
        if line.subtype != "init":
            batch.unknown_type(f"system/{line.subtype}", record)
            return
        another = other_session(record, line.session_id, self.state.session_id, batch)
        self.state.session_id, self.state.model = line.session_id, line.model
        cwd, model = line.cwd, line.model
        batch.events.append(SessionInfo(source, "", line.session_id, model, cwd=cwd, another=another, begins=True))

    def _user(self, line: wire.Line | wire.OddLine, source: Source, batch: Batch) -> None:
        message = _message_of(line)
        self._next()
        if message.content in wire.NOTHING:
            batch.ignore("user/empty")
            return
        body = message.content if bytes(message.content)[:1] == b"[" else text_json(message.content)
        batch.events.append(UserText(source, "", body, f"u{source.row}"))

    def _thinking(self, line: wire.LineHead, source: Source, batch: Batch) -> None:
        text, delta = text_json(line.text), line.subtype == "delta"
        repeated, self.state.thinking = self.state.thinking and not delta, delta
        if text == EMPTY_STRING or repeated:
            batch.ignore(f"thinking/{line.subtype}")
            return
        answer = self._answer(source, line.model_call_id)
        batch.events.append(Reasoning(source, "", answer, text, delta, self.state.model))

    def _assistant(self, line: wire.Line | wire.OddLine, source: Source, batch: Batch) -> None:
        state = self.state
        message = _message_of(line)
        text = message.content
        if bytes(text)[:1] == b"[":
            texts = [
                b.text for b in decode_member(text, wire.decode_blocks, "message.content") if b.text not in wire.NOTHING
            ]
            text = texts[0] if len(texts) == 1 else to_raw("".join(map(text_of, texts)))
        text = text_json(text)
        if text == EMPTY_STRING:
            batch.ignore("assistant/empty")
            return
        delta = line.timestamp_ms is not None and line.model_call_id is None
        if not delta:
            self._segment_ends()
            if state.before and text_of(text).endswith(state.before):
                batch.ignore("assistant/repeated")
                return
            if line.model_call_id is None and state.model_call and state.answer_id in state.open.values():
                state.ended = True  # the last segment, though the answer before it has a call without a result
        if delta:
            state.segment.append(text_of(text))
        answer = self._answer(source, line.model_call_id)
        batch.events.append(AssistantText(source, "", answer, text, delta, False, state.model))

    def _call(self, line: wire.Line | wire.OddLine, source: Source, batch: Batch) -> None:
        named, tool = _tool((line.tool_call or {}) if isinstance(line, wire.Line) else _tools(line.tool_call))
        state, call_id = self.state, line.call_id or f"call-{source.row}"
        if call_id in state.closed:
            batch.ignore(f"tool_call/{line.subtype}/repeated")
            return
        if call_id not in state.open:
            answer = self._answer(source, line.model_call_id, True)
            remember(state.open, call_id, answer, MOST)
            name, arguments = _named(named, tool)
            batch.events.append(ToolCall(source, "-call", answer, call_id, name, arguments, None, state.model))
        elif line.subtype != "completed":
            batch.ignore(f"tool_call/{line.subtype}")
        if line.subtype == "completed":
            members = wire.decode_members(tool.result) if bytes(tool.result)[:1] == b"{" else {}
            output, code, outcome = _ended(named, tool.result, members)
            state.ended = state.ended or state.open[call_id] == state.answer_id
            del state.open[call_id]
            remember(state.closed, call_id, True, MOST_CLOSED)
            took = _took(members) if source.time_ms is None else None
            batch.events.append(ToolResult(source, "-result", call_id, output, outcome, code, took))
        self._segment_ends()

    def _result(self, record: Record, source: Source, batch: Batch) -> None:
        state, data = self.state, wire.decode_result(record.data)
        self._next()
        again = data.request_id in state.results  # still an end, perhaps of a repeated log
        if data.request_id and not again:
            state.results.append(data.request_id)
            del state.results[:-MOST_CLOSED]
        used = None if again else data.usage
        if used is not None and (used.inputTokens is not None or used.totalCost is not None):
            plain, read, write = used.inputTokens, used.cacheReadTokens, used.cacheWriteTokens
            batch.events.append(
                TokenUsage(
                    source,
                    "",
                    data.request_id or f"result-{source.row}",
                    "segment",
                    state.model,
                    None if plain is None else plain + (read or 0) + (write or 0),
                    read,
                    write,
                    None,
                    used.outputTokens,
                    covers_streams=True,
                    cost_usd=used.totalCost,  # of this run alone, like its tokens
                )
            )
        bad = data.is_error or data.subtype not in (None, "success")
        status: Status = "error" if bad else "complete"
        reason = text_of(data.result) if bad and data.result not in wire.NOTHING else None
        if record.row == 0 and data.result not in wire.NOTHING:  # `--output-format json`: the answer is only here
            key = data.request_id or f"result-{source.row}"
            batch.events.append(AssistantText(source, "-result", key, text_json(data.result), False, bad))
        took = None if again else whole_ms(data.duration_ms)
        batch.events.append(SessionEnd(source, "", status, reason, None, took, None, Raw(record.data)))

    def _answer(self, source: Source, model_call: str | None, call: bool = False) -> str:
        """The id of the model answer that this line belongs to.

        Calls and segments name the model call, thoughts and deltas do not: a new answer begins with another name, or,
        if there is none, with the first piece after a result.
        """
        state = self.state
        if model_call and state.model_call:
            fresh = model_call != state.model_call
        else:
            fresh = state.ended and not (call and state.open)
        if fresh or not state.answer_id:
            state.answer_id, state.model_call, state.ended = f"m{source.row}", "", False
            self._segment_ends()
        state.model_call = model_call or state.model_call
        return state.answer_id

    def _next(self) -> None:
        self.state.answer_id = self.state.model_call = self.state.before = ""
        self.state.ended = False
        self.state.segment.clear()

    def _segment_ends(self) -> None:
        """Ends the segment: the next whole text may repeat the text of the deltas."""
        if self.state.segment:
            self.state.before = "".join(self.state.segment)
            self.state.segment.clear()


def _tools(raw: Raw) -> dict[str, wire.Tool]:
    """The members of a `tool_call` that are objects."""
    if bytes(raw)[:1] != b"{":
        return {}
    try:
        return wire.decode_tools(raw)
    except MsgspecError:
        members = wire.decode_members(raw)
        return {name: wire.decode_tool(value) for name, value in members.items() if bytes(value)[:1] == b"{"}


def _tool(tools: dict[str, wire.Tool]) -> tuple[str, wire.Tool]:
    """The member of `tool_call` that names the tool; other members (an id, a description) may be beside it."""
    for name, tool in tools.items():
        if len(tools) == 1 or name.endswith("ToolCall") or name == "function":
            return name, tool
    return next(iter(tools.items()), ("unknown", wire.Tool()))


def _named(member: str, tool: wire.Tool) -> tuple[str, Raw]:
    """Name and arguments; those of an MCP call or of the generic form are one level deeper."""
    if member == "mcpToolCall" and bytes(tool.args)[:1] == b"{":
        call = wire.decode_mcp(tool.args)
        name = call.toolName or call.name
        if name:
            return f"mcp__{call.providerIdentifier}__{name}" if call.providerIdentifier else name, call.args
    if member == "function":
        text = text_of(tool.arguments) if bytes(tool.arguments)[:1] == b'"' else ""
        try:
            value = decode_json(text.encode()) if text[:1] == "{" else None
        except (ValueError, RecursionError):
            value = None
        arguments = to_raw(value) if isinstance(value, dict) else tool.arguments
        return tool.name or member, arguments if arguments not in wire.NOTHING else EMPTY_OBJECT
    return member, tool.args if tool.args not in wire.NOTHING else EMPTY_OBJECT


def _took(result: dict[str, Raw]) -> int | None:
    """The duration of a shell command in ms, from its result."""
    for value in result.values():
        if bytes(value)[:1] == b"{":
            with suppress(MsgspecError):
                ran = wire.decode_ran(value)
                time = ran.localExecutionTimeMs if ran.localExecutionTimeMs is not None else ran.executionTime
                return round(time) if time is not None and 0 <= time < 1e15 else None
    return None


def _ended(tool: str, result: Raw, members: dict[str, Raw]) -> tuple[Raw | None, int | None, Outcome | None]:
    """Output, exit code and outcome; the member of `result` that is an object shows how the call ended."""
    if result in wire.NOTHING:
        return None, None, None
    for name, value in members.items():
        if name in OUTCOMES or bytes(value)[:1] == b"{":
            outcome = OUTCOMES.get(name)
            shell = wire.Exit()
            if tool.startswith(("shell", "function")) and bytes(value)[:1] == b"{":
                with suppress(MsgspecError):  # a generic function's result may have another shape
                    shell = wire.decode_exit(value)
            if shell.aborted:
                outcome = "cancelled"
            elif shell.exitCode and outcome == "ok":
                outcome = "error"
            return value, shell.exitCode, outcome
    return result, None, None


def _message_of(line: wire.Line | wire.OddLine) -> wire.Message:
    raw = line.message
    if not isinstance(raw, Raw):
        return raw or wire.Message()
    return decode_member(raw, wire.decode_message, "message") if raw not in wire.NOTHING else wire.Message()
