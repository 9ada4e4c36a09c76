"""Text in ACP. In: chunks of answers, thoughts and user messages. Out: the same, on the speakers' streams.

Text of sub-agents is not marked: while one runs, text is held until a message shows whose it was.
"""

from typing import Protocol

from msgspec import Raw, structs

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AssistantText, Notification, Reasoning, Source, UserText
from agentv_stages.model.payload import EMPTY_STRING, text_json, text_of
from agentv_stages.model.recent import remember
from agentv_stages.providers.acp import usage, wire
from agentv_stages.providers.acp.catalogue import NOTES
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.state import MOST, AcpState, Answer, Held


class Connection(Protocol):
    """The part of a connection's decoder that the functions of its modules use."""

    state: AcpState
    stream: str


def chunk(at: Connection, update: wire.Update, thought: bool, source: Source, batch: Batch) -> None:
    """Handles a piece of an answer or a thought."""
    state, meta = at.state, update.meta
    block = _block(update)
    piece = block.text
    if meta is None and not (state.tasks or state.held or (state.calls and habits_of(state.agent).note is not None)):
        if len(piece) > 2 and bytes(piece)[:1] == b'"':  # nearly every chunk: text of the main agent
            add_text(at, piece, thought, update.messageId, source, batch)
            return
    marker = meta is not None and meta.usage is not None
    text = text_json(piece)
    if meta is not None and meta.source in NOTES:
        release(at, batch)
        batch.events.append(Notification(source, "", str(meta.source), text_of(text)))
    elif text == EMPTY_STRING:
        if not marker:
            batch.ignore(update.sessionUpdate + ("/empty" if block.type in ("text", "empty") else "/media"))
    elif state.tasks and not marker and (meta is None or meta.parentToolCallId is None):
        state.held.append(Held(source, Raw(bytes(text)), thought))
        if len(state.held) > MOST:
            release(at, batch)
    elif state.calls and (note := habits_of(state.agent).note) is not None and (notice := note(text_of(text))):
        batch.events.append(Notification(source, "", "session.info", notice[1], notice[0]))
    else:
        stream = stream_of(at, meta)[0]
        release(at, batch, stream)
        add_text(at, text, thought, update.messageId, on_stream(source, stream), batch)
    if marker:
        assert meta is not None
        marked(at, meta, source, batch)


def marked(at: Connection, meta: wire.Meta, source: Source, batch: Batch) -> None:
    """Qwen: the tokens of an answer, which ends with them."""
    state = at.state
    stream = stream_of(at, meta)[0]
    release(at, batch, stream)
    state.usage_marks = True
    known = state.answers.get(stream)
    used = meta.usage or wire.CallUsage()
    mark = f"{used.input} {used.output} {source.length}"  # the rest of the record is how long it took
    if known is not None and known.mark == mark and not (known.open or known.ended):
        batch.ignore("usage/again")
        return
    answer = answer_of(at, stream, source, known is not None and known.marked)
    batch.events.append(usage.of_call(state, meta, answer.id, on_stream(source, stream)))
    answer.marked, answer.mark = True, mark


def add_text(at: Connection, text: Raw, thought: bool, native: str | None, source: Source, batch: Batch) -> None:
    """Appends a piece of an answer's text or reasoning."""
    state = at.state
    answer = state.answers.get(source.stream)
    if answer is None or answer.ended > 0 or answer.marked or (native and native != answer.native):
        answer = _speaking(at, thought, native, source)
    if thought:
        state.thoughts = True
        batch.events.append(Reasoning(source, "", answer.id, text, True, state.model))
        return
    failed = False
    if not answer.spoke:
        answer.spoke = True
        failing = habits_of(state.agent).failed
        if failing is not None and source.stream == at.stream and failing(text_of(text)):
            failed, state.failure = True, text_of(text)
        else:
            state.failure = None
    elif state.failure is not None:
        state.failure = None
    batch.events.append(AssistantText(source, "", answer.id, text, True, failed, state.model))


def _speaking(at: Connection, thought: bool, native: str | None, source: Source) -> Answer:
    known = at.state.answers.get(source.stream)
    fresh = known is None or known.ended > 0 or known.marked
    if native and not thought and known is not None and known.native and known.native != native:
        fresh = True
    answer = answer_of(at, source.stream, source, fresh) if fresh or known is None else known
    if native and not thought and not answer.native:
        answer.native = native
        if fresh and not at.state.natives.again(f"{source.stream} {native}"):
            answer.id = native
    return answer


def _block(update: wire.Update) -> wire.Text:
    if bytes(update.content)[:1] != b"{":
        return wire.Text("empty")
    return decode_member(update.content, wire.decode_text, "params.update.content")


def user_chunk(at: Connection, update: wire.Update, source: Source, batch: Batch) -> None:
    """Handles a piece of a user's message. The client's own messages contain the same text."""
    if at.state.prompting:
        batch.ignore("user_message_chunk/echo")
        return
    if update.content in wire.NOTHING:
        batch.ignore("user_message_chunk/empty")
        return
    if at.state.answers or not at.state.user_id:
        at.state.answers.clear()
        at.state.user_id = update.messageId or f"u{source.row}"
    block = _block(update)
    text = block.type == "text"
    body = text_json(block.text) if text else Raw(b"[" + bytes(update.content) + b"]")
    batch.events.append(UserText(source, "", body, at.state.user_id, False, text))


def answer_of(at: Connection, stream: str, source: Source, fresh: bool) -> Answer:
    """The current answer of the stream; a new one if it begins here."""
    known = at.state.answers.get(stream)
    if known is None or fresh:
        known = Answer(f"m{source.row}")
        at.state.user_id = ""
        remember(at.state.answers, stream, known, MOST)
    return known


def stream_of(at: Connection, meta: wire.Meta | None) -> tuple[str, str | None]:
    """The stream that a message is marked with, and the call that started it."""
    if meta is None:
        return at.stream, None
    if meta.parentToolCallId:
        return f"subagent:{meta.parentToolCallId}", meta.parentToolCallId
    agent = meta.copilot.agentId if meta.copilot is not None else None
    if not agent:
        return at.stream, None
    tasks = at.state.tasks
    parent = next((call for call, known in tasks.items() if known == agent), None)
    if parent is None:
        waiting = [call for call, known in tasks.items() if not known]
        if len(waiting) == 1:
            parent = waiting[0]
            tasks[parent] = agent
    return f"subagent:{agent}", parent


def release(at: Connection, batch: Batch, stream: str | None = None) -> None:
    """Emits the held text, on the stream that it turned out to belong to."""
    held = at.state.held
    if held:
        at.state.held = []
        for chunk in held:
            add_text(at, chunk.text, chunk.thought, None, on_stream(chunk.source, stream or at.stream), batch)


def on_stream(source: Source, stream: str) -> Source:
    """The same source on another stream."""
    return source if source.stream == stream else structs.replace(source, stream=stream)
