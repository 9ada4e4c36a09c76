"""Qwen Code stream-json: lines of `qwen -p … --output-format stream-json` to events.

Source: Qwen Code 0.15, 0.24.4. It looks like Claude's stream but differs in meaning: a message id names a group of
blocks, not an answer; only the last group of an answer has its usage; input includes the cache; an API error is a text,
and the run a success (in 0.24 an error).
"""

import re

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import CLAUDE_ENVELOPE, other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Level,
    Notification,
    Outcome,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
    sidechain,
)
from agentv_stages.model.payload import EMPTY_STRING, join_strings, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats, checksum
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS, failure_outcome, shell_outcome, success_outcome
from agentv_stages.providers.qwen.parts import effective_call
from agentv_stages.providers.qwen.wire import (
    Block,
    Notice,
    StreamLine,
    Usage,
    decode_failure,
    decode_notice,
    decode_partial,
    decode_stream,
)

LOSSES = (
    "the prompt (--prompt adds it)",
    "times, and so the durations of calls",
    "the calls of an exec script (code mode)",
    "texts of sub-agents, and calls of background sub-agents (their tokens are in the total)",
    "tool output as the model got it: searches have a summary",
    "the exit code of a shell command that printed something",
    "that a hook refused a call: it failed with the hook's own words",
    "reasoning tokens",
    "a resumed run's own share of the session's tokens (the total of the session is shown)",
    "costs",
)
RETRY = "retry"
SKIPPED = b'"Skipped because the provider attempt was retried'
"""The result of a call that was never started: Qwen discarded the answer that asked for it."""
NOTICES: dict[str, Level] = {
    "continue_turn_failed": "error",
    "model_fallback": "warning",
    RETRY: "warning",
    "session_recording_degraded": "warning",
    "task_notification": "info",
    "task_started": "info",
    "worktree_restored": "info",
    "worktree_started": "info",
}
"""Subtypes of system lines to report, as the bundle of 0.24.4 emits them."""
QUIET_NOTICES = frozenset(("session_start", "session_end"))
INJECTED = (b'"<system-reminder>', b'"Background agent \\"', b'"Background shell ', b'"Monitor \\"')
KEEP = 4096
API_ERROR = b'"[API Error:'
PARTS = tuple(f"-content-{i}" for i in range(64))
EMPTY = (b"", b'""', b"null")
_GLUED = re.compile(r"\[API Error: [^\]]*\]\s*\Z")


class StreamState(Struct):
    """The state between lines.

    `answers`: stream -> id of the answer being printed, `numbers`: its number of `count` in all. `attempts`: stream ->
    id of the last answer, until a prompt or the result of a call that ran follows it. `shells`: open calls that are
    shell calls. `partial`: the text of the block being printed, from its increments (JSON without quotes).
    """

    session_id: str | None = None
    model: str | None = None
    answers: dict[str, str] = {}
    numbers: dict[str, int] = {}
    count: int = 0
    attempts: dict[str, str] = {}
    shells: list[str] = []
    partial: list[str] = []
    repeats: Repeats = field(default_factory=Repeats, name="told")
    partial_row: int = 0
    partial_offset: int = 0


