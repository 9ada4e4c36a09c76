"""Spans of one session, by the GenAI conventions: batches in, finished spans out.

One trace for each prompt: `invoke_agent` over `chat` (each answer of the model) and `execute_tool` (each call), and
below the call that starts a sub-agent another `invoke_agent`. A span leaves when it is complete; that of a prompt with
the next prompt or the end. It leaves again, under the same id, if the log changes it later. Tokens are on `chat` alone,
because readers add up all spans. Times are those of the log; without them those of arrival, or the order of records.
"""

from typing import Any

from msgspec import Struct, convert

from agentv_stages.figures.facts import Facts
from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    FAILED_OUTCOMES,
    MAIN,
    AssistantText,
    Notification,
    Reasoning,
    Source,
    ToolCall,
    ToolResult,
    UserText,
    call_key,
)
from agentv_stages.model.message import Message, PairedCall, call_names
from agentv_stages.model.otlp import CLIENT, ERROR, INTERNAL, Attribute, Span, Status, pairs
from agentv_stages.model.recent import remember
from agentv_stages.model.tokens import FIELDS
from agentv_stages.sinks.genai import OLD_CACHE_WRITE, maker_of
from agentv_stages.sinks.span_agents import MOST_PROMPTS, Agents, AgentSpan, AgentsState, Draft
from agentv_stages.sinks.span_content import SpanContent
from agentv_stages.sinks.transcript import Identity

_TASK = "Task"  # the canonical name of the tool that starts sub-agents
_MOST_MARKS = 20_000
_AGENT_NAMES = ("subagent_type", "agent_type", "agent_name", "agent")
_COMPACTED = "compact"
FAILED_STATUS = ("error", "incomplete", "interrupted", "stalled", "killed")


class Mark(Struct, array_like=True):
    """The times of a message or a call (UTC ms): of the event after which it began, of its first and its last record.
    `compacted`: the conversation was compacted just before.
    """

    after: int
    first: int
    last: int
    compacted: bool = False


class SpansState(Struct):
    agents: AgentsState
    marks: dict[str, Mark] = {}
    last: dict[str, int] = {}
    compacted: list[str] = []
    inputs: dict[str, list[str]] = {}


