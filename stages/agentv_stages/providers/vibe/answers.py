"""Finds the answer that an entry of the history belongs to: the log names it only for texts and thoughts.

Up to 2.26 (without its new harness) not even for these: a text that follows a thought is of the same answer. A call
belongs to the last answer that had a text or thought; if it began after all of that answer's calls had ended, it
belongs to a new answer without text.
"""

from msgspec import Struct

from agentv_stages.model.recent import remember
from agentv_stages.providers.vibe.entries import answer_of
from agentv_stages.providers.vibe.wire import Entry

_MOST_OPEN = 4_096


class Answer(Struct):
    """The answer that calls belong to now. `settled_ms` is when the last of them ended, as far as known, `open` are
    those still running: a journal lists all of them before one has ended. `thought`: the last entry was a thought that
    does not name its answer.
    """

    id: str | None = None
    settled_ms: float | None = None
    open: dict[str, None] = {}
    thought: bool = False

    def message_of(self, entry: Entry) -> str:
        """Records a message or a thought; returns its answer, "" for a prompt."""
        name, nameless = answer_of(entry), self.thought
        self.thought = entry.type == "reasoning" and name == entry.id
        if entry.type != "reasoning" and entry.role != "assistant":
            self._begin(None)
            return ""
        if nameless and entry.type != "reasoning" and name == entry.id:
            return self.id or ""
        if name != self.id:
            self._begin(name)
        return name

    def of_call(self, entry: Entry, done: bool) -> str:
        """The answer that asked for a call; `done` says that the call has ended."""
        begun, self.thought = entry.createdAt or 0.0, False
        over = self.settled_ms is not None and begun >= self.settled_ms and not self.open
        if self.id is None or over:
            self._begin(f"answer-{entry.id}")
        if done:
            self._settle(entry)
        else:
            remember(self.open, entry.id or "", None, _MOST_OPEN)
        return self.id or ""

    def settled(self, entry: Entry) -> None:
        """Records the end of a call that was emitted before."""
        if self.open.pop(entry.id or "", self) is None or self.settled_ms is not None:
            self._settle(entry)

    def _begin(self, name: str | None) -> None:
        self.id, self.settled_ms = name, None
        self.open.clear()

    def _settle(self, entry: Entry) -> None:
        done = entry.updatedAt or 0.0
        self.settled_ms = done if self.settled_ms is None else max(self.settled_ms, done)
