"""The spans of one trace as agents, model calls and tool calls, nested and in order. Other spans only connect these.

In: spans in any order. Out: for each stream (the main one, and one for each agent that a tool call started) its model
calls, each with the tool calls that followed it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import Spoken, arguments, first, inputs, text_first
from agentv_stages.providers.otlp.names import Kind
from agentv_stages.providers.otlp.nodes import Node, Trace, has_below, inner_of, tool_name
from agentv_stages.providers.otlp.walk import Walk, join_calls
from agentv_stages.providers.otlp.wire import SpanFacts


def kind_of(span: SpanFacts) -> Kind | None:
    """The kind of a span, in any dialect."""
    attributes = span.attributes
    if names.NOT_CALLS & {str(first(span, names.TOOL)), span.name.removeprefix("execute_tool ")}:
        return None
    if attributes.get("logfire.span_type") == "pending_span":  # says that another span has begun
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


def conversations_of(spans: list[SpanFacts]) -> list[list[SpanFacts]]:
    """The spans of each conversation of a trace, in the order of their beginnings. The outermost span decides: a
    sub-agent may have a conversation of its own. Spans outside of all conversations go with the first."""
    spans = sorted(spans, key=lambda span: (span.start_ns, span.end_ns, span.number))
    parents = {span.id: span for span in spans}
    found: dict[str, str | None] = {}

    def conversation(span: SpanFacts) -> str | None:
        path: list[SpanFacts] = []
        at: SpanFacts | None = span
        while at is not None and at.id not in found and len(path) <= len(parents):
            path.append(at)
            at = parents.get(at.parent)
        known = None if at is None else found.get(at.id)
        for own in reversed(path):
            found[own.id] = known = known or text_first(own, names.SESSION)
        return known

    groups: dict[str | None, list[SpanFacts]] = {}
    for span in spans:
        groups.setdefault(conversation(span), []).append(span)
    if len(groups) - (None in groups) < 2:
        return [spans]
    outside = groups.pop(None, [])
    made = list(groups.values())
    made[0] += outside
    for group in made:
        own = {span.id for span in group}
        for span in group:
            if span.parent in parents and span.parent not in own:
                span.parent = ""
    return made


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
            root.kind = "agent" if has_below(root, ("model", "tool")) else None
    trace.others = sum(node.kind is None for node in nodes.values())
    calls = Walk(trace).of(roots)
    join_calls(trace, calls)
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
    """Only the innermost of nested model calls counts, and of nested spans of one call, where a framework and its
    instrumentation both have one. It also takes the attributes of the span around it."""
    inner = [child for child in inner_of(node) if child.kind == node.kind]
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


def responses(trace: Trace) -> dict[str, list[tuple[Spoken, SpanFacts]]]:
    """Results of calls that are in the input of a later model call, by the call's id, each with that model call. A
    server may give an id again; then an input has as many results under it."""
    found: dict[str, list[tuple[Spoken, SpanFacts]]] = {}
    for answer in trace.answers:
        if answer.span is not None:
            seen = Counter[str]()
            for part in inputs(answer.span):
                if part.kind == "response" and part.id:
                    seen[part.id] += 1
                    known = found.setdefault(part.id, [])
                    if seen[part.id] > len(known):
                        known.append((part, answer.span))
    return found
