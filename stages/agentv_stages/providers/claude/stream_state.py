"""The state of Claude Code's stream decoder between lines, and the partial answer in it."""

from msgspec import Struct, field

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import PIECES, AssistantText, Reasoning, Source, TokenUsage
from agentv_stages.model.payload import to_raw
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.claude.blocks import LastUsage
from agentv_stages.providers.claude.wire import decode_delta

# Partial output of Claude (`--include-partial-messages`): all that is left of an answer that was cut off.
#
# A text or a thought is emitted only if its whole block never came: the run was killed, or an error broke the answer
# off. A call whose arguments are incomplete is not emitted. Source: Claude Code 2.1, standard output.

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


class StreamState(Struct):
    """`reset`: the next session id is this session, begun anew. `anew`: its next total is the first since then.
    `whole`: the last total as it was printed. `earlier`: what previous runs spent, if the totals include it. `begun`:
    the runs that began since the last `result`; `behind`: those that had begun before it and have none yet. `results`:
    those seen. `refused`: calls whose refusal was reported before their results. `interrupted`: the run, by a person.
    """

    session_id: str | None = None
    reset: bool = False
    anew: bool = False
    partial_id: str = ""
    unfinished: Unfinished = field(default_factory=Unfinished)
    earlier: TokenUsage | None = None
    whole: TokenUsage | None = None
    last_total: TokenUsage | None = field(default=None, name="told")
    before: TokenUsage | None = None
    begun: int = 0
    behind: int = 0
    results: Repeats = field(default_factory=Repeats)
    main: LastUsage = field(default_factory=LastUsage)
    others: LastUsage = field(default_factory=LastUsage)
    interrupted: bool = False
    refused: dict[str, bool] = field(default_factory=dict[str, bool])

    def forget_spent(self) -> None:
        """Another session begins; `whole` is kept, because `/clear` did not always reset the totals."""
        self.earlier = self.last_total = self.before = None
        self.anew = True
