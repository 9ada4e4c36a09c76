"""What Claude prints of an answer that is not whole yet (`--include-partial-messages`): all that one cut off has left.

A text or a thought is told only where its block never came whole: the run was killed, or an error broke the answer off.
A call whose arguments are still written is none. Source: Claude Code 2.1, standard output.
"""

from msgspec import Struct

from agentv_stages.batch import Batch, Record
from agentv_stages.event import AssistantText, Reasoning, Source
from agentv_stages.payload import to_raw
from agentv_stages.providers.claude.wire import decode_delta
from agentv_stages.pruning import REFUSED

_MOST_LINES = 1_024


class Unfinished(Struct):
    """The deltas since the last whole block: `lines` as they came, those before them as `text` and `thinking`.

    `row` and `offset` are those of the first (-1: there is none), `model` is that of the answer.
    """

    model: str | None = None
    lines: list[bytes] = []
    text: list[str] = []
    thinking: list[str] = []
    row: int = -1
    offset: int = 0

    def take(self, record: Record) -> None:
        """One line of a delta."""
        if self.row < 0:
            self.row, self.offset = record.row, record.offset
        elif len(self.lines) >= _MOST_LINES:
            self._read()
        self.lines.append(record.data)

    def clear(self) -> None:
        """A block came whole, or another answer begins."""
        if self.row >= 0:
            self.lines, self.text, self.thinking, self.row = [], [], [], -1

    def tell(self, file: str, message_id: str, batch: Batch) -> None:
        """Appends what there is, and forgets it."""
        self._read()
        source = Source(file, self.row, self.offset, 0)
        if self.thinking:
            thought = to_raw("".join(self.thinking))
            batch.events.append(Reasoning(source, "-cut-0", message_id, thought, model=self.model))
        if self.text:
            text = to_raw("".join(self.text))
            batch.events.append(AssistantText(source, "-cut-1", message_id, text, model=self.model))
        self.clear()

    def _read(self) -> None:
        lines, self.lines = self.lines, []
        for line in lines:
            try:
                delta = decode_delta(line)
            except REFUSED:  # passed over, as all deltas are
                continue
            if delta.parent_tool_use_id is None and delta.event.delta is not None:
                self.text += filter(None, (delta.event.delta.text,))
                self.thinking += filter(None, (delta.event.delta.thinking,))
