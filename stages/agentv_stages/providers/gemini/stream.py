"""Gemini CLI stream-json: lines of `gemini -p … --output-format stream-json` to events.

Source: Gemini CLI 0.2x to 0.61. The stream has no message ids and no boundaries: text increments and calls form one
answer until a tool result or a user message. Thoughts and sub-agents are not printed, and a tool's output only if its
display is a text.
"""

from msgspec import Raw, Struct, field

from agentv_stages.chain.foreign import other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.repeats import Repeats, check
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS, failure_outcome, success_outcome
from agentv_stages.providers.gemini.tools import tool_name
from agentv_stages.providers.gemini.wire import Failure, Stats, StreamLine, decode_failure, decode_models, decode_stream

LOSSES = (
    "thoughts (their tokens are in the totals)",
    "texts and calls of sub-agents (their tokens are in the totals)",
    "tool output as the model got it: reads have none, searches a summary",
    "the exit code of a shell command that printed something",
    "that a tool call was cancelled (it is printed as a success)",
    "tokens of single answers, and of a run that did not end",
    "whether a piece of text is repeated within its answer",
    "that an answer was cut by an error or by the output limit",
)
MOST_OPEN = 4096
EMPTY = (b"", b'""', b"null")


class StreamState(Struct):
    """The state between lines: the answer being printed, and which open calls are shell calls.

    `repeats` has the lines that begin an answer or a prompt and those that end a run, the last of them at `ended_ms`.
    """

    session_id: str | None = None
    model: str | None = None
    message_id: str = ""
    shells: list[str] = []
    repeats: Repeats = field(default_factory=Repeats, name="told")
    ended_ms: int = -1


