"""ACP messages, one or both directions, to events. Source: see `wire.py`; recordings in docs/providers/acp.md.

The protocol has no times, no model names in messages, and no end except the answer to a prompt. Text comes in chunks; a
message ends at a call's result or a new prompt.
"""

import msgspec

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Source
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.acp import calls, endings, requests, speech, updates, usage, wire
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.state import AcpState

UPDATE = b'"method":"session/update"'
FIRST = b'{"jsonrpc":"2.0",' + UPDATE


class AcpDecoder:
    """Decodes one connection."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.state = AcpState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        # Nearly every line; with another order of members, lines are decoded in full.
        if data.startswith(FIRST) or data.find(UPDATE, 0, 120) >= 0:
            if self._hot(data, record, batch) or self._update(data, record, batch):
                self._spent(data, record, batch)
                return
        line = wire.decode_line(data)
        path = "`$"
        time = line.timestamp or line.time or line.ts
        side = (line.dir or line.direction or "").lower()
        if line.method is None and line.id is None:
            for name, inner in (
                ("msg", line.msg),
                ("message", line.message),
                ("payload", line.payload),
                ("data", line.data),
            ):
                if bytes(inner)[:1] == b"{":
                    data, path = bytes(inner), f"`$.{name}"
                    break
        try:
            if path != "`$":
                line = wire.decode_line(data)
            source = Source(self.file, record.row, record.offset, record.length, from_epoch(time), self.stream)
            if line.method is not None:
                requests.called(self, line, data, record, source, batch)
                if line.method == "session/update":
                    self._spent(data, record, batch)
            elif line.error not in wire.NOTHING:
                endings.failed(self, line, side, source, batch)
            elif line.id is not None and (line.jsonrpc is not None or bytes(line.result)):
                requests.answered(self, line, data, side, record, source, batch)
            else:
                batch.unknown_type("(no method)", record)
        except msgspec.ValidationError as error:  # the path must name the member by its place in the record
            raise msgspec.ValidationError(str(error).replace("`$", path, 1)) from None

    def _hot(self, data: bytes, record: Record, batch: Batch) -> bool:
        """Handles an update of a frequent kind in one pass; False for all that needs a closer look."""
        try:
            message = wire.decode_hot(data)
        except msgspec.ValidationError:
            return False
        params, state = message.params, self.state
        if message.method != "session/update" or params is None or state.session_id is None:
            return False
        if state.replay is not None or state.children:
            return False
        update, source = params.update, self._source(message, record)
        # not `isinstance`, which takes a way around through the Structs' metaclass, three times as long
        if type(update) is wire.CallUpdate:
            calls.upsert(self, "tool_call_update", update, source, batch)
        elif type(update) is wire.CallBegun:
            calls.upsert(self, "tool_call", update, source, batch)
        elif type(update) is wire.Chunk or type(update) is wire.Thought:
            text, meta = update.content.text, update.meta
            if state.tasks or state.held or (state.calls and habits_of(state.agent).note is not None):
                return False
            if len(text) > 2 and meta is None and bytes(text)[:1] == b'"':  # text of the main agent
                thought = type(update) is wire.Thought
                speech.add_text(self, text, thought, update.messageId, source, batch)
            elif len(text) == 2 and meta is not None and meta.usage is not None:  # Qwen: the end of an answer
                speech.marked(self, meta, source, batch)
            else:
                return False
        elif type(update) is wire.Window:
            updates.window(self, update, source, batch)
        elif type(update) is wire.Title:
            updates.titled(self, update.title, source, batch)
        elif type(update) is wire.Plan:
            updates.plan(self, "plan", update.entries, source, batch)
        elif update is None:
            return False
        else:
            batch.ignore(wire.QUIET[type(update)])
        return True

    def _update(self, data: bytes, record: Record, batch: Batch) -> bool:
        """Handles an update of any kind; False if it is none."""
        message = wire.decode_message(data)
        if message.method != "session/update":
            return False
        updates.updated(self, message.params, record, self._source(message, record), batch)
        return True

    def _spent(self, data: bytes, record: Record, batch: Batch) -> None:
        """Emits the session's total so far, which some agents add to updates of any kind."""
        spent = habits_of(self.state.agent).spent
        metrics = spent(data) if spent is not None else None
        if metrics is not None and (metrics.input, metrics.output) != self.state.spent:
            self.state.spent = (metrics.input, metrics.output)
            source = Source(self.file, record.row, record.offset, record.length, None, self.stream)
            batch.events.append(usage.of_session(self.state, metrics, source))

    def _source(self, line: wire.Line | wire.Message | wire.HotMessage, record: Record) -> Source:
        time = line.timestamp or line.time or line.ts
        time_ms = None if time is None else from_epoch(time)
        return Source(self.file, record.row, record.offset, record.length, time_ms, self.stream)

    def flush(self, batch: Batch) -> None:
        """Text of unknown origin is the main agent's; calls whose arguments never came are emitted as they are."""
        speech.release(self, batch)
        calls.early(self, batch)
        for call_id, call in self.state.calls.items():
            calls.emit(self, call_id, call, batch)
