"""Output of `cline --json` to events.

A text comes in pieces (`content_start`, one for each) and again whole (`content_end`); the whole text counts, the
pieces only if the answer broke off before it. Tokens and texts of an answer come before its calls. Sub-agents' lines
come between those of the main agent, without a name; `agents.py` separates them.
End rule: `run_result` ends the run, by its reason; a `run_aborted` after it means that the user stopped it.
Source: Cline CLI 3.0.65, standard output and type declarations.
"""

from collections.abc import Callable

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    MAIN,
    AssistantText,
    Level,
    Notification,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import has_value, join_strings, text_json, text_of
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, check
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.cline.agents import MOST, Agent, Agents, Held
from agentv_stages.providers.cline.calls import arguments, ending, error_text
from agentv_stages.providers.cline.wire import Closing, Event, Line, decode_closing, decode_line

LOSSES = (
    "prompts, the working directory, the agent's version, the session's id",
    "the model, until the run ends (without --verbose)",
    "which of several sub-agents at work at once wrote a text (guessed from the order of the lines)",
    "the output of a call that was cut off, the end of a run that a signal ended",
    "the commands of a call with several of them as calls of their own, with their outputs",
    "reasoning tokens, the tokens of compactions and of answers that were cut off",
    "whether a line that names neither an agent nor a call (the beginning or a piece of an answer) is repeated",
)
ONCE = frozenset(("content_end", "usage", "notice", "error"))
"""Events that would count twice if their line is repeated; Cline itself never prints one twice."""
ENDINGS = frozenset(("agent_end", "agent_error", "agent_abort"))
NAMING = ENDINGS | {"tool_call"}
"""Hooks that come behind an answer and name its agent."""
ENDS: dict[str, Status] = {"completed": "complete", "aborted": "interrupted"}


class State(Struct):
    """The state between lines; see `Agents`. `ended` says that the run gave its result."""

    session_id: str | None = None
    model: str | None = None
    ended: bool = False
    repeats: Repeats = field(default_factory=Repeats, name="told")
    agents: Agents = field(default_factory=Agents)


