"""An answer that Grok prints in pieces (`--include-partial-messages`), as far as it has come."""

from msgspec import Raw, Struct

from agentv_stages.model.batch import Record
from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import json_in
from agentv_stages.providers.grok.wire import StreamEvent

_MOST_CALLS = 1_000


class PartialCall(Struct):
    id: str
    name: str
    input: list[str] = []

    def arguments(self) -> Raw:
        """The arguments of a call: Grok prints them whole, in one piece."""
        whole = json_in("".join(self.input))
        return whole if whole is not None and bytes(whole)[:1] == b"{" else EMPTY_OBJECT


class Partial(Struct):
    """The answer being printed, in pieces as they came; `row` and `offset` are those of the last piece."""

    begun: bool = False
    message_id: str | None = None
    text: list[str] = []
    thinking: list[str] = []
    calls: list[PartialCall] = []
    row: int = 0
    offset: int = 0

    def take(self, event: StreamEvent | None, record: Record) -> None:
        """Adds one piece."""
        if event is None:
            return
        if event.type == "message_start":
            self.clear()
            self.message_id = event.message.id if event.message is not None else None
            return
        block, delta = event.content_block, event.delta
        if block is not None and block.type.endswith("tool_use") and len(self.calls) < _MOST_CALLS:
            self.calls.append(PartialCall(block.id or f"call-{record.row}", block.name or "unknown"))
        elif delta is not None:
            if delta.text:
                self.text.append(delta.text)
            if delta.thinking:
                self.thinking.append(delta.thinking)
            if delta.partial_json and self.calls:
                self.calls[-1].input.append(delta.partial_json)
        self.begun = bool(self.text or self.thinking or self.calls)
        self.row, self.offset = record.row, record.offset

    def clear(self) -> None:
        """The answer was printed whole, or another begins."""
        self.begun, self.message_id = False, None
        self.text, self.thinking, self.calls = [], [], []
