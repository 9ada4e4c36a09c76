"""The rarer lines of Pi's standard output to events: retries, compactions, queues, dialogs, entries.

Source: pi 0.73.1, 1.5.2, `--mode json` and `--mode rpc`.
"""

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import EMPTY_OBJECT, Notification, QueueOperation, SessionInfo, Source, UserText
from agentv_stages.model.payload import has_value, text_of
from agentv_stages.providers.pi.messages import spent, tokens
from agentv_stages.providers.pi.session import ENTRIES
from agentv_stages.providers.pi.wire import Line, Usage, decode_compaction, decode_entry

_DIALOGS = ("confirm", "editor", "input", "select")


def notice(
    kind: str, line: Line, source: Source, session_id: str | None, model: str | None, batch: Batch, record: Record
) -> None:
    """Appends the event of a line of a rarer type."""
    events = batch.events
    if kind in ("auto_retry_start", "summarization_retry_scheduled"):
        text = f"attempt {line.attempt} of {line.max_attempts}: {line.error_message or ''}"
        events.append(Notification(source, "", kind, text, "warning"))
    elif kind == "auto_retry_end":
        text = line.final_error or ("succeeded" if line.success else "failed")
        events.append(Notification(source, "", kind, text, "info" if line.success else "error"))
    elif kind == "entry_appended":
        _entry(line, source, session_id, batch, record)
    elif kind in ("compaction_start", "auto_compaction_start"):
        events.append(Notification(source, "", kind, line.reason or ""))
    elif kind in ("compaction_end", "auto_compaction_end"):
        _compaction(line, source, session_id, model, batch)
    elif kind == "session_info_changed":
        events.append(SessionInfo(source, "", title=line.name))
    elif kind == "queue_update":
        waiting = [*(line.steering or ()), *(line.follow_up or ())]
        events.append(QueueOperation(source, "", kind, "\n".join(waiting) or None))
    elif kind == "extension_error":
        events.append(Notification(source, "", kind, line.error or "", "error"))
    elif kind == "extension_ui_request":
        _dialog(line, source, batch)
    elif kind == "response":
        if line.success is False:
            text = f"{line.command or ''}: {line.error or 'failed'}"
            events.append(Notification(source, "", kind, text, "error"))
        else:
            batch.ignore(kind)


def beside(
    usage: Usage | None, own: str, model: str | None, source: Source, session_id: str | None, batch: Batch
) -> None:
    """Appends the tokens of a model call that is not an answer; `own` distinguishes it from others of the session."""
    if usage is not None and spent(usage):
        batch.events.append(tokens(source, f"{session_id or ''}:{own}", model, usage))


def _entry(line: Line, source: Source, session_id: str | None, batch: Batch, record: Record) -> None:
    """Handles a session-file entry, printed as it is written; a text that it gives to the model is also a message."""
    entry = decode_entry(line.entry if has_value(line.entry) else EMPTY_OBJECT)
    if entry.type in ENTRIES:
        batch.ignore(f"entry_appended/{entry.type}")
        beside(entry.usage, entry.id or f"m{source.row}", entry.model, source, session_id, batch)
    else:
        batch.unknown_type(f"entry_appended/{entry.type}", record)


def _compaction(line: Line, source: Source, session_id: str | None, model: str | None, batch: Batch) -> None:
    if line.aborted or not has_value(line.result):
        text = line.error_message or ("aborted" if line.aborted else "failed")
        batch.events.append(Notification(source, "", "compaction_failed", text, "warning"))
        return
    result = decode_compaction(line.result)
    text = f"{line.reason or 'compaction'}: {result.tokens_before} tokens before"
    batch.events.append(Notification(source, "", "compact_boundary", text))
    if has_value(result.summary):
        batch.events.append(UserText(source, "", result.summary, f"m{source.row}", True))
    beside(result.usage, f"m{source.row}", model, source, session_id, batch)


def _dialog(line: Line, source: Source, batch: Batch) -> None:
    text = ": ".join(filter(None, (line.title, text_of(line.message) if has_value(line.message) else "")))
    if line.method in _DIALOGS:
        batch.events.append(Notification(source, "", "permission_request", text))
    elif line.method == "notify":
        batch.events.append(Notification(source, "", "notify", text))
    else:
        batch.ignore(f"extension_ui_request/{line.method}")