class StreamDecoder:
    """Decoder of `cline-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        kind, event = line.type, line.event
        if kind == "agent_event" and event is not None:
            self._agent_event(event, None, line, record, batch)
        elif kind == "hook_event":
            self._hook(line, record, batch)
        elif kind == "team_event" and event is not None:
            self._team_event(event, line, record, batch)
        else:
            self._closing(decode_closing(record.data), line, record, batch)

    def flush(self, batch: Batch) -> None:
        """At the end of the input: emits what agents had begun to say."""
        agents = self.state.agents
        self._emit_all_held(batch)
        for agent in (*agents.running, *agents.mates.values()):
            self._break_off(
                agent, Source(self.file, agent.row, agent.offset, 0, parse_iso(agent.ts), agent.stream), batch
            )

    def _source(self, line: Line, record: Record, stream: str) -> Source:
        return Source(self.file, record.row, record.offset, record.length, parse_iso(line.ts), stream)

    def _team_event(self, event: Event, line: Line, record: Record, batch: Batch) -> None:
        """Handles a teammate's event: its work, or that it came, left, or got a task."""
        agents, name = self.state.agents, event.agentId or ""
        if event.type == "agent_event" and event.event is not None:
            self._agent_event(event.event, agents.mate(name), line, record, batch)
            return
        if event.type == "teammate_spawned":
            agents.join(name, event.teammate.runtimeAgentId if event.teammate else None)
        text = ": ".join(filter(None, (name, event.message)))
        batch.events.append(Notification(self._source(line, record, MAIN), "", f"team/{event.type}", text))

    def _agent_event(self, event: Event, mate: Agent | None, line: Line, record: Record, batch: Batch) -> None:
        """Handles an agent's event: that of `mate`, or of an agent without a name."""
        kind, content = event.type, event.contentType
        agents = self.state.agents
        if kind == "content_start" and content != "tool":
            agent = mate or agents.writer()
            if agent is not None:
                agent.begin(record, line.ts)
                piece = event.text if content == "text" else event.reasoning
                if has_value(piece):
                    (agent.text if content == "text" else agent.reasoning).append(piece)
            batch.ignore(f"content_start/{content}")
        elif kind == "content_update":
            batch.ignore(f"content_update/{content}")
        elif content == "tool" and self.state.repeats.again(
            f"{event.toolCallId} {kind} {line.ts}" if event.toolCallId and line.ts else None
        ):
            batch.ignore(f"{kind}/again")
        elif kind in ONCE and content != "tool" and self.state.repeats.again(check(record, line.ts)):
            if kind == "content_end":  # its pieces were repeated, too
                agent = mate or agents.writer() or agents.spoke()
                (agent.text if content == "text" else agent.reasoning).clear()
            batch.ignore(f"{kind}/again")
        elif kind == "content_end" and content != "tool":
            self._text(event, mate or agents.writer(), line, record, batch)
        elif kind == "content_start":
            self._call(event, mate or agents.caller(), line, record, batch)
        elif kind == "content_end":
            self._result(event, line, record, batch)
        elif kind == "usage":
            found = [mate] if mate else agents.spenders(event.inputTokens, event.totalInputTokens)
            if len(found) == 1 or (found and len(agents.held) >= MOST):
                if not mate:
                    agents.spend(found[0], event.totalInputTokens)
                found[0].begin(record, line.ts)
                source = self._source(line, record, found[0].stream)
                batch.events.append(self._usage(event, _usage_key(found[0]), source))
            elif found:
                held = agents.hold(found, event.totalInputTokens)
                held.events.append(self._usage(event, "", self._source(line, record, MAIN)))
            else:
                batch.ignore("usage/teammate")
        elif kind == "iteration_start":
            agent = mate or agents.begins(event.iteration)
            if agent.said_something:
                self._break_off(agent, self._source(line, record, agent.stream), batch)
            agent.answer(record, event.iteration)
            batch.ignore("iteration_start")
        elif kind == "notice" or kind == "error":
            self._notice(event, line, record, batch)
        elif kind == "iteration_end" or kind == "done":
            batch.ignore(kind)
        else:
            batch.unknown_type(f"agent_event/{kind}", record)

    def _text(self, event: Event, agent: Agent | None, line: Line, record: Record, batch: Batch) -> None:
        agents, model = self.state.agents, self.state.model
        held = agents.speaking() if agent is None else None
        add: Callable[[AssistantText | Reasoning], None]
        if held is not None:
            add, stream, message_id = held.events.append, MAIN, ""
        else:
            agent = agent or agents.spoke()
            agent.begin(record, line.ts)
            add, stream, message_id = batch.events.append, agent.stream, agent.message_id
        source = self._source(line, record, stream)
        if event.contentType == "text":
            if agent is not None:
                agent.text.clear()
            add(AssistantText(source, "", message_id, text_json(event.text), False, False, model))
        elif event.contentType == "reasoning":
            if agent is not None:
                agent.reasoning.clear()
            add(Reasoning(source, "", message_id, text_json(event.reasoning), False, model))
        else:
            batch.unknown_type(f"content_end/{event.contentType}", record)

    def _emit_held(self, held: Held, agent_id: str, batch: Batch) -> None:
        """Emits a held answer, now that its agent is known."""
        agents = self.state.agents
        agent = agents.owner(agent_id)
        agents.spend(agent, held.total)
        for event in held.events:
            source = replace(event.source, stream=agent.stream)
            agent.message_id = agent.message_id or f"m{source.row}"
            if isinstance(event, TokenUsage):
                batch.events.append(replace(event, source=source, key=_usage_key(agent)))
            else:
                batch.events.append(replace(event, source=source, message_id=agent.message_id))

    def _emit_all_held(self, batch: Batch) -> None:
        """Emits the held answers of agents that nothing will name any more."""
        held = self.state.agents.held
        while held:
            self._emit_held(answer := held.pop(0), answer.ids[0], batch)

    def _break_off(self, agent: Agent, source: Source, batch: Batch) -> None:
        """Emits the pieces of an answer that was never completed; several agents may break off at once."""
        model = self.state.model
        part = "-cut" if agent.stream == MAIN else f"-cut-{agent.stream}"
        if agent.reasoning:
            text = join_strings(map(text_json, agent.reasoning))
            batch.events.append(Reasoning(source, part, agent.message_id, text, False, model))
        if agent.text:
            text = join_strings(map(text_json, agent.text))
            batch.events.append(AssistantText(source, part, agent.message_id, text, False, False, model))
        agent.text.clear()
        agent.reasoning.clear()

    def _call(self, event: Event, agent: Agent, line: Line, record: Record, batch: Batch) -> None:
        name = event.toolName or "unknown"
        call_id = event.toolCallId or f"call-{record.row}"
        agent.begin(record, line.ts)
        source = self._source(line, record, agent.stream)
        call_input, model = arguments(name, event.input), self.state.model
        self.state.agents.call(agent, call_id, name, call_input)
        batch.events.append(ToolCall(source, "", agent.message_id, call_id, name, call_input, agent.parent_call, model))

    def _result(self, event: Event, line: Line, record: Record, batch: Batch) -> None:
        call_id = event.toolCallId or f"call-{record.row}"
        source = self._source(line, record, self.state.agents.answered(call_id))
        error = error_text(event.error) if has_value(event.error) else None
        outcome, code = ending(event.toolName or "", event.output, error)
        output = event.output if has_value(event.output) else event.error if error is not None else None
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code, whole_ms(event.durationMs)))

    def _usage(self, event: Event, key: str, source: Source) -> TokenUsage:
        cached, written = event.cacheReadTokens, event.cacheWriteTokens
        return TokenUsage(
            *(source, "", key, "call", self.state.model, event.inputTokens, cached, written, None),
            event.outputTokens,
            cost_usd=event.cost or None,
        )

    def _notice(self, event: Event, line: Line, record: Record, batch: Batch) -> None:
        source = self._source(line, record, MAIN)
        if event.type == "error":
            batch.events.append(Notification(source, "", "error", error_text(event.error), "error"))
            return
        name = event.reason or event.noticeType or "notice"
        level: Level = "info" if event.noticeType == "status" else "warning"
        batch.events.append(Notification(source, "", name, event.message or "", level))

    def _hook(self, line: Line, record: Record, batch: Batch) -> None:
        agents, name, agent_id = self.state.agents, line.hookEventName, line.agentId or ""
        if name in NAMING and (held := agents.named(agent_id)) is not None:
            self._emit_held(held, agent_id, batch)
        if name == "agent_start":
            if line.parentAgentId is None and agent_id not in agents.foreign:
                self._emit_all_held(batch)
            again = self.state.repeats.again(f"{agent_id} {line.ts}" if line.ts else None)
            if not again and agents.start(agent_id, line.parentAgentId):
                batch.events.append(SessionInfo(self._source(line, record, MAIN), ""))
                return
        elif name in ENDINGS:
            agent = agents.end(agent_id)
            if agent is not None:
                self._break_off(agent, self._source(line, record, agent.stream), batch)
        elif name == "tool_call":
            agents.will_call(agent_id)
        batch.ignore(f"hook_event/{name}")

    def _closing(self, closing: Closing, line: Line, record: Record, batch: Batch) -> None:
        """Handles a line about the whole run."""
        state, kind = self.state, line.type
        source = self._source(line, record, MAIN)
        add = batch.events.append
        if kind == "run_result" and state.repeats.again(check(record, line.ts)):
            batch.ignore("run_result/again")
        elif kind == "run_result":
            self._emit_all_held(batch)
            for agent in (*state.agents.running, *state.agents.mates.values()):
                self._break_off(agent, self._source(line, record, agent.stream), batch)
            state.ended = True
            model = closing.model.id if closing.model else None
            if model and model != state.model:
                state.model = model
                add(SessionInfo(source, "", None, model))
            reason = closing.finishReason or ""
            status = ENDS.get(reason, "error")
            if status == "error" and has_value(closing.text):
                reason = f"{reason}: {text_of(text_json(closing.text))}"
            took = whole_ms(closing.durationMs)
            add(SessionEnd(source, "", status, reason or None, None, took, closing.iterations, Raw(record.data)))
        elif kind == "run_aborted":
            add(SessionEnd(source, "", "interrupted", closing.message or closing.reason))
        elif kind == "run_start":
            other_session(record, closing.sessionId, state.session_id, batch)
            state.session_id, state.model = closing.sessionId, closing.modelId
            add(SessionInfo(source, "", closing.sessionId, closing.modelId))
        elif kind == "error":
            add(Notification(source, "", "error", closing.message or "", "error"))
            if not state.ended:
                add(SessionEnd(source, "", "error", closing.message))
        elif kind in ("run_abort_requested", "team_restored", "zen_dispatched", "zen_error"):
            add(Notification(source, "", kind, closing.message or closing.reason or closing.teamName or ""))
        else:
            batch.unknown_type(kind or "(no type)", record)


def _usage_key(agent: Agent) -> str:
    """Identifies the next tokens of an agent: an answer may take several model calls."""
    agent.calls += 1
    return agent.message_id if agent.calls == 1 else f"{agent.message_id}#{agent.calls}"
