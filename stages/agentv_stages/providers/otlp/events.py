"""A trace that was read, as events: prompts, answers with their tokens, calls with their results, the end."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from agentv_stages.model.event import (
    EMPTY_OBJECT,
    FAILED_OUTCOMES,
    MAIN,
    PIECES,
    AnyEvent,
    AssistantText,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, to_raw
from agentv_stages.model.tokens import FIELDS
from agentv_stages.providers.generic.tools import OwnFacts, own_call
from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import (
    Spoken,
    arguments,
    first,
    inputs,
    parsed,
    returned,
    text_first,
    whole_first,
)
from agentv_stages.providers.otlp.nodes import Answer, Call, Trace, tool_name
from agentv_stages.providers.otlp.records import normalizer
from agentv_stages.providers.otlp.tree import responses
from agentv_stages.providers.otlp.values import as_list
from agentv_stages.providers.otlp.wire import SpanFacts

_STATUSES: dict[str, Status] = {
    "complete": "complete",
    "error": "error",
    "incomplete": "incomplete",
    "interrupted": "interrupted",
    "stalled": "stalled",
    "killed": "killed",
}
_KINDS = frozenset(("read", "write", "execute", "search", "plan", "ask", "other"))


class _Action(NamedTuple):
    """Events in one place: by time (ns), then by answer (-1: before those that begin at that time), then by rank."""

    at: int
    answer: int
    rank: int
    events: list[AnyEvent]


class TraceEvents:
    """The events of one trace; `session` is the id of its conversation, or of the trace."""

    def __init__(self, file: str, trace: Trace) -> None:
        self._file, self._trace = file, trace
        self._responses = responses(trace)
        found = (text_first(span, names.SESSION) for span in trace.spans)
        self.session = next((session for session in found if session), trace.spans[0].trace)
        self._normalize = normalizer(trace.spans[0].scope)

    @property
    def any(self) -> bool:
        """Whether the trace is about agents."""
        return bool(self._trace.agents or self._trace.answers)

    @property
    def recorded(self) -> bool:
        """Whether the spans stand for log records."""
        return self._normalize is not None

    def all(self, before: str | None, begun: bool) -> list[AnyEvent]:
        """The events in order. `before` is the session of the trace before, `begun` whether there was one."""
        actions: list[_Action] = []
        streams: set[str] = set()
        for agent in self._trace.agents:
            if agent.stream not in streams:
                streams.add(agent.stream)
                actions.append(_Action(agent.span.start_ns, -1, 0, self._prompt(agent.stream, agent.span)))
        for number, answer in enumerate(self._trace.answers):
            if answer.stream not in streams and answer.span is not None:
                streams.add(answer.stream)
                actions.append(_Action(answer.span.start_ns, -1, 0, self._prompt(answer.stream, answer.span)))
            actions += self._answer(answer, number)
        actions.sort(key=lambda action: action[:3])
        events = [event for action in actions for event in action.events]
        return [self._info(before, begun), *events, *self._end()]

    def _source(self, span: SpanFacts, time_ms: int, stream: str = MAIN, answer: int | None = None) -> Source:
        place = span.row, span.offset, span.length
        return Source(self._file, *place, time_ms, stream, f"{span.trace}:{span.id}", answer)

    def _info(self, before: str | None, begun: bool) -> SessionInfo:
        start, spans = self._trace.spans[0], self._trace.spans
        models = (text_first(a.span, names.MODEL) for a in self._trace.answers if a.span and a.stream == MAIN)
        return SessionInfo(
            self._source(start, start.start_ms),
            "",
            self.session,
            next((model for model in models if model), None),
            next((span.version for span in spans if span.version), None),
            self._said("agentv_stream.session.cwd"),
            self._said("agentv_stream.session.git_branch"),
            title=self._said("agentv_stream.session.title"),
            another=begun and before != self.session,
        )

    def _said(self, name: str) -> str | None:
        """A text that our own export has in the span of the main agent."""
        return next((text for span in self._trace.spans if (text := text_first(span, (name,)))), None)

    # --- prompts and answers

    def _prompt(self, stream: str, span: SpanFacts) -> list[AnyEvent]:
        """The last prompt of the agent, or of its first model call."""
        text = _last_of_user(inputs(span))
        if not text:
            found = (a.span for a in self._trace.answers if a.stream == stream and a.span is not None)
            model = next(found, None)
            text = _last_of_user(inputs(model)) if model is not None else ""
        value = first(span, ("input.value", "ai.prompt"))
        if not text and isinstance(value, str) and isinstance(parsed(value), str):
            text = value
        if not text:
            return []
        return [UserText(self._source(span, span.start_ms, stream), "prompt", to_raw(text), f"prompt:{_own_id(span)}")]

    def _answer(self, answer: Answer, place: int) -> Iterator["_Action"]:
        span = answer.span
        model = text_first(span, names.MODEL) if span is not None else None
        if span is None:
            first_call = answer.calls[0].span if answer.calls else None
            message_id = f"calls:{_own_id(first_call) if first_call is not None else ''}"
        else:
            message_id = text_first(span, names.ANSWER) or _own_id(span)
            if names.ASIDE in span.attributes:
                source = self._source(span, span.end_ms, answer.stream, _number(span, message_id))
                usage = _usage(span, source, message_id, model)
                yield _Action(answer.at, place, 2, [] if usage is None else [usage])
                return
            yield _Action(answer.at, place, 2, [*self._texts(answer, span, message_id, model)])
        for number, call in enumerate(answer.calls):
            event = self._call(call, span, message_id, model, number)
            yield _Action(call.at, place, 3, [event])
            result = self._result(call, event, number)
            if result is not None:
                ended = call.span.end_ns if call.span is not None else 0
                after = _Action(call.at, place, 4, [result])
                yield _Action(ended, -1, 1, [result]) if ended > call.at else after

    def _texts(self, answer: Answer, span: SpanFacts, message_id: str, model: str | None) -> Iterator[AnyEvent]:
        source = self._source(span, span.end_ms, answer.stream, _number(span, message_id))
        spoken = [part for part in answer.spoken if part.kind in ("text", "reasoning")]
        for number, part in enumerate(spoken):
            make = Reasoning if part.kind == "reasoning" else AssistantText
            yield make(source, str(number), message_id, to_raw(part.text), model=model)
        if not spoken and not any(call.spoken for call in answer.calls):  # its text was not captured
            yield AssistantText(source, "", message_id, EMPTY_STRING, model=model)
        usage = _usage(span, source, message_id, model)
        if usage is not None:
            yield usage

    # --- calls

    def _call(self, call: Call, model_span: SpanFacts | None, message_id: str, model: str | None, n: int) -> ToolCall:
        span, part = call.span, call.spoken
        holder = span or model_span
        assert holder is not None
        time_ms = span.start_ms if span is not None else holder.end_ms
        passed = part.value if part is not None and part.value is not None else arguments(span) if span else None
        native = tool_name(span) if span is not None else part.name if part is not None else ""
        own = text_first(span, ("agentv_stream.tool",)) if span is not None else None
        parent = next((a.started_by for a in self._trace.agents if a.stream == call.stream and a.started_by), None)
        source = self._source(holder, time_ms, call.stream, _number(model_span, message_id))
        if span is None:  # other spans' events stand between it and those of its answer
            source = replace(source, base_id=f"{source.base_id}:call{n}")
        event = ToolCall(
            source,
            f"call{n}",
            message_id,
            _call_id(call, holder, n),
            own or native,
            EMPTY_OBJECT if passed is None else to_raw(passed),
            None if parent is None or parent.span is None else _call_id(parent, parent.span, 0),
            model,
        )
        if self._normalize is not None:
            return self._normalize(event)
        return event if span is None or own is None else own_call(event, _own_facts(span, native))

    def _result(self, call: Call, event: ToolCall, n: int) -> ToolResult | None:
        span = call.span
        waiting = self._responses.get(event.call_id)
        known = waiting.pop(0) if waiting else None
        if span is None:
            if known is None:
                return None
            part, later = known
            source = self._source(later, later.start_ms, call.stream)
            outcome: Outcome | None = "error" if part.failed else None
            return ToolResult(source, f"result{event.call_id}", event.call_id, to_raw(part.value), outcome=outcome)
        own = text_first(span, ("agentv_stream.outcome",))
        if own == "unpaired":
            return None
        back = returned(span)
        value = back.value if back.value is not None or known is None else known[0].value
        source = self._source(span, span.end_ms, call.stream)
        result = ToolResult(
            source,
            f"result{n}",
            event.call_id,
            outcome=_outcome(span, back.failed, own),
            exit_code=whole_first(span, names.EXIT_CODE),
            duration_ms=span.end_ms - span.start_ms,
            agent_id=next((stream.partition(":")[2] for stream in call.agents), None),
        )
        return result if value is None else replace(result, output_json=to_raw(value))

    def _end(self) -> list[AnyEvent]:
        """How the main agent ended. Our own export also says the totals of the session, where it is complete."""
        agents = [agent for agent in self._trace.agents if agent.stream == MAIN]
        if not agents:
            return []
        last = max(agents, key=lambda agent: agent.span.end_ns).span
        source = self._source(last, last.end_ms)
        if self.recorded:  # no record says how the turn ended
            answer = next((a for a in reversed(self._trace.answers) if a.stream == MAIN), None)
            return [SessionEnd(source, "end", "complete")] if answer is not None and not answer.calls else []
        totals = self._totals(last, source)
        own = text_first(last, ("agentv_stream.status",))
        status = _STATUSES.get(own or "") or ("error" if last.error else "complete")
        if own is not None and own not in _STATUSES:
            return totals
        reason = text_first(last, ("error.type",)) if last.error and own is None else None
        return [*totals, SessionEnd(source, "end", status, reason, _cost(last))]

    @staticmethod
    def _totals(span: SpanFacts, source: Source) -> list[AnyEvent]:
        figures = {name: whole_first(span, (f"agentv_stream.session.usage.{name}",)) for name in FIELDS}
        if all(figure is None for figure in figures.values()):
            return []
        total = TokenUsage(source, "totals", span.id, "session", covers_streams=True, cost_usd=_cost(span))
        return [replace(total, **figures)]


def _cost(span: SpanFacts) -> float | None:
    """The cost of the whole session, which our own export has where it is complete."""
    cost = span.attributes.get("agentv_stream.session.cost_usd")
    return float(cost) if isinstance(cost, (int, float)) else None


def _number(span: SpanFacts | None, message_id: str) -> int | None:
    """What else identifies an answer: a relay may give all of them the server's one id."""
    return None if span is None or message_id == _own_id(span) else PIECES


