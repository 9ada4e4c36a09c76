"""The tools of Qwen Code, 0.0.x to 0.15: Gemini's names, Claude's manners."""

from agentv_stages.tools import McpForm, ToolTable, plain, row, rows

NOW = "Qwen Code 0.14 to 0.21, recordings and documentation"
OLDER = "Qwen Code, older names; documentation only"

ROWS = (
    *rows(NOW, {"run_shell_command": "Bash", "read_file": "Read", "write_file": "Write", "edit": "Edit"}),
    *rows(NOW, {"list_directory": "LS", "glob": "Glob", "grep_search": "Grep", "lsp": "LSP"}),
    *rows(NOW, {"web_fetch": "WebFetch", "web_search": "WebSearch", "todo_write": "TodoWrite", "skill": "Skill"}),
    *rows(NOW, {"agent": "Task", "tool_search": "ToolSearch", "ask_user_question": "AskUserQuestion"}),
    *rows(NOW, {"exit_plan_mode": "ExitPlanMode", "enter_plan_mode": "EnterPlanMode", "notebook_edit": "NotebookEdit"}),
    *rows(NOW, {"task_stop": "TaskStop", "task_output": "TaskOutput"}),
    *rows(OLDER, {"replace": "Edit", "task": "Task", "search_file_content": "Grep"}),
    *rows(OLDER, {"ls": "LS", "google_web_search": "WebSearch"}),
    row("read_many_files", "Read", OLDER, paths=("include", "paths")),
    *plain(NOW, "plan", "send_message", "list_agents"),
    *plain(NOW, "execute", "monitor"),
    *plain(NOW, "other", "save_memory", "cron_create", "cron_list", "cron_delete", "structured_output"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "__"),))