class Spans:
    """Makes the spans of a session that is known. `old_names`: cache writes also have their earlier name."""

    def __init__(self, identity: Identity, content: SpanContent | None = None, old_names: bool = False) -> None:
        self.identity = identity
        self.agents = Agents(identity.session_id, identity.provider)
        self._content = content
        self._old_names = old_names
        self._marks: dict[str, Mark] = {}
        self._last: dict[str, int] = {}  # by stream: when the last input to the model came
        self._compacted: list[str] = []  # streams whose next answer is after a compaction
        self._timed = False  # the log has times
        self._clock = "order"  # where times are from that the log lacks

    # --- events, in the order of the log

    def take(self, batch: Batch) -> list[Span]:
        """Takes a batch that has passed all stages; returns the spans that are complete."""
        for event in batch.events:
            kind = type(event)
            if kind is ToolCall or kind is AssistantText or kind is Reasoning:
                self._work(event, batch)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif isinstance(event, UserText):
                self._input(event, batch)
            elif isinstance(event, ToolResult):
                self._result(event, batch)
            elif isinstance(event, Notification) and _COMPACTED in event.name:
                if event.source.stream not in self._compacted:
                    self._compacted.append(event.source.stream)
        out: list[Span] = []
        for message in batch.messages:
            out += self._message(message)
        out += [draft.span for draft in self.agents.resolve()]
        return out + self._ended(batch.arrived_ms is None)

    def _time(self, source: Source, batch: Batch) -> int:
        """When a record was written: by the log, else when it arrived, else 1 ms after the record before it."""
        if source.time_ms is not None:
            self._timed = True
            return max(source.time_ms, 0)
        if batch.arrived_ms is not None:
            self._clock = "arrival"
            return batch.arrived_ms
        return self._last.get(MAIN, self.identity.started_ms or 0) if self._timed else self._by_order(source.row)

    def _by_order(self, row: int) -> int:
        return (self.identity.started_ms or 0) + max(row, 0)

    def _input(self, event: UserText, batch: Batch) -> None:
        source = event.source
        time_ms = self._time(source, batch)
        self._last[source.stream] = time_ms
        if source.stream == MAIN and not event.injected:
            self.agents.prompt(event.message_id, source.row, time_ms)

    def _work(self, event: AssistantText | Reasoning | ToolCall, batch: Batch) -> None:
        source = event.source
        stream, time_ms = source.stream, self._time(source, batch)
        key = _key(stream, event.message_id)
        mark = self._marks.get(key)
        if mark is None:
            after = min(self._last.get(stream, time_ms), time_ms)
            compacted = stream in self._compacted
            if compacted:
                self._compacted.remove(stream)
            remember(self._marks, key, Mark(after, time_ms, time_ms, compacted), _MOST_MARKS)
            self.agents.at(stream, source.row).open += 1
        else:
            mark.last = max(mark.last, time_ms)
        if type(event) is ToolCall:
            remember(self._marks, _key_of_call(event), Mark(time_ms, time_ms, time_ms), _MOST_MARKS)
            if event.tool == _TASK:
                self.agents.started(event, agent_name(event))
            if stream != MAIN and event.parent_call is not None:
                self.agents.parent(stream, event.parent_call)

    def _result(self, event: ToolResult, batch: Batch) -> None:
        call = event.call
        time_ms = self._time(event.source, batch)
        if event.outcome != "unpaired":
            self._last[event.source.stream] = max(time_ms, self._last.get(event.source.stream, 0))
        if call is None:
            return
        if event.agent_id is not None:
            self.agents.is_task(event.agent_id, call, agent_name(call))
        mark = self._marks.get(_key_of_call(call))
        if mark is not None:
            mark.last = max(mark.last, time_ms)

    # --- messages, in order of completion

    def _message(self, message: Message) -> list[Span]:
        content, stream = self._content, message.source.stream
        if message.role == "user":
            if content is not None:
                content.prompted(message)
            if content is not None and not message.injected:
                agent = self.agents.at(stream, message.source.row)
                agent.first_text = agent.first_text or content.text_of(message)
            return []
        agent = self.agents.at(stream, message.source.row)
        drafts: list[Draft] = []
        if message.role == "assistant":
            mark = self._marks.pop(_key(stream, message.message_id), None)
            agent.open -= mark is not None
            first = message.source.time_ms if message.source.time_ms is not None else self._by_order(message.source.row)
            mark = mark or Mark(first, first, message.end_ms or first)
            agent.lasts(mark.after, mark.last)
            if not message.synthetic:
                drafts.append(self._chat(message, mark))
                agent.turns += not message.late
                agent.add_model(message.model)
                if message.usage is not None:
                    agent.add_usage(message.usage)
            if content is not None and message.content:
                agent.last_text = content.text_of(message)
        names = call_names([paired.call.call_id for paired in message.calls])
        if message.role == "tool":  # results of calls that have left without
            self.agents.state.unpaired -= len(message.calls)
        for name, paired in zip(names, message.calls, strict=True):
            drafts.append(self._tool(paired, name, agent, position=len(drafts)))
        if content is not None:
            content.answered(message)
        if not agent.trace_id:
            agent.held += drafts
            return []
        return [self.agents.placed(agent, draft).span for draft in drafts]

    def _chat(self, message: Message, mark: Mark) -> Draft:
        identity, usage, model = self.identity, message.usage, message.model
        span = Span(name=f"chat {model}" if model else "chat", kind=CLIENT)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": maker_of(model, identity.provider),
            **self._shared(message.source.stream),
        }
        if model is not None:
            attributes |= {"gen_ai.request.model": model, "gen_ai.response.model": model}
        if message.source.answer is not None:  # else the decoder has made the id
            attributes["gen_ai.response.id"] = message.message_id
        elif message.message_id:
            attributes["agentv_stream.message_id"] = message.message_id
        if message.turn is not None:
            attributes["agentv_stream.turn"] = message.turn
        if usage is not None:
            numbers = {
                "gen_ai.usage.input_tokens": usage.input,
                "gen_ai.usage.cache_read.input_tokens": usage.cached,
                "gen_ai.usage.cache_write.input_tokens": usage.cache_write,
                OLD_CACHE_WRITE: usage.cache_write if self._old_names else None,
                "gen_ai.usage.output_tokens": usage.output if usage.output_final else None,
                "agentv_stream.usage.output_at_least": None if usage.output_final else usage.output,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
            }
            attributes |= {name: value for name, value in numbers.items() if value is not None}
            if usage.cost_usd is not None:
                attributes["agentv_stream.cost_usd"] = float(usage.cost_usd)
        if message.retracted:
            attributes["agentv_stream.retracted"] = True
        if mark.compacted:
            attributes["gen_ai.conversation.compacted"] = True
        attributes["agentv_stream.start"] = "derived"  # no log says when the request was sent
        if message.source.time_ms is None:
            attributes["agentv_stream.times"] = self._clock
        if self._content is not None:
            attributes |= self._content.of_chat(message)
        span.attributes = pairs(attributes)
        _put_times(span, mark.after, mark.last, 0)
        more = f"\0{message.calls[0].call.call_id}" if message.late and message.calls else ""
        return Draft(span, "chat", message.message_id + more, message.source.row)

    def _tool(self, paired: PairedCall, key: str, agent: AgentSpan, position: int) -> Draft:
        call, result = paired.call, paired.result
        span = Span(name=f"execute_tool {call.name}", kind=INTERNAL)
        outcome = "unpaired" if result is None else result.outcome or "ok"
        self.agents.state.unpaired += outcome == "unpaired"
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call.call_id,
            **self._shared(call.source.stream),
            "agentv_stream.tool": call.tool or call.name,
            "agentv_stream.kind": call.kind,
            "agentv_stream.outcome": outcome,
        }
        if call.server is not None:
            attributes["agentv_stream.server"] = call.server
        if call.files:
            attributes["agentv_stream.files"] = call.files
        agent.calls += 1
        if result is not None and result.exit_code is not None:
            attributes["process.exit.code"] = result.exit_code
        if outcome in FAILED_OUTCOMES:
            agent.failed += 1
            kind: str = outcome if outcome != "error" else "tool_error"
            if result is not None and result.exit_code:
                kind = str(result.exit_code)
            attributes["error.type"] = kind
            span.status = Status(ERROR)
        if call.source.time_ms is None:
            attributes["agentv_stream.times"] = self._clock
        if self._content is not None:
            attributes |= self._content.of_call(paired)
        span.attributes = pairs(attributes)
        begun, ended = self._call_times(paired, agent)
        agent.lasts(begun, ended)
        self._end_task(paired)
        _put_times(span, begun, ended, position)
        return Draft(span, "tool", key, call.source.row)

    def _call_times(self, paired: PairedCall, agent: AgentSpan) -> tuple[int, int]:
        call, result = paired.call, paired.result
        mark = self._marks.pop(_key_of_call(call), None)
        begun = call.source.time_ms if call.source.time_ms is not None else mark.first if mark else None
        if begun is None:
            begun = self._by_order(call.source.row)
        if result is None or result.outcome == "unpaired":
            return begun, max(begun, agent.end_ms or begun)
        if result.duration_ms is not None:
            return begun, begun + max(result.duration_ms, 0)
        ended = result.source.time_ms if result.source.time_ms is not None else mark.last if mark else None
        return begun, max(begun, ended if ended is not None else begun)

    def _end_task(self, paired: PairedCall) -> None:
        """A sub-agent has ended if the call that started it has."""
        result = paired.result
        if result is None or result.outcome == "unpaired":
            return
        for agent in self.agents.subagents:
            own = agent.stream.partition(":")[2]
            if own in (result.agent_id, paired.call.call_id):
                agent.ended = True

    # --- agents

    def _ended(self, finished: bool) -> list[Span]:
        """The spans of agents that have done their work; of a `finished` log sub-agents' files come last."""
        out: list[Span] = []
        prompts = self.agents.prompts
        for agent in prompts[:-1]:
            if agent.changed and agent.is_something and not agent.open and not (finished and agent.pending):
                out.append(self._agent(agent))
        while len(prompts) > MOST_PROMPTS:
            oldest = prompts.pop(0)
            if oldest.changed:
                out.append(self._agent(oldest))
        for agent in self.agents.subagents:
            if agent.ended and agent.changed and agent.trace_id and not agent.open:
                out.append(self._agent(agent))
        return out

    def close(self, observer: Observer) -> list[Span]:
        """The session has ended: the spans of all agents that are not final."""
        out = [draft.span for draft in self.agents.resolve(finally_=True)]
        out += [self._agent(agent) for agent in self.agents.subagents if agent.changed]
        prompts = self.agents.prompts
        for agent in prompts[:-1]:
            if agent.changed and agent.is_something:
                out.append(self._agent(agent))
        if prompts:
            last = prompts[-1]
            if len(prompts) == self.agents.state.count == 1 and last.cost_usd is None:
                last.cost_usd = observer.totals.cost_usd
            out.append(self._agent(last, observer))
        return out

    def _agent(self, agent: AgentSpan, ended: Observer | None = None) -> Span:
        """The span of an agent; `ended`: with it the session has ended, so its status and totals are known."""
        identity, name = self.identity, agent.name or agent.stream.partition(":")[2]
        agent.changed = False
        span = Span(agent.trace_id, agent.span_id, agent.parent_id, f"invoke_agent {name}", INTERNAL)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            **self._shared(agent.stream),
        }
        if len(agent.models) == 1:
            attributes["gen_ai.request.model"] = agent.models[0]
        if agent.stream == MAIN:
            late = Facts() if ended is None else ended.facts  # a log may say it after the first answer
            known = {
                "session.cwd": identity.cwd or late.cwd,
                "session.git_branch": identity.git_branch or late.git_branch,
                "session.format": identity.format,
                "target": identity.target,
            }
            if identity.test_id != identity.session_id:
                known["test_id"] = identity.test_id
            attributes |= {f"agentv_stream.{key}": value for key, value in known.items() if value is not None}
        counts = {"turns": agent.turns, "calls": agent.calls, "failed_calls": agent.failed}
        attributes |= {f"agentv_stream.{key}": value for key, value in counts.items()}
        for key in ("input", "cached", "cache_write", "output", "reasoning"):
            if key in agent.tokens:
                at_least = "_at_least" if key == "output" and agent.unsure else ""
                attributes[f"agentv_stream.usage.{key}{at_least}"] = agent.tokens[key]
        if agent.cost_usd is not None:
            attributes["agentv_stream.cost_usd"] = float(agent.cost_usd)
        if ended is not None:
            tokens = ended.totals.tokens()
            for key in FIELDS if not tokens.unsure else ():
                if (total := getattr(tokens, key)) is not None:
                    attributes[f"agentv_stream.session.usage.{key}"] = total
            if ended.totals.cost_usd is not None:
                attributes["agentv_stream.session.cost_usd"] = float(ended.totals.cost_usd)
            if self._content is not None and ended.facts.title is not None:
                attributes["agentv_stream.session.title"] = self._content.redacted(ended.facts.title)
            status = ended.status(self.agents.state.unpaired)
            attributes["agentv_stream.status"] = status
            if status in FAILED_STATUS:
                attributes["error.type"] = status
                span.status = Status(ERROR)
        if self._content is not None:
            attributes |= self._content.of_agent(agent.first_text, agent.last_text)
        span.attributes = pairs(attributes)
        start = agent.start_ms if agent.start_ms is not None else identity.started_ms or 0
        _put_times(span, start, agent.end_ms if agent.end_ms is not None else start, 0)
        return span

    def _shared(self, stream: str) -> dict[str, Attribute]:
        identity = self.identity
        shared: dict[str, Attribute] = {}
        invented = identity.session_id.startswith("unknown-")  # the conventions want ids that the log contains
        shared["agentv_stream.session.id" if invented else "gen_ai.conversation.id"] = identity.session_id
        if stream != MAIN:
            shared["agentv_stream.stream"] = stream
        return shared

    # --- state

    def snapshot(self) -> SpansState:
        inputs = self._content.inputs if self._content is not None else {}
        return SpansState(self.agents.state, self._marks, self._last, self._compacted, inputs)

    def restore(self, snapshot: object, /) -> None:
        state = convert(snapshot, SpansState, from_attributes=True)
        self.agents.state = state.agents
        self._marks, self._last, self._compacted = state.marks, state.last, state.compacted
        if self._content is not None:
            self._content.inputs = state.inputs


def _key(stream: str, message_id: str) -> str:
    return f"{stream}\0{message_id}"


def _key_of_call(call: ToolCall) -> str:
    """The key of a call's mark; with the row, because some logs use an id again."""
    return f"call {call.source.row} {call_key(call)}"


def _put_times(span: Span, start_ms: int, end_ms: int, position: int) -> None:
    """Of spans that begin in the same ms, each begins 1 µs after the one before it: readers sort by the start."""
    start = start_ms * 1_000_000 + min(position, 999) * 1_000
    span.start_time_unix_nano = str(start)
    span.end_time_unix_nano = str(max(start, end_ms * 1_000_000))


def agent_name(call: ToolCall) -> str:
    """The name of the sub-agent that a call starts; "" if its input has none."""
    try:
        arguments = call.input
    except ValueError:
        return ""
    if not isinstance(arguments, dict):
        return ""
    names: list[Any] = [arguments.get(key) for key in _AGENT_NAMES]  # pyright: ignore[reportUnknownMemberType] - decoded JSON
    return next((name for name in names if isinstance(name, str) and name), "")
