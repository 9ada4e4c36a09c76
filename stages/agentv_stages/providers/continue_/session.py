"""Continue's sessions on disk to events: `<id>.json`, one document, which is rewritten as a whole.

In the terminal it is written at each change, in a run without one (`cn -p`) only when that has ended well.
End rule: there is no end record; a last answer that asks for no tool is a good end.
Source: Continue CLI 1.5.47, recorded sessions and the source in its package.
"""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import COPIED
from agentv_stages.chain.pruning import REFUSED, fitting, read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import (
    ABSENT,
    EMPTY_STRING,
    has_value,
    inner_json,
    one_line,
    text_json,
    text_of,
    to_raw,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.continue_.outcomes import RUNNING, ending
from agentv_stages.providers.continue_.usage import answer_usage, copied, session_usage
from agentv_stages.providers.continue_.wire import (
    AskedCall,
    CallState,
    Function,
    Item,
    Message,
    Session,
    Usage,
    decode_command,
    decode_document,
    decode_item,
    decode_part,
)

LOSSES = (
    "times and durations",
    "a run of `cn -p` that failed or was interrupted (it leaves no session, and in a resumed session only its tokens)",
    "the messages before a compaction; an answer that was interrupted",
    "the calls, results and answers of sub-agents (their tokens are in the total)",
    "that a shell command failed which wrote nothing to standard error; that an MCP tool failed",
    "the server of an MCP tool, and that it is one",
    "the model's reasoning, and its stop reason",
    "the version, the branch, the parent of a fork",
    "cached and reasoning tokens of sessions with sub-agents or compactions",
)
UNTITLED = ("Untitled Session", "New Session")
_LIST = ord("[")
_USERS = re.compile(r"shell-\d{13}-[a-z0-9]{0,6}")
"""Ids of commands that the user ran."""


class State(Struct):
    """Empty: documents are independent of each other."""


class SessionDecoder:
    """Decoder of `continue-session`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_document(one_line(record.data))
        session: Session = document
        if document.session is not None and document.history is None:
            session = document.session
        if session.history is None:
            batch.unknown_type("document", record)
            return
        items = read_each(session.history, decode_item, "history", record, batch)
        _Reading(self.context.source(record), session, record, batch).read(items)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""


class _Reading:
    """One session; lives while its document is decoded. Appends to `batch`."""

    def __init__(self, source: Source, session: Session, record: Record, batch: Batch) -> None:
        self.source, self.session, self.record, self.batch = source, session, record, batch
        self.events = batch.events
        self.model = session.chatModelTitle
        self.answers: list[tuple[Usage, TokenUsage]] = []
        self.calls: set[str] = set()
        self.named: dict[str, str] = {}  # the last call with each id in the log
        self.ended: set[str] = set()

    def read(self, items: Sequence[tuple[int, Item]]) -> None:
        session = self.session
        usages = (item.message.usage for _, item in items if item.message is not None)
        self.model = next((used.model for used in usages if used is not None and used.model), self.model)
        title = session.title if session.title not in UNTITLED else None
        folder = _path(session.workspaceDirectory)
        self.events.append(SessionInfo(self.source, "", session.sessionId, self.model, None, folder, title=title))
        first = copied(items, session.usage)
        for _ in items[:first]:
            self.batch.ignore(COPIED)
        own = items[first:]
        last = max((i for i, (_, item) in enumerate(own) if _goes_on(item)), default=-1)
        for i, (place, item) in enumerate(own):
            following = own[i + 1] if i + 1 < len(own) else None
            self._item(place, item, following, i < last)
        if session.usage is not None:
            total = session_usage(self.source, self.answers, session.usage)
            if total is not None:
                self.events.append(total)
        if last >= 0 and _is_final(own[last][1]):
            self.events.append(SessionEnd(self.source, f"-{own[last][0]}", "complete"))

    def _item(self, place: int, item: Item, following: tuple[int, Item] | None, over: bool) -> None:
        """Emits an item. `over`: the session went on after it, so that a call that still ran was interrupted."""
        message, message_id = item.message, _message_id(place)
        if message is None:
            self.batch.unknown_type("item", self.record)
            return
        role = message.role
        if role == "assistant":
            if _ran_by_user(item):
                self._ran(place, item)
            elif not _is_summary(item):
                self._answer(place, item, message, over)
        elif role == "user":
            for i, attached in enumerate(item.contextItems or ()):
                self._user(f"-{place}-c{i}", f"{message_id}-c{i}", attached.content, True)
            self._user(f"-{place}", message_id, message.content, False)
        elif role == "system":
            self._user(f"-{place}", message_id, message.content, True)
        elif role == "thinking":
            if following is not None and _role(following[1]) == "assistant":
                message_id = _message_id(following[0])  # a thought is an item of its own before its answer
            for i, text in enumerate(_texts(message.content)):
                self.events.append(Reasoning(self.source, f"-{place}-{i}", message_id, text))
        elif role == "tool":
            self._tool_message(place, message)
        else:
            self.batch.unknown_type(f"message/{role}", self.record)
        if has_value(item.conversationSummary):
            self._user(f"-{place}-s", f"{message_id}-s", item.conversationSummary, True)

    def _answer(self, place: int, item: Item, message: Message, over: bool) -> None:
        source, events, message_id = self.source, self.events, _message_id(place)
        used = message.usage
        model = (used.model if used is not None else None) or self.model
        if model != self.model:
            self.model = model
            events.append(SessionInfo(source, f"-{place}", None, model))
        for i, text in enumerate(_texts(message.content)):
            events.append(AssistantText(source, f"-{place}-{i}", message_id, text, model=model))
        for i, (call, state) in enumerate(_calls(item, message)):
            function = call.function or Function()
            name, part = function.name or "unknown", f"-{place}-{i}"
            call_id = self._call_id(call.id, f"{message_id}-{i}")
            events.append(ToolCall(source, part, message_id, call_id, name, _arguments(function), model=model))
            if state is not None:
                self._result(part, call_id, name, state, over)
        counted = None if used is None else answer_usage(source, f"-{place}", message_id, used)
        if used is not None and counted is not None:
            self.answers.append((used, counted))
            events.append(counted)

    def _call_id(self, native: str | None, own: str) -> str:
        """The id in the log, or, if there is none or another call has it (some servers count anew), one of our own."""
        call_id = own if not native or native in self.calls else native
        self.calls.add(call_id)
        self.named[native or own] = call_id
        return call_id

    def _ran(self, place: int, item: Item) -> None:
        """A command that the user ran with `!`, and its output: not a call, as no model asked for it."""
        for i, state in enumerate(item.toolCallStates or []):
            texts = _command(state.toolCall or AskedCall()), _output(state) or ABSENT
            for k, text in enumerate(texts):
                self._user(f"-{place}-{i}-{k}", f"{_message_id(place)}-{i}-{k}", text, True)

    def _result(self, part: str, call_id: str, name: str, state: CallState, over: bool) -> None:
        """Emits the end of a call, or its output so far; nothing if it has not begun."""
        output = _output(state)
        if over and state.status in RUNNING:
            self.ended.add(call_id)
            self.events.append(ToolResult(self.source, part, call_id, output, "cancelled"))
            return
        if state.status is None or state.status in RUNNING:
            if output is not None:
                self.events.append(ToolResult(self.source, f"{part}-o", call_id, output, partial=True))
            return
        self.ended.add(call_id)
        outcome, exit_code = ending(name, state.status, text_of(output))
        self.events.append(ToolResult(self.source, part, call_id, output, outcome, exit_code))

    def _tool_message(self, place: int, message: Message) -> None:
        """Handles a result that is a message of its own; the states of the calls also have it."""
        call_id = self.named.get(message.toolCallId or "", message.toolCallId)
        if call_id is None or call_id in self.ended:
            self.batch.ignore("message/tool")
            return
        self.ended.add(call_id)
        output = message.content if has_value(message.content) else None
        self.events.append(ToolResult(self.source, f"-{place}", call_id, output))

    def _user(self, part: str, message_id: str, content: Raw, injected: bool) -> None:
        for i, text in enumerate(_texts(content, other=True)):
            self.events.append(UserText(self.source, f"{part}-{i}", text, message_id, injected))


def _calls(item: Item, message: Message) -> Iterator[tuple[AskedCall, CallState | None]]:
    """The calls that an answer asks for, each with its state if the log has one."""
    asked_calls = message.toolCalls or []
    states = item.toolCallStates
    if states is None:
        yield from ((call, None) for call in asked_calls)
        return
    known = {call.id: call for call in asked_calls}
    for state in states:
        call = state.toolCall or known.get(state.toolCallId) or AskedCall()
        yield AskedCall(state.toolCallId or call.id, call.function), state


def _ran_by_user(item: Item) -> bool:
    """Whether this is a command of the user: Continue keeps it as a call of an answer without text."""
    states = item.toolCallStates or []
    return bool(states) and all(_USERS.fullmatch(state.toolCallId or "") for state in states)


def _goes_on(item: Item) -> bool:
    """Whether an item shows that no call before it still runs."""
    return _role(item) != "tool" and not _ran_by_user(item)


def _command(call: AskedCall) -> Raw:
    """A command of the user as it was typed."""
    arguments = _arguments(call.function or Function())
    try:
        return to_raw(f"!{decode_command(arguments).command}")
    except REFUSED:
        return arguments


def _output(state: CallState) -> Raw | None:
    contents = [entry.content for entry in state.output or () if has_value(entry.content)]
    if len(contents) > 1:
        return to_raw("\n".join(map(text_of, contents)))
    return contents[0] if contents else None


def _arguments(function: Function) -> Raw:
    raw = function.arguments
    return inner_json(raw) if has_value(raw) and raw != EMPTY_STRING else EMPTY_OBJECT


def _texts(content: Raw, other: bool = False) -> Iterator[Raw]:
    """The texts of a message as JSON strings, empty ones left out; with `other`, its images as blocks without data."""
    if not has_value(content):
        return
    if memoryview(content)[0] != _LIST:
        text = text_json(content)
        if text != EMPTY_STRING:
            yield text
        return
    for part in fitting(content, decode_part):
        if part.type == "text" or has_value(part.text):
            text = text_json(part.text)
            if text != EMPTY_STRING:
                yield text
        elif other:
            yield to_raw([{"type": part.type}])


def _is_summary(item: Item) -> bool:
    """Whether an answer is nothing but a summary: the command line replaces the history with one."""
    return (
        has_value(item.conversationSummary)
        and item.message is not None
        and (item.message.content == item.conversationSummary)
    )


def _is_final(item: Item) -> bool:
    message = item.message
    if message is None or message.role != "assistant" or message.toolCalls or item.toolCallStates:
        return False
    return not _is_summary(item) and any(True for _ in _texts(message.content))


def _role(item: Item) -> str | None:
    return item.message.role if item.message is not None else None


def _path(folder: str | None) -> str | None:
    """The folder; the editor extension writes it as a URI."""
    if not folder:
        return None
    return unquote(folder.removeprefix("file://")) if folder.startswith("file://") else folder


def _message_id(place: int) -> str:
    return f"m{place}"
