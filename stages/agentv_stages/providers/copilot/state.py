"""What the decoder of Copilot's events remembers between lines."""

from msgspec import Struct, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import TokenUsage
from agentv_stages.providers.copilot.wire import Usage
from agentv_stages.repeats import Repeats


class Pending(Struct):
    """What the deltas of one agent gave so far, the last of their records; its last answer's id and thought (CRC)."""

    answer_id: str = ""
    answer_thought: int = 0
    text_id: str = ""
    text: list[str] = []
    thought_id: str = ""
    thought: list[str] = []
    record: Record | None = None

    def clear(self) -> None:
        """The answer came whole, or its attempt died."""
        self.text_id = self.thought_id = ""
        self.text.clear()
        self.thought.clear()
        self.record = None


class EventsState(Struct):
    """What is remembered between lines: open calls (id to start time), unfinished answers, sub-agents, their calls."""

    session_id: str | None = None
    model: str | None = None
    begun_ms: int | None = None
    """When the session began, until its first own record; of a fork, `forked` is told by a record before that."""
    forked: bool = False
    rewound: bool = False
    """A rewind took model calls out of the log and of the totals, which a follower had read before."""
    open: dict[str, int | None] = {}
    parent_of: dict[str, str | None] = {}
    """Of the open calls of sub-agents the call that started the agent."""
    by_user: dict[str, bool] = {}
    noticed: str | None = None
    """Id of the last notification of the system, until the next answer."""
    pending: dict[str, Pending] = {}
    parents: dict[str, str] = {}
    agents: dict[str, str] = {}
    compactions: Usage | None = None
    """Tokens of all compactions, which the totals of a run leave out."""
    usage_keys: list[str] = []
    usage: TokenUsage | None = None
    """Of a model call whose answer is about to come."""
    told: Repeats = field(default_factory=Repeats)
    """Of the lines with texts, and the ends of runs."""
    failure: str | None = None
    aborted: bool = False

    def release_usage(self, batch: Batch) -> None:
        """Tells the tokens that were held back: their answer did not come."""
        if self.usage is not None:
            batch.events.append(self.usage)
            self.usage = None
