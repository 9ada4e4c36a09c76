"""Which answer a call of 3.x is of: its log tells the answer of texts and thoughts alone.

A call is of the answer that spoke last; where it began after all calls of that one had ended, of one without a word.
"""

from msgspec import Struct

from agentv_stages.providers.vibe.entries import answer_of
from agentv_stages.providers.vibe.wire import Entry
from agentv_stages.recent import remember

_MOST_OPEN = 4_096


class Answer(Struct):
    """The answer that calls are of now; `settled_ms` is when the last of them ended, as far as that is known, and
    `open` are those that run: a journal tells of them all before one has ended."""

    id: str | None = None
    settled_ms: float | None = None
    open: dict[str, None] = {}

    def heard(self, entry: Entry) -> None:
        """Takes note of a message or a thought."""
        if entry.type != "reasoning" and entry.role != "assistant":
            self._begin(None)
        elif answer_of(entry) != self.id:
            self._begin(answer_of(entry))

    def of_call(self, entry: Entry, done: bool) -> str:
        """The answer that asked for a call, which has ended or runs."""
        begun = entry.createdAt or 0.0
        over = self.settled_ms is not None and begun >= self.settled_ms and not self.open
        if self.id is None or over:
            self._begin(f"answer-{entry.id}")
        if done:
            self._settle(entry)
        else:
            remember(self.open, entry.id or "", None, _MOST_OPEN)
        return self.id or ""

    def settled(self, entry: Entry) -> None:
        """Takes note of the end of a call that was told before."""
        if self.open.pop(entry.id or "", self) is None or self.settled_ms is not None:
            self._settle(entry)

    def _begin(self, name: str | None) -> None:
        self.id, self.settled_ms = name, None
        self.open.clear()

    def _settle(self, entry: Entry) -> None:
        done = entry.updatedAt or 0.0
        self.settled_ms = done if self.settled_ms is None else max(self.settled_ms, done)
