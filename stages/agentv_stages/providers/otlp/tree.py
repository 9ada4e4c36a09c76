"""The spans of one trace as agents, model calls and tool calls, nested and in order. Other spans only connect these.

In: spans in any order. Out: for each stream (the main one, and one for each agent that a tool call started) its model
calls, each with the tool calls that followed it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

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
    return "tool" if span.name.startswith("execute_tool ") else "model" if "llm.request.type" in attributes else None


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
        if node.kind == "model":
            _unwrap(node)
    trace.others = sum(node.kind is None for node in nodes.values())
    calls: list[Call] = []
    todo: list[tuple[Node, str, Call | None, bool]] = [(root, MAIN, None, False) for root in reversed(roots)]
    while todo:
        node, stream, below, inside = todo.pop()
        _visit(node, stream, below, inside, trace, calls, todo)
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


def _unwrap(node: Node) -> None:
    """Only the innermost of nested model calls counts. It also takes the attributes of the span around it."""
    todo, inner = [*node.children], list[Node]()
    while todo:
        child = todo.pop()
        if child.kind == "model":
            inner.append(child)
        elif child.kind is None:
            todo += child.children
    if inner:
        node.kind = None
    if len(inner) == 1:
        inner[0].span.attributes = {**node.span.attributes, **inner[0].span.attributes}


def _visit(
    node: Node,
    stream: str,
    below: Call | None,
    inside: bool,
    trace: Trace,
    calls: list[Call],
    todo: list[tuple[Node, str, Call | None, bool]],
) -> None:
    """Notes a node. `below` is the nearest call around it, if no agent is between; `inside`: an agent is around it."""
    span = node.span
    if node.kind == "agent":
        if below is not None:
            own = text_first(span, ("agentv_stream.stream",))
            stream, inside = own or sidechain(span.id), False
            below.agents.append(stream)
        if not inside:
            trace.agents.append(Agent(stream, span, below))
        below, inside = None, True
    elif node.kind == "model":
        trace.answers.append(Answer(stream, span, outputs(span), span.start_ns))
    elif node.kind == "tool":
        span.error = span.error or any(c.span.name == names.EXECUTION and c.span.error for c in node.children)
        call = Call(stream, None, span)
        calls.append(call)
        below = call
    todo += [(child, stream, below, inside) for child in reversed(node.children)]


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
        return next((call for call in waiting if call.spoken and call.spoken.id == own), None)
    name, passed = tool_name(span), arguments(span)
    alike = (call for call in waiting if call.spoken and (call.spoken.name, call.spoken.value) == (name, passed))
    if own and (found := next(alike, None)) is not None:
        return found
    return next(
        (call for call in waiting if call.spoken and call.spoken.name == name and not call.spoken.id), None
    ) or next((call for call in waiting if call.spoken and call.spoken.name == name), None)


def tool_name(span: SpanFacts) -> str:
    """The name of the tool that a span is about."""
    return text_first(span, names.TOOL) or span.name.removeprefix("execute_tool ")


def responses(trace: Trace) -> dict[str, tuple[object, SpanFacts]]:
    """Outputs of calls that are in the input of a later model call, by the call's id, each with that model call."""
    found: dict[str, tuple[object, SpanFacts]] = {}
    for answer in trace.answers:
        if answer.span is not None:
            for part in inputs(answer.span):
                if part.kind == "response" and part.id:
                    found.setdefault(part.id, (part.value, answer.span))
    return found
