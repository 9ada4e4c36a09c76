"""The tools of OpenClaw. Names of MCP tools and of plug-ins are in no table."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

NOW = "OpenClaw 2026.9.6, its documentation of tools; the commoner ones recorded"

TABLE = ToolTable(
    rows=(
        *rows(NOW, {"read": "Read", "write": "Write", "edit": "Edit", "exec": "Bash", "bash": "Bash", "ls": "LS"}),
        *rows(NOW, {"grep": "Grep", "find": "Glob", "web_search": "WebSearch", "web_fetch": "WebFetch"}),
        row("apply_patch", "Edit", NOW, patch=True),
        *rows(NOW, {"process": "BashOutput", "sessions_spawn": "Task", "update_plan": "TodoWrite"}),
        *rows(NOW, {"ask_user": "AskUserQuestion", "tool_search": "ToolSearch", "progress_card": "TodoWrite"}),
        *plain(NOW, "search", "tool_describe", "memory_search", "sessions_search", "x_search"),
        *plain(NOW, "read", "memory_get", "view_image", "image", "pdf", "sessions_list", "sessions_history"),
        *plain(NOW, "read", "conversations_list", "session_status", "agents_list"),
        *plain(NOW, "execute", "code_execution", "terminal", "wait"),
        *plain(NOW, "plan", "sessions_send", "sessions_yield", "sessions", "subagents", "agents_wait"),
        *plain(NOW, "plan", "get_goal", "create_goal", "update_goal", "suggest_task", "dismiss_task"),
        *plain(NOW, "other", "tool_call", "message", "browser", "screen", "theme", "dashboard", "portal", "canvas"),
        *plain(NOW, "other", "show_widget", "cron", "automations", "gateway", "plugins", "nodes", "computer", "tts"),
        *plain(NOW, "other", "heartbeat_respond", "openclaw", "secrets", "skill_workshop", "conversations_send"),
        *plain(NOW, "other", "conversations_turn", "image_generate", "music_generate", "video_generate"),
    ),
)
