"""The tools of Cursor: the tool call members of cursor-agent's stream, and the names in its IDE transcripts."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

STREAM = "cursor-agent stream-json, recordings and documentation"
IDE = "Cursor IDE transcripts, recordings and documentation"

STREAM_NAMES = {
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "shell": "Bash",
    "grep": "Grep",
    "glob": "Glob",
    "ls": "LS",
    "delete": "Delete",
    "todo": "TodoWrite",
    "updateTodos": "TodoWrite",
    "readTodos": "TodoRead",
    "webSearch": "WebSearch",
    "webFetch": "WebFetch",
    "fetch": "WebFetch",
    "semSearch": "Grep",
    "task": "Task",
    "createPlan": "ExitPlanMode",
    "askQuestion": "AskUserQuestion",
    "switchMode": "EnterPlanMode",
}

TABLE = ToolTable(
    rows=(
        *rows(STREAM, {f"{name}ToolCall": tool for name, tool in STREAM_NAMES.items()}),
        *rows(STREAM, STREAM_NAMES),
        row("applyPatchToolCall", "Edit", STREAM, patch=True),
        row("applyPatch", "Edit", STREAM, patch=True),
        *plain(STREAM, "read", "readLintsToolCall", "readLints"),
        *plain(STREAM, "other", "mcpToolCall", "mcp", "recordScreenToolCall", "computerUseToolCall"),
        *rows(IDE, {"Shell": "Bash", "Read": "Read", "Write": "Write", "StrReplace": "Edit", "Delete": "Delete"}),
        *rows(IDE, {"LS": "LS", "Grep": "Grep", "Glob": "Glob", "SemanticSearch": "Grep", "TodoWrite": "TodoWrite"}),
        *rows(IDE, {"WebSearch": "WebSearch", "WebFetch": "WebFetch", "Task": "Task", "EditNotebook": "NotebookEdit"}),
        *rows(IDE, {"AskQuestion": "AskUserQuestion", "CreatePlan": "ExitPlanMode", "SwitchMode": "EnterPlanMode"}),
        *rows(IDE, {"read_file": "Read", "edit_file": "Edit", "run_terminal_cmd": "Bash", "list_dir": "LS"}),
        *rows(IDE, {"codebase_search": "Grep", "grep_search": "Grep", "file_search": "Glob", "delete_file": "Delete"}),
        *rows(IDE, {"search_replace": "Edit", "todo_write": "TodoWrite", "web_search": "WebSearch"}),
        row("ApplyPatch", "Edit", IDE, patch=True),
        *plain(IDE, "read", "ReadLints", "read_lints"),
    )
)
