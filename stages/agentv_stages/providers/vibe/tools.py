"""The tools of Mistral Vibe: those of 1.x and 2.x by the model's names, those of 3.x by their functions' names."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, rows

OLD = "Mistral Vibe 1.0.0 to 2.14.0, recordings"
OFFERED = "Mistral Vibe 2.14.0, offered to the model"
NAMED = "Mistral Vibe 2.14.0, names in its package"
NOW = "Mistral Vibe 2.26.0, 2.26.1 and 3.0.3, recordings"
LISTED = "Mistral Vibe 3.0.3, functions that its programs may call"

ROWS = (
    *rows(OLD, {"read_file": "Read", "read": "Read", "write_file": "Write", "search_replace": "Edit", "edit": "Edit"}),
    *rows(OLD, {"bash": "Bash", "grep": "Grep", "todo": "TodoWrite", "task": "Task"}),
    *rows(OFFERED, {"web_search": "WebSearch", "web_fetch": "WebFetch", "skill": "Skill"}),
    *rows(NAMED, {"ask_user_question": "AskUserQuestion", "exit_plan_mode": "ExitPlanMode"}),
    *rows(NOW, {"file_system.read_file": "Read", "file_system.write_file": "Write", "file_system.edit": "Edit"}),
    *rows(NOW, {"file_system.search_replace": "Edit", "file_system.bash": "Bash", "vibe.todo": "TodoWrite"}),
    *rows(NOW, {"agents.spawn": "Task", "process.start": "Bash", "search_tool_functions": "ToolSearch"}),
    *plain(NOW, "other", "self.wait", "self.sleep"),
    *rows(LISTED, {"process.output": "BashOutput", "process.stop": "KillShell"}),
    *plain(LISTED, "execute", "process.write", "process.list"),
    *plain(LISTED, "plan", "agents.list", "agents.send_message", "agents.interrupt"),
)

TABLE = ToolTable(ROWS, mcp=(McpForm("mcp_", "."),))
