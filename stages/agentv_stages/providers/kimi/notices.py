"""Kimi's records that are not part of the conversation: those worth reporting to a person, and those that are not.

Source: Kimi Code 2.1.0, the durable records of its bundled source.
"""

from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Level, Notification, Source
from agentv_stages.model.payload import has_value
from agentv_stages.providers.kimi.wire import ErrorInfo, Line, Task, decode_task

QUIET = frozenset(
    (
        *("agent.message.appended", "agent.turn.started", "agent.turn.ended", "agent.switched"),
        *("context.undone", "context.update_token_count", "context.spliced", "micro_compaction.apply"),
        *("cron.add", "cron.cursor", "cron.delete", "file_history.checkpoint", "file_history.tracked"),
        *("full_compaction.begin", "full_compaction.complete", "goal.clear"),
        *("interaction.request", "interaction.resolved", "interruptionReminder.recorded", "llm.tools_snapshot"),
        *("mcp.tools_discovered", "permission.rules.add", "permission.set_mode", "plan.revision"),
        *("plan_mode.cancel", "plan_mode.enter", "plan_mode.exit", "plugin.session_start"),
        *("prompt.aborted", "prompt.accepted", "prompt.completed", "prompt.steered", "runtime.set_binding"),
        *("staleGuard.cleared", "staleGuard.recorded", "subagent.completed", "subagent.started"),
        *("swarm_mode.enter", "swarm_mode.exit", "task.started", "task.waitDelivered", "task.notified"),
        *("token_counting.measured", "token_counting.rebased", "token_counting.truncated"),
        *("token_counting.turn_recorded", "tools.register_user_tool", "tools.reset_active_tools"),
        *("tools.set_active_tools", "tools.unregister_user_tool", "tools.update_store"),
        *("tower_mode.enter", "tower_mode.exit", "turn.steer", "turn.step.interrupted"),
    )
)


def notice(line: Line, source: Source, record: Record, batch: Batch) -> None:
    """Appends a notification if the record is worth one; counts an unknown type."""
    kind, add = line.type, batch.events.append
    if kind == "task.terminated":
        add(_task(line, source))
    elif kind == "turn.step.retrying":
        text = f"attempt {line.failedAttempt} of {line.maxAttempts} failed: {line.errorName}: {line.errorMessage}"
        add(Notification(source, "", "retry", text, "warning"))
    elif kind == "context.apply_compaction":
        text = f"{line.compactedCount} messages became a summary, {line.tokensBefore} tokens became {line.tokensAfter}"
        add(Notification(source, "", "compact_boundary", text))
    elif kind == "full_compaction.cancel":
        add(Notification(source, "", kind, "the compaction was broken off", "warning"))
    elif kind == "context.clear":
        add(Notification(source, "", "clear", "the context was cleared"))
    elif kind == "forked":
        add(Notification(source, "", kind, "what stands above was copied from the parent session"))
    elif kind == "goal.create":
        add(Notification(source, "", kind, line.objective or ""))
    elif kind == "subagent.failed" or kind == "subagent.cancelled":
        add(Notification(source, "", kind, _error(line.error) or line.reason or line.subagentId or "", "warning"))
    else:
        batch.unknown_type(kind, record)


def _task(line: Line, source: Source) -> Notification:
    task = decode_member(line.info, decode_task, "info") if has_value(line.info) else Task()
    text = f"{task.status or 'ended'}: {task.description or ''}"
    if task.exitCode:
        text += f" (exit code {task.exitCode})"
    level: Level = "info" if task.status == "completed" else "warning"
    return Notification(source, "", line.type, text, level, task.parentToolCallId)


def _error(error: ErrorInfo | str | None) -> str | None:
    return error.message if isinstance(error, ErrorInfo) else error
