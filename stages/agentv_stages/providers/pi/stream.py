"""Pi's standard output (`--mode json`, `--mode rpc`) to events.

Every answer is printed four or more times: growing in `message_update`, whole in `message_end`, again in `turn_end` and
`agent_end`. Only `message_end` is used; an answer that was never completed is taken from its updates at `flush`: the
last one has all of it, from 0.84 on each has only a piece. Results come from `tool_execution_end`, in the order in
which the tools end; they have no time, from 1.1 on a duration.
End rule: `agent_end` ends a run, with the last answer's stop reason; an error that Pi retries by itself is no end.
Source: pi 0.73.1, 1.5.2, stdout.
"""

from zlib import crc32

import msgspec
from msgspec import Raw

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    Notification,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
)
from agentv_stages.model.payload import has_value
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import check
from agentv_stages.model.scripts import emit_output, let_all_go, let_go
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.pi.messages import (
    assistant,
    blocks_of,
    other,
    status_of,
    tool_result,
    usage_event,
    usage_key,
    user,
)
from agentv_stages.providers.pi.notices import beside, notice
from agentv_stages.providers.pi.scripts import TOOL
from agentv_stages.providers.pi.snapshots import SHORT, is_whole_update
from agentv_stages.providers.pi.stream_state import StreamState, grow, unfinished
from agentv_stages.providers.pi.wire import (
    NAMES,
    QUIET,
    TYPES,
    AgentEnd,
    Answer,
    Block,
    Growth,
    Line,
    MessageEnd,
    PiMessage,
    Prompt,
    ResultCopy,
    ToolEnd,
    ToolStart,
    decode_head,
    decode_line,
    decode_message_end,
    decode_output,
    decode_tool_end,
    decode_update,
    first_byte,
)

_OBJECT = 123
_MOST_OPEN = 10_000


