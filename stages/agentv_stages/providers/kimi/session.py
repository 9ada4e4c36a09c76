"""Kimi Code's sessions on disk (`agents/<agent>/wire.jsonl`) to events.

A step is one model call and one answer: its parts, calls and results are loop events with its id. Prompts, and texts
that the program writes in the user's name, are messages of the context; their origin distinguishes them. From 2.x on
the log has everything twice: `agent.…` records repeat a turn when it has ended, and are not read. A call whose task
continues in the background has its result at once; the task's end is a notification.
End rule: `turn.ended` ends each turn, with its reason. Before protocol 1.5 there is no such record: a step that asks
for nothing more is the last one, and `turn.cancel` breaks the turn off. A fork begins with a copy of its parent's log,
up to a record `forked`; only the parent reports it, but its model and folder remain valid.
Source: Kimi Code 0.10.0 to 2.1.0, recordings and the bundled source of 2.1.0 (wire protocol 1.0 to 1.5).

Kimi's token counts, as docs/metrics.md defines them. Source: Kimi Code 2.1.0, `usage.record`.
"""

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED, other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    MAIN,
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
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, check, checksum
from agentv_stages.model.times import epoch_ms, whole_ms
from agentv_stages.providers.kimi.companions import own_ids
from agentv_stages.providers.kimi.context import RecentMessages, append_message, read_message, undo
from agentv_stages.providers.kimi.notices import QUIET, notice
from agentv_stages.providers.kimi.results import AGENT_ID, GOAL_ENDS, agent_named, refusal, shell_failure
from agentv_stages.providers.kimi.wire import Line, LoopEvent, Result, Usage, decode_approval, decode_line


def usage_event(source: Source, key: str, model: str | None, usage: Usage | None) -> TokenUsage | None:
    """Usage of one model call; `input` includes the caches. None if all is 0: the call broke off."""
    if usage is None:
        return None
    plain, cached, written, output = usage.inputOther, usage.inputCacheRead, usage.inputCacheCreation, usage.output
    if not (plain or cached or written or output):
        return None
    total = None if plain is None else plain + (cached or 0) + (written or 0)
    return TokenUsage(source, "", key, "call", model, total, cached, written, None, output)


LOSSES = (
    "the agent's version; costs; reasoning tokens",
    "the session's id, if the log is not in the agent's own folders",
    "the text and the tokens of an answer that was killed while it was written",
    "tokens of answers that were cut off",
    "outputs that Kimi Code cut (the whole is in a file of the session)",
    "of a fork that lies without its session's state.json: that its first part is its parent's",
    "that a hook refused a call with words of its own (it counts as an error)",
    "the working directory before protocol 1.5 (0.31 and older), if no command was run",
)
_INFO = frozenset(("metadata", "profile.bind", "config.update"))
LAST = frozenset(("end_turn", "max_tokens", "filtered"))
ENDS: dict[str, Status] = {"completed": "complete", "cancelled": "interrupted", "failed": "error", "blocked": "error"}
_REFUSED: dict[str, Outcome] = {"rejected": "denied", "cancelled": "cancelled"}
_MOST = 1024
_WITH_ENDS = (1, 5)
_NAMED = len(AGENT_ID)
_MARKED_MS = 10_000  # how much older than its state.json a fork's last `forked` may be
_NO_RESULT = Result()


class State(Struct):
    """`step`: the current one. `named_by_request`: a request gave the model's name, not only its alias. `ends`: turns
    have end records.

    `cancelled`: the user broke the turn off, and what fails afterwards is due to that. `goal`: `blocked` or `paused`,
    if this turn left the goal so. `refused`: calls that were not approved. `agents`: sub-agents by the call that
    started them, "" for several. `begun_ms`: set in a fork until its first own record.
    `header`: the time of the last header, which has no id; `further`: another one came before it, and no record since
    has shown that its session continues.
    """

    model: str | None = None
    named_by_request: bool = field(default=False, name="asked")
    cwd: str | None = None
    ends: bool = False
    step: str = ""
    cancelled: bool = False
    goal: str | None = None
    refused: dict[str, Outcome] = {}
    agents: dict[str, str] = {}
    recent: RecentMessages = field(default_factory=RecentMessages, name="heard")
    repeats: Repeats = field(default_factory=Repeats, name="told")
    begun_ms: int | None = None
    header: str | None = None
    further: bool = False


