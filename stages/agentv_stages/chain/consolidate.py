"""Events to messages: blocks, chunks and deltas of one answer are ONE message, complete when its calls are answered.

In: batches after `Pair`. Out: the same batches with `messages` filled, in order of completion; `Message.index` is the
order of their first records. A message is closed by the next message of its stream, a user input or the end of a run,
and is emitted when all its calls have a result. Past 10,000 waiting messages the oldest is emitted as it is; results
that come for it later become messages of role `tool`. Past 1,000 calls a message continues in another one with the same
id, marked `late`.
"""

from collections.abc import Callable
from itertools import islice

from msgspec import Raw, Struct, convert, field

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AssistantText,
    Reasoning,
    Retract,
    SessionEnd,
    SlashCommand,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
    call_key,
)
from agentv_stages.model.message import Message, PairedCall, Role
from agentv_stages.model.payload import to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.stage import Flushed
from agentv_stages.model.tokens import possible
from agentv_stages.model.turns import Turns, TurnState

MOST_WAITING = 10_000
MOST_CALLS = 1_000  # of one message: where a log does not separate answers, all calls of a session are in one
MOST_SEARCHED = 64  # latest waiting messages that are searched: where no call gets a result, thousands wait
MOST_LAST = 256
MOST_STREAMS = 64  # with an unfinished message; past that, the oldest one of a sub-agent is closed


class ConsolidateState(Struct):
    """Messages that are still being written, by stream, and closed ones that wait for results, by index."""

    next_index: int = 0
    turns: TurnState = field(default_factory=TurnState)
    current: dict[str, Message] = {}
    waiting: dict[int, Message] = {}
    last_ids: dict[str, str] = {}
    early: dict[str, TokenUsage] = {}
    places: int = 0


