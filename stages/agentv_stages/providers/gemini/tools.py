"""The tools of Gemini CLI, 0.1 to 0.61."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

CHATS = "Gemini CLI 0.61, recordings and documentation"
OLDER = "Gemini CLI, older names; documentation only"

ROWS = (
    *rows(CHATS, {"run_shell_command": "Bash", "read_file": "Read", "write_file": "Write", "replace": "Edit"}),
    *rows(CHATS, {"list_directory": "LS", "glob": "Glob", "grep_search": "Grep"}),
    *rows(CHATS, {"web_fetch": "WebFetch", "google_web_search": "WebSearch", "write_todos": "TodoWrite"}),
    *rows(CHATS, {"activate_skill": "Skill", "ask_user": "AskUserQuestion", "invoke_agent": "Task"}),
    *rows(CHATS, {"enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode"}),
    *rows(CHATS, {"read_background_output": "BashOutput"}),
    *rows(OLDER, {"search_file_content": "Grep", "codebase_investigator": "Task", "cli_help": "Task"}),
    *rows(OLDER, {"delegate_to_agent": "Task", "generalist": "Task", "generalist_agent": "Task"}),
    row("read_many_files", "Read", OLDER, paths=("include", "paths")),
    *plain(CHATS, "execute", "list_background_processes"),
    *plain(CHATS, "other", "save_memory", "complete_task", "update_topic"),
    *plain(CHATS, "read", "get_internal_docs"),
    *plain(CHATS, "plan", "tracker_create_task", "tracker_update_task", "tracker_get_task", "tracker_list_tasks"),
    *plain(CHATS, "plan", "tracker_add_dependency", "tracker_visualize"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("mcp_", "_"), McpForm("", "__")))
