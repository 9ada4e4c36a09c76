"""Droid's stream to events: lines of `droid exec -o stream-json`.

Results name their call by `id`; in the first builds they have none, and answer the oldest open call. `toolId` is the
name of a tool or empty, never an id. Lines of one answer have one `id` (texts) or `messageId` (calls).
End rule: `completion`, whatever error follows; without it a run is incomplete. The builds of October 2025 print none:
there a last answer without an open call is a good end. An `error` without a completion is a failed run.
Source: public logs of October 2025 and January 2026; parsers of later builds.
"""

from zlib import crc32

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from agentv_stages.model.payload import has_value, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import from_epoch, parse_iso, whole_ms
from agentv_stages.providers.droid.texts import add_prompt, arguments
from agentv_stages.providers.droid.wire import Line, Usage, decode_failure, decode_line

LOSSES = (
    "tokens of single answers; in the builds of October 2025 all tokens",
    "whether reasoning tokens are a part of the output (taken as the log counts them)",
    "the exit code of a command",
    "cost, the version of the program",
    "the work of sub-agents",
)
MOST_OPEN = 4096
_CANCELLED = "Error: tool "
_PERMISSION = "permission to "


class Refused(Struct):
    """A failed result that may be a denial: decided by the two lines behind it. `text` is a checksum of the answer that
    followed it."""

    call_id: str
    output: str
    row: int
    offset: int
    length: int
    time_ms: int | None = None
    text: int | None = None


class State(Struct):
    """`key` is the native id of the last answer and `answer` our own id of it; `closed`: a result or a prompt came
    after it; `thinks`: it only has reasoning so far. `spoken`: it has a text; `said` is a checksum of the
    last text. `later`: a build that prints completions. `cut`: a run without a completion or an error behind it.
    `init` and `prompt` are checksums of its first line and of the last prompt. `last` is the last record's place."""

    session_id: str | None = None
    model: str | None = None
    key: str = ""
    answer: str = ""
    closed: bool = True
    thinks: bool = False
    spoken: bool = False
    said: int | None = None
    later: bool = False
    done: bool = False
    cut: bool = False
    init: int | None = None
    prompt: int | None = None
    last: tuple[int, int, int] | None = None
    number: int = 0
    reasoning: int | None = None
    open: list[str] = []
    refused: Refused | None = None


