"""The output of `openhands --headless --json` to events: an event a line, and around them lines for people.

An event is one line; up to 1.14 it is printed over many lines (see `printed`), and emitted when it is complete. The
lines for people name the model and, at the end, the conversation; the box before that repeats the last message.
End rule: an answer without a call, the call of `finish`, an error.
Source: OpenHands CLI 1.10.0, 1.14.0 and 1.16.0, standard output.
"""

import re

from msgspec import DecodeError, Struct

from agentv_stages.chain.printed import Printed
from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, SessionInfo, Source
from agentv_stages.model.fault import Reason
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.openhands.events import emit, source_of
from agentv_stages.providers.openhands.wire import decode_event

LOSSES = (
    "tokens and costs; the working directory, the agent's version; the session's id until the run ends",
    "the zone of its times, which are taken as UTC",
    "work of sub-agents",
    "why a run that neither answered nor failed stopped (stuck in a loop)",
)
_MODEL = re.compile(r"✓ Agent initialized with model: (\S+)\s*\Z")
_ID = re.compile(r"Conversation ID: ([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\s*\Z")
_MARK = b"--JSON Event--"
_FOR_PEOPLE = (
    *("OpenHands CLI terminal UI may not work", "To override Rich's detection", "Initializing agent..."),
    *("✓ Hooks loaded", "Agent is working", "Agent finished"),
    *("Number of agent messages:", "Last message sent by the agent:"),
    *("───", "╭─", "│", "╰─", "Goodbye! ", "Hint: run openhands --resume ", "conversation."),
)
_MOST_HELD = 64 * 1024 * 1024


class Held(Printed, kw_only=True):
    """An event printed over many lines; `offset` and `row` are those of the first, `length` is that of all."""

    offset: int
    row: int
    length: int = 1

    def record(self, row: int) -> Record:
        """All lines as one record."""
        return Record(b"\n".join(self.lines), self.offset, row, size=self.length)


class State(Struct):
    held: Held | None = None


class StreamDecoder:
    """Decoder of `openhands-stream`. Faults: `torn-middle`, `torn`, `schema` for an event printed over many lines."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self._redact = context.redact
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        data, held = record.data, self.state.held
        if data == b"{":
            if held is not None:
                self._torn(held, record.row, "torn-middle", batch)
            self.state.held = Held([data], offset=record.offset, row=record.row)
            batch.ignore("line of an event")
        elif held is not None and held.takes(data) and not data.startswith(_MARK):
            self._hold(held, record, batch)
        elif data.lstrip()[:1] in (b"{", b"["):
            self._event(record, data, batch)
        else:
            self._text(record, batch)

    def flush(self, batch: Batch) -> None:
        """Handles an event that was only partly printed."""
        if self.state.held is not None:
            self._torn(self.state.held, self.state.held.row, "torn", batch)

    def _event(self, record: Record, data: bytes, batch: Batch) -> None:
        """`data` is the record as one line, which outputs can hold."""
        event = decode_event(data)
        source = source_of(event, record, self.file, MAIN)
        emit(event, source, record.replaced(data), batch)

    def _hold(self, held: Held, record: Record, batch: Batch) -> None:
        held.length += record.length + 1
        if not held.add(record.data):
            if held.size > _MOST_HELD:
                self._torn(held, record.row, "torn-middle", batch)
            else:
                batch.ignore("line of an event")
            return
        self.state.held = None
        try:
            data = b"".join(held.lines)
            self._event(held.record(record.row), data if self._redact is None else self._redact(data), batch)
        except REFUSED as error:
            batch.fault("schema", held.record(record.row), str(error))

    def _torn(self, held: Held, row: int, reason: Reason, batch: Batch) -> None:
        self.state.held = None
        batch.fault(reason, held.record(row), "an event over many lines, without its end")

    def _text(self, record: Record, batch: Batch) -> None:
        """Raises: DecodeError for a text that is none of the CLI's own."""
        text = record.data.decode()
        model, conversation = _MODEL.match(text), _ID.match(text)
        if model is not None:
            batch.events.append(SessionInfo(self._source(record), "", model=model[1]))
        elif conversation is not None:
            batch.events.append(SessionInfo(self._source(record), "", "-".join(conversation.groups())))
        elif text.startswith((_MARK.decode(), *_FOR_PEOPLE)):
            batch.ignore("text for people")
        else:
            raise DecodeError("no JSON")

    def _source(self, record: Record) -> Source:
        return Source(self.file, record.row, record.offset, record.length)
