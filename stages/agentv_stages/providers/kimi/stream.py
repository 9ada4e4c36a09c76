"""Kimi Code's standard output (`kimi -p … --output-format stream-json`) to events.

A line is a whole answer with its calls, one result, or a remark with the role `meta`; only calls have ids, and nothing
has a time. An answer that was retried is not printed. Only its text shows whether a call failed: a shell's exit code at
the end, and the agent's own words for files, pages, sub-agents, and for calls that it could not make. What a hook added
to the prompt is printed as an answer; it is marked `synthetic`.
End rule: `session.resume_hint` is the last line of a completed run; a goal's summary before it says how it ended.
Source: Kimi Code 2.1.0, stdout.
"""

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Outcome,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json, text_json
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.kimi.results import CHECKED, GOAL_ENDS, named_call, refusal, stopped, told_failure
from agentv_stages.providers.kimi.tools import MEDIA, SHELLS
from agentv_stages.providers.kimi.wire import StreamLine, decode_stream

LOSSES = (
    "the prompt, the model, the working directory; thinking",
    "times, durations, tokens and costs",
    "whether a call failed, except shell commands, files, pages, sub-agents, unknown tools, bad arguments and refusals",
    "work of sub-agents; only the calls that start them are printed",
    "answers that were cut off and tried again; why a run failed",
    "that a hook refused a call with words of its own (it counts as ok)",
    "whether an answer is repeated",
)
_HOOK = (b'"UserPromptSubmit hook\\n\\n', b'"UserPromptSubmit hook blocked\\n\\n')
_MOST_OPEN = 10_000


class State(Struct):
    """`open`: the tools of open calls whose results can show a failure. `goal`: `blocked` or `paused`."""

    session_id: str | None = None
    open: dict[str, str] = {}
    goal: str | None = None


class StreamDecoder:
    """Decoder of `kimi-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_stream(record.data)
        context = self.context
        source = Source(context.file, record.row, record.offset, record.length, None, context.stream)
        role = line.role
        if role == "assistant":
            self._answer(line, source, batch)
        elif role == "tool":
            self._result(line, source, batch)
        elif role == "user" and has_value(line.content):
            batch.events.append(UserText(source, "", line.content, f"u{record.row}"))
        elif role == "meta":
            self._meta(line, source, record, batch)
        elif not role and line.type == "goal.summary":
            self.state.goal = line.status if line.status in GOAL_ENDS else None
            text = f"{line.status or 'no goal'}: {line.reason}" if line.reason else line.status or "no goal"
            batch.events.append(Notification(source, "", line.type, text))
        else:
            batch.unknown_type(f"{role}/{line.type}" if role else line.type, record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _answer(self, line: StreamLine, source: Source, batch: Batch) -> None:
        message_id = f"m{source.row}"
        events, before = batch.events, len(batch.events)
        text = text_json(line.content)
        if text != EMPTY_STRING:
            synthetic = bytes(text).startswith(_HOOK)
            events.append(AssistantText(source, "", message_id, text, synthetic=synthetic))
        waiting = self.state.open
        for i, call in enumerate(line.tool_calls or ()):
            name, arguments = named_call(call)
            call_id = call.id or f"{message_id}-{i}"
            if name in CHECKED and len(waiting) < _MOST_OPEN:
                waiting[call_id] = name
            parent = self.context.parent_call
            events.append(ToolCall(source, f"-{i}", message_id, call_id, name, arguments, parent))
        if len(events) == before:
            batch.ignore("assistant/empty")

    def _result(self, line: StreamLine, source: Source, batch: Batch) -> None:
        call_id = line.tool_call_id or ""
        output: Raw | None = line.content if has_value(line.content) else None
        data = bytes(line.content)
        outcome: Outcome | None = refusal(data)
        name, code = self.state.open.pop(call_id, ""), None
        if name == MEDIA and output is not None:  # parts, which are printed as a text
            output = inner_json(output)
        if outcome is None:
            failed, code = told_failure(name, data)
            outcome = "error" if failed else "cancelled" if name in SHELLS and stopped(data) else None
        batch.events.append(ToolResult(source, "", call_id, output, outcome, code))

    def _meta(self, line: StreamLine, source: Source, record: Record, batch: Batch) -> None:
        state, kind = self.state, line.type
        if kind == "system.version":
            batch.events.append(SessionInfo(source, "", version=line.version))
        elif kind == "session.resume_hint":
            other_session(record, line.session_id, state.session_id, batch)
            state.session_id = line.session_id or state.session_id
            batch.events.append(SessionInfo(source, "", line.session_id))
            goal, state.goal = state.goal, None
            status: Status = GOAL_ENDS[goal] if goal else "complete"
            reason = f"goal {goal}" if goal else None
            batch.events.append(SessionEnd(source, "-end", status, reason, result_json=Raw(record.data)))
        elif kind == "turn.step.retrying":
            text = (
                f"attempt {line.failed_attempt} of {line.max_attempts} failed: {line.error_name}: {line.error_message}"
            )
            batch.events.append(Notification(source, "", "retry", text, "warning"))
        else:
            batch.unknown_type(f"meta/{kind}", record)
