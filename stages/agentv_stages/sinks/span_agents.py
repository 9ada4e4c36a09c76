"""The agents of a session as spans: the main agent once for each prompt, and each sub-agent below the call that
started it.

In: facts about prompts, calls and streams, in the order of the log. Out: to whom a message belongs, and the ids of
spans. Ids depend on the session's id and on those in the log alone, so they are the same in every reading.
"""

import hashlib
from uuid import NAMESPACE_OID, UUID, uuid5

from msgspec import Struct

from agentv_stages.model.event import MAIN, TokenUsage, ToolCall, call_key
from agentv_stages.model.otlp import KeyValue, Span, value_of
from agentv_stages.model.recent import remember
from agentv_stages.model.tokens import FIELDS, known_sum

MOST_PROMPTS = 64  # whose spans may still change
MOST_TASKS = 4_096
MOST_AGENTS = 1_024
MOST_HELD = 4_096  # spans of sub-agents of whom it is not known yet which call started them
MOST_ROWS = 512
_MOST_MODELS = 8


def session_uuid(session_id: str) -> UUID:
    """The UUID from which all ids of a session are made."""
    return uuid5(NAMESPACE_OID, session_id)


def trace_id_of(session: UUID, prompt: str) -> str:
    """The trace of a prompt."""
    return uuid5(session, f"trace:{prompt}").hex


def span_id_of(trace_id: str, kind: str, stream: str, key: str) -> str:
    """Unique over all traces: some backends have no other key."""
    return hashlib.sha256(f"{trace_id}\0{kind}\0{stream}\0{key}".encode("utf-8", "replace")).digest()[:8].hex()


class Draft(Struct):
    """A span of a message, whose ids follow from the agent that it belongs to; `row` is that of its record."""

    span: Span
    kind: str
    key: str
    row: int


class AgentSpan(Struct):
    """An agent at work: on one prompt, or as a sub-agent (`stream`). Times are UTC ms.

    `open` counts its messages that were begun and are not complete. `changed`: its span has to be sent. `pending` are
    calls that started sub-agents of whom nothing was seen. `held` are spans of a sub-agent while `trace_id` is unknown.
    """

    stream: str
    row: int = 0
    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""
    name: str = ""
    start_ms: int | None = None
    end_ms: int | None = None
    models: list[str] = []
    turns: int = 0
    calls: int = 0
    failed: int = 0
    tokens: dict[str, int] = {}
    unsure: bool = False
    cost_usd: float | None = None
    prompted: bool = False
    open: int = 0
    ended: bool = False
    changed: bool = True
    pending: list[str] = []
    held: list[Draft] = []
    first_text: str = ""
    last_text: str = ""

    @property
    def is_something(self) -> bool:
        """Whether there is something to say: not if the log has records before its first prompt."""
        return self.prompted or self.turns > 0 or self.calls > 0

    def lasts(self, *times: int | None) -> None:
        """It was at work at these times."""
        self.changed = True
        for time_ms in times:
            if time_ms is not None:
                self.start_ms = time_ms if self.start_ms is None else min(self.start_ms, time_ms)
                self.end_ms = time_ms if self.end_ms is None else max(self.end_ms, time_ms)

    def add_usage(self, usage: TokenUsage) -> None:
        for name in FIELDS:
            total = known_sum((self.tokens.get(name), getattr(usage, name)))
            if total is not None:
                self.tokens[name] = total
        self.unsure = self.unsure or not usage.output_final
        if usage.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + usage.cost_usd

    def add_model(self, model: str | None) -> None:
        if model is not None and model not in self.models and len(self.models) < _MOST_MODELS:
            self.models.append(model)


class Task(Struct):
    """A call that starts a sub-agent; `row` is that of its record."""

    stream: str
    row: int
    call_id: str
    name: str = ""


class AgentsState(Struct):
    prompts: list[AgentSpan] = []
    count: int = 0
    last_id: str = ""
    subagents: dict[str, AgentSpan] = {}
    tasks: dict[str, Task] = {}
    started: dict[str, str] = {}  # by agent id: the key of its call
    parents: dict[str, str] = {}  # by stream: the id of its call
    rows: dict[str, int] = {}  # of recent spans, by what identifies them
    unpaired: int = 0  # calls that have left without a result


