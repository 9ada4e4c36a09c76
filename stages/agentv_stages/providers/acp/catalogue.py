"""The methods and updates of ACP without anything to keep, and other constants of the protocol and its agents."""

from agentv_stages.model.event import Level, Status

FROM_CLIENT = frozenset(
    ("c2a", "client", "client_to_agent", "client->agent", "out", "send", "sent", "stdin", "request")
)
FROM_AGENT = frozenset(("a2c", "agent", "agent_to_client", "agent->client", "in", "recv", "received", "stdout"))
NOTES = frozenset(("background_task_completed",))  # Qwen 0.24.4: a chunk that no model wrote
ENDS: dict[str, Status] = {"cancelled": "interrupted", "refusal": "error"}
LEVELS: dict[str, Level] = {"warning": "warning", "error": "error", "debug": "debug"}
QUIET_UPDATES = frozenset(
    ("available_commands_update", "config_option_update", "current_mode_update", "plan_removed", "session_message",
     "session_message_chunk", "compaction_summary_chunk")
)  # fmt: skip
QUIET_METHODS = frozenset(
    ("initialize", "initialized", "authenticate", "logout", "session/load", "session/resume", "session/list",
     "session/fork", "session/close", "session/delete", "session/set_mode", "session/set_config_option",
     "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill", "terminal/release",
     "$/cancel_request", "elicitation/create", "elicitation/complete", "craft/drainMidTurnQueue")
)  # fmt: skip
