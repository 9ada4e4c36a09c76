"""The event types of GitHub Copilot: those kept as notifications, and those known to carry nothing worth keeping.

Source: the session event schema of Copilot CLI 0.0.400 to 1.0.102, and types that only its logs have (`model.message`
and the like: the model calls of a compaction in the terminal).
"""

from typing import NamedTuple

from agentv_stages.model.event import Level


class Notice(NamedTuple):
    """`keys` name the members of `data` that form the message; those present are joined by ": "."""

    level: Level
    keys: tuple[str, ...]
    name: str = ""


NOTICES: dict[str, Notice] = {
    "session.info": Notice("info", ("infoType", "message")),
    "session.warning": Notice("warning", ("warningType", "message")),
    "session.mode_changed": Notice("info", ("previousMode", "newMode")),
    "session.truncation": Notice("info", ("performedBy",)),
    "session.snapshot_rewind": Notice("warning", ("upToEventId",)),
    "session.handoff": Notice("info", ("sourceType", "summary")),
    "session.task_complete": Notice("info", ("outcome", "summary")),
    "session.compaction_complete": Notice("info", ("error", "summaryContent"), "compact_boundary"),
    "session.context_cleared": Notice("info", (), "compact_boundary"),
    "session.autopilot_stopped": Notice("info", ("reason",)),
    "session.permission_recovery": Notice("info", ("status", "reason")),
    "session.model_deselected": Notice("warning", ("previousModel", "reason")),
    "session.fusion_handoff": Notice("info", ("targetModel", "message")),
    "session.auto_tier_switch_failed": Notice("warning", ("reason",)),
    "session.fusion_route_failed": Notice("warning", ("reason", "errorMessage")),
    "session.mcp_server_needs_reconnect": Notice("warning", ("serverName",)),
    "session.managed_settings_enforced": Notice("warning", ("setting", "message")),
    "session_limits_exhausted.requested": Notice("warning", ()),
    "assistant.fusion_phase_failed": Notice("warning", ("reason", "errorMessage")),
    "model.call_failure": Notice("warning", ("errorType", "errorMessage")),
    "subagent.completed": Notice("info", ("agentDisplayName", "agentName")),
    "subagent.failed": Notice("error", ("agentDisplayName", "error")),
    "subagent.selected": Notice("info", ("agentDisplayName", "agentName")),
    "skill.invoked": Notice("info", ("name", "path")),
    "skill.invoked_ref": Notice("info", ("name", "path")),
    "user_input.requested": Notice("info", ("question",)),
    "user_input.completed": Notice("info", ("answer",)),
    "elicitation.requested": Notice("info", ("message",)),
    "exit_plan_mode.requested": Notice("info", ("summary",)),
    "command.execute": Notice("info", ("commandName", "args")),
    "factory.run_settled": Notice("info", ("status", "failureType")),
    "workflow.run_settled": Notice("info", ("status", "failureType")),
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


IGNORED = _names(
    """
    assistant.fusion_phase_activity assistant.fusion_phase_completed assistant.fusion_phase_started assistant.idle
    assistant.intent assistant.message_start assistant.server_tool_progress assistant.streaming_delta
    assistant.tool_call_delta assistant.turn_end assistant.turn_start
    auto_mode_switch.completed auto_mode_switch.requested capabilities.changed command.completed command.queued
    commands.changed elicitation.completed exit_plan_mode.completed external_tool.completed external_tool.requested
    factory.run_started factory.run_updated hook.progress hook.start
    mcp.headers_refresh_completed mcp.headers_refresh_required mcp.oauth_completed mcp.oauth_required
    mcp.prompts.list_changed mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete
    model.call_final_result model.call_finished model.message model.messages_snapshot model.model_call_started
    model.model_call_success model.response model.turn_ended model.turn_started pending_messages.modified
    sampling.completed sampling.requested
    session.autopilot_objective_changed session.background_tasks_changed session.binary_asset session.canvas.closed
    session.canvas.opened session.canvas.recorded session.canvas.registry_changed session.canvas.removed
    session.canvas.unavailable session.compaction_start session.completion_receipt session.custom_agents_updated
    session.custom_notification session.extensions.attachments_pushed session.extensions_loaded
    session.fusion_completed session.fusion_resolved session.fusion_route_started session.managed_settings_resolved
    session.mcp_server_removed session.mcp_server_status_changed session.mcp_server_tools_loaded
    session.mcp_servers_loaded
    session.mode_notice_delivered session.permissions_changed session.plan_changed session.remote_steerable_changed
    session.schedule_cancelled session.schedule_created session.schedule_rearmed session.session_limits_changed
    session.skills_loaded session.todos_changed session.usage_checkpoint session.usage_info
    session.workspace_file_changed session_limits_exhausted.completed skill.context_delivered_ref
    human_response.recorded mcp.oauth_recovery_completed permission.assentDetected permission.carriedForward
    permission.contextualAuthorization permission.messageAuthorization permission.messageAuthorizationDegraded
    permission.messageAuthorizationRead prompt_cache_break sandbox.decision session.auto_tier_recommendation
    session.fusion_change_checkpoint session.fusion_commit_started session.indexed_search
    session.managed_plugin_progress session.memory_changed session.quota_observation
    session.request_body_compression_disabled skill.context_delivered workflow.run_started workflow.run_updated
    subagent.configured subagent.deselected system.message tool.execution_partial_result tool.execution_progress
    tool.shell_output tool_search.activated ui.ephemeral_query
    """
)

DECODED = _names(
    """
    abort agent.interrupted assistant.message assistant.message_delta assistant.reasoning assistant.reasoning_delta
    assistant.turn_retry assistant.usage hook.end model.call_start permission.completed permission.requested result
    session.auto_mode_resolved session.context_changed session.error session.idle session.model_change session.resume
    session.shutdown session.start session.title_changed session.tools_updated session.usage_record subagent.started
    system.notification tool.execution_complete tool.execution_start tool.user_requested user.message
    """
)

KNOWN = IGNORED | DECODED | NOTICES.keys()