class StreamDecoder:
    """Decodes stream-json."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.state = StreamState()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_stream(record.data)
        kind = line.type
        if kind == "user" and line.message is not None:
            self._user(line, record, batch)
        elif kind == "assistant" and line.message is not None:
            self._assistant(line, record, batch)
        elif kind == "stream_event":
            self._partial(record, batch)
        elif kind == "system":
            self._system(line, record, batch)
        elif kind == "result":
            self._end(line, record, batch)
        elif kind in ("control_request", "control_response", "control_cancel_request"):
            batch.ignore(kind)
        else:
            batch.unknown_type(kind or "(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Emits the text of a block that was never completed."""
        state = self.state
        if state.partial:
            source = Source(self.file, state.partial_row, state.partial_offset, 0)
            message_id = state.answers.get("main") or f"m{state.partial_row}"
            text = join_strings([to_raw(part) for part in state.partial])
            batch.events.append(AssistantText(source, "-partial", message_id, text, True, False, state.model))
            state.partial = []

    def _source(self, line: StreamLine, record: Record) -> Source:
        parent = line.parent_tool_use_id
        stream = sidechain(parent) if parent else "main"
        return Source(self.file, record.row, record.offset, record.length, None, stream, line.uuid or "")

    def _answer(self, line: StreamLine, source: Source) -> str:
        state, answers = self.state, self.state.answers
        found = answers.get(source.stream)
        if found is None:
            state.count += 1
            remember(state.numbers, source.stream, state.count, KEEP)
            message = line.message
            found = (message.id if message else None) or line.uuid or f"m{source.row}"
            remember(answers, source.stream, found, KEEP)
            remember(self.state.attempts, source.stream, found, KEEP)
        return found

    def _assistant(self, line: StreamLine, record: Record, batch: Batch) -> None:
        message = line.message
        assert message is not None
        state = self.state
        if state.repeats.again(line.uuid, checksum(record.data)):
            batch.ignore("assistant/again")
            return
        source = self._source(line, record)
        if state.session_id is None:
            self._session(line, source, batch)
        if state.partial and not line.parent_tool_use_id:
            state.partial = []
        message_id = self._answer(line, source)
        source = replace(source, answer=state.numbers.get(source.stream))
        model = message.model
        content = message.content
        blocks = [Block("text", to_raw(content))] if isinstance(content, str) else content or ()
        events = batch.events
        for i, block in enumerate(blocks):
            kind = block.type
            at = PARTS[i] if i < 64 else f"-content-{i}"
            if kind == "tool_use":
                call_id = block.id or f"{source.base_id}{at}"
                name, arguments = effective_call(block.name or "unknown", block.input or EMPTY_OBJECT)
                if name in SHELL_TOOLS:
                    if len(state.shells) >= KEEP:
                        del state.shells[0]
                    state.shells.append(call_id)
                events.append(
                    ToolCall(source, at, message_id, call_id, name, arguments, line.parent_tool_use_id, model)
                )
            elif kind == "text":
                text = block.text or EMPTY_STRING
                synthetic = bytes(text).startswith(API_ERROR)
                events.append(AssistantText(source, at, message_id, text, False, synthetic, model))
            elif kind == "thinking":
                events.append(Reasoning(source, at, message_id, text_json(block.thinking), False, model))
            else:
                batch.ignore(f"block/{kind}")
        usage = message.usage
        if usage is not None and (usage.input_tokens or usage.output_tokens):
            events.append(_usage(source, message_id, usage, model))
            del state.answers[source.stream]  # the last group of an answer has its usage

    def _user(self, line: StreamLine, record: Record, batch: Batch) -> None:
        message = line.message
        assert message is not None
        if record.data.find(CLAUDE_ENVELOPE, 0, 64) >= 0:
            batch.strangers.append(record)
        state = self.state
        if state.repeats.again(line.uuid, checksum(record.data)):
            batch.ignore("user/again")
            return
        source = self._source(line, record)
        state.answers.pop(source.stream, None)
        if SKIPPED not in record.data:
            state.attempts.pop(source.stream, None)
        content = message.content
        events = batch.events
        if isinstance(content, str):
            events.append(UserText(source, "-content-0", to_raw(content), line.uuid or f"u{record.row}"))
            return
        for i, block in enumerate(content or ()):
            at = PARTS[i] if i < 64 else f"-content-{i}"
            if block.type == "tool_result":
                call_id = block.tool_use_id or ""
                state.answers.pop(sidechain(call_id), None)
                events.append(self._result(source, at, call_id, block))
            elif block.type == "text":
                body = block.text or EMPTY_STRING
                injected = bytes(body).startswith(INJECTED)
                events.append(UserText(source, at, body, line.uuid or f"u{record.row}", injected))
            else:
                batch.ignore(f"block/{block.type}")

    def _result(self, source: Source, at: str, call_id: str, block: Block) -> ToolResult:
        shells = self.state.shells
        shell = call_id in shells
        if shell:
            shells.remove(call_id)
        data = bytes(block.content)
        output = None if data in EMPTY else block.content
        outcome: Outcome
        if block.is_error:
            exit_code = shell_outcome(data)[1] if shell else None
            outcome = failure_outcome(data, None, data.startswith(SKIPPED))
            return ToolResult(source, at, call_id, output, outcome, exit_code)
        outcome, exit_code = success_outcome(data, shell)
        return ToolResult(source, at, call_id, output, outcome, exit_code)

    def _partial(self, record: Record, batch: Batch) -> None:
        """Increments are repeated whole later; they count only if the block is cut off."""
        batch.ignore("stream_event")
        state = self.state
        if b'"text_delta"' not in record.data:
            if state.partial and b'"message_start"' in record.data:
                state.partial = []
            return
        line = decode_partial(record.data)
        if line.event.delta is not None and line.event.delta.text and not line.parent_tool_use_id:
            state.partial.append(text_of(line.event.delta.text))
            state.partial_row, state.partial_offset = record.row, record.offset

    def _system(self, line: StreamLine, record: Record, batch: Batch) -> None:
        name = line.subtype
        if name in QUIET_NOTICES:
            batch.ignore(f"system/{name}")
            return
        if name in NOTICES:
            data = decode_notice(line.data) if line.data else Notice()
            text = ": ".join(filter(None, (data.status, data.reason or data.message, data.description)))
            source = self._source(line, record)
            batch.events.append(Notification(source, "", name, text, NOTICES[name], data.tool_use_id))
            if name == RETRY and not data.preserveText:
                self._retry(source, batch)
            return
        if name != "init" or line.claude_code_version:
            batch.unknown_type(f"system/{line.subtype}", record)
            return
        another = other_session(record, line.session_id, self.state.session_id, batch)
        self._session(line, self._source(line, record), batch, another, begins=True)

    def _retry(self, source: Source, batch: Batch) -> None:
        """Retracts the printed part of an answer that the program requests again."""
        state = self.state
        state.answers.pop(source.stream, None)
        if source.stream == "main":
            state.partial = []
        void = state.attempts.pop(source.stream, None)
        if void is not None:
            batch.events.append(Retract(source, "", (void,), RETRY))

    def _session(
        self, line: StreamLine, source: Source, batch: Batch, another: bool = False, begins: bool = False
    ) -> None:
        state = self.state
        state.session_id, state.model = line.session_id, line.model
        batch.events.append(
            SessionInfo(
                *(source, "", line.session_id, line.model, line.qwen_code_version, line.cwd),
                another=another,
                begins=begins,
            )
        )

    def _end(self, line: StreamLine, record: Record, batch: Batch) -> None:
        source = self._source(line, record)
        self.state.answers.clear()
        self.state.attempts.clear()
        self.state.partial = []
        again = self.state.repeats.again(line.uuid, checksum(record.data))
        usage = line.usage
        if usage is not None and not again:
            batch.events.append(
                TokenUsage(
                    source, "", "result", "session", None, usage.input_tokens, usage.cache_read_input_tokens,
                    None, None, usage.output_tokens, None, True, True,
                )
            )  # fmt: skip
        text = text_of(line.result) if line.result else ""
        failed = text.startswith("[API Error:") or (text.endswith("]") and _GLUED.search(text[-2000:]) is not None)
        status: Status = "error" if failed or line.is_error or line.subtype != "success" else "complete"
        reason: str | None = line.subtype or None
        if failed:
            reason = text[text.rindex("[API Error:") :][:500]
        elif status == "error" and line.error:
            reason = _failure(line.error) or reason
        duration = None if again else whole_ms(line.duration_ms)
        turns = None if again else line.num_turns
        batch.events.append(SessionEnd(source, "", status, reason, None, duration, turns, Raw(record.data)))


def _usage(source: Source, key: str, usage: Usage, model: str | None) -> TokenUsage:
    return TokenUsage(
        source,
        "",
        key,
        "call",
        model,
        usage.input_tokens,
        usage.cache_read_input_tokens,
        None,
        None,
        usage.output_tokens,
    )


def _failure(raw: Raw) -> str | None:
    data = bytes(raw)
    if data[:1] == b"{":
        return decode_failure(data).message
    return text_of(raw) or None
