"""Gemini CLI chat recordings to events: the mutation log `session-*.jsonl` and the older document `session-*.json`.

Source: Gemini CLI 0.1 to 0.61. A record of the log replaces the one with the same id (an answer is written again when
its calls have ended), `$set` changes the header or the model's context, `$rewindTo` takes messages back. Each text,
thought, call and result is told once, when it first appears; ids of the last 4,096 messages and calls are remembered.
A session has no end record. An API error or a cancelled request that nothing follows is one; an answer without calls is
none, because a call is added to its answer only when it has ended: the last answer of a session that was killed while
its tool ran looks like a final one.
"""

import re
from typing import TypeVar
from zlib import crc32

from msgspec import Raw, Struct, ValidationError, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    EMPTY_OBJECT,
    MAIN,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    Retract,
    SessionEnd,
    SessionInfo,
    SlashCommand,
    Source,
    Summary,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.fault import Fault
from agentv_stages.foreign import other_session
from agentv_stages.payload import EMPTY_STRING, text_of, to_raw
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.gemini.names import tool_name
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS, failure_outcome, success_outcome
from agentv_stages.providers.gemini.wire import (
    Call,
    CallHead,
    ChatLine,
    ChatMessage,
    FunctionResponse,
    MessageHead,
    Part,
    Patch,
    PlainCall,
    PlainMessage,
    Tokens,
    decode_answers,
    decode_chat,
    decode_part,
    decode_parts,
    decode_plain,
    decode_plain_result,
    decode_response,
)
from agentv_stages.pruning import fitting
from agentv_stages.times import parse_iso