def _own_id(span: SpanFacts) -> str:
    return f"{span.trace}:{span.id}"


def _call_id(call: Call, span: SpanFacts, number: int) -> str:
    own = text_first(call.span, names.CALL) if call.span is not None else None
    return own or (call.spoken.id if call.spoken is not None else "") or f"{_own_id(span)}:{number}"


def _own_facts(span: SpanFacts, native: str) -> OwnFacts:
    """The facts of a call that our own export adds to the conventions."""
    kind: Any = span.attributes.get("agentv_stream.kind")
    server = text_first(span, ("agentv_stream.server",))
    files = as_list(span.attributes.get("agentv_stream.files"))
    return OwnFacts(
        kind if kind in _KINDS else None,
        "mcp" if server is not None else "system",
        native,
        server,
        tuple(name for name in files if isinstance(name, str)),
    )


def _outcome(span: SpanFacts, failed: bool, own: str | None) -> Outcome | None:
    """None where the span only says that the call ended."""
    kind = span.attributes.get("error.type")
    for known in FAILED_OUTCOMES:
        if known in (own, kind):
            return known
    ended = span.attributes.get("gen_ai.task.status"), span.attributes.get("gen_ai.tool.status")
    if failed or span.error or kind or {"failure", "error"}.intersection(map(str, ended)):
        return "error"
    return "ok" if own == "ok" else None


