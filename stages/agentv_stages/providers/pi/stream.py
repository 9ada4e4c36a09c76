"""Pi's standard output (`--mode json`, `--mode rpc`) to events.

Every answer is printed four times and more: growing in `message_update`, whole in `message_end`, again in `turn_end`
and `agent_end`. Only `message_end` is used; an answer that never came to its end is taken from its last update at
`flush`.
Results come from `tool_execution_end`, in the order in which the tools end; the log has no time for them.
End rule: `agent_end` ends a run, with the last answer's stop reason; an error that Pi retries by itself is no end.
Source: pi 0.73.1, stdout.
"""

import msgspec
from msgspec import Struct, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    EMPTY_OBJECT,
    Notification,
    QueueOperation,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    UserText,
)
from agentv_stages.payload import text_of
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.pi.messages import (
    STATUS_OF_STOP,
    assistant,
    blocks_of,
    other,
    tool_result,
    usage_event,
    usage_key,
    user,
)
from agentv_stages.providers.pi.wire import (
    Line,
    PiMessage,
    decode_compaction,
    decode_line,
    decode_message,
    decode_output,
    decode_update,
    first_byte,
    given,
)
from agentv_stages.times import from_epoch

_UPDATE = b'{"type":"message_update"'
_SKIPPED = (b'{"type":"message_start"', b'{"type":"tool_execution_update"', b'{"type":"turn_end"')
_WELDED = b'}{"type"'
_OBJECT = 123
_MOST_OPEN = 10_000
IGNORED = frozenset(
    {
        "agent_settled",
        "agent_start",
        "message_start",
        "message_update",
        "session_action_update",
        "thinking_level_changed",
        "tool_execution_update",
        "turn_end",
        "turn_start",
    }
)
TYPES = IGNORED | {
    "agent_end",
    "auto_compaction_end",
    "auto_compaction_start",
    "auto_retry_end",
    "auto_retry_start",
    "compaction_end",
    "compaction_start",
    "extension_error",
    "extension_ui_request",
    "message_end",
    "queue_update",
    "response",
    "session_info_changed",
    "tool_execution_end",
    "tool_execution_start",
}
_DIALOGS = ("confirm", "editor", "input", "select")


class State(Struct):
    """`open`: calls without a result, by id. `partial`: the newest update of the answer that is being written.
    `held_end`: the error of a run that Pi may still retry."""

    session_id: str | None = None
    model: str | None = None
    stop: str | None = None
    error: str | None = None
    open: dict[str, bool] = field(default_factory=dict[str, bool])
    message_id: str = ""
    partial: bytes = b""
    partial_row: int = 0
    partial_offset: int = 0
    held_end: bool = False


