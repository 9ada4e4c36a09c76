"""Converts the notifications of `codex app-server` (JSON-RPC over standard input and output) to events.

In: lines with `method` and `params`, replies with `result`; a client's own messages may stand between them. The items
are those of the exec stream in camelCase, with times. A text's deltas count only if the whole text does not come before
its turn ends; of one that comes after that, what the deltas did not say.
End rule: `turn/completed` with its status. Usage: `thread/tokenUsage/updated`, its `last` being one model call. Threads
other than the first are sub-agents: stream `subagent:<thread id>`.
Source: as in `app_server_catalogue`.
"""

from zlib import crc32

from msgspec import Raw, ValidationError

from agentv_stages.batch import Batch, Record
from agentv_stages.event import AssistantText, Notification, SessionEnd, Source, Status, UserText
from agentv_stages.payload import ABSENT, given, join_strings, text_of, to_raw
from agentv_stages.providers.codex.app_server_catalogue import (
    APPROVALS,
    BEGUN_QUIETLY,
    COLLABORATION,
    COPIES,
    KINDS,
    NOTICES,
    PIECE,
    QUIET,
    QUIET_METHODS,
    REVIEWS,
    TOLD,
)
from agentv_stages.providers.codex.app_server_threads import MOST_THREADS, Begun, Pieces, Threads
from agentv_stages.providers.codex.app_server_wire import (
    METHODS,
    AppItem,
    AppLine,
    AppTurn,
    Delta,
    Params,
    PieceLine,
    QuietLine,
    decode_delta,
    decode_line,
    decode_often,
    decode_params,
    decode_parts,
)
from agentv_stages.providers.codex.wire import Item, first, member, plain, word
from agentv_stages.recent import remember
from agentv_stages.repeats import checksum
from agentv_stages.times import whole_ms

TEXTS = frozenset({"agent_message", "reasoning"})
_USER_SHELL = b'"userShell"'
ENDS: dict[str, Status] = {"completed": "complete", "failed": "error", "interrupted": "interrupted"}