class StreamDecoder:
    """Decoder of `droid-stream`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_line(record.data)
        failure = _failure(line) if line.type == "tool_result" else None
        time = line.timestamp
        source = self.context.source(record, parse_iso(time) if isinstance(time, str) else from_epoch(time))
        kind = line.type
        if self.state.refused is not None:
            self._settle(line, source, batch)
        if kind == "system" and line.subtype == "init":
            self._init(line, record, source, batch)
        elif kind == "message":
            self._message(line, record, source, batch)
        elif kind == "reasoning":
            self._reasoning(line, record, source, batch)
        elif kind == "tool_call":
            self._call(line, record, source, batch)
        elif kind == "tool_result":
            self._result(line, failure, record, source, batch)
        elif kind == "completion":
            self._completion(line, record, source, batch)
        elif kind == "error":
            self._error(line, source, batch)
        else:
            batch.unknown_type(kind if kind != "system" else f"system/{line.subtype or ''}", record)
        self.state.last = source.row, source.offset, source.length

    def flush(self, batch: Batch) -> None:
        """A failed result that was held: nothing shows that it was a denial. And the end of a run that has none."""
        self._let_go("error", batch)
        state = self.state
        if state.later and state.cut and state.last is not None:
            source = Source(self.context.file, *state.last, None, self.context.stream)
            batch.events.append(SessionEnd(source, "-cut", "incomplete"))

    def _init(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state, session, check = self.state, line.session_id or line.sessionId, crc32(record.data)
        if check == state.init:
            batch.ignore("init/again")
            return
        another = other_session(record, session, state.session_id, batch)
        said = state.said if session == state.session_id else None
        self.state = State(
            session, line.model, said=said, later=line.reasoning_effort is not None, cut=True, init=check
        )
        info = SessionInfo(source, "", session, line.model, None, line.cwd, another=another, begins=True)
        batch.events.append(info)

    def _answer(self, native: str | None, record: Record) -> str:
        """The id of the answer that a line belongs to. Reasoning has an id of its own; the next line is its answer."""
        state, native = self.state, native or f"row-{record.row}"
        if state.closed or (native != state.key and not state.thinks):
            state.number = state.number + 1 if native == state.key else 0
            state.answer = f"{native}-{state.number}" if state.number else native
            state.spoken = False
        state.key, state.closed, state.thinks, state.done, state.cut = native, False, False, False, True
        return state.answer

    def _message(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        if line.role == "user":
            check = crc32(record.data)
            if check == state.prompt:
                batch.ignore("message/again")
                return
            state.closed, state.prompt = True, check
            add_prompt(source, "", line.text, f"user-{line.id or record.row}", batch)
        elif line.role == "assistant":
            answer = self._answer(line.id, record)
            state.spoken = True
            text = text_json(line.text)
            state.said = crc32(text)
            if state.refused is not None:
                state.refused.text = crc32(text)
            batch.events.append(AssistantText(source, "", answer, text, model=state.model))
            if not state.open and not state.later:
                batch.events.append(SessionEnd(source, "", "complete"))
        else:
            batch.unknown_type(f"message/{line.role}", record)

    def _reasoning(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state, text = self.state, text_json(line.text)
        check = crc32(text, crc32((line.id or "").encode("utf-8", "replace")))
        state.later = True
        if check == state.reasoning:
            batch.ignore("reasoning/again")
            return
        state.reasoning = check
        fresh = state.closed
        answer = self._answer(line.id, record)
        state.thinks = fresh
        batch.events.append(Reasoning(source, "", answer, text, model=state.model))

    def _call(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        call_id = line.id or f"row-{record.row}"
        if len(state.open) >= MOST_OPEN:
            del state.open[0]
        state.open.append(call_id)
        name, answer = line.toolName or line.toolId or "unknown", self._answer(line.messageId, record)
        batch.events.append(ToolCall(source, "", answer, call_id, name, arguments(line.parameters), None, state.model))

    def _result(self, line: Line, failure: str | None, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        state.closed, state.later = True, state.later or bool(line.toolId)
        call_id = line.id or (state.open[0] if state.open else f"row-{record.row}")
        if call_id in state.open:
            state.open.remove(call_id)
        output = line.value if has_value(line.value) else None
        if failure is not None and output is None:
            output = to_raw(failure)
            if failure.startswith(_CANCELLED):
                state.refused = Refused(call_id, failure, source.row, source.offset, source.length, source.time_ms)
                return
        failed = line.isError or failure is not None
        batch.events.append(ToolResult(source, "", call_id, output, "error" if failed else "ok"))

    def _settle(self, line: Line, source: Source, batch: Batch) -> None:
        """A denial is followed by an answer about a missing permission, and by an error with the same text."""
        refused = self.state.refused
        assert refused is not None
        if line.type == "message" and line.role == "assistant" and refused.text is None:
            if _PERMISSION in text_of(text_json(line.text)):
                return
        elif line.type == "error" and refused.text == crc32(to_raw(line.message or "")):
            self._let_go("denied", batch)
            return
        self._let_go("error", batch)

    def _let_go(self, outcome: Outcome, batch: Batch) -> None:
        context, refused = self.context, self.state.refused
        self.state.refused = None
        if refused is not None:
            place = (context.file, refused.row, refused.offset, refused.length, refused.time_ms, context.stream)
            batch.events.append(ToolResult(Source(*place), "", refused.call_id, to_raw(refused.output), outcome))

    def _completion(self, line: Line, record: Record, source: Source, batch: Batch) -> None:
        state = self.state
        new = not state.done and (state.closed or not state.spoken)  # a repeated line is no new answer
        if new and has_value(line.finalText) and crc32(text_json(line.finalText)) == state.said:
            new = False  # lines before it came again
        if new and has_value(line.finalText) and text_of(text_json(line.finalText)):
            answer = self._answer(line.id or "completion", record)
            batch.events.append(AssistantText(source, "", answer, text_json(line.finalText), model=state.model))
        if line.usage is not None:
            usage = _usage(source, line.usage, state.model)
            if usage is not None:
                batch.events.append(usage)
        state.closed = state.done = state.later = True
        state.cut = False
        duration = None if line.durationMs is None else whole_ms(line.durationMs)
        batch.events.append(
            SessionEnd(source, "", "complete", None, None, duration, line.numTurns, Raw(record.data), certain=True)
        )

    def _error(self, line: Line, source: Source, batch: Batch) -> None:
        message = line.message or line.source or ""
        self.state.cut = False
        batch.events.append(Notification(source, "", "error", message, "error"))
        if not self.state.done:
            batch.events.append(SessionEnd(source, "", "error", message, certain=True))


def _failure(line: Line) -> str | None:
    """The text of a failed result's error, which is an object or a text; None without one."""
    if not has_value(line.error):
        return None
    if bytes(line.error)[:1] != b"{":
        return text_of(text_json(line.error))
    failure = decode_member(line.error, decode_failure, "error")
    return failure.message or failure.type or ""


def _usage(source: Source, used: Usage, model: str | None) -> TokenUsage | None:
    """The run's total; None where all counts are 0."""
    parts = (used.input_tokens, used.cache_read_input_tokens, used.cache_creation_input_tokens)
    if not any((*parts, used.output_tokens)):
        return None
    return TokenUsage(
        source,
        "",
        "completion",
        "session",
        model,
        None if used.input_tokens is None else sum(count or 0 for count in parts),
        used.cache_read_input_tokens,
        used.cache_creation_input_tokens,
        None,
        used.output_tokens,
        used.thinking_tokens,
        covers_streams=True,
    )
