"""Record types of Claude Code, and subtypes of `system` records, that say little or nothing about the work.

Source: logs of Claude Code 1.0 to 2.1.332, and the list of subtypes in its program; most serve the apps around it.
"""

TOLD_SUBTYPES = {
    "code_change_published": "a code change was published",
    "file_attachments_missing": "attached files are missing",
    "instruction_size_warning": "the instruction files are large",
    "late_allow_not_run": "a permission came too late; the call was not run",
    "model_consent_fallback": "another model goes on",
    "model_fallback": "another model goes on",
    "model_refusal_fallback": "the model refused",
    "model_refusal_no_fallback": "the model refused",
    "permission_retry": "permission was given; the call is tried again",
    "scheduled_task_fire": "a scheduled task begins",
    "turn_preempted": "the next prompt ended the turn",
}
"""Subtype -> the message to emit if the record brings no text of its own."""

INTERNAL_SUBTYPES = frozenset(
    (
        *("bridge_state", "checkpoint_done", "cloud_session_delta", "cloud_session_status", "dev_intent"),
        *("feedback_draft_queued", "inherited_asks_settled", "peer_message_hold", "per_turn_effort_changed"),
        *("permission_check_status", "placed", "rewind_stand_in", "session_title_changed", "shell_cwd"),
        *("start_folder", "task_list_statuses", "tool_host_result", "turn_began_before_init"),
        *("turn_handoff_available", "turn_starting", "upgrade_relay_marker", "vcs_state_changed", "voice_call_talk"),
        *("ui_focus", "ui_invalidate", "ui_log", "ui_notify", "ui_notify_cancel", "ui_panes", "ui_placed"),
        *("ui_scroll", "ui_status", "ui_toast"),
    )
)
"""Subtypes that say nothing about the work."""

QUIET_TYPES = frozenset(
    ("file-history-snapshot", "file-history-delta", "last-prompt", "tag", "agent-name", "agent-color", "agent-setting",
     "mode", "permission-mode", "worktree-state", "relocated", "continued-in", "derived-from", "attribution-snapshot",
     "speculation-accept", "content-replacement", "marble-origami-commit", "marble-origami-snapshot",
     "history-suppression", "data-flow-records", "atis-latch", "tools-used", "api-request", "api-request-shape",
     "api-request-blob", "bridge-session", "api-request-resumed", "artifact-autoreact-ledger",
     "artifact-comment-monitor", "data-flow-incomplete", "dev-mods", "fork-context-ref", "frame-link", "host-row",
     "hybrid-organization", "isolation-latch", "memory-mode", "observer-ref", "repl-mode", "resume-head-vouch",
     "session-owner")
)  # fmt: skip
"""Types of lines on disk that say nothing about the work."""

QUIET_SUBTYPES = INTERNAL_SUBTYPES | {"memory_saved", "agents_killed", "bridge_status", "file_snapshot"}
