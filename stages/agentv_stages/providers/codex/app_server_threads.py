"""Threads of `codex app-server`: which thread a notification belongs to, its facts, and its usage.

In: the threads that notifications name. Out: sources on their streams, sessions, tokens. Threads other than the first
are sub-agents; the notifications of several threads may be interleaved.
"""

from zlib import crc32

from msgspec import Raw, Struct

from agentv_stages.chain.foreign import other_session
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    Reasoning,
    Retract,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    UserText,
)
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.times import epoch_ms
from agentv_stages.model.tokens import known_sum
from agentv_stages.providers.codex.app_server_catalogue import REVERTED
from agentv_stages.providers.codex.app_server_wire import AppThread, AppTokens, AppUsage, Params
from agentv_stages.providers.codex.stream import ItemStream, State, spawned
from agentv_stages.providers.codex.wire import Item

MOST_THREADS = 256
MOST_TURNS = 32
MOST_MESSAGES = 512
_OF_MESSAGES = (UserText, AssistantText, Reasoning, ToolCall)


class Begun(Struct):
    """A text of which only pieces have come, as JSON strings."""

    source: Source
    answer: str
    pieces: list[Raw]


class Pieces(Struct, array_like=True):
    """A text that was emitted from its pieces: its length in characters, and a checksum. `answer` is its message."""

    answer: str
    length: int = 0
    checksum: int = 0

    def add(self, text: str) -> None:
        self.length += len(text)
        self.checksum = crc32(text.encode("utf-8", "surrogatepass"), self.checksum)

    def begin(self, whole: str) -> bool:
        """Whether a whole text begins with the emitted pieces."""
        return crc32(whole[: self.length].encode("utf-8", "surrogatepass")) == self.checksum


class AppState(State, Struct):  # `Struct` again, because ruff allows literals only where it sees it
    """`thread` is the thread that `answer` belongs to; `others` keeps the answers of the other threads. `begun` has the
    texts that are being written, `pieces` those that ended before they came whole, both by item. `turns` has the
    messages of the session's last turns, `revert` the first turn that the client wants to take back.
    """

    thread: str = ""
    spoken: bool = False
    others: dict[str, tuple[str, bool, bool]] = {}
    review: str | None = None
    paths: dict[str, str] = {}
    parents: dict[str, str] = {}
    worked: dict[str, None] = {}
    begun: dict[str, Begun] = {}
    pieces: dict[str, Pieces] = {}
    turns: dict[str, list[str]] = {}
    revert: str | None = None


class Threads(ItemStream):
    """Adds the handling of threads to that of items."""

    def __init__(self, context: DecodeContext) -> None:
        super().__init__(context)
        self.state: AppState = AppState()

    def placed(self, thread: str | None, time_ms: int | None, record: Record) -> Source:
        """The source of a thread's notification; the thread becomes the current one."""
        state, context = self.state, self.context
        stream = context.stream
        if state.review is not None and thread == state.review:
            thread = "review"
        if thread is None or state.session_id is None or thread == state.session_id:
            self._switch(state.session_id or "")
        else:
            self._switch(thread)
            if stream == MAIN:
                stream = f"subagent:{state.paths.get(thread, thread)}"
        return Source(context.file, record.row, record.offset, record.length, epoch_ms(time_ms), stream)

    def _switch(self, thread: str) -> None:
        """Makes a thread the current one: threads alternate, and each continues its own answer."""
        state = self.state
        if thread == state.thread:
            return
        remember(state.others, state.thread, (state.answer, state.after_result, state.spoken), MOST_THREADS)
        state.answer, state.after_result, state.spoken = state.others.pop(thread, ("", True, False))
        state.thread = thread

    def _emit_result(self, source: Source, call_id: str, item: Item, batch: Batch) -> None:
        """Emits a result. Here it does not end an answer: several calls in a row may belong to one."""
        state = self.state
        after_result = state.after_result
        super()._emit_result(source, call_id, item, batch)
        state.after_result, state.spoken = after_result, True
        agent = spawned(item)
        if agent is not None:
            remember(state.parents, agent, call_id, MOST_THREADS)

    def _parent_call(self) -> str | None:
        return self.state.parents.get(self.state.thread, self.context.parent_call)

    def _answer(self, source: Source) -> str:
        state = self.state
        if state.after_result or not state.answer:
            state.spoken = False
        return super()._answer(source)

    def speaks(self) -> None:
        """The model says or thinks something: after a call's result or a usage it is part of a new answer."""
        if self.state.spoken:
            self.state.after_result = True

    def thread(self, thread: AppThread, model: str | None, source: Source, record: Record, batch: Batch) -> None:
        """Handles a thread's start, or a reply that names it; the first thread is the session."""
        state = self.state
        if state.session_id is None:
            state.session_id = state.thread = thread.id or ""
        elif thread.id != state.session_id:
            if not thread.parent_thread_id and not thread.forked_from_id:
                other_session(record, thread.id, state.session_id, batch)
            parent = thread.parent_thread_id or thread.forked_from_id
            text = f"{thread.id} of {parent}" if parent else thread.id or ""
            batch.events.append(Notification(source, "", "thread_started", text))
            return
        elif model is None:
            batch.ignore("thread/started")
            return
        state.model = model or state.model
        batch.events.append(
            SessionInfo(source, "", thread.id, model, thread.cli_version, thread.cwd, None, thread.parent_thread_id)
        )

    def belongs(self, turn: str, events: list[AnyEvent]) -> None:
        """Records that the messages of these events belong to a turn of the session."""
        known = self.state.turns.get(turn)
        if known is None:
            known = remember(self.state.turns, turn, list[str](), MOST_TURNS)
        for event in events:
            if isinstance(event, _OF_MESSAGES):
                message = event.message_id
                if message and (not known or message != known[-1]) and len(known) < MOST_MESSAGES:
                    known.append(message)

    def reverted(self, source: Source, batch: Batch) -> None:
        """The thread goes on before one of its turns; only the client's request says before which."""
        turns, first = self.state.turns, self.state.revert
        self.state.revert = None
        names = list(turns)
        reverted = names[names.index(first) :] if first in turns else []
        messages = tuple(message for name in reverted for message in turns.pop(name))
        if messages:
            batch.events.append(Retract(source, "", messages, REVERTED))
        else:
            batch.events.append(Notification(source, "", REVERTED, "turns that the log does not name", "warning"))

    def used(self, p: Params, usage: AppUsage, source: Source, batch: Batch) -> None:
        """Emits the tokens of a model call; a repeated total is not another call.

        They come after the results of the answer's calls (0.142, 0.171) or before its calls (0.110). So they end the
        answer only after a result: then the next call belongs to another answer.
        """
        state, thread = self.state, p.thread_id or ""
        spent, last = usage.total or AppTokens(), usage.last
        total = spent.total_tokens
        if total is None:
            total = known_sum((spent.input_tokens, spent.output_tokens))
        if last is None or total is None or state.over.again(f"{thread}:{total}"):
            batch.ignore("thread/tokenUsage/updated")
            return
        if thread not in state.worked:  # a thread that is resumed or forked repeats its last call
            batch.ignore("thread/tokenUsage/updated, of an earlier run")
            return
        if state.spoken:
            state.after_result = True
        state.spoken = True
        batch.events.append(
            TokenUsage(
                source,
                "",
                f"{thread}:{total}",
                "call",
                state.model,
                last.input_tokens,
                last.cached_input_tokens,
                last.cache_write_input_tokens,
                None,
                last.output_tokens,
                last.reasoning_output_tokens,
            )
        )