class SessionDecoder:
    """Decoder of `kimi-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State(begun_ms=context.begun_ms)

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        kind = line.type
        if self.state.begun_ms is not None and self._copied(line, self.state.begun_ms, record, batch):
            return
        if kind == "context.append_loop_event" and line.event is not None:
            if self.state.further:
                self._continued(line.event, record, batch)
            self._loop(line.event, line, record, batch)
            return
        if kind in QUIET:
            ignored = batch.ignored
            ignored[kind] = ignored.get(kind, 0) + 1
            return
        source = self._source(line, record, "")
        state = self.state
        if kind == "usage.record":
            key = state.step if line.usageScope == "turn" and state.step else f"{line.usageScope}-{source.time_ms}"
            usage = usage_event(source, key, state.model or line.model, line.usage)
            if usage is not None and self._again(check(record, source.time_ms), source):
                batch.ignore("usage.record/again")
            elif usage is not None:
                batch.events.append(usage)
            else:
                batch.ignore("usage.record/nothing")
        elif kind == "llm.request":
            self._model(line, source, batch)
        elif kind == "context.append_message":
            message = read_message(line)
            if self._again(check(record, source.time_ms), source):
                batch.ignore(f"{kind}/again")
            else:
                append_message(message, record, source, state.recent, batch)
        elif kind == "turn.prompt":
            state.cancelled = False
            batch.ignore(kind)
        elif kind == "turn.ended":
            if self._again(check(record, source.time_ms), source):
                batch.ignore("turn.ended/again")
            else:
                self._ended(line, source, batch)
        elif kind == "turn.cancel":
            state.cancelled = line.target != "queued"
            if state.cancelled and not state.ends:
                batch.events.append(SessionEnd(source, "-end", "interrupted", "cancelled"))
            else:
                batch.ignore(kind)
        elif kind == "permission.record_approval_result":
            self._approval(line, batch)
        elif kind == "subagent.spawned":
            call_id = line.parentToolCallId
            if call_id and line.subagentId and len(state.agents) < _MOST:
                state.agents[call_id] = "" if call_id in state.agents else line.subagentId
            batch.ignore(kind)
        elif kind == "goal.update":
            state.goal = line.status if line.status in GOAL_ENDS else None if line.status else state.goal
            batch.ignore(kind)
        elif kind == "context.undo":
            if self._again(check(record, source.time_ms), source):
                batch.ignore("context.undo/again")
            else:
                undo(line.count, source, state.recent, batch)
        elif kind in _INFO:
            if kind == "metadata":
                self._begins(line, record, batch)
            self._info(line, source, batch)
        else:
            notice(line, source, record, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _source(self, line: Line, record: Record, base_id: str) -> Source:
        context = self.context
        time_ms = epoch_ms(line.time if line.time is not None else line.created_at)
        return Source(context.file, record.row, record.offset, record.length, time_ms, context.stream, base_id)

    def _copied(self, line: Line, begun_ms: int, record: Record, batch: Batch) -> bool:
        """Whether a fork's record was copied from its parent's log, or is the mark after the copies."""
        kind, source = line.type, self._source(line, record, "")
        time_ms = source.time_ms or 0
        if kind == "forked" and time_ms >= begun_ms - _MARKED_MS:
            self.state.begun_ms = None  # whatever later times say
            batch.ignore(kind)
        elif kind in _INFO:
            self._info(line, replace(source, time_ms=begun_ms), batch)
        elif time_ms >= begun_ms:
            self.state.begun_ms = None
            return False
        elif kind == "llm.request":
            self._model(line, replace(source, time_ms=begun_ms), batch)
        else:
            batch.ignore(COPIED)
        return True

    def _begins(self, line: Line, record: Record, batch: Batch) -> None:
        """A header; after another one it begins the log of another session."""
        state, header = self.state, str(line.created_at if line.created_at is not None else line.time)
        state.further = other_session(record, header, state.header, batch) or state.further
        state.header = header

    def _continued(self, event: LoopEvent, record: Record, batch: Batch) -> None:
        """Whether a step goes on that is not the last one: then two sessions wrote at the same time."""
        step = event.uuid if event.type == "step.end" else event.stepUuid
        if step and self.state.step and step != self.state.step and event.type != "step.begin":
            self.state.further = False
            batch.fault("interleaved", record, "an earlier session continues after another began: no total is known")

    def _again(self, identity: str, source: Source) -> bool:
        return self.state.repeats.again(identity, source.length)

    def _loop(self, event: LoopEvent, line: Line, record: Record, batch: Batch) -> None:
        kind, state = event.type, self.state
        if kind == "content.part":
            source = self._source(line, record, event.uuid or "")
            self._part(event, source, record, batch)
        elif kind == "tool.call":
            source = self._source(line, record, event.uuid or "")
            message_id = event.stepUuid or state.step or f"m{record.row}"
            state.recent.add(message_id)
            arguments = event.args if has_value(event.args) else EMPTY_OBJECT
            call_id = event.toolCallId or event.uuid or f"call-{record.row}"
            parent = self.context.parent_call
            if state.cwd is None and event.display is not None and self.context.stream == MAIN:
                self._folder(event.display.cwd, arguments, source, batch)
            batch.events.append(
                ToolCall(source, "", message_id, call_id, event.name or "unknown", arguments, parent, state.model)
            )
        elif kind == "tool.result":
            self._result(event, self._source(line, record, ""), batch)
        elif kind == "step.begin" or kind == "step.end":
            if state.repeats.again(event.uuid and f"{event.uuid} {kind}", checksum(record.data)):
                kind += "/again"
            elif kind == "step.begin":
                state.step = event.uuid or ""
            elif not state.ends and event.finishReason in LAST:
                source = self._source(line, record, "")
                batch.events.append(SessionEnd(source, "-end", "complete", event.finishReason))
                return
            ignored = batch.ignored
            ignored[kind] = ignored.get(kind, 0) + 1
        else:
            batch.unknown_type(f"{line.type}/{kind}", record)

    def _folder(self, cwd: str | None, arguments: Raw, source: Source, batch: Batch) -> None:
        """Before protocol 1.5 only a command that asks for no folder of its own shows the session's."""
        if cwd and b'"cwd"' not in bytes(arguments):
            self.state.cwd = cwd
            batch.events.append(SessionInfo(source, "-cwd", cwd=cwd))

    def _part(self, event: LoopEvent, source: Source, record: Record, batch: Batch) -> None:
        part, state = event.part, self.state
        if part is None or state.repeats.again(event.uuid, checksum(record.data)):
            batch.ignore("content.part/again" if part is not None else "content.part/empty")
            return
        message_id = event.stepUuid or state.step or f"m{source.row}"
        kind = part.type
        if kind == "text":
            text = text_json(part.text)
        elif kind == "think":
            text = text_json(part.think)
        else:
            if kind.endswith("_url"):
                batch.ignore(f"content.part/{kind}")
            else:
                batch.unknown_type(f"content.part/{kind}", record)
            return
        if text == EMPTY_STRING:
            batch.ignore("content.part/empty")
            return
        state.recent.add(message_id)
        if kind == "text":
            batch.events.append(AssistantText(source, "", message_id, text, model=state.model))
        else:
            batch.events.append(Reasoning(source, "", message_id, text, model=state.model))

    def _result(self, event: LoopEvent, source: Source, batch: Batch) -> None:
        state, result = self.state, event.result or _NO_RESULT
        call_id = event.toolCallId or event.uuid or ""
        output = result.output if has_value(result.output) else None
        outcome: Outcome | None = "ok" if event.result is not None else None
        code = None
        if result.isError:
            data = bytes(result.output)
            refused = state.refused.pop(call_id, None) if state.refused else None
            outcome = refused or refusal(data)
            if outcome is None:
                failed, code = shell_failure(data)
                outcome = "cancelled" if state.cancelled and not failed else "error"
        agent = (state.agents.pop(call_id, None) or None) if state.agents else None
        if agent is None and output is not None and bytes(memoryview(output)[:_NAMED]) == AGENT_ID:
            agent = agent_named(bytes(output))
        duration = whole_ms(result.durationMs)
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code, duration, agent))

    def _approval(self, line: Line, batch: Batch) -> None:
        approval = decode_member(line.result, decode_approval, "result") if has_value(line.result) else None
        outcome = _REFUSED.get(approval.decision or "") if approval is not None else None
        if outcome is not None and line.toolCallId and len(self.state.refused) < _MOST:
            self.state.refused[line.toolCallId] = outcome
        batch.ignore(line.type)

    def _ended(self, line: Line, source: Source, batch: Batch) -> None:
        self.state.cancelled = False
        self.state.ends = True
        self.state.refused.clear()
        error = line.error
        reason = error.message if error is not None and not isinstance(error, str) else error
        status = ENDS.get(line.reason or "", "unknown")
        goal, self.state.goal = self.state.goal, None
        if status == "complete" and goal is not None:
            status, reason = GOAL_ENDS[goal], f"goal {goal}"
        elif status != "complete":
            reason = reason or line.reason
        batch.events.append(SessionEnd(source, "-end", status, reason, duration_ms=whole_ms(line.durationMs)))

    def _model(self, line: Line, source: Source, batch: Batch) -> None:
        state = self.state
        if line.model and line.kind in (None, "loop"):
            state.named_by_request = True
            known, state.model = state.model, line.model
            if line.model != known and self.context.stream == MAIN:
                batch.events.append(SessionInfo(source, "", model=line.model))
                return
        batch.ignore("llm.request")

    def _info(self, line: Line, source: Source, batch: Batch) -> None:
        """The header has no id: the session's id is the name of its folder."""
        state = self.state
        session = parent = model = None
        if line.type == "metadata":
            state.ends = _protocol(line.protocol_version) >= _WITH_ENDS
            session, parent = own_ids(self.context.place or self.context.file)
            if self.context.stream == MAIN:
                parent = parent or self.context.session_id
        elif line.modelAlias and not state.named_by_request and line.type == "config.update":
            state.model = model = line.modelAlias
        cwd = line.cwd or (line.environmentDisclosure.cwd if line.environmentDisclosure is not None else None)
        if cwd == state.cwd:
            cwd = None
        state.cwd = cwd or state.cwd
        if self.context.stream == MAIN and (session or model or cwd or line.app_version):
            version = line.app_version
            batch.events.append(SessionInfo(source, "", session, model, version, cwd, parent_session_id=parent))
        else:
            batch.ignore(line.type)


def _protocol(version: str | None) -> tuple[int, ...]:
    """The parts of a version; empty if it is not one."""
    parts = (version or "").split(".")
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() and len(part) < 9 for part in parts) else ()
