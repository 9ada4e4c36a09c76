"""Separates the agents in one output of `cline --json`: the main one and the sub-agents that it waits for.

Only `hook_event` lines name their agent. An agent waits for the agents that it started. If only one does not wait, the
lines are its own. If there are several: a call belongs to the oldest `tool_call` hook before it (the hooks of an
answer's calls come before its first call), a result to its call, tokens to the agent whose running total they continue,
a text to the agent that spent tokens last (both come at the end of a model call, one after the other). Where several
agents have the same total, as at their beginning, tokens and text wait for the next hook, which names the agent: it
calls a tool or ends. Teammates have lines of their own (`team_event`), with their name.
Source: Cline CLI 3.0.65, recorded runs.
"""

from msgspec import Raw, Struct, field

from agentv_stages.model.batch import Record
from agentv_stages.model.event import MAIN, AssistantText, Reasoning, TokenUsage
from agentv_stages.model.recent import remember
from agentv_stages.model.times import Time
from agentv_stages.providers.cline.calls import SPAWNS, task_of

MOST = 1_000
MOST_SAID = 100  # of an answer that is held


class Agent(Struct):
    """One agent: the answer being written, and its pieces so far.

    `calls` counts the model calls of the answer, `input` all its input tokens; `row`, `offset` and `ts` are the place
    and time of the last piece.
    """

    id: str = ""
    parent: str = ""
    stream: str = MAIN
    parent_call: str | None = None
    message_id: str = ""
    iteration: int = 0
    calls: int = 0
    input: int = 0
    row: int = 0
    offset: int = 0
    ts: Time = None
    text: list[Raw] = []
    reasoning: list[Raw] = []

    @property
    def said_something(self) -> bool:
        return bool(self.text or self.reasoning)

    def answer(self, record: Record, iteration: int | None) -> None:
        """Begins a new answer."""
        self.message_id = f"m{record.row}"
        self.iteration = iteration or self.iteration + 1
        self.calls = 0

    def begin(self, record: Record, ts: Time) -> None:
        """Records a line of the current answer, whose beginning may be missing."""
        if not self.message_id:
            self.message_id = f"m{record.row}"
        self.row, self.offset, self.ts = record.row, record.offset, ts


class Held(Struct):
    """An answer that may belong to any of several agents: their ids, the total after it, and its texts."""

    ids: list[str]
    total: int | None
    events: list[AssistantText | Reasoning | TokenUsage] = []


