"""What a trace consists of: nested spans, agents, answers and calls."""

from dataclasses import dataclass, field

from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import Spoken, text_first
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


def inner_of(node: Node) -> list[Node]:
    """The nearest spans below a node that are something of an agent."""
    todo, inner = [*node.children], list[Node]()
    while todo:
        child = todo.pop()
        if child.kind is None:
            todo += child.children
        else:
            inner.append(child)
    return inner


def has_below(node: Node, kinds: tuple[Kind, ...]) -> bool:
    """Whether a span of one of the kinds is anywhere below a node."""
    todo = [*node.children]
    while todo:
        child = todo.pop()
        if child.kind in kinds:
            return True
        todo += child.children
    return False


def tool_name(span: SpanFacts) -> str:
    """The name of the tool that a span is about."""
    return text_first(span, names.TOOL) or span.name.removeprefix("execute_tool ").removesuffix(".run")
