"""Finds agents, answers and calls in the tree of a trace, and joins calls with the answers that asked for them."""

from agentv_stages.model.event import MAIN, sidechain
from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import arguments, first, outputs, returned, text_first
from agentv_stages.providers.otlp.nodes import Agent, Answer, Call, Node, Trace, has_below, inner_of, tool_name
from agentv_stages.providers.otlp.wire import SpanFacts


class Walk:
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
            if not has_below(node, ("model",)):
                self._answer_of_agent(node, stream)
            return stream, None, True
        if node.kind == "model":
            spoken = outputs(span)
            trace.answers.append(Answer(stream, span, spoken, span.start_ns))
            self._requested |= {(stream, part.name) for part in spoken if part.kind == "call"}
        elif node.kind == "tool":
            span.error = span.error or any(c.span.name == names.EXECUTION and c.span.error for c in node.children)
            below = self._call(stream, span)
            if any(child.kind == "model" for child in inner_of(node)):  # an agent without a span of its own
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
        if not has_below(node, ("agent",)) and (spoken or first(node.span, (*names.INPUT, *names.OUTPUT)) is not None):
            self._trace.answers.append(Answer(stream, node.span, spoken, node.span.start_ns))


def _agent_name(span: SpanFacts) -> str:
    return text_first(span, names.AGENT) or span.name.removesuffix(".run")


def join_calls(trace: Trace, spans: list[Call]) -> None:
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
