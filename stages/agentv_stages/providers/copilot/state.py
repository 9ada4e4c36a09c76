"""The state of the decoder of Copilot's events between lines."""

from msgspec import Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import TokenUsage
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.copilot.wire import Usage


class Pending(Struct):
    """One agent's deltas so far and the last of their records; id, number and thought (CRC) of its last answer."""

    answer_id: str = ""
    answer_number: int | None = None
    answer_thought: int = 0
    text_id: str = ""
    text: list[str] = []
    thought_id: str = ""
    thought: list[str] = []
    record: Record | None = None

    def clear(self) -> None:
        """The answer came whole, or its attempt failed."""
        self.text_id = self.thought_id = ""
        self.text.clear()
        self.thought.clear()
        self.record = None


class EventsState(Struct):
    """The state between lines: open calls (id to start time), unfinished answers, sub-agents and their calls."""

    session_id: str | None = None
    model: str | None = None
    begun_ms: int | None = None
    """When the session began; None after its first own record. `forked` says that copies came before that."""
    forked: bool = False
    rewound: bool = False
    """A rewind removed model calls from the log and the totals, which a follower had already read."""
    open: dict[str, int | None] = {}
    parent_of: dict[str, str | None] = {}
    """For the open calls of sub-agents: the call that started the agent."""
    by_user: dict[str, bool] = {}
    noticed: str | None = None
    """Id of the last system notification, until the next answer."""
    pending: dict[str, Pending] = {}
    parents: dict[str, str] = {}
    agents: dict[str, str] = {}
    compactions: Usage | None = None
    """Tokens of all compactions, which a run's totals omit."""
    usage_keys: list[str] = []
    usage: TokenUsage | None = None
    """Usage of a model call whose answer is about to come."""
    repeats: Repeats = field(default_factory=Repeats, name="told")
    """The lines with texts, and the ends of runs, seen so far."""
    failure: str | None = None
    aborted: bool = False

    def release_usage(self, batch: Batch) -> None:
        """Emits the tokens that were held back: their answer did not come."""
        if self.usage is not None:
            batch.events.append(self.usage)
            self.usage = None