class Agents:
    """The agents of a session. `name` is that of the main agent."""

    def __init__(self, session_id: str, name: str) -> None:
        self.state = AgentsState()
        self._session = session_uuid(session_id)
        self._name = name

    @property
    def prompts(self) -> list[AgentSpan]:
        return self.state.prompts

    @property
    def subagents(self) -> list[AgentSpan]:
        return list(self.state.subagents.values())

    def prompt(self, message_id: str, row: int, time_ms: int | None) -> None:
        """The user has entered a prompt, or a further piece of it (with the same id)."""
        state = self.state
        if message_id and message_id == state.last_id:
            return
        state.last_id = message_id
        self._begin(message_id or str(state.count), row, time_ms).prompted = True

    def _begin(self, key: str, row: int, time_ms: int | None) -> AgentSpan:
        trace_id = trace_id_of(self._session, key)
        agent = AgentSpan(MAIN, row, trace_id, span_id_of(trace_id, "agent", MAIN, ""), "", self._name)
        agent.lasts(time_ms)
        self.state.count += 1
        self.state.prompts.append(agent)
        return agent

    def at(self, stream: str, row: int) -> AgentSpan:
        """The agent of a stream that was at work when a record was written."""
        if stream == MAIN:
            prompts = self.state.prompts
            if not prompts:  # the log does not contain the prompt
                return self._begin("0", row, None)
            return next((agent for agent in reversed(prompts) if agent.row <= row), prompts[0])
        agent = self.state.subagents.get(stream)
        if agent is None:
            agent = remember(self.state.subagents, stream, AgentSpan(stream, row), MOST_AGENTS)
            agent.parent_id = self._latest().span_id  # for now
        return agent

    def _latest(self) -> AgentSpan:
        return self.state.prompts[-1] if self.state.prompts else self.at(MAIN, 0)

    def started(self, call: ToolCall, name: str) -> None:
        """The call starts a sub-agent."""
        key = call_key(call)
        if key not in self.state.tasks:
            remember(self.state.tasks, key, Task(call.source.stream, call.source.row, call.call_id, name), MOST_TASKS)
            self.at(call.source.stream, call.source.row).pending.append(key)

    def is_task(self, agent_id: str, call: ToolCall, name: str) -> None:
        """The result of the call says which sub-agent it started."""
        self.started(call, name)
        remember(self.state.started, agent_id, call_key(call), MOST_TASKS)

    def parent(self, stream: str, call_id: str) -> None:
        """A record of a sub-agent says which call started it."""
        if stream not in self.state.parents:
            remember(self.state.parents, stream, call_id, MOST_AGENTS)

    def resolve(self, finally_: bool = False) -> list[Draft]:
        """Joins sub-agents with the calls that started them; returns their spans that waited for that.

        `finally_`: nothing more will be known, so the others belong to the prompt during which they began.
        """
        out: list[Draft] = []
        for agent in self.state.subagents.values():
            if agent.trace_id or not (self._place(agent) or finally_ or len(agent.held) >= MOST_HELD):
                continue
            if not agent.trace_id:
                self._put(agent, next((p for p in self.prompts if p.span_id == agent.parent_id), self._latest()))
            held, agent.held = agent.held, []
            out += [self.placed(agent, draft) for draft in held]
        return out

    def _put(self, agent: AgentSpan, prompt: AgentSpan) -> None:
        agent.trace_id, agent.parent_id = prompt.trace_id, prompt.span_id
        self._named(agent)

    def _named(self, agent: AgentSpan) -> None:
        agent.span_id = span_id_of(agent.trace_id, "agent", agent.stream, "")

    def _place(self, agent: AgentSpan) -> bool:
        """Whether it is known which call started a sub-agent, and of which trace that is."""
        state, own = self.state, agent.stream.partition(":")[2]
        key = state.started.get(own) or state.parents.get(agent.stream) or own  # Claude's stream is named after it
        task = state.tasks.get(key)
        if task is None or task.stream == agent.stream:
            return False
        parent = self.at(task.stream, task.row)
        if not parent.trace_id:
            return False
        agent.trace_id = parent.trace_id
        agent.parent_id = span_id_of(parent.trace_id, "tool", task.stream, task.call_id)
        agent.name = agent.name or task.name
        if key in parent.pending:
            parent.pending.remove(key)
        self._named(agent)
        return True

    def placed(self, agent: AgentSpan, draft: Draft) -> Draft:
        """A span with its ids. Where a log has the same id for several things, their rows distinguish them."""
        span, rows = draft.span, self.state.rows
        if draft.kind == "tool":
            span.attributes.append(KeyValue("gen_ai.agent.name", value_of(agent.name or self._name)))
        name = f"{draft.kind}\0{agent.stream}\0{draft.key}"
        if name not in rows:
            remember(rows, name, draft.row, MOST_ROWS)
        more = "" if rows[name] == draft.row else f"\0{draft.row}"
        span.trace_id, span.parent_span_id = agent.trace_id, agent.span_id
        span.span_id = span_id_of(agent.trace_id, draft.kind, agent.stream, draft.key + more)
        return draft
