"""Partial output of Claude (`--include-partial-messages`): all that is left of an answer that was cut off.

A text or a thought is emitted only if its whole block never came: the run was killed, or an error broke the answer off.
A call whose arguments are incomplete is not emitted. Source: Claude Code 2.1, standard output.
"""

from msgspec import Struct

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import PIECES, AssistantText, Reasoning, Source
from agentv_stages.model.payload import to_raw
from agentv_stages.providers.claude.wire import decode_delta

_MOST_LINES = 1_024


class Unfinished(Struct):
    """The deltas since the last whole block: `lines` are still undecoded; earlier ones are in `text` and `thinking`.

    `row` and `offset` are those of the first delta (-1: there is none), `model` is the answer's.
    """

    model: str | None = None
    lines: list[bytes] = []
    text: list[str] = []
    thinking: list[str] = []
    row: int = -1
    offset: int = 0

    def take(self, record: Record) -> None:
        """Adds the line of one delta."""
        if self.row < 0:
            self.row, self.offset = record.row, record.offset
        elif len(self.lines) >= _MOST_LINES:
            self._read()
        self.lines.append(record.data)

    def clear(self) -> None:
        """A whole block came, or another answer begins."""
        if self.row >= 0:
            self.lines, self.text, self.thinking, self.row = [], [], [], -1

    def emit(self, file: str, message_id: str, batch: Batch) -> None:
        """Emits the collected text and thoughts, and clears them."""
        self._read()
        source = Source(file, self.row, self.offset, 0, answer=PIECES)
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
            except REFUSED:  # skipped, as any delta may be
                continue
            if delta.parent_tool_use_id is None and delta.event.delta is not None:
                self.text += filter(None, (delta.event.delta.text,))
                self.thinking += filter(None, (delta.event.delta.thinking,))
