"""The tools of Kilo 7: OpenCode's and its own. A name with `_` that were missing here would look like an MCP tool."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows
from agentv_stages.providers.opencode.tools import ROWS as OPENCODE

NOW = "Kilo 7.7.9, definitions in its program; the commoner ones recorded"

ROWS = (
    *OPENCODE,
    row("background_process", "Bash", NOW),  # `start` has a command; reading its output and stopping it have none
    *rows(NOW, {"notebook_read": "NotebookRead", "notebook_edit": "NotebookEdit"}),
    *plain(NOW, "execute", "notebook_execute"),
    *plain(NOW, "search", "semantic_search", "kilo_local_recall", "kilo_memory_recall"),
    *plain(NOW, "read", "repo_overview", "board_read", "agent_manager_models", "cron_list", "get_context_info"),
    *plain(NOW, "plan", "agent_manager", "goal", "goal_report", "open_plan"),
    *plain(NOW, "other", "repo_clone", "generate_image", "kilo_memory_save", "board_post", "suggest", "send_file"),
    *plain(NOW, "other", "notify_user", "link_pr", "browser_open", "schedule_wakeup", "cancel_wakeup"),
    *plain(NOW, "other", "cron_create", "cron_delete", "chart", "compact"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "_"),))
"""MCP tools are named `<server>_<tool>`, as in OpenCode."""
