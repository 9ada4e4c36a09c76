"""The tools of Pi, session versions 1 to 3."""

from agentv_stages.tools import ToolTable, row, rows

BUILT_IN = "Pi to 0.73, built-in tools"

TABLE = ToolTable(
    rows=(
        *rows(BUILT_IN, {"read": "Read", "bash": "Bash", "edit": "Edit", "write": "Write"}),
        *rows(BUILT_IN, {"grep": "Grep", "find": "Glob", "ls": "LS"}),
        row("bashExecution", "Bash", "Pi sessions, the person's own ! commands"),
        *rows("Pi, sub-agent extension", {"subagent": "Task"}),
        *rows("Pi, todo extension", {"todo": "TodoWrite"}),
    )
)
