"""The state of the decoder of Copilot's events between lines: the session, and the answers that come in deltas."""

from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.pruning import read_pruned
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Reasoning, Source, TokenUsage
from agentv_stages.model.payload import to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.copilot import wire
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
    output_known: bool = False
    silent: bool = False
    """Whether some answers have their output without a record of usage, and whether some have none at all."""
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


# Copilot answers that came in deltas. In: what each agent printed so far. Out: events of the answers broken off.

MOST_AGENTS = 1_000


def number_of(source: Source) -> int:
    """A number that distinguishes a record's answer from others with its id: its time, or its row if it has no time."""
    return source.time_ms or source.row + 1


class Events(Protocol):
    """The part of the decoder that the functions for its rarer lines use."""

    state: EventsState

    def source(self, line: wire.Line | wire.Piece, record: Record, call: str | None = None) -> Source: ...


def pending_of(state: EventsState, agent: str | None) -> Pending:
    """The state of an agent's answer; "" and None mean the main agent."""
    known = state.pending
    found = known.get(agent or "")
    if found is None:
        found = remember(known, agent or "", Pending(), MOST_AGENTS)
    return found


def give_up(at: Events, agent: str, batch: Batch) -> None:
    """Emits an agent's unfinished answer from its deltas."""
    pending = at.state.pending[agent]
    if pending.record is not None:
        line, problem = read_pruned(pending.record.data, wire.decode_piece)
        line = line or wire.Piece()
        if problem is not None:  # a time of another shape: the deltas are read without it
            batch.fault("schema", pending.record, problem)
        source = at.source(line, pending.record, line.data.parentToolCallId)
        message_id = pending.text_id or pending.thought_id or f"m{source.row}"
        source = replace(source, answer=number_of(source))
        if any(pending.thought):
            text = to_raw("".join(pending.thought))
            batch.events.append(Reasoning(source, "-0", message_id, text, False, at.state.model))
        if any(pending.text):
            text = to_raw("".join(pending.text))
            batch.events.append(AssistantText(source, "-1", message_id, text, False, False, at.state.model))
    pending.clear()


def give_up_all(at: Events, batch: Batch, agent: str | None = None) -> None:
    """As `give_up`, for one agent or for all."""
    for name in [agent] if agent else list(at.state.pending):
        if name in at.state.pending:
            give_up(at, name, batch)