class StreamDecoder:
    """Decodes stream-json."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.parent_call = context.parent_call
        self.state = StreamState()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_stream(record.data)
        kind = line.type
        source = Source(
            self.file,
            record.row,
            record.offset,
            record.length,
            parse_iso(line.timestamp),
            self.stream,
        )
        if kind == "message":
            self._message(line, source, record, batch)
        elif kind == "tool_use":
            if self._again(line, source, batch):
                return
            name, call_id = line.tool_name or "unknown", line.tool_id or f"row_{record.row}"
            if name in SHELL_TOOLS:
                if len(self.state.shells) >= MOST_OPEN:
                    del self.state.shells[0]
                self.state.shells.append(call_id)
            batch.events.append(
                ToolCall(
                    source,
                    "",
                    self._answer(record),
                    call_id,
                    tool_name(name),
                    line.parameters or EMPTY_OBJECT,
                    self.parent_call,
                    self.state.model,
                )
            )
        elif kind == "tool_result":
            self._result(line, source, batch)
        elif kind == "init":
            another = other_session(record, line.session_id, self.state.session_id, batch)
            resumed = line.session_id is not None and line.session_id == self.state.session_id
            self.state.session_id, self.state.model = line.session_id, line.model
            again = self.state.repeats.again(check(record, source.time_ms))
            if not again:
                self.state.message_id, self.state.ended_ms = "", -1
                another = another or resumed  # each run counts its own totals
            info = SessionInfo(source, "", line.session_id, line.model, another=another and not again, begins=not again)
            batch.events.append(info)
        elif kind == "result":
            self._end(line, source, record, batch)
        elif kind == "error":
            text = line.message or _reason(line.error) or ""
            batch.events.append(
                Notification(source, "", kind, text, "error" if line.severity == "error" else "warning")
            )
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _again(self, line: StreamLine, source: Source, batch: Batch) -> bool:
        """Whether this call or result came before; unknown without an id or a time. To be asked once nothing of the
        line can be refused any more: a refused line is decoded again, without what does not fit."""
        identity = f"{line.type} {line.tool_id} {line.timestamp}" if line.tool_id and line.timestamp else None
        again = self.state.repeats.again(identity, source.length)
        if again:
            batch.ignore(f"{line.type}/again")
        return again

    def _answer(self, record: Record) -> str:
        state = self.state
        if not state.message_id:
            state.message_id = f"m{record.row}"
        return state.message_id

    def _message(self, line: StreamLine, source: Source, record: Record, batch: Batch) -> None:
        text = line.content or EMPTY_STRING
        if bytes(text)[:1] != b'"':
            text = to_raw(text_of(text))
        if line.role == "assistant":
            state = self.state
            message_id = state.message_id
            if not message_id:
                time_ms = source.time_ms
                if (time_ms is not None and time_ms <= state.ended_ms) or state.repeats.again(check(record, time_ms)):
                    batch.ignore("message/again")
                    return
                message_id = self._answer(record)
            batch.events.append(AssistantText(source, "", message_id, text, bool(line.delta), False, state.model))
        elif line.role == "user":
            if self.state.repeats.again(check(record, source.time_ms)):
                batch.ignore("message/again")
                return
            self.state.message_id, self.state.ended_ms = "", -1
            batch.events.append(UserText(source, "", text, f"u{record.row}"))
        else:
            batch.unknown_type(f"message/{line.role}", record)

    def _result(self, line: StreamLine, source: Source, batch: Batch) -> None:
        failure = Failure() if line.status in (None, "success") else _failure(line.error)
        if self._again(line, source, batch):
            return
        state = self.state
        state.message_id = ""
        call_id = line.tool_id or ""
        shell = call_id in state.shells
        if shell:
            state.shells.remove(call_id)
        shown = bytes(line.output)
        output = None if shown in EMPTY else line.output
        outcome: Outcome | None = None
        exit_code = None
        if line.status == "success":
            outcome, exit_code = success_outcome(shown, shell)
        elif line.status is not None:
            if output is None and failure.message:
                output = to_raw(failure.message)
            printed = shown + (failure.message or "").encode("utf-8", "replace")
            outcome = failure_outcome(printed, failure.type, line.status == "cancelled")
        batch.events.append(ToolResult(source, "", call_id, output, outcome, exit_code))

    def _end(self, line: StreamLine, source: Source, record: Record, batch: Batch) -> None:
        used = total(source, line.stats) if line.stats is not None else None
        reason = _reason(line.error)
        if self.state.repeats.again(check(record, source.time_ms)):
            batch.ignore("result/again")
            return
        self.state.message_id = ""
        self.state.ended_ms = -1 if source.time_ms is None else source.time_ms
        if used is not None:
            batch.events.append(used)
        duration = whole_ms(line.stats.duration_ms) if line.stats and line.stats.duration_ms else None
        status: Status = "complete" if line.status == "success" and reason is None else "error"
        batch.events.append(SessionEnd(source, "", status, reason, None, duration, None, Raw(record.data)))


def total(source: Source, stats: Stats) -> TokenUsage:
    """The run's total, sub-agents and side models included; thoughts are the grand total minus input and output."""
    used, output, reasoning = stats.input_tokens, stats.output_tokens, None
    if stats.total_tokens is not None and used is not None and output is not None:
        reasoning = max(stats.total_tokens - used - output, 0)
        output += reasoning
    model = None
    if stats.models:
        busy = [
            name
            for name, share in decode_member(stats.models, decode_models, "stats.models").items()
            if share.total_tokens
        ]
        model = busy[0] if len(busy) == 1 else None
    sure = reasoning is not None  # without the grand total thoughts may be missing
    return TokenUsage(
        source, "", "stats", "session", model, used, stats.cached, None, None, output, reasoning, sure, True
    )


def _failure(raw: Raw) -> Failure:
    first = bytes(raw)[:1]
    if first == b'"':
        return Failure(None, text_of(raw) or None)
    return decode_member(raw, decode_failure, "error") if first == b"{" else Failure()


def _reason(raw: Raw) -> str | None:
    failure = _failure(raw)
    return failure.message or failure.type