LOSSES = (
    "a tool call is recorded when it has ended: one that was cut off is missing, and no answer is known to be the last",
    "a call of a tool that does not exist is missing where the session ran over ACP",
    "an answer that was interrupted while it was written is missing",
    "tokens of side models (loop detection, summaries) are not recorded",
    "the agent's version is not recorded",
)
T = TypeVar("T")
KEEP = 4096
ENDS_OF = 512  # bytes at the beginning and at the end of an output that tell how the call ended
ENDED = frozenset(("success", "error", "cancelled"))
API_ERROR = "[API Error"
CANCELLED = "Request cancelled."
CONTEXT = b"<session_context>"
LOOP = b'"System: Potential loop detected'
EMPTY = (b"", b'""', b"null", b"[]", b"{}")
_DIRECTORY = re.compile(r"Workspace Director(?:ies|y):\**\s*(?:-\s+)?(/[^\n]*|[A-Za-z]:\\[^\n]*)")
CANCELLATIONS = (b"[", b"C", b"T", b"O", b"R", b"U")  # the first letters of a text that says that a call was cancelled
LONGEST_CLOCK = 80
USER = b'"type":"user","content":[{"functionResponse"'
USER_AT = len('{"id":"6056b63a-2abb-4741-b274-010cc5e07177","timestamp":"2026-11-21T06:00:35.201Z",')
USER_END = USER_AT + len(USER)
PARTS = tuple(f"-tool-{i}" for i in range(64))
_CLOCK = re.compile(rb'\{"\$set":\{"lastUpdated":"[^"\\]*"\}\}')  # a third of all lines
_COMMAND = re.compile(r"(/[a-zA-Z][\w:-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


class Told(Struct):
    """What was told of a message: bytes and checksum of its text, number of thoughts, its tokens."""

    size: int = 0
    crc: int = 0
    thoughts: int = 0
    tokens: tuple[int | None, ...] = ()


class ChatState(Struct):
    """What is remembered between lines. `calls`: id -> whether its result was told.

    `started`: a message was recorded on a line of its own; from then on `$set` only repeats messages.
    `copying`: records repeat the history for a new context.
    """

    session_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    started: bool = False
    copying: bool = False
    messages: dict[str, Told] = field(default_factory=dict[str, Told])
    calls: dict[str, bool] = field(default_factory=dict[str, bool])


class ChatDecoder:
    """Decodes both forms."""

    def __init__(self, context: DecodeContext) -> None:
        self.file = context.file
        self.stream = context.stream
        self.parent_call = context.parent_call
        self.state = ChatState()

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        if len(data) < LONGEST_CLOCK and _CLOCK.fullmatch(data):
            ignored = batch.ignored
            ignored["$set"] = ignored.get("$set", 0) + 1
            return
        state = self.state
        # the first record is the header, or all there is
        plain = record.row > 0 and data[2:3] != b"$"
        if data[USER_AT:USER_END] == USER and plain and state.started and not state.copying and self._answered(data):
            batch.ignore("user/function_response")
            return
        message = _plain_message(data) if plain else None
        if message is None:
            self._other(decode_chat(data), record, batch)
            return
        if state.started and (state.copying or message.type == "user") and self._is_copy(message):
            batch.ignore("context_copy")
            return
        state.started = True
        self._message(message, record, batch, message.id or f"m{record.row}")

    def _answered(self, data: bytes) -> bool:
        """Whether a record, new itself, only gives results that were told, as nearly all do."""
        try:
            record = decode_answers(data)
        except ValidationError:
            return False
        calls, known = self.state.calls, self.state.messages
        for answer in record.content:
            if not calls.get(answer.functionResponse.id, True):
                return False
        if not record.content or not record.id or record.id in known:
            return False
        _remember(known, record.id, Told())
        return True

    def _other(self, line: ChatLine, record: Record, batch: Batch) -> None:
        """A line that is no plain message."""
        if line.type is not None:
            if self.state.started and self._is_copy(line):
                batch.ignore("context_copy")
                return
            self.state.started = True
            self._message(line, record, batch, _id_of(line) or f"m{record.row}")
        elif line.set is not None:
            self._patch(line.set, record, batch)
        elif line.rewind is not None:
            self._rewind(line.rewind, record, batch)
        elif line.sessionId is not None:
            self._header(line, record, batch)
        else:
            batch.unknown_type("(no type)", record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _source(self, record: Record, time: str | None, base_id: str) -> Source:
        return Source(self.file, record.row, record.offset, len(record.data), parse_iso(time), self.stream, base_id)

    def _header(self, line: ChatLine, record: Record, batch: Batch) -> None:
        source = self._source(record, line.startTime, "")
        if self.stream == MAIN:
            other_session(record, line.sessionId, self.state.session_id, batch)
        self._facts(source, batch, line.sessionId, None, line.directories)
        for i, message in enumerate(line.messages or ()):
            self._message(message, record, batch, _id_of(message) or f"m{record.row}-{i}")
        if line.summary:
            self._summary(line.summary, source, batch)

    def _facts(
        self, source: Source, batch: Batch, session_id: str | None, model: str | None, directories: list[str] | None
    ) -> None:
        """Tells what is new of the session. A sub-agent's file tells nothing: its parent's session is the session."""
        state = self.state
        cwd = directories[0] if directories else None
        if session_id == state.session_id:
            session_id = None
        if model == state.model:
            model = None
        if cwd == state.cwd:
            cwd = None
        state.session_id, state.model, state.cwd = (
            session_id or state.session_id,
            model or state.model,
            cwd or state.cwd,
        )
        if self.stream == MAIN and (session_id or model or cwd):
            batch.events.append(SessionInfo(source, f"-{source.row}", session_id, model, None, cwd))

    def _summary(self, summary: Raw, source: Source, batch: Batch) -> None:
        text = text_of(summary)
        if text and self.stream == MAIN:
            batch.events.append(Summary(source, f"-{source.row}", text))
        else:
            batch.ignore("summary")

    def _patch(self, patch: Patch, record: Record, batch: Batch) -> None:
        source = self._source(record, None, "")
        self._facts(source, batch, patch.sessionId, None, patch.directories)
        if patch.messages is not None:
            self._context(patch.messages, source, record, batch)
        elif patch.summary:
            self._summary(patch.summary, source, batch)
        else:
            batch.ignore("$set")

    def _context(self, messages: list[ChatMessage], source: Source, record: Record, batch: Batch) -> None:
        """The model's context. What it holds before the first message is told; later it repeats, often with new ids."""
        state = self.state
        state.copying = False
        if not state.started:
            for i, message in enumerate(messages):
                self._message(message, record, batch, _id_of(message) or f"m{record.row}-{i}")
            return
        if any(str(message.id) not in state.messages for message in messages):
            text = f"the context was replaced: {len(messages)} messages"
            batch.events.append(Notification(source, f"-{record.row}", "context_replaced", text))
        else:
            batch.ignore("$set")

    def _is_copy(self, message: ChatMessage | PlainMessage) -> bool:
        """Whether a record repeats history: a new context is written first, with new ids, before it is set.

        It begins with the session context; its answers have their content as parts, and neither calls nor tokens.
        """
        state = self.state
        known = str(message.id) in state.messages
        if message.type == "user" and not known and CONTEXT in _head(message.content, 64):
            state.copying = True
        elif state.copying and message.type == "gemini":
            state.copying = message.tokens is None and not message.toolCalls and _head(message.content) == b"["
        return state.copying and not known

    def _rewind(self, target: str, record: Record, batch: Batch) -> None:
        """Takes back the target and all after it; all messages where the target is not known."""
        known = list(self.state.messages)
        start = known.index(target) if target in self.state.messages else 0
        for message_id in known[start:]:
            del self.state.messages[message_id]
        source = self._source(record, None, "")
        batch.events.append(Retract(source, f"-{record.row}", tuple(known[start:]), "rewind"))

    def _message(self, message: ChatMessage | PlainMessage, record: Record, batch: Batch, message_id: str) -> None:
        source = self._source(record, message.timestamp, message_id)
        known = self.state.messages
        told = known.get(message_id)
        kind = message.type
        if kind == "gemini" or kind == "model":
            if told is None:
                told = _remember(known, message_id, Told())
            self._answer(message, told, source, record, batch)
        elif kind == "user":
            if told is None:
                _remember(known, message_id, Told())
                self._user(message, source, batch)
            else:
                batch.ignore("user/again")
        elif kind in ("info", "warning", "error"):
            if told is None:
                _remember(known, message_id, Told())
                text = text_of(_text(message, source, batch))
                batch.events.append(Notification(source, "", kind, text, kind))  # type: ignore[arg-type]
                if kind == "error" and text.startswith(API_ERROR):
                    batch.events.append(SessionEnd(source, "-end", "error", text))
                elif kind == "info" and text == CANCELLED:
                    batch.events.append(SessionEnd(source, "-end", "interrupted", text))
            else:
                batch.ignore(f"{kind}/again")
        else:
            batch.unknown_type(str(kind), record)

    def _user(self, message: MessageHead, source: Source, batch: Batch) -> None:
        content = message.content or message.parts
        if _head(content) == b'"':
            self._user_text(content, source, batch)
            return
        parts = _parts(content, source, batch)
        answers = [part.functionResponse for part in parts if isinstance(part, Part) and part.functionResponse]
        for i, answer in enumerate(answers):
            self._late_result(answer, i, source, batch)
        if len(answers) < len(parts):
            self._user_text(content, source, batch)
        elif answers:
            batch.ignore("user/function_response")
        else:
            batch.ignore("user/empty")

    def _user_text(self, body: Raw, source: Source, batch: Batch) -> None:
        head = _head(body, 64)
        context = CONTEXT in head
        if context and self.state.cwd is None:
            found = _DIRECTORY.search(text_of(body))
            if found:
                self._facts(source, batch, None, None, [found[1].strip()])
        if b'"/' in head:
            command = _COMMAND.match(text_of(body))
            if command:
                batch.events.append(SlashCommand(source, "", command[1], command[2] or None))
                return
        batch.events.append(UserText(source, "", body, source.base_id, context or LOOP in head))

    def _late_result(self, answer: FunctionResponse, index: int, source: Source, batch: Batch) -> None:
        """A result that stands only in the next user record, because the answer was not written again."""
        if answer.id is None or self.state.calls.get(answer.id, True):
            return
        self.state.calls[answer.id] = True
        output, failed = _response(answer.response)
        outcome, exit_code = _outcome(output, "error" if failed else "success", answer.name in SHELL_TOOLS)
        batch.events.append(ToolResult(source, f"-tool-{index}", answer.id, output, outcome, exit_code))

    def _answer(
        self, message: ChatMessage | PlainMessage, told: Told, source: Source, record: Record, batch: Batch
    ) -> None:
        events = batch.events
        before = len(events)
        model = message.model
        message_id = source.base_id
        if model is not None and model != self.state.model:
            self._facts(source, batch, None, model, None)
        thoughts = message.thoughts
        if thoughts:
            for i in range(told.thoughts, len(thoughts)):
                subject, text = thoughts[i].subject, thoughts[i].description or ""
                text = f"{subject}: {text}" if subject and text else subject or text
                events.append(Reasoning(source, f"-thought-{i}", message_id, to_raw(text), False, model))
            told.thoughts = max(told.thoughts, len(thoughts))
        if message.toolCalls:
            for i, call in enumerate(message.toolCalls):
                self._call(call, i, source, model, record, batch)
        if len(message.content) != 2 or message.parts:  # `""`
            self._text(_text(message, source, batch), told, source, model, batch)
        tokens = message.tokens
        if tokens is not None:
            figures = (tokens.input, tokens.cached, tokens.output, tokens.thoughts)
            if figures != told.tokens:
                at = f"-{record.row}" if told.tokens else ""
                told.tokens = figures
                events.append(_usage(source, at, tokens, model))
        if len(events) == before:
            batch.ignore("gemini/again")

    def _text(self, text: Raw, told: Told, source: Source, model: str | None, batch: Batch) -> None:
        """Tells a text, or what was added to it; a text that became another one stays as it was told."""
        body = bytes(text)[1:-1]
        if len(body) <= told.size:
            return
        if told.size:
            if crc32(body[: told.size]) != told.crc:
                batch.ignore("gemini/rewritten")
                return
            text = Raw(b'"' + body[told.size :] + b'"')
        at = f"-{told.size}" if told.size else ""
        batch.events.append(AssistantText(source, at, source.base_id, text, told.size > 0, False, model))
        told.size, told.crc = len(body), crc32(body)

    def _call(
        self, call: CallHead, index: int, source: Source, model: str | None, record: Record, batch: Batch
    ) -> None:
        calls, at = self.state.calls, PARTS[index] if index < 64 else f"-tool-{index}"
        call_id = call.id or f"{source.base_id}{at}"
        name = call.name or "unknown"
        done = calls.get(call_id)
        if done is None:
            _remember(calls, call_id, False)
            asked = tool_name(name, call.displayName)
            given = call.args or EMPTY_OBJECT
            batch.events.append(ToolCall(source, at, source.base_id, call_id, asked, given, self.parent_call, model))
            if call.status == "awaiting_approval":
                text = f"{name} waits for approval"
                batch.events.append(Notification(source, at, "permission_request", text, "info", call_id))
        if done:
            return
        if isinstance(call, PlainCall):
            if call.status not in ENDED and not call.result:
                return
            output, failed = _plain_output(call, index, record, source, batch)
        else:
            assert isinstance(call, Call)
            if call.status not in ENDED and _empty(call.result):
                return
            output, failed = _output(call, source, batch)
        calls[call_id] = True
        status = "error" if failed and call.status == "success" else call.status
        outcome, exit_code = _outcome(output, status, name in SHELL_TOOLS)
        # The message's time is when the answer began; a result without a time of its own has none.
        ended = Source(
            source.file,
            source.row,
            source.offset,
            source.length,
            parse_iso(call.timestamp),
            source.stream,
            source.base_id,
        )
        batch.events.append(ToolResult(ended, at, call_id, output, outcome, exit_code, None, call.agentId))


def _plain_message(data: bytes) -> PlainMessage | None:
    try:
        return decode_plain(data)
    except ValidationError:
        return None


def _id_of(message: ChatMessage) -> str:
    return "" if message.id is None else str(message.id)


def _remember(known: dict[str, T], key: str, value: T) -> T:
    if len(known) >= KEEP:
        del known[next(iter(known))]
    known[key] = value
    return value


def _head(raw: Raw, size: int = 1) -> bytes:
    """The first bytes of a payload. It can have a megabyte: nothing here copies one to look at it."""
    return bytes(memoryview(raw)[:size])


def _empty(raw: Raw) -> bool:
    return len(raw) < 5 and bytes(raw) in EMPTY


def _parts(content: Raw, source: Source, batch: Batch) -> list[Part | str]:
    """The parts of a content; those of other shapes are left out, and a fault."""
    if _empty(content):
        return []
    try:
        found = decode_parts(content)
    except ValidationError as error:
        data, kept = bytes(content), [*fitting(content, decode_part)]
        batch.faults.append(Fault("schema", batch.file, source.row, source.offset, source.length, str(error), data))
        return kept
    return [found] if isinstance(found, Part) else found


def _text(message: MessageHead, source: Source, batch: Batch) -> Raw:
    """The text of a message as one JSON string."""
    content = message.content
    data = bytes(content)
    if data[:1] == b'"' and (len(data) > 2 or not message.parts):
        return content
    if data[:1] not in (b"[", b"{"):
        content = message.parts
    texts = [
        part if isinstance(part, str) else text_of(part.text) if part.text else ""
        for part in _parts(content, source, batch)
    ]
    return to_raw("".join(texts)) if texts else EMPTY_STRING


def _usage(source: Source, at: str, tokens: Tokens, model: str | None) -> TokenUsage:
    output = tokens.output
    if output is not None and tokens.thoughts:
        output += tokens.thoughts
    return TokenUsage(
        source, at, source.base_id, "call", model, tokens.input, tokens.cached, None, None, output, tokens.thoughts
    )


def _response(raw: Raw) -> tuple[Raw | None, bool]:
    """What the model reads of a function response, and whether it is an error."""
    if _empty(raw):
        return None, False
    if _head(raw) != b"{":
        return raw, False
    response = decode_response(raw)
    if response.output:
        return response.output, False
    if response.error:
        return response.error, True
    return raw, False


def _plain_output(call: PlainCall, index: int, record: Record, source: Source, batch: Batch) -> tuple[Raw | None, bool]:
    """As `_output`, of the responses."""
    results = call.result
    if len(results) == 1:
        response = results[0].functionResponse.response
        if response.output:
            return response.output, False
        if response.error:
            return response.error, True
    elif not results:
        return (None if _empty(call.resultDisplay) else call.resultDisplay), False
    calls = decode_chat(record.data).toolCalls or []
    return _output(calls[index], source, batch)


def _output(call: Call, source: Source, batch: Batch) -> tuple[Raw | None, bool]:
    """What the call gave to the model; what a person was shown where the log holds nothing else."""
    result = call.result
    empty, head = _empty(result), _head(result)
    if head == b'"' and not empty:
        return result, False
    if head == b"[" or head == b"{":
        try:
            response = decode_plain_result(result)[0].functionResponse.response
            if response.output:
                return response.output, False
        except ValidationError:
            pass  # several responses, another shape
        outputs = [
            _response(part.functionResponse.response)
            for part in _parts(result, source, batch)
            if isinstance(part, Part) and part.functionResponse
        ]
        told = [output for output, _ in outputs if output is not None]
        if told:
            failed = any(failed for _, failed in outputs)
            return (told[0] if len(told) == 1 else Raw(b"[" + b",".join(bytes(o) for o in told) + b"]")), failed
        if not outputs and not empty:
            return result, False
    shown = call.resultDisplay
    return (None if _empty(shown) else shown), False


def _outcome(output: Raw | None, status: str | None, shell: bool) -> tuple[Outcome | None, int | None]:
    if status == "success" and not shell and (output is None or bytes(memoryview(output)[1:2]) not in CANCELLATIONS):
        return "ok", None
    text = b""
    if output is not None:
        text = (
            bytes(output)
            if len(output) <= 2 * ENDS_OF
            else _head(output, ENDS_OF) + bytes(memoryview(output)[-ENDS_OF:])
        )
    if status == "success":
        return success_outcome(text, shell) if text else ("ok", None)
    if status in ("error", "cancelled"):
        return failure_outcome(text, None, status == "cancelled"), None
    return None, None
