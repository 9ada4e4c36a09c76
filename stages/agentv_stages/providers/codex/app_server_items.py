"""Items of `codex app-server`: texts in pieces and whole, calls, reviews, the life of sub-agents, plans.

In: items in camelCase. Out: events, by the rules of the exec stream. A text's deltas count only if its turn ends before
the whole text comes. If the whole text comes later, only the part that the deltas lack is emitted.
"""

from zlib import crc32

from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AssistantText, Notification, Source, UserText
from agentv_stages.model.payload import ABSENT, has_value, join_strings, text_of, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import checksum
from agentv_stages.providers.codex.app_server_catalogue import COLLABORATION, KINDS, PIECE, REVIEWS
from agentv_stages.providers.codex.app_server_threads import MOST_THREADS, Begun, Pieces, Threads
from agentv_stages.providers.codex.app_server_wire import AppItem, Delta, Params, decode_parts
from agentv_stages.providers.codex.stream import SPAWN
from agentv_stages.providers.codex.wire import USER_SHELL, Item, first, plain, word


class AppItems(Threads):
    """Adds the handling of items to that of threads."""

    def flush(self, batch: Batch) -> None:
        self.tell_begun(batch)
        super().flush(batch)

    def item(self, method: str, item: AppItem, source: Source, record: Record, batch: Batch) -> None:
        """Handles the start or the end of an item."""
        kind = KINDS.get(item.type)
        begun = method == "item/started"
        if kind == "command_execution":
            if bytes(item.source) in USER_SHELL:
                batch.ignore("user shell")
            else:
                self._work(begun, _command(item), source, record, batch)
        elif kind == "agent_message":
            self._text(Item(type=kind, id=item.id, text=item.text), source, record, batch)
        elif kind == "reasoning":
            text = "\n\n".join(t for t in (_joined(item.content) or _joined(item.summary)) if t)
            if text:
                self._text(Item(type=kind, id=item.id, text=to_raw(text)), source, record, batch)
            else:
                batch.ignore("reasoning, encrypted")
        elif kind == "user_message":
            if not has_value(item.content):
                batch.ignore("userMessage, empty")
            elif not self.repeated(item.id, batch, checksum(item.content)):
                self.state.after_result = True
                batch.events.append(UserText(source, "", item.content, item.id))
        elif kind == "context_compaction":
            batch.events.append(Notification(source, "", "compact_boundary", "the history was compacted"))
        elif kind in REVIEWS:
            self._review(kind, begun, source, record, batch)
        elif kind == "sub_agent_activity":
            self._activity(begun, item, source, record, batch)
        elif kind is None:
            batch.unknown_type(f"item:{item.type}", record)
        else:
            if kind == "collab_tool_call" and item.tool is not None:
                item.tool = COLLABORATION.get(item.tool, item.tool)
            self._work(begun, _of_any(kind, item), source, record, batch)

    def _work(self, begun: bool, item: Item, source: Source, record: Record, batch: Batch) -> None:
        if begun:
            self.started(item, source, record, batch)
        else:
            self.completed(item, source, record, batch)

    def _text(self, item: Item, source: Source, record: Record, batch: Batch) -> None:
        """Handles a text that came whole; its start has no content (`BEGUN_QUIETLY`)."""
        state = self.state
        if state.begun:
            state.begun.pop(item.id, None)
        emitted = state.pieces.pop(item.id, None) if state.pieces else None
        if emitted is None or not self._rest(emitted, item, source, batch):
            self.speaks()
            self.completed(item, source, record, batch)

    def piece(self, p: Delta, record: Record, batch: Batch) -> None:
        """Handles a delta of a text."""
        batch.ignore(PIECE)
        if bytes(p.delta)[:1] != b'"':
            return
        item_id, begun = p.item_id or "", self.state.begun
        text = begun.get(item_id)
        if text is not None:
            text.pieces.append(p.delta)
            return
        if self.state.over.known(item_id):
            return  # belongs to a text that already came whole
        source = self.placed(p.thread_id, None, record)
        if len(begun) >= MOST_THREADS:
            self.tell_begun(batch)
        self.speaks()
        self.state.begun[item_id] = Begun(source, self._answer(source), [p.delta])

    def tell_begun(self, batch: Batch, stream: str | None = None) -> None:
        """Emits the texts begun so far, or those of one stream: the rest of them will hardly come."""
        state = self.state
        for item_id, text in list(state.begun.items()):
            if stream is not None and text.source.stream != stream:
                continue
            del state.begun[item_id]
            whole = join_strings(text.pieces)
            batch.events.append(AssistantText(text.source, "", text.answer, whole, False, False, state.model))
            emitted = remember(state.pieces, item_id, state.pieces.get(item_id) or Pieces(""), MOST_THREADS)
            emitted.add(text_of(whole))
            emitted.answer = text.answer

    def _rest(self, emitted: Pieces, item: Item, source: Source, batch: Batch) -> bool:
        """Emits the part of a text that its pieces lack, as a part of the same message. False if the text must be
        emitted whole: it is another text, or its thread has begun another answer since.
        """
        whole = text_of(item.text)
        rest = whole[emitted.length :]
        if not emitted.begin(whole) or (rest and emitted.answer != self.state.answer):
            return False
        if not self.repeated(item.id, batch, crc32(item.text)):
            if rest:
                text = to_raw(rest)
                batch.events.append(AssistantText(source, "", emitted.answer, text, False, False, self.state.model))
            else:
                batch.ignore("item/completed, told from its pieces")
        return True

    def _review(self, kind: str, begun: bool, source: Source, record: Record, batch: Batch) -> None:
        """Begins or ends a review; the items between belong to a sub-agent, as in a rollout."""
        state = self.state
        if kind == "entered_review_mode" and not begun:
            state.review = state.thread
        elif kind == "exited_review_mode" and state.review is not None:
            thread, state.review = state.review, None
            source = self.placed(thread, source.time_ms, record)
        if begun:
            batch.ignore(f"item.started:{kind}")
        else:
            batch.events.append(Notification(source, "", kind, ""))

    def _activity(self, begun: bool, item: AppItem, source: Source, record: Record, batch: Batch) -> None:
        """Handles a thread's report on its sub-agents. A started sub-agent is a call of the tool that starts them."""
        kind, agent = word(item.kind) or "activity", item.agent_thread_id
        if kind == "started":
            call = Item(type="collab_tool_call", id=item.id, tool=SPAWN, status=Raw(b'"completed"'))
            call.agent_path = item.agent_path
            if agent:
                call.receiver_thread_ids = [agent]
                if item.agent_path and agent not in self.state.paths:
                    remember(self.state.paths, agent, item.agent_path, MOST_THREADS)
            self._work(begun, call, source, record, batch)
        elif begun:
            batch.ignore(f"item/started:subAgentActivity, {kind}")
        elif not self.repeated(item.id, batch):
            batch.events.append(Notification(source, "", f"subagent_{kind}", item.agent_path or agent or ""))

    def plan(self, p: Params, source: Source, batch: Batch) -> None:
        """Emits a call of the plan tool, which has no item of its own."""
        turn = p.turn_id or ""
        if self.state.over.again(f"{turn}.plan", checksum(p.plan)):
            batch.ignore("turn/plan/updated, repeated")
            return
        members = {"explanation": p.explanation} if first(p.explanation) == b'"' else {}
        item = Item(type="todo_list", id=f"{turn}.plan.row{source.row}")
        self._emit_call(source, item.id, "update_plan", to_raw({**members, "plan": p.plan}), batch)
        self._emit_result(source, item.id, item, batch)


def _command(item: AppItem) -> Item:
    return Item(
        type="command_execution",
        id=item.id,
        command=item.command,
        aggregated_output=item.aggregated_output,
        exit_code=item.exit_code,
        duration=_duration(item.duration_ms),
        status=item.status,
    )


def _of_any(kind: str, item: AppItem) -> Item:
    return Item(
        type=kind,
        id=item.id,
        duration=_duration(item.duration_ms),
        status=item.status,
        changes=item.changes,
        server=item.server,
        tool=item.tool,
        arguments=item.arguments,
        result=item.result,
        content_items=item.content_items,
        error=item.error,
        prompt=item.prompt,
        receiver_thread_ids=item.receiver_thread_ids,
        agents_states=item.agents_states,
        query=item.query,
        action=item.action,
        path=item.path,
        items=item.items,
    )


def _duration(raw: Raw) -> Raw:
    return raw if first(raw) not in (b"", b"n") else ABSENT


def _joined(raw: Raw) -> list[str]:
    """The strings in a list of strings or of parts with a text."""
    if len(raw) < 3 or first(raw) != b"[":
        return []
    return [word(part) or plain(part) for part in decode_parts(raw)]
