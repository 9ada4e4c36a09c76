"""The tools of Kiro CLI, and their names in Amazon Q CLI. Source: sessions of 2026; Amazon Q CLI's published source."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

SEEN = "Kiro CLI, sessions of June to August 2026"
NAMED = "Amazon Q CLI, published source of April 2026"
_MODES = (("Directory", "LS"), ("Search", "Grep"))
_COMMANDS = (
    ("create", "Write"),
    ("strReplace", "Edit"),
    ("str_replace", "Edit"),
    ("insert", "Edit"),
    ("append", "Edit"),
)

ROWS = (
    *rows(SEEN, {"shell": "Bash", "glob": "Glob", "todo_list": "TodoWrite"}),
    row("execute_bash", "Bash", NAMED),
    row("execute_cmd", "Bash", NAMED),
    row("read", "Read", SEEN, paths=("operations", "path"), variant_key="operations[].mode", variants=_MODES),
    row("fs_read", "Read", NAMED, paths=("operations", "path"), variant_key="operations[].mode", variants=_MODES),
    row("write", "Write", SEEN, variant_key="command", variants=_COMMANDS),
    row("fs_write", "Write", NAMED, variant_key="command", variants=_COMMANDS),
    *rows(NAMED, {"grep": "Grep", "web_search": "WebSearch", "web_fetch": "WebFetch", "code": "LSP"}),
    *rows(NAMED, {"subagent": "Task", "use_subagent": "Task", "delegate": "Task"}),
    *plain(NAMED, "other", "use_aws", "introspect", "thinking", "knowledge"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("@", "/"), McpForm("", "___")))
"""MCP tools are named `@server/tool`, in Amazon Q CLI `server___tool`."""
