"""The tools of Crush. Source: its published source, August 2026; a database of September 2025."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "Crush, published source of August 2026; the commoner ones in a real database"

ROWS = (
    row("bash", "Bash", NOW),
    *rows(NOW, {"view": "Read", "write": "Write", "edit": "Edit", "multiedit": "MultiEdit", "ls": "LS"}),
    *rows(NOW, {"grep": "Grep", "glob": "Glob", "fetch": "WebFetch", "web_fetch": "WebFetch"}),
    *rows(NOW, {"agentic_fetch": "WebFetch", "web_search": "WebSearch", "agent": "Task", "todos": "TodoWrite"}),
    *rows(NOW, {"question": "AskUserQuestion", "job_output": "BashOutput", "job_kill": "KillShell"}),
    *rows(NOW, {"diagnostics": "LSP", "references": "LSP", "lsp_diagnostics": "LSP", "lsp_references": "LSP"}),
    *plain(NOW, "search", "sourcegraph"),
    *plain(NOW, "other", "download", "lsp_restart"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("mcp_", "_"),))
"""MCP tools are named `mcp_<server>_<tool>`."""
