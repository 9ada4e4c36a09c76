"""Antigravity's stream to events: lines of `agy -p … --output-format stream-json`, and the object of `… json`.

A step has a number that grows over turns and resumed runs. `ACTIVE` and then `DONE` or `ERROR` of one number are a call
and its result; a step that comes only as `DONE` is both. The calls after an `agent_response` step belong to it.
A denied command looks like one without output until `denied_actions` of the turn's `result`, so the results of commands
without output are held until then.
End rule: `result`. A good one without any token is a run whose time was over (`--print-timeout`).
Source: agy 1.2.17 and 1.3.1, recorded runs.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Level,
    Notification,
    Outcome,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import has_value, text_json, text_of
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.antigravity.calls import SHELL, is_refusal, requested
from agentv_stages.providers.antigravity.wire import (
    Result,
    Step,
    Usage,
    decode_failure,
    decode_line,
    decode_result,
)

LOSSES = (
    "the prompt",
    "times (durations of steps are there)",
    "thoughts (their tokens are there)",
    "texts and calls of sub-agents",
    "contents of files that were changed or read, and the answers of web searches",
    "the exit code of a command",
    "cache writes, cost",
    "the version of the program",
)
OUTPUT_LOSSES = (
    "everything but the final answer: other answers, tool calls, results, edits",
    "the prompt, the model, times, the folder",
)
MOST_OPEN = 4096
MOST_MISSING = 64
_TIMEOUT = "the print timeout was over"
_ENDED = ("DONE", "ERROR")
_STATES = (*_ENDED, "ACTIVE")
_KINDS = {"command": (SHELL,)}
"""What `denied_actions` calls an action, and the tools that do it. Others without output are not known to be denied."""
_HELD = frozenset(tool for tools in _KINDS.values() for tool in tools)


class Held(Struct):
    """The result of a call without output, until the turn says whether it was denied; `row`, `offset` and `length` are
    those of its record."""

    call_id: str
    tool: str
    row: int
    offset: int
    length: int
    duration_ms: int | None = None


class State(Struct):
    """`answer` is the id of the answer that calls belong to, `last` the highest number of a step, `missing` are the
    numbers below it that have not come. `open` are the ids of calls without a result. `counted`: a step had tokens, so
    totals add nothing. `spent_ms` is the duration in the last `result`."""

    session_id: str | None = None
    model: str | None = None
    answer: str = ""
    last: int = -1
    missing: list[int] = []
    open: list[str] = []
    held: list[Held] = []
    counted: bool = False
    spent_ms: int = 0
    turns: int = 0


class StreamDecoder:
    """Decoder of `antigravity-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        kind, source = line.event, self.context.source(record)
        if kind == "init" and line.init is not None:
            state = self.state
            self._session(line.conversation_id, record, source, batch, header=True)
            self._release(frozenset(), batch)
            state.model, state.answer = line.init.model, ""
            info = SessionInfo(source, "-run", line.conversation_id, line.init.model, None, line.init.cwd, begins=True)
            batch.events.append(info)
        elif kind == "step_update" and line.step_update is not None:
            step = line.step_update
            result = _tool_result(step) if step.state in _ENDED else None
            if step.state not in _STATES:
                batch.unknown_type(f"state/{step.state or ''}", record)
            self._session(step.conversation_id, record, source, batch)
            self._step(step, result, record, source, batch)
        elif kind == "result" and line.result is not None:
            reason = reason_of(line.result)
            self._session(line.result.conversation_id, record, source, batch)
            self._end(line.result, reason, record, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        """The results that were held: nothing says that they were denied."""
        self._release(frozenset(), batch)

    def _session(
        self, session_id: str | None, record: Record, source: Source, batch: Batch, *, header: bool = False
    ) -> None:
        """Notes whose conversation a record is of. `header`: a run begins with it."""
        state = self.state
        if session_id is None or session_id == state.session_id:
            return
        another = other_session(record, session_id, state.session_id, batch, header=header)
        if another:
            self._release(frozenset(), batch)
            state.open, state.counted, state.spent_ms, state.turns, state.answer = [], False, 0, 0, ""
            state.last, state.missing = -1, []
        state.session_id = session_id
        batch.events.append(SessionInfo(source, "", session_id, another=another))

    def _id(self, number: int | None, record: Record) -> str:
        """The id of a step; the file may hold several conversations, which all count from 0."""
        return f"row-{record.row}" if number is None else f"{(self.state.session_id or '')[:8]}-{number}"

    def _step(
        self, step: Step, result: tuple[Outcome | None, Raw | None] | None, record: Record, source: Source, batch: Batch
    ) -> None:
        state, kind, step_id = self.state, step.step_type, self._id(step.step_index, record)
        new = self._is_new(step.step_index)
        if new and kind in ("agent_response", "user_input", "unknown"):
            state.answer = step_id if kind == "agent_response" else ""
        if kind == "agent_response":
            if has_value(step.text_delta):
                text = text_json(step.text_delta)
                batch.events.append(AssistantText(source, "", step_id, text, True, model=state.model))
            if step.usage is not None and step.usage.known:
                state.counted = True
                batch.events.append(usage_of(source, step_id, step.usage, state.model))
            elif not has_value(step.text_delta):
                batch.ignore("step/agent_response")
        elif kind in ("tool", "subagent") and not new and step_id not in state.open:
            batch.ignore("step/again")
        elif kind in ("tool", "subagent"):
            self._call(step, step_id, source, batch)
            if result is not None:
                self._result(step, step_id, result, source, batch)
        elif kind in ("error_message", "system_message"):
            level: Level = "error" if kind == "error_message" else "info"
            batch.events.append(Notification(source, "", kind, text_of(text_json(step.text_delta)), level))
        elif kind == "user_input" and new:
            self._release(frozenset(), batch)
            batch.events.append(SessionInfo(source, "-turn", begins=True))
        elif kind in ("user_input", "unknown"):
            batch.ignore(f"step/{kind}")
        else:
            batch.unknown_type(f"step/{kind or ''}", record)

    def _is_new(self, number: int | None) -> bool:
        """Whether a step has not come before; numbers grow, but a step that goes on may let others pass."""
        state = self.state
        if number is None:
            return True
        if number > state.last:
            state.missing = [*state.missing, *range(max(state.last + 1, number - MOST_MISSING), number)][-MOST_MISSING:]
            state.last = number
            return True
        if number in state.missing:
            state.missing.remove(number)
            return True
        return False

    def _call(self, step: Step, step_id: str, source: Source, batch: Batch) -> None:
        state = self.state
        if step_id in state.open:
            return
        if len(state.open) >= MOST_OPEN:
            del state.open[0]
        state.open.append(step_id)
        name, arguments = _request(step)
        call = ToolCall(source, "", state.answer or step_id, step_id, name, arguments, None, state.model)
        batch.events.append(call)

    def _result(
        self, step: Step, step_id: str, result: tuple[Outcome | None, Raw | None], source: Source, batch: Batch
    ) -> None:
        state = self.state
        state.open.remove(step_id)
        outcome, output = result
        seconds = step.duration_seconds
        duration = None if seconds is None else whole_ms(seconds * 1000)
        tool = _request(step)[0]
        if outcome is None and output is None and tool in _HELD:
            state.held.append(Held(step_id, tool, source.row, source.offset, source.length, duration))
            if len(state.held) > MOST_OPEN:
                self._let_go(state.held.pop(0), frozenset(), batch)
            return
        batch.events.append(ToolResult(source, "", step_id, output, outcome, None, duration))

    def _release(self, denied: frozenset[str], batch: Batch) -> None:
        held, self.state.held = self.state.held, []
        for result in held:
            self._let_go(result, denied, batch)

    def _let_go(self, held: Held, denied: frozenset[str], batch: Batch) -> None:
        context = self.context
        source = Source(context.file, held.row, held.offset, held.length, None, context.stream)
        outcome: Outcome = "denied" if held.tool in denied else "ok"
        batch.events.append(ToolResult(source, "", held.call_id, None, outcome, None, held.duration_ms))

    def _end(self, result: Result, reason: str | None, record: Record, batch: Batch) -> None:
        state, known = self.state, result.num_turns is not None and result.duration_seconds is not None
        own_id = f"result-{result.num_turns}-{result.duration_seconds}" if known else ""  # both grow with each turn
        source = self.context.source(record, None, own_id)
        actions = [denied.action for denied in result.denied_actions or () if denied.action]
        self._release(frozenset(tool for action in actions for tool in _KINDS.get(action, ())), batch)
        if not state.counted and result.usage is not None and result.usage.known:
            batch.events.append(usage_of(source, "result", result.usage, state.model, total=True))
        before, state.spent_ms = state.spent_ms, _duration_ms(result) or state.spent_ms
        duration = state.spent_ms - before if state.spent_ms > before else _duration_ms(result)
        begun, turns = state.turns, result.num_turns
        if turns is not None and turns > begun:  # a lower number, or the same again, is that of the turn alone
            state.turns, turns = turns, turns - begun
        status, reason = ending(result, reason)
        if actions and reason is None:
            reason = f"denied: {', '.join(actions)}"
        end = SessionEnd(source, "", status, reason, None, duration, turns, Raw(record.data))
        batch.events.append(end)


class OutputState(Struct):
    """Empty: there is a single record."""


class OutputDecoder:
    """Decoder of `antigravity-output`: the object of a `result`, with nothing around it."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = OutputState()

    def decode(self, record: Record, batch: Batch) -> None:
        result = decode_result(record.data)
        if result.conversation_id is None:
            batch.unknown_type("(no result)", record)
            return
        reason = reason_of(result)
        source, add = self.context.source(record), batch.events.append
        add(SessionInfo(source, "", result.conversation_id))
        if has_value(result.response):
            add(AssistantText(source, "", "answer", text_json(result.response)))
        if result.usage is not None and result.usage.known:
            add(usage_of(source, "result", result.usage, None, total=True))
        status, reason = ending(result, reason)
        add(SessionEnd(source, "", status, reason, None, _duration_ms(result), result.num_turns))

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""


def _request(step: Step) -> tuple[str, Raw]:
    info = step.tool_info
    if info is not None:
        return requested(info.name or step.tool_name, info.parameters)
    if step.step_type == "subagent":
        return step.tool_name or "invoke_subagent", step.subagent_info or EMPTY_OBJECT
    return step.tool_name or "unknown", EMPTY_OBJECT


def _tool_result(step: Step) -> tuple[Outcome | None, Raw | None]:
    """The outcome of a step (None: it has ended, no more) and its output."""
    info = step.tool_info
    output = info.output if info is not None and has_value(info.output) else None
    error = info.error if info is not None and has_value(info.error) else None
    if step.state != "ERROR" and error is None:
        return None, output
    message = "" if error is None else failure_text(error)
    outcome: Outcome = "denied" if is_refusal(message) else "error"
    return outcome, error if output is None else output


def failure_text(error: Raw) -> str:
    """The text of an error, which is a string or an object with a message."""
    if bytes(error)[:1] != b"{":
        return text_of(text_json(error))
    failure = decode_member(error, decode_failure, "error")
    return failure.message or failure.type or ""


def reason_of(result: Result) -> str | None:
    return failure_text(result.error) if has_value(result.error) else None


def ending(result: Result, reason: str | None) -> tuple[Status, str | None]:
    """How a turn ended. Since 1.1.28 one whose time was over says SUCCESS, and no token was used."""
    if result.status != "SUCCESS":
        return "error", reason or result.status
    if result.usage is not None and result.usage.total_tokens == 0 and not result.usage.known:
        return "incomplete", _TIMEOUT
    return "complete", reason


def usage_of(source: Source, key: str, used: Usage, model: str | None, *, total: bool = False) -> TokenUsage:
    """Tokens in our sense: cached ones are a part of the input."""
    known = used.input_tokens, used.cache_read_tokens
    prompt = None if used.input_tokens is None else sum(count or 0 for count in known)
    return TokenUsage(
        source, "", key, "session" if total else "call", model, prompt, used.cache_read_tokens, None, None,
        used.output_tokens, used.thinking_tokens, covers_streams=total,
    )  # fmt: skip


def _duration_ms(result: Result) -> int | None:
    return None if not result.duration_seconds else whole_ms(result.duration_seconds * 1000)