def _usage(span: SpanFacts, source: Source, message_id: str, model: str | None) -> TokenUsage | None:
    """The tokens of a model call. Some dialects leave cached tokens out of the input; then they are added."""
    passed, cached = whole_first(span, names.INPUT), whole_first(span, names.CACHED)
    write, output = whole_first(span, names.CACHE_WRITE), whole_first(span, names.OUTPUT)
    at_least = whole_first(span, ("agentv_stream.usage.output_at_least",))
    cost = first(span, names.COST)
    if passed is None and output is None and at_least is None:
        return None
    uncached = span.name.startswith("claude_code.")
    if passed is not None and (uncached or (cached or 0) + (write or 0) > passed):
        passed += (cached or 0) + (write or 0)
    return TokenUsage(
        source,
        "usage",
        message_id,
        "call",
        model,
        passed,
        cached,
        write,
        None,
        output if output is not None else at_least,
        whole_first(span, names.REASONING),
        output is not None and span.scope not in names.AT_LEAST,
        cost_usd=float(cost) if isinstance(cost, (int, float)) else None,
    )


def _last_of_user(part: list[Spoken]) -> str:
    """The last thing that a user said."""
    return next(
        (piece.text for piece in reversed(part) if piece.role in ("user", "human") and piece.kind == "text"), ""
    )
