"""Updates of Grok's that are not part of the conversation: those worth reporting to a person, and those that are not.

Source: Grok Build 0.1.220 to 1.0.41, recordings of its sessions on disk and of its ACP.
"""

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, Source
from agentv_stages.providers.grok.ends import COMPACTION, compaction
from agentv_stages.providers.grok.wire import Update

_QUIET = frozenset(
    (
        *("background_tasks", "compaction_checkpoint", "config_option_update"),
        *("current_mode_update", "hook_execution", "interaction_resolved", "last_turn_summary", "model_changed"),
        *("pending_interaction", "plan", "session_info_update", "session_summary_generated", "subagent_spawned"),
        *("task_backgrounded", "tool_call_delta_chunk", "usage_update"),
    )
)


def notice(update: Update, source: Source, record: Record, batch: Batch) -> None:
    """Appends a notification if the update is worth one; counts an unknown type."""
    kind, add = update.sessionUpdate, batch.events.append
    if kind in _QUIET:
        batch.ignore(kind)
    elif kind == "retry_state":
        add(_retry(update, source))
    elif kind == "task_completed":
        task = update.task_snapshot
        text = (task.description or task.task_id or "") if task is not None else ""
        failed = task is not None and bool(task.exit_code)
        text += f" (exit code {task.exit_code})" if task is not None and failed else ""
        add(Notification(source, "", kind, text, "warning" if failed else "info"))
    elif kind == "subagent_finished":
        text = f"{update.status or 'ended'}: {update.subagent_id or ''}"
        add(Notification(source, "", kind, text, "info" if update.status == "completed" else "warning"))
    elif kind.startswith(COMPACTION):
        shrunk = f"{update.tokens_before} tokens became {update.tokens_after}" if update.tokens_before else None
        add(compaction(source, kind, update.error or update.reason or update.message or shrunk))
    elif kind == "hook_annotation":
        add(Notification(source, "", kind, update.message or ""))
    elif kind == "doom_loop_detected":
        add(Notification(source, "", kind, update.message or "", "warning"))
    else:
        batch.unknown_type(kind or "(no sessionUpdate)", record)


def _retry(update: Update, source: Source) -> Notification:
    """A failed model call: it is retried, or was given up."""
    text = update.reason or update.message or ""
    if update.type == "retrying":
        return Notification(source, "", "retry", f"attempt {update.attempt} failed: {text}", "warning")
    return Notification(source, "", f"retry_{update.type or 'state'}", text, "error")