class AppServerDecoder(Threads):
    """Decoder of `codex-app-server`."""

    def decode(self, record: Record, batch: Batch) -> None:
        data = record.data
        if data[2:3] != b"m":  # a reply has an `id` there
            self._any(record, batch)
            return
        try:
            line = decode_often(data)
        except ValidationError:  # a rarer method, or another shape
            self._any(record, batch)
            return
        method = METHODS[line.__class__]
        if isinstance(line, QuietLine) or line.params is None:
            batch.ignore(method)
        elif isinstance(line, PieceLine):
            self._piece(line.params, record, batch)
        else:
            self._told(method, line.params, record, batch)

    def _any(self, record: Record, batch: Batch) -> None:
        """Handles a reply, or a notification of a rarer method or of another shape."""
        line = decode_line(record.data)
        method = line.method
        if not method:
            self._reply(line, record, batch)
        elif not given(line.params):
            batch.ignore(method)
        elif method in TOLD or method.endswith("/requestApproval"):
            try:
                if method != PIECE:
                    self._told(method, decode_params(line.params), record, batch)
                else:
                    self._piece(decode_delta(line.params), record, batch)
            except ValidationError as error:  # the path that it names starts in `params`; `Decode` prunes by it
                text = str(error) if "`$" in str(error) else f"{error} - at `$`"
                raise ValidationError(text.replace("`$", "`$.params", 1)) from None
        elif method.partition("/")[0] in QUIET or method in QUIET_METHODS:
            batch.ignore(method)
        elif method.startswith(COPIES) and self.state.session_id is not None:
            batch.ignore("codex/event")
        else:
            batch.unknown_type(method, record)

    def _told(self, method: str, p: Params, record: Record, batch: Batch) -> None:
        if p.item is not None:
            if (thread := p.thread_id or "") not in self.state.worked:
                remember(self.state.worked, thread, None, MOST_THREADS)
            if method == "item/started" and p.item.type in BEGUN_QUIETLY:
                batch.ignore(BEGUN_QUIETLY[p.item.type])
                return
        source = self.placed(p.thread_id, p.completed_at_ms or p.started_at_ms, record)
        if p.item is not None and method in ("item/completed", "item/started"):
            self._item(method, p.thread_id or "", p.item, source, record, batch)
        elif method == "thread/tokenUsage/updated" and p.token_usage is not None:
            self.used(p, p.token_usage, source, batch)
        elif method == "turn/completed" and p.turn is not None:
            self._end(p.turn, source, record, batch)
        elif method == "turn/plan/updated" and given(p.plan):
            self._plan(p, source, batch)
        elif method == "thread/started" and p.thread is not None:
            self.thread(p.thread, p.thread.model, source, record, batch)
        elif method.endswith("/requestApproval") or method in APPROVALS:
            text = plain(p.reason)
            batch.events.append(Notification(source, "", "permission_request", text, "info", p.item_id))
        elif method == "error":
            text = member(p.error, "message")
            name, level = ("retry", "warning") if p.will_retry else ("error", "error")
            batch.events.append(Notification(source, "", name, str(text or ""), level))  # type: ignore[arg-type]  # the values are levels
        elif method == "model/rerouted" or method in NOTICES:
            text = plain(p.summary) or plain(p.message) or plain(p.reason)
            batch.events.append(Notification(source, "", method, text, "warning"))
        else:
            batch.ignore(method)

    def flush(self, batch: Batch) -> None:
        self._tell_begun(batch)
        super().flush(batch)

    def _piece(self, p: Delta, record: Record, batch: Batch) -> None:
        batch.ignore(PIECE)
        item_id, begun = p.item_id or "", self.state.begun
        if first(p.delta) != b'"':
            return
        if item_id in begun:
            begun[item_id].pieces.append(p.delta)
            return
        if self.state.over.known(item_id):
            return  # belongs to a text that already came whole
        source = self.placed(p.thread_id, None, record)
        if len(begun) >= MOST_THREADS:
            self._tell_begun(batch)
        self.speaks()
        self.state.begun[item_id] = Begun(source, self._answer(source), [p.delta])

    def _tell_begun(self, batch: Batch, stream: str | None = None) -> None:
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
        """Emits what the pieces of a text did not say, as a part of the same message. False if it must be told whole:
        it is another text, or its thread has begun another answer since.
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

    def _reply(self, line: AppLine, record: Record, batch: Batch) -> None:
        if line.result is not None and line.result.thread is not None:
            self.thread(line.result.thread, line.result.model, self.context.source(record), record, batch)
        elif given(line.error):
            text = str(member(line.error, "message") or "")
            batch.events.append(Notification(self.context.source(record), "", "error", text, "error"))
        elif given(line.id) and line.type is ABSENT and b'"result"' in record.data:
            batch.ignore("reply")
        else:
            batch.unknown_type(word(line.type), record)

    def _item(self, method: str, thread: str, item: AppItem, source: Source, record: Record, batch: Batch) -> None:
        kind = KINDS.get(item.type)
        begun = method == "item/started"
        if kind == "user_message":
            if not self.repeated(item.id, batch, checksum(item.content)):
                self.state.after_result = True
                batch.events.append(UserText(source, "", item.content, item.id))
            return
        if kind == "reasoning" and not begun:
            text = "\n\n".join(t for t in (_joined(item.content) or _joined(item.summary)) if t)
            if not text:
                batch.ignore("reasoning, encrypted")
                return
            item.text = to_raw(text)
        if kind == "context_compaction" and not begun:
            batch.events.append(Notification(source, "", "compact_boundary", "the history was compacted"))
            return
        if kind in TEXTS and not begun:
            self.speaks()
        if kind in REVIEWS:
            self._review(kind, begun, thread, source, record, batch)
            return
        if kind is None:
            batch.unknown_type(f"item:{item.type}", record)
            return
        if kind == "sub_agent_activity":
            if word(item.kind) != "started":
                self._activity(begun, item, source, batch)
                return
            kind, item.tool, item.status = "collab_tool_call", "spawn_agent", Raw(b'"completed"')
            if item.agent_thread_id:
                item.receiver_thread_ids = [item.agent_thread_id]
                if item.agent_path and item.agent_thread_id not in self.state.paths:
                    remember(self.state.paths, item.agent_thread_id, item.agent_path, MOST_THREADS)
        elif kind == "collab_tool_call" and item.tool is not None:
            item.tool = COLLABORATION.get(item.tool, item.tool)
        elif kind == "command_execution" and bytes(item.source) == _USER_SHELL:
            batch.ignore("user shell")
            return
        same = Item(
            type=kind,
            id=item.id,
            text=item.text,
            command=item.command,
            aggregated_output=item.aggregated_output,
            exit_code=item.exit_code,
            duration=item.duration_ms if first(item.duration_ms) not in (b"", b"n") else ABSENT,
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
            agent_path=item.agent_path,
        )
        if self.state.begun:
            self.state.begun.pop(item.id, None)
        if begun:
            self.started(same, source, record, batch)
            return
        emitted = self.state.pieces.pop(item.id, None) if self.state.pieces else None
        if emitted is None or not self._rest(emitted, same, source, batch):
            self.completed(same, source, record, batch)

    def _review(self, kind: str, begun: bool, thread: str, source: Source, record: Record, batch: Batch) -> None:
        """Begins or ends a review: what is between is a sub-agent's, as in a rollout."""
        state = self.state
        if kind == "entered_review_mode" and not begun:
            state.review = thread
        elif kind == "exited_review_mode" and state.review is not None:
            state.review = None
            source = self.placed(thread, source.time_ms, record)
        if begun:
            batch.ignore(f"item.started:{kind}")
        else:
            batch.events.append(Notification(source, "", kind, ""))

    def _activity(self, begun: bool, item: AppItem, source: Source, batch: Batch) -> None:
        """Handles what a sub-agent's parent says of it after its start."""
        kind = word(item.kind) or "activity"
        if begun or self.repeated(item.id, batch):
            batch.ignore(f"item/started:subAgentActivity, {kind}") if begun else None
            return
        agent = item.agent_path or item.agent_thread_id or ""
        batch.events.append(Notification(source, "", f"subagent_{kind}", agent))

    def _plan(self, p: Params, source: Source, batch: Batch) -> None:
        """Emits a call of the plan tool: no item tells of it."""
        turn = p.turn_id or ""
        if self.state.over.again(f"{turn}.plan", checksum(p.plan)):
            batch.ignore("turn/plan/updated, repeated")
            return
        members = {"explanation": p.explanation} if first(p.explanation) == b'"' else {}
        item = Item(type="todo_list", id=f"{turn}.plan.row{source.row}")
        self._emit_call(source, item.id, "update_plan", to_raw({**members, "plan": p.plan}), batch)
        self._emit_result(source, item.id, item, batch)

    def _end(self, turn: AppTurn, source: Source, record: Record, batch: Batch) -> None:
        if self.state.over.again(turn.id):
            batch.ignore("turn/completed, repeated")
            return
        self._tell_begun(batch, source.stream)
        self.state.after_result = True
        reason = member(turn.error, "message")
        duration = whole_ms(turn.duration_ms)
        status = ENDS.get(turn.status or "", "unknown")
        text = reason if isinstance(reason, str) else None
        batch.events.append(SessionEnd(source, "", status, text, duration_ms=duration, result_json=Raw(record.data)))


def _joined(raw: Raw) -> list[str]:
    """The strings in a list of strings or of parts with a text."""
    if len(raw) < 3 or first(raw) != b"[":
        return []
    return [word(part) or plain(part) for part in decode_parts(raw)]
