"""The spans of one trace as agents, model calls and tool calls, nested and in order. Other spans only connect these.

In: spans in any order. Out: for each stream (the main one, and one for each agent that a tool call started) its model
calls, each with the tool calls that followed it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import Spoken, arguments, first, inputs, outputs, returned, text_first
from agentv_stages.providers.otlp.names import Kind
from agentv_stages.providers.otlp.wire import SpanFacts


@dataclass
class Node:
    """A span in its tree. `kind` None: nothing of an agent, or a wrapper around what counts."""

    span: SpanFacts
    kind: Kind | None
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list["Node"])


@dataclass
class Call:
    """A tool call: as the model requested it, as its own span says, or both. `at` orders it (ns)."""

    stream: str
    spoken: Spoken | None
    span: SpanFacts | None
    at: int = 0
    agents: list[str] = field(default_factory=list[str])  # streams of agents that it started


@dataclass
class Answer:
    """A model call and its tool calls; `span` None: calls that no model call precedes."""

    stream: str
    span: SpanFacts | None
    spoken: list[Spoken]
    at: int = 0
    calls: list[Call] = field(default_factory=list[Call])


@dataclass
class Agent:
    """An agent span that no other one of its stream is around."""

    stream: str
    span: SpanFacts
    started_by: Call | None = None


@dataclass
class Trace:
    """The agents and answers of a trace, in order. `others` counts the spans that are about something else."""

    spans: list[SpanFacts]
    agents: list[Agent] = field(default_factory=list[Agent])
    answers: list[Answer] = field(default_factory=list[Answer])
    others: int = 0
    lost_parents: list[SpanFacts] = field(default_factory=list[SpanFacts])


def kind_of(span: SpanFacts) -> Kind | None:
    """The kind of a span, in any dialect."""
    attributes = span.attributes
    if names.NOT_CALLS & {str(first(span, names.TOOL)), span.name.removeprefix("execute_tool ")}:
        return None
    if span.name.endswith(names.NOT_ANSWERS) or (span.name.startswith(names.HANDOFF) and "tool.name" not in attributes):
        return None
    for name, table in (
        ("gen_ai.operation.name", names.OPERATIONS),
        ("openinference.span.kind", names.SPAN_KINDS),
        ("ai.operationId", names.VERCEL),
        ("traceloop.span.kind", names.ENTITIES),
    ):
        value = attributes.get(name)
        if isinstance(value, str) and value in table:
            return table[value]
    if span.name in names.SPAN_NAMES:
        return names.SPAN_NAMES[span.name]
    if span.name.startswith("execute_tool ") or ("tool.name" in attributes and "traceloop.span.kind" in attributes):
        return "tool"
    return "model" if "llm.request.type" in attributes else None


def trace_of(spans: Iterable[SpanFacts]) -> Trace:
    """The tree of one trace, read."""
    ordered = sorted(spans, key=lambda span: (span.start_ns, span.end_ns, span.number))
    trace = Trace(ordered)
    nodes = {span.id: Node(span, kind_of(span)) for span in ordered}
    roots: list[Node] = []
    for node in nodes.values():
        node.parent = nodes.get(node.span.parent)
        if node.parent is None or _is_below(node.parent, node):
            node.parent = None
            roots.append(node)
            if node.span.parent and node.kind is not None:
                trace.lost_parents.append(node.span)
        else:
            node.parent.children.append(node)
    for node in reversed(list(nodes.values())):
        if node.kind in ("model", "tool"):
            _unwrap(node)
    for root in roots:
        if (
            root.kind is None
            and root.span.attributes.get("openinference.span.kind") == "CHAIN"
            and not root.span.parent
        ):
            root.kind = "agent" if _has(root, ("model", "tool")) else None
    trace.others = sum(node.kind is None for node in nodes.values())
    calls = _Walk(trace).of(roots)
    _join(trace, calls)
    trace.answers.sort(key=lambda answer: answer.at)
    return trace


def _is_below(node: Node, other: Node) -> bool:
    """Whether a node is in the tree of another one: ids may name each other as parents."""
    up: Node | None = node
    while up is not None:
        if up is other:
            return True
        up = up.parent
    return False


def _inner(node: Node) -> list[Node]:
    """The nearest spans below a node that are something of an agent."""
    todo, inner = [*node.children], list[Node]()
    while todo:
        child = todo.pop()
        if child.kind is None:
            todo += child.children
        else:
            inner.append(child)
    return inner


def _has(node: Node, kinds: tuple[Kind, ...]) -> bool:
    """Whether a span of one of the kinds is anywhere below a node."""
    todo = [*node.children]
    while todo:
        child = todo.pop()
        if child.kind in kinds:
            return True
        todo += child.children
    return False


def _unwrap(node: Node) -> None:
    """Only the innermost of nested model calls counts, and of nested spans of one call, where a framework and its
    instrumentation both have one. It also takes the attributes of the span around it."""
    inner = [child for child in _inner(node) if child.kind == node.kind]
    if node.kind == "tool":
        inner = [child for child in inner if tool_name(child.span) == tool_name(node.span)]
        if len(inner) != 1 or not _one_call(node.span, inner[0].span):
            return
        inner[0].span.error = inner[0].span.error or node.span.error
        inner[0].span.events = [*node.span.events, *inner[0].span.events]
    if inner:
        node.kind = None
    if len(inner) == 1:
        inner[0].span.attributes = _merged(node.span.attributes, inner[0].span.attributes)


def _merged(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """The attributes of nested spans, the inner ones first. Indexed messages are those of one span: two
    instrumentations number them differently."""
    own = tuple(prefix for prefix in names.INDEXED if any(key.startswith(prefix) for key in inner))
    return {key: value for key, value in outer.items() if not key.startswith(own)} | inner


def _one_call(outer: SpanFacts, inner: SpanFacts) -> bool:
    """Whether nothing says that two spans are of different calls."""
    ids = text_first(outer, names.CALL), text_first(inner, names.CALL)
    passed = arguments(outer), arguments(inner)
    return (None in ids or ids[0] == ids[1]) and (None in passed or passed[0] == passed[1])


class _Walk:
    """Notes the agents, answers and calls of a tree, in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._calls: list[Call] = []
        self._requested: set[tuple[str, str]] = set()
        self._todo: list[tuple[Node, str, Call | None, bool]] = []

    def of(self, roots: list[Node]) -> list[Call]:
        """The calls that have spans."""
        self._todo = [(root, MAIN, None, False) for root in reversed(roots)]
        while self._todo:
            node, stream, below, inside = self._todo.pop()
            stream, below, inside = self._visit(node, stream, below, inside)
            self._todo += [(child, stream, below, inside) for child in reversed(node.children)]
        return self._calls

    def _visit(self, node: Node, stream: str, below: Call | None, inside: bool) -> tuple[str, Call | None, bool]:
        """Notes a node. `below` is the nearest call around it, if no agent is between; `inside`: an agent is around it.
        Returns the same for its children."""
        span, trace = node.span, self._trace
        if node.kind == "agent":
            if inside and below is None:
                below = self._call_of(stream, span)
            if below is not None:
                own = text_first(span, ("agentv_stream.stream",))
                stream, inside = own or sidechain(span.id), False
                below.agents.append(stream)
            if not inside:
                trace.agents.append(Agent(stream, span, below))
            if not _has(node, ("model",)):
                self._answer_of_agent(node, stream)
            return stream, None, True
        if node.kind == "model":
            spoken = outputs(span)
            trace.answers.append(Answer(stream, span, spoken, span.start_ns))
            self._requested |= {(stream, part.name) for part in spoken if part.kind == "call"}
        elif node.kind == "tool":
            span.error = span.error or any(c.span.name == names.EXECUTION and c.span.error for c in node.children)
            below = self._call(stream, span)
            if any(child.kind == "model" for child in _inner(node)):  # an agent without a span of its own
                stream = sidechain(span.id)
                below.agents.append(stream)
                trace.agents.append(Agent(stream, span, below))
                return stream, None, True
        return stream, below, inside

    def _call(self, stream: str, span: SpanFacts) -> Call:
        call = Call(stream, None, span)
        self._calls.append(call)
        return call

    def _call_of(self, stream: str, agent: SpanFacts) -> Call | None:
        """The call that started an agent within another one, if it has its name: its span may stand beside the agent's,
        or be that."""
        name = _agent_name(agent)
        for call in reversed(self._calls):
            span = call.span
            if span is not None and call.stream == stream and tool_name(span) == name and not call.agents:
                if span.start_ns <= agent.start_ns and agent.end_ns <= span.end_ns:
                    return call
        return self._call(stream, agent) if (stream, name) in self._requested else None

    def _answer_of_agent(self, node: Node, stream: str) -> None:
        """What an agent's span says of the model, where no model call has a span: its innermost one."""
        spoken = outputs(node.span)
        if not _has(node, ("agent",)) and (spoken or first(node.span, (*names.INPUT, *names.OUTPUT)) is not None):
            self._trace.answers.append(Answer(stream, node.span, spoken, node.span.start_ns))


