"""Which answer a call of 3.x is of: its log tells the answer of texts and thoughts alone.

A call is of the answer that spoke last; where it began after all calls of that one had ended, of one without a word.
"""

from msgspec import Struct

from agentv_stages.providers.vibe.entries import answer_of
from agentv_stages.providers.vibe.wire import Entry


class Answer(Struct):
    """The answer that calls are of now; `settled_ms` is when the last of them ended, as far as that is known."""

    id: str | None = None
    settled_ms: float | None = None

    def heard(self, entry: Entry) -> None:
        """Takes note of a message or a thought."""
        if entry.type != "reasoning" and entry.role != "assistant":
            self.id = self.settled_ms = None
        elif answer_of(entry) != self.id:
            self.id, self.settled_ms = answer_of(entry), None

    def of_call(self, entry: Entry) -> str:
        """The answer that asked for a call; the call may have ended or not."""
        begun, done = entry.createdAt or 0.0, entry.updatedAt or 0.0
        if self.id is None or (self.settled_ms is not None and begun >= self.settled_ms):
            self.id, self.settled_ms = f"answer-{entry.id}", None
        self.settled_ms = max(self.settled_ms or done, done)
        return self.id

    def settled(self, entry: Entry) -> None:
        """Takes note of the end of a call that was told before."""
        if self.settled_ms is not None:
            self.settled_ms = max(self.settled_ms, entry.updatedAt or 0.0)
