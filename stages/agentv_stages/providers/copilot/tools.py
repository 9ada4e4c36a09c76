"""The tools of the GitHub Copilot command line, 0.0.3xx to 1.0, and the titles that AgentV has for them."""

from agentv_stages.model.tools import TITLES, McpForm, ToolTable, plain, row, rows

EVENTS = "Copilot CLI 1.0, events and documentation"
AGENTV = "AgentV, Copilot kinds"
OLDER = "Copilot CLI, older names; documentation only"

EDITOR = (("view", "Read"), ("create", "Write"), ("str_replace", "Edit"), ("insert", "Edit"), ("undo_edit", "Edit"))

ROWS = (
    *rows(EVENTS, {"bash": "Bash", "powershell": "Bash", "local_shell": "Bash", "shell": "Bash"}),
    *rows(EVENTS, {"view": "Read", "create": "Write", "edit": "Edit"}),
    *rows(OLDER, {"str_replace": "Edit", "insert": "Edit"}),
    row("str_replace_editor", "Edit", OLDER, variant_key="command", variants=EDITOR),
    row("apply_patch", "Edit", EVENTS, patch=True),
    *rows(EVENTS, {"grep": "Grep", "rg": "Grep", "glob": "Glob", "lsp": "LSP"}),
    *rows(EVENTS, {"web_fetch": "WebFetch", "web_search": "WebSearch", "fetch": "WebFetch"}),
    *rows(EVENTS, {"task": "Task", "update_todo": "TodoWrite", "exit_plan_mode": "ExitPlanMode"}),
    *rows(EVENTS, {"ask_user": "AskUserQuestion", "skill": "Skill", "tool_search": "ToolSearch"}),
    *rows(EVENTS, {"read_bash": "BashOutput", "stop_bash": "KillShell"}),
    *rows(EVENTS, {"read_powershell": "BashOutput", "stop_powershell": "KillShell"}),
    *plain(EVENTS, "execute", "write_bash", "list_bash", "write_powershell", "list_powershell", "session_store_sql"),
    *plain(EVENTS, "plan", "sql", "read_agent", "write_agent", "list_agents", "stop_agent"),
    *plain(EVENTS, "other", "report_intent", "store_memory", "task_complete", "vote_memory"),
    *plain(EVENTS, "read", "fetch_copilot_cli_documentation", "show_file"),
    *rows(AGENTV, {"Skill": "Skill", "readFile": "Read", "Read": "Read", "readTextFile": "Read"}),
    *rows(AGENTV, {"writeTextFile": "Write", "editFile": "Edit"}),
    *rows(AGENTV, {"runTerminalCommand": "Bash"}),
    *TITLES,
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "-", last=True),))
