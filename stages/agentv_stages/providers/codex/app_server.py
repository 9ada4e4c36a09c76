"""Converts the notifications of `codex app-server` (JSON-RPC over standard input and output) to events.

In: lines with `method` and `params`, replies with `result`; a client's own messages may stand between them. The items
are those of the exec stream in camelCase, with times.
End rule: `turn/completed` with its status. Usage: `thread/tokenUsage/updated`, its `last` being one model call. Threads
other than the first are sub-agents: stream `subagent:<path, else thread id>`.
Source: as in `app_server_catalogue`.
"""

from msgspec import Raw, ValidationError

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionEnd, Source, Status
from agentv_stages.model.payload import ABSENT, has_value
from agentv_stages.model.recent import remember
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.codex.app_server_catalogue import (
    APPROVALS,
    BEGUN_QUIETLY,
    COPIES,
    DECODED,
    NOTICES,
    PIECE,
    QUIET,
    QUIET_METHODS,
    REVERT,
    REVERTED,
)
from agentv_stages.providers.codex.app_server_items import AppItems
from agentv_stages.providers.codex.app_server_threads import MOST_THREADS
from agentv_stages.providers.codex.app_server_wire import (
    METHODS,
    QUIET_LINES,
    AppLine,
    AppTurn,
    Params,
    PieceLine,
    decode_delta,
    decode_line,
    decode_often,
    decode_params,
)
from agentv_stages.providers.codex.wire import member, plain, word

ENDS: dict[str, Status] = {"completed": "complete", "failed": "error", "interrupted": "interrupted"}


class AppServerDecoder(AppItems):
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
        quiet = QUIET_LINES.get(line.__class__)
        if quiet is not None:
            ignored = batch.ignored  # inlined: half of all lines
            ignored[quiet] = ignored.get(quiet, 0) + 1
        elif line.params is None:
            batch.ignore(METHODS[line.__class__])
        elif isinstance(line, PieceLine):
            self.piece(line.params, record, batch)
        else:
            self._notified(METHODS[line.__class__], line.params, record, batch)

    def _any(self, record: Record, batch: Batch) -> None:
        """Handles a reply, or a notification of a rarer method or of another shape."""
        line = decode_line(record.data)
        method = line.method
        if not method:
            self._reply(line, record, batch)
        elif not has_value(line.params):
            batch.ignore(method)
        elif method in DECODED or method.endswith("/requestApproval"):
            try:
                if method != PIECE:
                    self._notified(method, decode_params(line.params), record, batch)
                else:
                    self.piece(decode_delta(line.params), record, batch)
            except ValidationError as error:  # the path that it names starts in `params`; `Decode` prunes by it
                text = str(error) if "`$" in str(error) else f"{error} - at `$`"
                raise ValidationError(text.replace("`$", "`$.params", 1)) from None
        elif method.partition("/")[0] in QUIET or method in QUIET_METHODS:
            batch.ignore(method)
        elif method.startswith(COPIES) and self.state.session_id is not None:
            batch.ignore("codex/event")
        else:
            batch.unknown_type(method, record)

    def _notified(self, method: str, p: Params, record: Record, batch: Batch) -> None:
        if p.item is not None:
            if (thread := p.thread_id or "") not in self.state.worked:
                remember(self.state.worked, thread, None, MOST_THREADS)
            if method == "item/started" and p.item.type in BEGUN_QUIETLY:
                batch.ignore(BEGUN_QUIETLY[p.item.type])
                return
        source = self.placed(p.thread_id, p.completed_at_ms or p.started_at_ms, record)
        if p.item is not None and method in ("item/completed", "item/started"):
            before = len(batch.events)
            self.item(method, p.item, source, record, batch)
            if p.turn_id is not None and self.state.thread == self.state.session_id:
                self.belongs(p.turn_id, batch.events[before:])
        elif method == "thread/tokenUsage/updated" and p.token_usage is not None:
            self.used(p, p.token_usage, source, batch)
        elif method == "turn/completed" and p.turn is not None:
            self._end(p.turn, source, record, batch)
        elif method == "turn/plan/updated" and has_value(p.plan):
            self.plan(p, source, batch)
        elif method == "thread/started" and p.thread is not None:
            self.thread(p.thread, p.thread.model, source, record, batch)
        elif method == REVERT:
            self.state.revert = p.before_turn_id if p.thread_id == self.state.session_id else None
            batch.ignore(method)
        elif method == REVERTED:
            self.reverted(source, batch)
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

    def _reply(self, line: AppLine, record: Record, batch: Batch) -> None:
        if line.result is not None and line.result.thread is not None:
            self.thread(line.result.thread, line.result.model, self.context.source(record), record, batch)
        elif has_value(line.error):
            text = str(member(line.error, "message") or "")
            batch.events.append(Notification(self.context.source(record), "", "error", text, "error"))
        elif has_value(line.id) and line.type is ABSENT and b'"result"' in record.data:
            batch.ignore("reply")
        else:
            batch.unknown_type(word(line.type), record)

    def _end(self, turn: AppTurn, source: Source, record: Record, batch: Batch) -> None:
        if self.state.over.again(turn.id):
            batch.ignore("turn/completed, repeated")
            return
        self.tell_begun(batch, source.stream)
        self.state.after_result = True
        reason = member(turn.error, "message")
        duration = whole_ms(turn.duration_ms)
        status = ENDS.get(turn.status or "", "unknown")
        text = reason if isinstance(reason, str) else None
        batch.events.append(SessionEnd(source, "", status, text, duration_ms=duration, result_json=Raw(record.data)))