class StreamDecoder:
    """Decoder of `pi-stream`. Forks of Pi handle their own lines and messages (`_new`, `other`)."""

    other = staticmethod(other)

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = StreamState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        if len(data) > SHORT and is_whole_update(data):
            # the bulk of the output, not even scanned for its structure
            self.state.partial = record.without_raw()
            ignored = batch.ignored
            ignored["message_update"] = ignored.get("message_update", 0) + 1
            return
        try:
            line = decode_line(data)
        except msgspec.ValidationError:
            if self._odd_or_unknown(record, batch):
                return
            raise
        state = self.state
        quiet = QUIET.get(line.__class__)
        if state.held_end and NAMES.get(line.__class__) != "auto_retry_start":
            self._end(record, batch)
        if type(line) is Growth:
            state.partial = record.without_raw()
            event = line.assistant_message_event
            if event is not None and not event.partial and not line.message:
                grow(state.growing, event)
            batch.ignore("message_update")
        elif quiet is not None:
            ignored = batch.ignored
            ignored[quiet] = ignored.get(quiet, 0) + 1
        elif type(line) is MessageEnd:
            message = line.message
            if type(message) is Answer:
                self._answer(message, message.content, self._source(record, message.timestamp), record, batch)
            elif type(message) is Prompt:
                self._user(message, record, self._source(record, message.timestamp), batch)
            elif (message.tool_call_id or "") not in state.open:  # `tool_execution_end` gave it, as nearly always
                self._emitted_result(record, batch, message)
            else:
                self._message(record, batch, decode_message_end(data).message)
        elif type(line) is ToolEnd:
            self._tool_end(record, batch, line.tool_call_id or "", line.result.content, line.is_error, line.duration_ms)
        elif type(line) is ToolStart:
            self._tool_start(record, batch, line)
        elif type(line) is AgentEnd:
            self._agent_end(record, batch, line)
        else:
            kind = NAMES[line.__class__]
            if kind == "session":
                self._header(record, batch, line)
            else:
                if kind == "auto_retry_start":
                    state.held_end = False
                source = self._source(record, None)
                notice(kind, line, source, state.session_id, state.model, batch, record)

    def flush(self, batch: Batch) -> None:
        state = self.state
        record, state.partial = state.partial, None
        if record is not None:
            try:
                self._unfinished(record, batch)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                batch.fault("schema", record, str(error))
        let_all_go(state.scripts, batch)
        if state.held_end:
            self._end(Record(b"", state.held_offset, state.held_row), batch)

    def _odd_or_unknown(self, record: Record, batch: Batch) -> bool:
        """Handles lines that fit none of the Structs: messages and results of another shape, unknown types.

        Raises: msgspec.ValidationError that names the member of a message or a result that is at fault.
        """
        kind = decode_head(record.data).type
        if kind == "message_end":
            message = decode_message_end(record.data).message
            if self.state.held_end:
                self._end(record, batch)
            self._message(record, batch, message)
        elif kind == "tool_execution_end":
            line = decode_tool_end(record.data)
            content = decode_output(line.result).content if first_byte(line.result) == _OBJECT else line.result
            if self.state.held_end:
                self._end(record, batch)
            self._tool_end(record, batch, line.tool_call_id or "", content, line.is_error, line.duration_ms)
        elif kind in TYPES or kind == "session":
            return False
        else:
            self._new(kind, record, batch)
        return True

    def _new(self, kind: str, record: Record, batch: Batch) -> None:
        """Handles a line of a type that Pi does not have."""
        if self.state.held_end:
            self._end(record, batch)
        batch.unknown_type(kind, record)

    def _unfinished(self, record: Record, batch: Batch) -> None:
        """Appends the content of an answer's last update."""
        update = decode_update(record.data)
        event = update.assistant_message_event
        message = update.message or (event.partial if event else None)
        if message is not None and message.role == "assistant":
            blocks = blocks_of(message)
            source = self._source(record, message.timestamp)
            assistant(message, blocks, f"m{record.row}", source, batch, self.context.parent_call, {}, False)
        else:
            state = self.state
            unfinished(state.growing, f"m{record.row}", state.model, self._source(record, None), batch)

    def _source(self, record: Record, timestamp: float | str | None) -> Source:
        context = self.context
        if timestamp is None:
            time_ms = None
        elif isinstance(timestamp, float) and 1e11 <= timestamp < 1e14:  # milliseconds, as nearly always
            time_ms = round(timestamp)
        else:
            time_ms = from_epoch(timestamp)
        return Source(context.file, record.row, record.offset, record.length, time_ms, context.stream)

    def _header(self, record: Record, batch: Batch, line: Line) -> None:
        other_session(record, line.id, self.state.session_id, batch)
        if self.state.session_id is not None:
            batch.strangers.append(record)  # the next records show whether a session file begins here
        self.state.session_id = line.id
        source = self._source(record, line.timestamp)
        batch.events.append(SessionInfo(source, "", line.id, None, None, line.cwd, None, line.parent_session))

    def _message(self, record: Record, batch: Batch, message: PiMessage | None) -> None:
        state = self.state
        if message is None:
            batch.ignore("message_end")
            return
        role = message.role
        if role == "toolResult" and (message.tool_call_id or "") not in state.open:
            self._emitted_result(record, batch, message)  # from `tool_execution_end`, as nearly always
            return
        source = self._source(record, message.timestamp)
        if role == "assistant":
            self._answer(message, blocks_of(message), source, record, batch)
        elif role == "toolResult":
            call_id = message.tool_call_id or ""
            del state.open[call_id]
            batch.events.append(tool_result(source, call_id, message.content, message.is_error, message.duration_ms))
        elif role == "user":
            self._user(message, record, source, batch)
        else:
            self.other(message, f"m{record.row}", source, batch, record)

    def _again(self, identity: str, source: Source, batch: Batch) -> bool:
        """Whether an answer or a prompt was emitted before."""
        if not self.state.repeats.again(identity, source.length):
            return False
        batch.ignore("message_end/again")
        return True

    def _user(self, message: PiMessage | Prompt, record: Record, source: Source, batch: Batch) -> None:
        if not self._again(check(record, source.time_ms), source, batch):
            user(message, f"m{source.row}", source, batch)

    def _answer(
        self, message: PiMessage | Answer, blocks: list[Block], source: Source, record: Record, batch: Batch
    ) -> None:
        state = self.state
        state.partial = None
        state.growing.clear()
        if self._again(str(source.time_ms or ""), source, batch):  # no two answers begin in the same millisecond
            return
        state.stop, state.error = message.stop_reason, message.error_message
        state.message_id = message_id = f"m{record.row}"
        if message.model and message.model != state.model:
            state.model = message.model
            batch.events.append(SessionInfo(source, "", None, message.model))
        parent = self.context.parent_call
        for call_id in assistant(message, blocks, message_id, source, batch, parent, state.scripts):
            if len(state.open) < _MOST_OPEN:
                state.open[call_id] = True
        usage = usage_event(source, usage_key(message, message_id, state.session_id), message)
        if usage is not None:
            batch.events.append(usage)
        if message.error_message:
            batch.events.append(Notification(source, "", "error", message.error_message, "error"))

    def _tool_start(self, record: Record, batch: Batch, line: ToolStart) -> None:
        """Handles a tool's start. Its call is in the answer already, unless a script or an extension made it."""
        state = self.state
        call_id = line.tool_call_id
        script = state.scripts.get(line.parent_tool_call_id or "")
        if script is not None:
            script.made_calls = True
        if not call_id or call_id in state.open or call_id in state.scripts or len(state.open) >= _MOST_OPEN:
            batch.ignore("tool_execution_start")
            return
        state.open[call_id] = True
        arguments = line.args if has_value(line.args) else EMPTY_OBJECT
        message_id = script.message_id if script is not None else state.message_id or f"m{record.row}"
        parent = line.parent_tool_call_id or self.context.parent_call
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

    def _tool_end(
        self, record: Record, batch: Batch, call_id: str, content: Raw, is_error: bool | None, lasted: float | None
    ) -> None:
        state = self.state
        state.open.pop(call_id, None)
        source = self._source(record, None)
        if call_id in state.scripts and not let_go(state.scripts, call_id, batch):
            emit_output(TOOL, source, call_id, content if has_value(content) else None, is_error, batch)
        else:
            batch.events.append(tool_result(source, call_id, content, is_error, lasted))

    def _emitted_result(self, record: Record, batch: Batch, message: ResultCopy | PiMessage) -> None:
        """Handles a result that was already emitted: only the usage of models that the tool called is new."""
        batch.ignore("message_end/toolResult")
        source = self._source(record, None)
        beside(message.usage, message.tool_call_id or "", None, source, self.state.session_id, batch)

    def _agent_end(self, record: Record, batch: Batch, line: AgentEnd) -> None:
        state = self.state
        state.open.clear()
        state.partial = None
        state.growing.clear()
        let_all_go(state.scripts, batch)
        # It contains the run's messages with their times, but an error's text comes after its time.
        again = b'"timestamp":' in record.data and state.repeats.again(f"agent_end {crc32(record.data)}", record.length)
        if again or line.will_retry or line.is_terminal is False:
            batch.ignore("agent_end")
        elif state.stop == "error" and line.will_retry is None:
            state.held_end = True
            state.held_row, state.held_offset = record.row, record.offset
        else:
            self._end(record, batch)

    def _end(self, record: Record, batch: Batch) -> None:
        state = self.state
        state.held_end = False
        status = status_of(state.stop, state.error) or ("unknown" if state.stop is None else "incomplete")
        reason = state.error or state.stop
        batch.events.append(SessionEnd(self._source(record, None), "-end", status, reason))
