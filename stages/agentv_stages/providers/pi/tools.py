"""The tools of Pi up to 1.5, session versions 1 to 3."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

BUILT_IN = "Pi to 1.5.2, built-in tools"
BUILT_IN_EXTENSIONS = "Pi 0.99 to 1.5.2, built-in extensions"

TABLE = ToolTable(
    rows=(
        *rows(BUILT_IN, {"read": "Read", "bash": "Bash", "edit": "Edit", "write": "Write"}),
        *rows(BUILT_IN, {"grep": "Grep", "find": "Glob", "ls": "LS"}),
        row("powershell", "Bash", "Pi 1.5.2, built-in tool on Windows"),
        *rows(BUILT_IN_EXTENSIONS, {"tool_search": "ToolSearch"}),
        *plain(BUILT_IN_EXTENSIONS, "execute", "codemode"),
        *plain(BUILT_IN_EXTENSIONS, "other", "list_mcp_resources", "list_mcp_resource_templates"),
        *plain(BUILT_IN_EXTENSIONS, "read", "read_mcp_resource"),
        row("bashExecution", "Bash", "Pi sessions, the person's own ! commands"),
        *rows("Pi, sub-agent extension", {"subagent": "Task"}),
        *rows("Pi, todo extension", {"todo": "TodoWrite"}),
    )
)
