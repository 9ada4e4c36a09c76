"""Types of entries, lines and markers that oh-my-pi writes and Pi does not.

Source: oh-my-pi 18.2.3, its recordings and the definitions in its package.
"""

SILENT_ENTRIES = frozenset({"credential_pin", "mode_change", "service_tier_change", "session_init", "ttsr_injection"})
"""Entries that say nothing about the conversation; known, and ignored."""
ENTRIES = SILENT_ENTRIES | {"model_usage", "reset_boundary", "title_change"}

EXIT = "session_exit"
MARKERS = frozenset({EXIT, "tool_execution_start"})
"""The agent's own values of `customType`."""

SILENT_LINES = frozenset(
    {
        "advisor_cost_changed",
        "advisor_yielded",
        "available_commands_update",
        "config_warnings_changed",
        "goal_updated",
        "model_changed",
        "ready",
        "todo_auto_clear",
        "tool_stream_update",
    }
)
LINES = SILENT_LINES | {
    "irc_message",
    "notice",
    "retry_fallback_applied",
    "retry_fallback_succeeded",
    "todo_reminder",
    "ttsr_triggered",
}
