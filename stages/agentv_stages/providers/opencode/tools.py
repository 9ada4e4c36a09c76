"""The tools of OpenCode, 0.x to 2.0."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "OpenCode 1.4 to 1.18, recordings and documentation"
SECOND = "OpenCode 2.0, its published source"

ROWS = (
    *rows(NOW, {"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "multiedit": "MultiEdit"}),
    row("apply_patch", "Edit", NOW, patch=True),
    row("patch", "Edit", NOW, patch=True),
    *rows(NOW, {"glob": "Glob", "grep": "Grep", "list": "LS", "lsp": "LSP"}),
    *rows(NOW, {"webfetch": "WebFetch", "websearch": "WebSearch", "task": "Task", "subtask": "Task"}),
    *rows(NOW, {"todowrite": "TodoWrite", "todoread": "TodoRead", "question": "AskUserQuestion"}),
    row("skill", "Skill", NOW, keys=(("skill", ("name", "id")),)),
    *rows(SECOND, {"shell": "Bash", "subagent": "Task"}),
    *plain(SECOND, "execute", "execute"),
    *plain(SECOND, "other", "models"),
    *rows(NOW, {"plan_enter": "EnterPlanMode", "plan_exit": "ExitPlanMode"}),
    *plain(NOW, "search", "codesearch", "lsp_hover", "lsp_diagnostics"),
    *plain(NOW, "other", "invalid", "batch", "StructuredOutput"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "_"),))
"""MCP tools are named `<server>_<tool>`; all built-in names with an underscore are listed above."""
