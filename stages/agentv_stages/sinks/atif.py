"""ATIF, the trajectory format of Harbor and others: completed messages to steps, steps to one document a session.

In: messages in order of completion. `step` renders each as one line at once, which the caller stores; `document` gets
the lines in the order of the messages, stream by stream, and adds the facts that are known only at the end: numbers of
steps, totals, and which call started which sub-agent. So no message is kept in memory, however long the session.
Facts without a member in ATIF are in `extra`; things that it cannot hold (images in the log) are counted there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from agentv_stages.figures.result import Result
from agentv_stages.model.event import EMPTY_OBJECT, MAIN, TokenUsage, ToolCall, ToolResult
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import add_key
from agentv_stages.model.times import iso
from agentv_stages.sinks.atif_document import (
    VERSION,
    AtifAgent,
    AtifCall,
    AtifMetrics,
    AtifObservation,
    AtifReference,
    AtifResult,
    AtifStep,
    AtifTotals,
    CallFacts,
    MetricsFacts,
    ResultFacts,
    StepFacts,
)
from agentv_stages.sinks.plain_content import plain_content
from agentv_stages.sinks.transcript import shows_command, valid_utf8

_MOST_OPEN = 100
_MOST_PARENTS = 64  # calls by which one sub-agent is addressed
_TASK = "Task"  # the canonical name of the tool that starts sub-agents
_UNNUMBERED = b'{"step_id":0,'
_WITH_RESULTS = b'"source_call_id":'
_encode = msgspec.json.Encoder().encode
_decode_step = msgspec.json.Decoder(AtifStep).decode

ReadSteps = Callable[[str], Iterable[bytes]]
"""Returns the lines of a stream, in the order of the messages."""


class Trajectory:
    """Renders the steps of one session. `models` maps each stream seen to the first model named there."""

    def __init__(self) -> None:
        self.models: dict[str, str | None] = {}
        self.open_calls: list[str] = []  # the first of them
        self._parents: dict[str, dict[str, None]] = {}
        self._agents: dict[str, list[tuple[str, str]]] = {}  # by agent id: streams and ids of the calls that started it
        self._tasks: dict[str, str] = {}  # by call id: the stream of a call that starts an agent; main is preferred

    def step(self, message: Message) -> bytes:
        """A message as one JSON line; `document` adds its number."""
        stream = message.source.stream
        self.models[stream] = self.models.get(stream) or message.model
        content, omitted = plain_content(message.content)
        facts = StepFacts(message.message_id, message.turn, message.retracted, message.late, omitted or UNSET)
        step = AtifStep(0, "user", content, extra=facts if facts != StepFacts() else UNSET)
        if message.source.time_ms is not None:
            step.timestamp = iso(message.source.time_ms)
        if message.role == "assistant":
            step.source = "agent"
            self._of_agent(step, message)
        elif message.role != "user" or message.injected:
            step.source = "system"
        return valid_utf8(_encode(step)) + b"\n"

    def _of_agent(self, step: AtifStep, message: Message) -> None:
        step.model_name = message.model or UNSET
        if message.synthetic:
            step.llm_call_count = 0
        else:
            if message.thinking:
                step.reasoning_content = plain_content(message.thinking)[0]
            if message.usage is not None:
                step.metrics = _metrics(message.usage)
        if message.calls:
            step.tool_calls = [_call(paired.call) for paired in message.calls]
            results = [self._result(message, paired) for paired in message.calls]
            answered = [result for result in results if result is not None]
            if answered:
                step.observation = AtifObservation(answered)

    def _result(self, message: Message, paired: PairedCall) -> AtifResult | None:
        call, result, stream = paired.call, paired.result, message.source.stream
        if stream != MAIN and call.parent_call is not None:
            parents = self._parents.setdefault(stream, {})
            if len(parents) < _MOST_PARENTS:
                parents[call.parent_call] = None
        if call.tool == _TASK and (stream == MAIN or call.call_id not in self._tasks):
            self._tasks[call.call_id] = stream
        if result is None:
            return None
        if result.outcome == "unpaired":
            if len(self.open_calls) < _MOST_OPEN:
                self.open_calls.append(call.call_id)
            return None
        if result.agent_id is not None:
            self._agents.setdefault(result.agent_id, []).append((stream, call.call_id))
        return _observed(result)

    def document(self, about: Result, read: ReadSteps) -> Iterator[bytes]:
        """The document in pieces; nothing if there was no message. `about` is the result of the session."""
        streams = sorted(self.models, key=lambda name: name != MAIN)
        if not streams:
            return
        names = _names(streams[1:])
        started = self._started(names)
        root, *others = streams
        yield from self._trajectory(root, None, about, read, started)
        for i, stream in enumerate(others):
            yield b"," if i else b',"subagent_trajectories":['
            yield from self._trajectory(stream, names[stream], about, read, started)
            yield b"}"
        yield b"]}\n" if others else b"}\n"

    def _started(self, names: dict[str, str]) -> dict[str, dict[str, AtifReference]]:
        """By stream and call id: the reference to the sub-agent that the call started. Streams may share call ids."""
        started: dict[str, dict[str, AtifReference]] = {}
        for stream, name in names.items():
            own = stream.partition(":")[2]
            parents = self._parents.get(stream) or (own,)  # in Claude's stream, it is named after its call
            for place, call_id in self._agents.get(own) or [
                (self._tasks.get(parent, MAIN), parent) for parent in parents
            ]:
                if place != stream:
                    started.setdefault(place, {})[call_id] = AtifReference(name)
        return started

    def _trajectory(
        self,
        stream: str,
        name: str | None,
        about: Result,
        read: ReadSteps,
        started: dict[str, dict[str, AtifReference]],
    ) -> Iterator[bytes]:
        """A trajectory without its closing brace."""
        session = about.session
        head: dict[str, Any] = {"schema_version": VERSION}
        if session.id is not None:
            head["session_id"] = session.id
        if name is not None:
            head["trajectory_id"] = name
        model = (session.model if name is None else None) or self.models[stream]
        head["agent"] = AtifAgent(session.provider, session.version or "unknown", model or UNSET)
        yield _encode(head)[:-1] + b',"steps":['
        count, children = 0, started.get(stream)
        for line in read(stream):
            count += 1
            if children and _WITH_RESULTS in line:
                line = _referring(line, children)
            yield b'%b{"step_id":%d,%b' % (b"," if count > 1 else b"", count, line[len(_UNNUMBERED) : -1])
        tail: dict[str, Any] = {"final_metrics": _totals(about, stream if name is not None else None, count)}
        if name is None:
            if about.losses:
                tail["notes"] = f"What {session.dialect} does not tell: {'; '.join(about.losses)}."
            tail["extra"] = _about(about)
        yield b"]," + _encode(tail)[1:-1]


def _names(streams: list[str]) -> dict[str, str]:
    """Short unique names of sub-agents."""
    short = [stream.partition(":")[2] or stream for stream in streams]
    shared = Counter(short)
    return {stream: name if shared[name] == 1 else stream for stream, name in zip(streams, short, strict=True)}


def _referring(line: bytes, children: dict[str, AtifReference]) -> bytes:
    """The step, its results with references to the sub-agents that their calls started."""
    step = _decode_step(line)
    found = False
    for result in step.observation.results if step.observation is not UNSET else ():
        child = children.get(result.source_call_id)
        if child is not None:
            result.subagent_trajectory_ref = [child]
            found = True
    return _encode(step) + b"\n" if found else line


def _call(call: ToolCall) -> AtifCall:
    arguments = call.input_json
    if bytes(arguments).lstrip()[:1] != b"{":
        arguments = add_key(EMPTY_OBJECT, "input", arguments)
    name = call.tool or call.name
    facts = CallFacts(
        call.kind,
        call.origin,
        call.name if call.name != name else UNSET,
        call.server if call.server is not None else UNSET,
        call.files or UNSET,
        UNSET if call.command is None or shows_command(call) else call.command,
        call.parent_call if call.parent_call is not None else UNSET,
    )
    return AtifCall(call.call_id, name, arguments, facts)


def _observed(result: ToolResult) -> AtifResult:
    facts = ResultFacts(result.outcome or "ok", _known(result.exit_code), _known(result.duration_ms))
    observed = AtifResult(result.call_id, facts)
    if result.output_json is not None:
        observed.content, omitted = plain_content([result.output_json])
        facts.omitted = omitted or UNSET
    return observed


def _known(value: int | None) -> int | UnsetType:
    return UNSET if value is None else value


def _metrics(usage: TokenUsage) -> AtifMetrics | UnsetType:
    metrics = AtifMetrics(
        _known(usage.input),
        _known(usage.output) if usage.output_final else UNSET,
        _known(usage.cached),
        UNSET if usage.cost_usd is None else usage.cost_usd,
        _more(usage.cache_write, usage.reasoning),
    )
    return metrics if metrics != AtifMetrics() else UNSET


def _more(cache_write: int | None, reasoning: int | None) -> MetricsFacts | UnsetType:
    facts = MetricsFacts(_known(cache_write), _known(reasoning))
    return facts if facts != MetricsFacts() else UNSET


def _totals(about: Result, stream: str | None, steps: int) -> AtifTotals:
    """The totals of a sub-agent; without `stream`, those of the session minus the sub-agents that have their own."""
    own = about.tokens if stream is None else about.tokens_by_stream.get(stream)
    others = [] if stream is not None else [v for name, v in about.tokens_by_stream.items() if name != MAIN]

    def of(name: str) -> int | UnsetType:
        total = None if own is None else own.get(name)
        return UNSET if total is None else total - sum(other.get(name) or 0 for other in others)

    totals = AtifTotals(of("input"), of("output"), of("cached"), UNSET, steps)
    extra = MetricsFacts(of("cache_write"), of("reasoning"))
    totals.extra = extra if extra != MetricsFacts() else UNSET
    if stream is None and about.cost_usd is not None:
        totals.total_cost_usd = about.cost_usd
    return totals


def _about(about: Result) -> dict[str, Any]:
    """Further facts about the session."""
    session = about.session
    known = {
        "dialect": session.dialect,
        "status": about.status,
        "reason": about.evidence.reason,
        "title": session.title or None,
        "cwd": session.cwd,
        "parent_session_id": session.parent or None,
        "duration_ms": about.duration_ms,
        "faults": about.faults or None,
        "unknown": about.unknown or None,
    }
    return {name: value for name, value in known.items() if value is not None}
