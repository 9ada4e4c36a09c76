"""Grok's ends of runs and turns, and its updates beside the conversation, as far as they are worth reporting.

Source: Grok Build 0.1.220 to 1.0.41, recordings of its sessions on disk and of its ACP.
"""

from msgspec import Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, Source, Status
from agentv_stages.providers.grok.wire import Update

# Ends of Grok's runs and turns, and its compactions. In: the agent's words. Out: status and reason.
#
# Source: Grok Build 0.1.220 to 1.0.41, recorded ends of all kinds and the user guide.

MAX_TURNS = "max_turns_reached"
COMPACTION = "auto_compact_"
_GOOD = frozenset(("end_turn", "stop_sequence", "EndTurn"))
_CANCELLED = frozenset(("cancelled", "Cancelled"))
_WRAPPED = "Internal error: "


class _Failure(Struct, gc=False):
    message: str


_decode = Decoder(_Failure | str).decode


def ended(stop_reason: str, cancelled_by: str | None, failure: str | None) -> tuple[Status, str | None]:
    """The status and reason of a turn, from its stop reason, which 0.1 writes in camel case. `cancelled_by` is the
    cause of a cancellation, `failure` the error message.
    """
    if stop_reason in _GOOD:
        return "complete", None
    if stop_reason in _CANCELLED:
        return "error" if cancelled_by == MAX_TURNS else "interrupted", cancelled_by or "cancelled"
    return ("error", failure or stop_reason) if stop_reason or failure else ("unknown", None)


def reason_of(message: str | None) -> str | None:
    """An error's message, without the JSON in which Grok wraps some."""
    if message and message.startswith(_WRAPPED):
        try:
            value = _decode(message[len(_WRAPPED) :].encode())
            return value if isinstance(value, str) else value.message
        except (*REFUSED, UnicodeEncodeError):
            return message
    return message


def compaction(source: Source, kind: str, text: str | None) -> Notification:
    """For an `auto_compact_…` record; a completed one gets the name that all agents share."""
    if kind == "auto_compact_completed":
        return Notification(source, "", "compact_boundary", text or "")
    return Notification(source, "", kind, text or "", "warning" if kind == "auto_compact_failed" else "info")


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
