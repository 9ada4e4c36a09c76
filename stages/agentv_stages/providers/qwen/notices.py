"""The system lines of Qwen's sessions that are worth reporting beside the conversation, and those that are not."""

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Notification, SessionInfo, SlashCommand, Source
from agentv_stages.providers.qwen.wire import Payload

QUIET = frozenset(
    ("attribution_snapshot", "at_command", "session_artifact_snapshot", "file_history_snapshot", "agent_color",
     "session_summary", "turn_boundary", "branch_checkpoint", "turn_result", "session_source", "session_model",
     "user_text_elements", "session_sources_snapshot", "session_artifact_event", "omni_recall", "goal_state",
     "goal_turn_end")
)  # fmt: skip


def notice(name: str, payload: Payload, source: Source, record: Record, batch: Batch) -> None:
    """Appends the event of a line with that subtype; an unknown one is counted."""
    events = batch.events
    if name == "chat_compression":
        info = payload.info
        text = "the context was compressed"
        if info is not None and info.originalTokenCount is not None:
            text += f" from {info.originalTokenCount} to {info.newTokenCount} tokens"
        events.append(Notification(source, "", "compact_boundary", text))
    elif name == "slash_command":
        if payload.phase == "result" or not payload.rawCommand:
            batch.ignore("slash_command/result")
        else:
            command, _, args = payload.rawCommand.strip().partition(" ")
            command = command if command.startswith("/") else f"/{command}"
            events.append(SlashCommand(source, "", command, args.strip() or None))
    elif name == "custom_title":
        events.append(SessionInfo(source, "-title", title=payload.customTitle))
    elif name == "parent_session":
        events.append(SessionInfo(source, "", parent_session_id=payload.parentSessionId))
    elif name == "background_task_completed":
        events.append(Notification(source, "", name, payload.displayText or ""))
    else:
        batch.unknown_type(f"system/{name}", record)
