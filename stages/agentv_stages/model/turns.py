"""Counts turns: one assistant message on the main stream is one turn, however many records it spans; likewise the
answers of sub-agents."""

from msgspec import Struct, convert

from agentv_stages.model.event import MAIN, AssistantText, Reasoning, ToolCall
from agentv_stages.model.recent import Recent

_RECENT = 256
_RECENT_BESIDE = 1_024  # of sub-agents: with more at once, one may count twice


class TurnState(Struct):
    """`current` holds the current message id of the main stream, `recent` the recently counted ids with their turns."""

    count: int = 0
    current: dict[str, str] = {}
    recent: dict[str, int] = {}


class Turns:
    """Assigns events to turns, numbered from 1; feed events in order, each at most once."""

    def __init__(self) -> None:
        self.state = TurnState()
        self._recent = Recent[int](_RECENT)

    @property
    def count(self) -> int:
        """Turns so far."""
        return self.state.count

    def turn_of(self, event: AssistantText | Reasoning | ToolCall) -> int | None:
        """The turn of an event; None outside the main stream and for text that only the agent's program wrote."""
        stream = event.source.stream
        if stream != MAIN:
            return None
        state, message_id = self.state, event.message_id
        if state.current.get(MAIN) == message_id:
            return self._recent.get(message_id)  # not the count: an earlier answer may continue after later ones
        if type(event) is AssistantText and event.synthetic:
            return None
        state.current[MAIN] = message_id
        known = self._recent.get(message_id)
        if known is not None:
            return known
        state.count += 1
        self._recent.put(message_id, state.count)
        return state.count

    def snapshot(self) -> TurnState:
        return TurnState(self.state.count, dict(self.state.current), self._recent.items())

    def restore(self, snapshot: object, /) -> None:
        self.state = convert(snapshot, TurnState, from_attributes=True)
        self._recent.load(self.state.recent)
        self.state.recent = {}


class AnswersBeside:
    """Recognises the answers of sub-agents, several of which may be at work on one stream at the same time."""

    def __init__(self) -> None:
        self._recent = Recent[str](_RECENT_BESIDE)

    def begins(self, event: AssistantText | Reasoning | ToolCall) -> bool:
        """Whether the event begins an answer; not for text that only the agent's program wrote."""
        key = f"{event.source.stream} {event.message_id}"
        if self._recent.get(key) is not None or (type(event) is AssistantText and event.synthetic):
            return False
        self._recent.put(key, "")
        return True

    def snapshot(self) -> dict[str, str]:
        return self._recent.items()

    def restore(self, snapshot: dict[str, str], /) -> None:
        self._recent.load(snapshot)
