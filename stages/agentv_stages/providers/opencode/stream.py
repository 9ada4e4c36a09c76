"""OpenCode's standard output (`run --format json`) to events.

Parts are printed when they are finished: parallel calls in the order in which they end, a text possibly after the calls
that followed it. So the parts of a step are held until its `step_finish` and emitted in the order of their ids, in
which the model made them. Call and result are in one line.
End rule: a `step_finish` with a reason other than `tool-calls` ends the run; so does an `error`, and a call that was
refused without a word.
Source: opencode 1.18.33, stdout; 2.0, its published source (`cli/run/noninteractive`), which keeps these lines.
"""

from msgspec import Struct, field

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import SessionEnd, SessionInfo, Source
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.times import from_epoch
from agentv_stages.providers.opencode.parts import (
    CONTINUES,
    REJECTED,
    content,
    failed,
    finished,
    stops,
    usage_event,
)
from agentv_stages.providers.opencode.wire import Line, Part, decode_line

CONTENT = frozenset({"text", "reasoning", "tool"})
LINES = frozenset({"step_start", "text", "reasoning", "tool_use", "tool", "step_finish", "error"})
_MOST_HELD = 256


class Held(Struct, gc=False):
    """A line whose step is not finished."""

    data: bytes
    row: int
    offset: int
    length: int = 0


class State(Struct):
    """`finishes` counts the finished steps of `message_id`, each of which is an answer: old versions put several steps
    into one message.

    `finished` is the id of the last step-finish part, `repeats` has the ids of texts and steps. `refused`: a call of
    the current step was refused in a way that ends the run.
    """

    session_id: str | None = None
    message_id: str = ""
    finishes: int = 0
    finished: str | None = None
    refused: bool = False
    repeats: Repeats = field(default_factory=Repeats, name="told")
    held: list[Held] = []


class StreamDecoder:
    """Decoder of `opencode-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()
        self._lines: dict[int, Line] = {}  # the held lines, decoded; after a restore they are decoded again

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        part = line.part
        state = self.state
        if part is None:
            self._no_part(line, record, batch)
            return
        if line.sessionID and line.sessionID != state.session_id:  # child sessions print nothing: another run
            self._release(batch)
            other_session(record, line.sessionID, state.session_id, batch, header=False)
            self._session(line, record, batch)
        message_id = part.messageID or ""
        if message_id != state.message_id:
            self._release(batch)
            state.message_id = message_id
            state.finishes = 0
            state.refused = False
        kind = part.type
        if kind in CONTENT:
            if kind != "tool" and state.repeats.again(part.id, checksum(record.data)):
                batch.ignore(f"{line.type}/again")
                return
            state.finished = None
            self._lines[len(state.held)] = line  # by position: welded records share their row
            state.held.append(Held(record.data, record.row, record.offset, record.length))
            if len(state.held) >= _MOST_HELD:
                self._release(batch)
        elif kind == "step-finish":
            self._release(batch)
            self._finish(part, line, record, batch)
        elif kind == "step-start" or kind in ("snapshot", "patch", "agent", "file"):
            batch.ignore(line.type)
        else:
            batch.unknown_type(f"{line.type}/{kind}", record)

    def flush(self, batch: Batch) -> None:
        self._release(batch)

    def _source(self, line: Line, record: Record) -> Source:
        context = self.context
        base_id = (line.part.partID or line.part.id or "") if line.part else ""
        time_ms = from_epoch(line.timestamp)
        at = context.file, record.row, record.offset, record.length
        return Source(*at, time_ms, context.stream, base_id, self.state.finishes + 1)

    def _session(self, line: Line, record: Record, batch: Batch) -> None:
        self.state.session_id = line.sessionID
        batch.events.append(SessionInfo(self._source(line, record), "", line.sessionID))

    def _no_part(self, line: Line, record: Record, batch: Batch) -> None:
        if line.type == "error" and line.error is not None:
            self._release(batch)
            if self.state.session_id is None and line.sessionID:
                self._session(line, record, batch)
            failed(self._source(line, record), line.error, batch)
        elif line.type in LINES:
            batch.ignore(line.type)
        else:
            batch.unknown_type(line.type, record)

    def _release(self, batch: Batch) -> None:
        """Appends the held parts in the model's order; parts without an id keep their printed place."""
        held = self.state.held
        if not held:
            return
        lines = [(self._lines.get(i) or decode_line(h.data), h) for i, h in enumerate(held)]
        if len(lines) > 1:
            lines.sort(key=_model_order)
        for line, h in lines:
            part = line.part
            if part is not None:
                record = Record(h.data, h.offset, h.row, size=h.length)
                message_id = part.messageID or f"m{held[0].row}"
                parent = self.context.parent_call
                content(part, message_id, self._source(line, record), "", batch, None, parent)
                self.state.refused = self.state.refused or stops(part)
        held.clear()
        self._lines.clear()

    def _finish(self, part: Part, line: Line, record: Record, batch: Batch) -> None:
        state = self.state
        if part.id is not None and part.id == state.finished:
            batch.ignore("step_finish/again")
            return
        state.finished = part.id
        source = self._source(line, record)
        message_id = part.messageID or f"m{record.row}"
        if part.tokens is not None and not state.repeats.again(part.id, checksum(record.data)):
            batch.events.append(usage_event(source, message_id, part.tokens, part.cost, None))
        state.finishes += 1
        refused, state.refused = state.refused, False
        if refused and part.reason in CONTINUES:
            batch.events.append(SessionEnd(source, "-end", "interrupted", REJECTED))
        else:
            finished(source, part.reason, batch)


def _model_order(entry: tuple[Line, Held]) -> str:
    part = entry[0].part
    return (part.partID or part.id or "") if part else ""
