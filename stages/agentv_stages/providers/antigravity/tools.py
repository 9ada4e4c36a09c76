"""The tools of Antigravity. Source: the list of tools that agy 1.3.1 prints, and its recorded runs."""

from agentv_stages.model.tools import ToolTable, plain, row, rows

SEEN = "agy 1.2.17 and 1.3.1, recorded runs"
NAMED = "agy 1.3.1, the list of tools of `init`"
_TARGET = ("TargetFile",)

ROWS = (
    row("run_command", "Bash", SEEN, command_key="CommandLine"),
    row("view_file", "Read", SEEN, keys=(("file_path", ("AbsolutePath",)),), paths=("AbsolutePath",)),
    row("write_to_file", "Write", NAMED, paths=_TARGET),
    row("replace_file_content", "Edit", NAMED, paths=_TARGET),
    row("multi_replace_file_content", "MultiEdit", NAMED, paths=_TARGET),
    row("sed_file", "Edit", NAMED, paths=_TARGET),
    row("notebook_edit", "NotebookEdit", NAMED, paths=_TARGET),
    *rows(NAMED, {"command_status": "BashOutput", "grep_search": "Grep", "find_by_name": "Glob", "list_dir": "LS"}),
    *rows(SEEN, {"search_web": "WebSearch", "invoke_subagent": "Task"}),
    *rows(NAMED, {"read_url_content": "WebFetch", "browser_subagent": "Task", "define_subagent": "Task"}),
    *rows(NAMED, {"ask_question": "AskUserQuestion"}),
    *plain(NAMED, "execute", "send_command_input", "notebook_execution"),
    *plain(NAMED, "plan", "manage_task", "manage_subagents", "schedule", "send_message"),
    *plain(NAMED, "ask", "ask_permission", "ask_custom_permission"),
    *plain(NAMED, "read", "list_permissions", "read_browser_page", "read_resource", "list_resources"),
    *plain(NAMED, "other", "generate_image", "finish", "wait", "delete_knowledge"),
)

TABLE = ToolTable(rows=ROWS)
"""All MCP tools are called through `call_mcp_tool`; the decoders name such a call after the tool (`calls.py`)."""