class Agents(Struct):
    """The running agents, the main one first.

    `open` has the stream of each open call, `waiting` the agent ids of announced calls, `spawned` the calls whose
    sub-agent has not appeared yet, by agent. `mates` has the teammates by name, `tasks` the calls that gave them tasks;
    `foreign` has the ids in their hooks. `held` has the answers whose agent is not known yet; `last` is who spent
    tokens last, None for the last of those.
    """

    running: list[Agent] = field(default_factory=lambda: [Agent()])
    open: dict[str, str] = {}
    waiting: list[str] = []
    spawned: dict[str, list[str]] = {}
    last: str | None = ""
    held: list[Held] = []
    mates: dict[str, Agent] = {}
    tasks: dict[str, str] = {}
    foreign: list[str] = []

    def at_work(self) -> list[Agent]:
        """The agents that do not wait for another; never empty."""
        running = self.running
        if len(running) == 1:
            return running
        parents = {agent.parent for agent in running}
        return [agent for agent in running if agent.id not in parents] or running[-1:]

    def writer(self) -> Agent | None:
        """The agent that writes, if only one can."""
        at_work = self.at_work()
        return at_work[0] if len(at_work) == 1 else None

    def spoke(self) -> Agent:
        """The agent that spent tokens last; the youngest if none did."""
        return self.owner(self.last or "")

    def start(self, agent_id: str, parent: str | None) -> bool:
        """Starts an agent; without a parent it is the main one, in further runs too. Returns whether it is."""
        if agent_id in self.foreign:
            return False
        if parent is None:
            self.running[:] = [Agent(agent_id)]
            self.waiting.clear()
            return True
        calls = self.spawned.get(parent)
        call = calls.pop(0) if calls else None
        if len(self.running) < MOST and self._named(agent_id) is None:
            self.running.append(Agent(agent_id, parent, f"subagent:{agent_id}", call))
        return False

    def end(self, agent_id: str) -> Agent | None:
        """Ends an agent and returns it. The main one is kept."""
        agent = self._named(agent_id)
        if agent is not None and agent is not self.running[0]:
            self.running.remove(agent)
            self.spawned.pop(agent_id, None)
            self.waiting[:] = [waiting_id for waiting_id in self.waiting if waiting_id != agent_id]
        return agent

    def begins(self, iteration: int | None) -> Agent:
        """The agent that begins a model call, the `iteration`th of its own; one with open calls does not."""
        at_work = self.at_work()
        if len(at_work) > 1:
            busy = set(self.open.values())
            at_work = [agent for agent in at_work if agent.stream not in busy] or at_work
        return next((agent for agent in at_work if iteration == agent.iteration + 1), at_work[-1])

    def spenders(self, tokens: int | None, total: int | None) -> list[Agent]:
        """The agents whose input total `tokens` more bring to `total`; none for a teammate, who reports its own."""
        at_work = self.at_work()
        if len(at_work) == 1 and not self.mates:
            return at_work
        before = (total or 0) - (tokens or 0)
        found = [agent for agent in at_work if agent.input == before]
        return found if found or self.mates else at_work[-1:]

    def spend(self, agent: Agent, total: int | None) -> None:
        agent.input = total or agent.input
        self.last = agent.id

    def hold(self, among: list[Agent], total: int | None) -> Held:
        """Begins an answer that may belong to any of these agents."""
        held = Held([agent.id for agent in among], total)
        self.held.append(held)
        self.last = None
        return held

    def speaking(self) -> Held | None:
        """The answer held that goes on now, if the agent that spent tokens last is not known yet."""
        held = self.held[-1] if self.last is None and self.held else None
        return held if held is not None and len(held.events) < MOST_SAID else None

    def named(self, agent_id: str) -> Held | None:
        """The oldest answer held that may be this agent's, which a hook names; it is not held any more."""
        place = next((i for i, held in enumerate(self.held) if agent_id in held.ids), None)
        return None if place is None else self.held.pop(place)

    def owner(self, agent_id: str) -> Agent:
        """The agent with this id, or the youngest agent if there is none."""
        return self._named(agent_id) or self.running[-1]

    def join(self, name: str, hook_id: str | None) -> None:
        """Adds a started teammate."""
        self.mate(name)
        if hook_id and len(self.foreign) < MOST:
            self.foreign.append(hook_id)

    def mate(self, name: str) -> Agent:
        """The teammate with that name."""
        agent = self.mates.get(name)
        if agent is None:
            agent = Agent(name, "", f"subagent:{name}")
            if len(self.mates) < MOST:
                self.mates[name] = agent
        agent.parent_call = self.tasks.get(name)
        return agent

    def will_call(self, agent_id: str) -> None:
        """Records an announced call."""
        if len(self.waiting) < MOST and agent_id not in self.foreign:
            self.waiting.append(agent_id)

    def caller(self) -> Agent:
        """The agent that makes the next call."""
        at_work = self.at_work()
        ids = [agent.id for agent in at_work]
        place = next((i for i, agent_id in enumerate(self.waiting) if agent_id in ids), None)
        return at_work[-1] if place is None else at_work[ids.index(self.waiting.pop(place))]

    def call(self, agent: Agent, call_id: str, name: str, arguments: Raw) -> None:
        """Records a call."""
        remember(self.open, call_id, agent.stream, MOST)
        if name in SPAWNS:
            mate = task_of(arguments).agentId
            if mate and (mate in self.tasks or len(self.tasks) < MOST):
                self.tasks[mate] = call_id
            elif not mate:
                self.spawned.setdefault(agent.id, []).append(call_id)

    def answered(self, call_id: str) -> str:
        """The stream of the call that a result belongs to."""
        for calls in self.spawned.values():
            if call_id in calls:  # it started no sub-agent
                calls.remove(call_id)
        return self.open.pop(call_id, MAIN)

    def _named(self, agent_id: str) -> Agent | None:
        return next((agent for agent in self.running if agent.id == agent_id), None)
