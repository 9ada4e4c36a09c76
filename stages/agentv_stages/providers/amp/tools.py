"""The tools of Amp. Source: a stream of April 2026, threads of 2026, documentation."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

SEEN = "Amp, a stream of April 2026 and threads of August 2026"
NAMED = "Amp, documentation and parsers"

ROWS = (
    row("Bash", "Bash", NAMED, command_key="cmd"),
    row("shell_command", "Bash", SEEN),
    *rows(SEEN, {"create_file": "Write", "edit_file": "Edit", "undo_edit": "Edit", "finder": "Grep", "glob": "Glob"}),
    *rows(SEEN, {"read_web_page": "WebFetch", "web_search": "WebSearch", "task_list": "TodoWrite", "skill": "Skill"}),
    *rows(NAMED, {"todo_write": "TodoWrite", "todo_read": "TodoRead", "look_at": "Read", "get_diagnostics": "LSP"}),
    *rows(SEEN, {"oracle": "Task", "librarian": "Task"}),
    *plain(SEEN, "other", "mermaid", "chart", "painter", "handoff"),
    *plain(SEEN, "read", "find_thread", "read_thread", "read_mcp_resource"),
)

TABLE = ToolTable(rows=ROWS)
