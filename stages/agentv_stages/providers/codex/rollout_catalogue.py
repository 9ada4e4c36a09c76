"""The types of lines and events in Codex's rollouts: types without new content, notices, and repeated texts.

Source: Codex 0.4x to 0.171; the newest types are from that version's binary and schema.
"""

IGNORED_EVENTS = (
    frozenset({"agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break"})
    | {"thread_settings_applied", "context_compacted", "dynamic_tool_call_request", "thread_goal_updated"}
    | {"plan_update", "turn_diff", "sub_agent_activity", "exec_command_begin"}
    | {"exec_command_output_delta", "patch_apply_begin", "mcp_tool_call_begin", "web_search_begin"}
    | {"item_started", "item_updated", "plan_delta", "turn.completed", "image_generation_begin"}
    | {"undo_started", "mcp_startup_update", "mcp_startup_complete", "skills_update_available"}
    | {"session_configured", "shutdown_complete", "collab_agent_spawn_begin"}
    | {"collab_agent_interaction_begin", "collab_waiting_begin", "collab_close_begin"}
    | {"collab_resume_begin", "hook_started", "hook_completed", "agent_message_delta"}
    | {"agent_reasoning_delta", "agent_message_content_delta", "reasoning_content_delta"}
    | {"raw_response_item", "terminal_interaction", "turn_started_metadata", "thread_settings_updated"}
    | {"raw_response_completed", "patch_apply_updated", "thread_queue_changed", "turn_moderation_metadata"}
    | {"environment_connected", "environment_disconnected", "elicitation_abandoned", "safety_buffering"}
    | {"realtime_conversation_started", "realtime_conversation_realtime", "realtime_conversation_closed"}
    | {"realtime_conversation_sdp", "realtime_conversation_list_voices_response", "auth_recovery_completed"}
)
NOTICES = {
    "error": "error",
    "warning": "warning",
    "guardian_warning": "warning",
    "stream_error": "warning",
    "deprecation_notice": "warning",
    "model_reroute": "info",
    "model_verification": "warning",
    "auth_recovery_started": "warning",
    "background_event": "info",
    "entered_review_mode": "info",
    "exited_review_mode": "info",
    "undo_completed": "info",
    "guardian_assessment": "info",
    "exec_approval_request": "info",
    "apply_patch_approval_request": "info",
    "request_permissions": "info",
    "request_user_input": "info",
    "elicitation_request": "info",
}
REVIEWS = {"entered_review_mode": True, "exited_review_mode": False}
PERMISSIONS = frozenset(("exec_approval_request", "apply_patch_approval_request", "request_permissions"))
IGNORED_LINES = frozenset(("world_state", "inter_agent_communication", "inter_agent_communication_metadata")) | {
    "retained_context",  # a person's answers to questions, again
    "dynamic_tools_updated",
    "security_risk_score",
}
LINES = IGNORED_LINES | {
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "token_usage_record",
    "realtime_item",
}
OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
UNNAMED = frozenset(("", "message", "reasoning", "agent_message", "web_search_call", "image_generation_call"))
"""Response items without a call id: a repeated one is recognised by its bytes."""
COPIED = {"agent_message": "assistant", "user_message": "user"}
"""Events whose text a response item holds too, and who said it."""