class StreamDecoder:
    """Decoder of `pi-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        if data[-1:] == b"}":
            # the bulk of the output; not even scanned for its structure, so a torn or welded line must not pass here
            if data.startswith(_UPDATE):
                if data.rfind(_WELDED) < 0:  # 3.7 GB/s on real updates, where `in` makes 1.4
                    self._update(record)
                    batch.ignore("message_update")
                    return
            elif data.startswith(_SKIPPED) and data.rfind(_WELDED) < 0:
                batch.ignore(data[9 : data.index(b'"', 9)].decode())
                return
        line = decode_line(data)
        kind = line.type
        if self.state.held_end and kind != "auto_retry_start":
            self._end(record, batch)
        if kind == "message_end":
            self._message(record, batch, line)
        elif kind == "tool_execution_end":
            self._tool_end(record, batch, line)
        elif kind == "tool_execution_start":
            self._tool_start(record, batch, line)
        elif kind in IGNORED:
            if kind == "message_update":
                self._update(record)
            batch.ignore(kind)
        elif kind == "session":
            self._header(record, batch, line)
        elif kind == "agent_end":
            self._agent_end(record, batch, line)
        else:
            self._notice(record, batch, line)

    def flush(self, batch: Batch) -> None:
        state = self.state
        if state.partial:
            record = Record(state.partial, state.partial_offset, state.partial_row)
            state.partial = b""
            try:
                self._unfinished(record, batch)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                batch.fault("schema", record, str(error))
        if state.held_end:
            self._end(Record(b"", state.partial_offset, state.partial_row), batch)

    def _unfinished(self, record: Record, batch: Batch) -> None:
        """Appends what the last update of an answer shows."""
        update = decode_update(record.data)
        event = update.assistant_message_event
        message = update.message or (event.partial if event else None)
        if message is not None and message.role == "assistant":
            blocks = blocks_of(message)
            source = self._source(record, message.timestamp)
            assistant(message, blocks, f"m{record.row}", source, batch, self.context.parent_call, False)

    def _source(self, record: Record, timestamp: float | str | None) -> Source:
        context = self.context
        time_ms = None if timestamp is None else from_epoch(timestamp)
        return Source(context.file, record.row, record.offset, len(record.data), time_ms, context.stream)

    def _update(self, record: Record) -> None:
        state = self.state
        state.partial = record.data
        state.partial_row = record.row
        state.partial_offset = record.offset

    def _header(self, record: Record, batch: Batch, line: Line) -> None:
        self.state.session_id = line.id
        source = self._source(record, line.timestamp)
        batch.events.append(SessionInfo(source, "", line.id, None, None, line.cwd, None, line.parent_session))

    def _message(self, record: Record, batch: Batch, line: Line) -> None:
        state = self.state
        if not given(line.message):
            batch.ignore("message_end")
            return
        message = decode_message(line.message)
        source = self._source(record, message.timestamp)
        role = message.role
        if role == "assistant":
            self._answer(message, source, record, batch)
        elif role == "toolResult":
            call_id = message.tool_call_id or ""
            if state.open.pop(call_id, None):
                batch.events.append(tool_result(source, call_id, message.content, message.is_error))
            else:
                batch.ignore("message_end/toolResult")
        elif role == "user":
            user(message, f"m{record.row}", source, batch)
        else:
            other(message, f"m{record.row}", source, batch, record)

    def _answer(self, message: PiMessage, source: Source, record: Record, batch: Batch) -> None:
        state = self.state
        blocks = blocks_of(message)
        state.partial = b""
        state.message_id = message_id = f"m{record.row}"
        state.stop, state.error = message.stop_reason, message.error_message
        if message.model and message.model != state.model:
            state.model = message.model
            batch.events.append(SessionInfo(source, "", None, message.model))
        for call_id in assistant(message, blocks, message_id, source, batch, self.context.parent_call):
            if len(state.open) < _MOST_OPEN:
                state.open[call_id] = True
        usage = usage_event(source, usage_key(message, message_id, state.session_id), message)
        if usage is not None:
            batch.events.append(usage)
        if message.error_message:
            batch.events.append(Notification(source, "", "error", message.error_message, "error"))

    def _tool_start(self, record: Record, batch: Batch, line: Line) -> None:
        """The call stands in the answer already, unless an extension made it."""
        state = self.state
        call_id = line.tool_call_id
        if not call_id or call_id in state.open or len(state.open) >= _MOST_OPEN:
            batch.ignore("tool_execution_start")
            return
        state.open[call_id] = True
        arguments = line.args if given(line.args) else EMPTY_OBJECT
        message_id = state.message_id or f"m{record.row}"
        parent = self.context.parent_call
        batch.events.append(
            ToolCall(
                self._source(record, None),
                "",
                message_id,
                call_id,
                line.tool_name or "unknown",
                arguments,
                parent,
                state.model,
            )
        )

    def _tool_end(self, record: Record, batch: Batch, line: Line) -> None:
        call_id = line.tool_call_id or ""
        self.state.open.pop(call_id, None)
        content = decode_output(line.result).content if first_byte(line.result) == _OBJECT else line.result
        batch.events.append(tool_result(self._source(record, None), call_id, content, line.is_error))

    def _agent_end(self, record: Record, batch: Batch, line: Line) -> None:
        state = self.state
        state.open.clear()
        state.partial = b""
        if line.will_retry:
            batch.ignore("agent_end")
        elif state.stop == "error" and line.will_retry is None:
            state.held_end = True
            state.partial_row, state.partial_offset = record.row, record.offset
        else:
            self._end(record, batch)

    def _end(self, record: Record, batch: Batch) -> None:
        state = self.state
        state.held_end = False
        status = STATUS_OF_STOP.get(state.stop or "", "unknown" if state.stop is None else "incomplete")
        reason = state.error or state.stop
        batch.events.append(SessionEnd(self._source(record, None), "-end", status, reason))

    def _notice(self, record: Record, batch: Batch, line: Line) -> None:
        kind = line.type
        source = self._source(record, None)
        if kind == "auto_retry_start":
            self.state.held_end = False
            text = f"attempt {line.attempt} of {line.max_attempts}: {line.error_message or ''}"
            batch.events.append(Notification(source, "", kind, text, "warning"))
        elif kind == "auto_retry_end":
            text = line.final_error or ("succeeded" if line.success else "failed")
            batch.events.append(Notification(source, "", kind, text, "info" if line.success else "error"))
        elif kind in ("compaction_start", "auto_compaction_start"):
            batch.events.append(Notification(source, "", kind, line.reason or ""))
        elif kind in ("compaction_end", "auto_compaction_end"):
            self._compaction(source, batch, line)
        elif kind == "session_info_changed":
            batch.events.append(SessionInfo(source, "", title=line.name))
        elif kind == "queue_update":
            waiting = [*(line.steering or ()), *(line.follow_up or ())]
            batch.events.append(QueueOperation(source, "", kind, "\n".join(waiting) or None))
        elif kind == "extension_error":
            batch.events.append(Notification(source, "", kind, line.error or "", "error"))
        elif kind == "extension_ui_request":
            self._dialog(source, batch, line)
        elif kind == "response":
            if line.success is False:
                text = f"{line.command or ''}: {line.error or 'failed'}"
                batch.events.append(Notification(source, "", kind, text, "error"))
            else:
                batch.ignore(kind)
        else:
            batch.unknown_type(kind, record)

    def _compaction(self, source: Source, batch: Batch, line: Line) -> None:
        if line.aborted or not given(line.result):
            text = line.error_message or ("aborted" if line.aborted else "failed")
            batch.events.append(Notification(source, "", "compaction_failed", text, "warning"))
            return
        result = decode_compaction(line.result)
        text = f"{line.reason or 'compaction'}: {result.tokens_before} tokens before"
        batch.events.append(Notification(source, "", "compact_boundary", text))
        if given(result.summary):
            batch.events.append(UserText(source, "", result.summary, f"m{source.row}", True))

    def _dialog(self, source: Source, batch: Batch, line: Line) -> None:
        text = ": ".join(filter(None, (line.title, text_of(line.message) if given(line.message) else "")))
        if line.method in _DIALOGS:
            batch.events.append(Notification(source, "", "permission_request", text))
        elif line.method == "notify":
            batch.events.append(Notification(source, "", "notify", text))
        else:
            batch.ignore(f"extension_ui_request/{line.method}")