def _agent_name(span: SpanFacts) -> str:
    return text_first(span, names.AGENT) or span.name.removesuffix(".run")


def _join(trace: Trace, spans: list[Call]) -> None:
    """Gives each call to the model call before it, joined with its requests: by id, otherwise by name."""
    before: dict[str, list[Answer]] = {}
    for answer in sorted(trace.answers, key=lambda answer: answer.at):
        answer.calls = [Call(answer.stream, part, None, answer.at) for part in answer.spoken if part.kind == "call"]
        before.setdefault(answer.stream, []).append(answer)
    for call in spans:
        span = call.span
        assert span is not None
        answers = before.setdefault(call.stream, [])
        found = _requested(answers, span)
        if found is not None:
            found.span, found.agents = span, call.agents
            for agent in trace.agents:
                if agent.started_by is call:
                    agent.started_by = found
            continue
        owner = next((a for a in reversed(answers) if a.at <= span.start_ns), None)
        if owner is None:
            owner = Answer(call.stream, None, [], span.start_ns)
            trace.answers.append(owner)
            answers.insert(0, owner)
        call.at = max(owner.at, span.start_ns)
        owner.calls.append(call)


def _requested(answers: list[Answer], span: SpanFacts) -> Call | None:
    """The request that a call's span belongs to."""
    waiting = [c for a in answers if a.at <= span.start_ns for c in a.calls if c.spoken and c.span is None]
    own = text_first(span, names.CALL) or returned(span).call
    if own and span.scope not in names.OTHER_IDS:
        found = next((call for call in waiting if call.spoken and call.spoken.id == own), None)
        if found is not None:
            return found
        waiting = [call for call in waiting if call.spoken and not call.spoken.id]
    name, passed = tool_name(span), arguments(span)
    named = [call for call in waiting if call.spoken and call.spoken.name == name]
    alike = (call for call in named if call.spoken and call.spoken.value == passed)
    unnumbered = (call for call in named if call.spoken and not call.spoken.id)
    return next(alike, None) or next(unnumbered, None) or next(iter(named), None)


def tool_name(span: SpanFacts) -> str:
    """The name of the tool that a span is about."""
    return text_first(span, names.TOOL) or span.name.removeprefix("execute_tool ").removesuffix(".run")


def responses(trace: Trace) -> dict[str, tuple[Spoken, SpanFacts]]:
    """Results of calls that are in the input of a later model call, by the call's id, each with that model call."""
    found: dict[str, tuple[Spoken, SpanFacts]] = {}
    for answer in trace.answers:
        if answer.span is not None:
            for part in inputs(answer.span):
                if part.kind == "response" and part.id:
                    found.setdefault(part.id, (part, answer.span))
    return found
