"""The tools of oh-my-pi: Pi's and its own, with the names it used before it took over Pi's."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "oh-my-pi 18.2.3, definitions in its package; the commoner ones recorded"
OLD = "oh-my-pi, names that it still reads"

TABLE = ToolTable(
    rows=(
        *rows(NOW, {"read": "Read", "bash": "Bash", "write": "Write", "grep": "Grep", "glob": "Glob", "lsp": "LSP"}),
        row("edit", "Edit", NOW, patch=True),
        *rows(OLD, {"search": "Grep", "find": "Glob", "ls": "LS", "fetch": "WebFetch", "todo_write": "TodoWrite"}),
        *rows(NOW, {"ast_edit": "Edit", "todo": "TodoWrite", "task": "Task", "web_search": "WebSearch"}),
        *rows(NOW, {"ask": "AskUserQuestion"}),
        row("bashExecution", "Bash", NOW),
        *plain(NOW, "search", "ast_grep", "recall", "security_scan"),
        *plain(NOW, "execute", "eval", "debug", "vibe_spawn", "vibe_send", "vibe_kill"),
        *plain(OLD, "execute", "python", "ssh"),
        *plain(NOW, "plan", "hub", "goal", "think", "yield", "propose", "vibe_list", "vibe_wait"),
        *plain(NOW, "other", "resolve", "reject", "github", "checkpoint", "rewind", "context_notes", "new_context"),
        *plain(NOW, "other", "browser", "computer", "memory_edit", "retain", "reflect", "learn", "manage_skill"),
        *plain(NOW, "other", "advise", "report_issue", "report_tool_issue", "report_finding"),
    ),
    mcp=(McpForm("mcp__", "_"),),
)
"""MCP tools are named `mcp__<server>_<tool>`."""