class Consolidate:
    """A stage over batches. `redact` is for texts of several deltas, none of which shows a secret alone."""

    def __init__(self, redact: Callable[[bytes], bytes] | None = None) -> None:
        self._redact = redact
        self._joined: set[int] = set()  # indexes of messages whose texts came in deltas
        self._next = 0
        self._turns = Turns()
        self._current: dict[str, Message] = {}
        self._waiting: dict[int, Message] = {}
        self._open: dict[str, tuple[Message, PairedCall]] = {}  # by `call_key`
        self._last_ids: dict[str, str] = {}  # by stream: the message that was emitted last
        self._early: dict[str, TokenUsage] = {}  # by stream: tokens of a message of which nothing else came yet
        self._places = 0  # calls and results so far
        self._flushed = Flushed()

    def push(self, batch: Batch, /) -> tuple[Batch]:
        out = batch.messages
        current = self._current
        for event in batch.events:
            kind = type(event)
            if kind is ToolResult:
                self._result(event, out)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
            elif kind is ToolCall or kind is AssistantText or kind is Reasoning:
                source = event.source
                message = current.get(source.stream)
                if message is None or message.message_id != event.message_id or message.role != "assistant":  # type: ignore[union-attr]  # as above
                    message = self._assistant(event, out)  # type: ignore[arg-type]  # as above
                else:
                    if source.time_ms is not None:
                        message.end_ms = source.time_ms
                    if message.synthetic and message.turn is None:  # the model continues a text of the program
                        message.turn = self._turns.turn_of(event)  # type: ignore[arg-type]  # as above
                if kind is ToolCall:
                    if len(message.calls) >= MOST_CALLS:
                        message = self._assistant(event, out)  # type: ignore[arg-type]  # as above
                        message.late = True
                    self._places += 1
                    paired = PairedCall(event, None, self._places)  # type: ignore[arg-type]  # as above
                    message.calls.append(paired)
                    message.open += 1
                    self._open[call_key(event)] = (message, paired)  # type: ignore[arg-type]  # as above
                else:
                    self._text(message, event)  # type: ignore[arg-type]  # as above
            elif kind is TokenUsage:
                self._usage(event)  # type: ignore[arg-type]  # as above
            elif kind is UserText:
                self._user(event, out)  # type: ignore[arg-type]  # as above
            elif kind is SlashCommand:
                self._command(event, out)  # type: ignore[arg-type]  # as above
            elif kind is SessionEnd:
                self._close(event.source.stream, out)
            elif kind is Retract:
                self._retract(event)  # type: ignore[arg-type]  # as above
        return (batch,)

    def _text(self, message: Message, event: AssistantText | Reasoning) -> None:
        if event.delta and self._redact is not None:
            self._joined.add(message.index)
        if type(event) is AssistantText:
            if event.delta or message.content_pieces:
                message.append("content", event.text_json, event.delta)
            else:
                message.content.append(event.text_json)
        elif event.delta or message.thinking_pieces:
            message.append("thinking", event.text_json, event.delta)
        else:
            message.thinking.append(event.text_json)
        if type(event) is AssistantText and event.synthetic:
            message.synthetic = True

    def _command(self, event: SlashCommand, out: list[Message]) -> None:
        text = to_raw(f"{event.name} {event.args}" if event.args else event.name)
        self._user(UserText(event.source, event.part, text, event.source.base_id, True), out)

    def flush(self) -> tuple[Batch, ...]:
        """Emits all remaining messages, by index."""
        self._flushed.once()
        left = sorted([*self._current.values(), *self._waiting.values()], key=lambda m: m.index)
        self._current, self._waiting, self._open = {}, {}, {}
        for message in left:
            self._seal(message)
        return (Batch(messages=left),) if left else ()

    @property
    def first_unfinished(self) -> int | None:
        """The lowest index of a message that was not emitted yet; None if all were."""
        return min((m.index for held in (self._current, self._waiting) for m in held.values()), default=None)

    def snapshot(self) -> ConsolidateState:
        """The messages that are unfinished or waiting; `restore` finds the open calls in them."""
        turns = self._turns.snapshot()
        last, early = self._last_ids, self._early
        return ConsolidateState(self._next, turns, self._current, self._waiting, last, early, self._places)

    def restore(self, snapshot: object, /) -> None:
        state = convert(snapshot, ConsolidateState, from_attributes=True)
        self._next = state.next_index
        self._turns.restore(state.turns)
        self._current, self._waiting, self._last_ids = state.current, state.waiting, state.last_ids
        self._early, self._places = state.early, state.places
        for message in (*self._current.values(), *self._waiting.values()):
            message.open = 0
            if self._redact is not None:
                self._joined.add(message.index)
            for paired in message.calls:
                if paired.result is None:
                    self._open[call_key(paired.call)] = (message, paired)
                    message.open += 1

    def _start(self, role: Role, source: Source, message_id: str, out: list[Message]) -> Message:
        stream = source.stream
        if stream in self._current:
            self._close(stream, out)
        message = Message(self._next, role, source, message_id, end_ms=source.time_ms, before=self._places)
        self._next += 1
        if len(self._current) >= MOST_STREAMS:
            self._close(next(name for name in self._current if name != MAIN), out)
        self._current[stream] = message
        return message

    def _assistant(self, event: AssistantText | Reasoning | ToolCall, out: list[Message]) -> Message:
        """The message for an event that does not belong to the current one: reopened, or a new one."""
        source = event.source
        message = self._reopen(event.message_id, source.stream, out) if self._waiting else None
        if message is None:
            turn = self._turns.turn_of(event)
            message = self._start("assistant", source, event.message_id, out)
            message.turn = turn
            message.model = event.model
            message.late = self._last_ids.get(source.stream) == event.message_id
            early = self._early.get(source.stream)
            if early is not None and (early.key == event.message_id or early.key != early.source.base_id):
                message.usage = self._early.pop(source.stream)
                message.foretold = early.key != event.message_id
        if source.time_ms is not None:
            message.end_ms = source.time_ms
        return message

    def _reopen(self, message_id: str, stream: str, out: list[Message]) -> Message | None:
        """Makes a message that was closed too early the current one again, if it was not emitted yet."""
        for index, message in islice(reversed(self._waiting.items()), MOST_SEARCHED):
            if message.message_id == message_id and message.source.stream == stream and len(message.calls) < MOST_CALLS:
                self._close(stream, out)
                self._waiting.pop(index, None)
                self._current[stream] = message
                return message
        return None

    def _user(self, event: UserText, out: list[Message]) -> None:
        message = self._current.get(event.source.stream)
        same = message is not None and message.role == "user" and message.message_id == event.message_id != ""
        if message is None or not same or message.injected != event.injected:
            message = self._start("user", event.source, event.message_id, out)
            message.injected = event.injected
        if event.delta and self._redact is not None:
            self._joined.add(message.index)
        message.append("content", event.body, event.delta and bytes(event.body)[:1] == b'"')

    def _result(self, event: ToolResult, out: list[Message]) -> None:
        if event.partial:
            return
        entry = self._open.pop(call_key(event.call or event), None)
        if entry is None:
            if event.outcome == "unpaired":
                return  # its message was emitted with the call marked as open
            message = Message(self._next, "tool", event.source, event.call_id, end_ms=event.source.time_ms, late=True)
            self._next += 1
            self._places += 1
            if event.call is not None:
                message.calls.append(PairedCall(event.call, event))
            if event.output_json is not None:
                message.content.append(event.output_json)
            out.append(message)
            return
        message, paired = entry
        paired.result = event
        if event.outcome != "unpaired":
            self._places += 1
            paired.result_place = self._places
        message.open -= 1
        if not message.open and message.index in self._waiting:
            del self._waiting[message.index]
            self._leave(message, out)

    def _close(self, stream: str, out: list[Message]) -> None:
        message = self._current.pop(stream, None)
        if message is None:
            return
        if not message.open:
            self._leave(message, out)
            return
        if len(self._waiting) >= MOST_WAITING:
            oldest = self._waiting.pop(next(iter(self._waiting)))
            for paired in oldest.calls:
                if paired.result is None:
                    self._open.pop(call_key(paired.call), None)
            self._leave(oldest, out)
        self._waiting[message.index] = message

    def _leave(self, message: Message, out: list[Message]) -> None:
        if message.role == "assistant":
            remember(self._last_ids, message.source.stream, message.message_id, MOST_LAST)
        self._seal(message)
        out.append(message)

    def _seal(self, message: Message) -> None:
        message.seal()
        if (redact := self._redact) is not None and message.index in self._joined:
            self._joined.discard(message.index)
            message.content = [Raw(redact(bytes(text))) for text in message.content]
            message.thinking = [Raw(redact(bytes(text))) for text in message.thinking]

    def _usage(self, event: TokenUsage) -> None:
        if event.scope != "call":
            return
        event = possible(event)
        source, key = event.source, event.key
        message = self._current.get(source.stream)
        if message is None or message.role != "assistant" or (key == source.base_id and message.message_id != key):
            self._early_usage(event)  # its text or calls are still to come
            return
        known = message.usage
        if known is None or known.input is None or (event.input is not None and key == known.key):
            message.usage = event
        elif event.input is not None and key != known.key:
            if message.foretold and message.open == len(message.calls):
                message.usage, message.foretold = event, False
            else:
                self._early_usage(event)

    def _early_usage(self, event: TokenUsage) -> None:
        """Keeps the tokens of an answer whose parts are still to come: it may only request a script."""
        remember(self._early, event.source.stream, event, MOST_STREAMS)

    def _retract(self, event: Retract) -> None:
        void = set(event.message_ids)
        for message in (*self._current.values(), *self._waiting.values()):
            if message.message_id in void or message.source.base_id in void:
                message.retracted = True
