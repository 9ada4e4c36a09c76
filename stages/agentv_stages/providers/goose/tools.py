"""The tools of Goose. Source: its published source of 2026."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "Goose, published source of 2026"
_TEXT_EDITOR = (("view", "Read"), ("write", "Write"), ("create", "Write"))

ROWS = (
    *rows(NOW, {"shell": "Bash", "developer__shell": "Bash", "write": "Write", "edit": "Edit", "tree": "LS"}),
    *rows(NOW, {"developer__write": "Write", "developer__edit": "Edit", "developer__tree": "LS"}),
    *rows(NOW, {"analyze": "Read", "developer__analyze": "Read"}),
    row("developer__text_editor", "Edit", NOW, variant_key="command", variants=_TEXT_EDITOR),
    row("text_editor", "Edit", NOW, variant_key="command", variants=_TEXT_EDITOR),
    *rows(NOW, {"todo__todo_write": "TodoWrite", "todo_write": "TodoWrite", "delegate": "Task"}),
    row("subagent__", "Task", NOW, prefix=True),
    *plain(NOW, "other", "computercontroller__computer_control", "computercontroller__automation_script"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "__"),))
"""Tools of extensions are named `<extension>__<tool>`."""
