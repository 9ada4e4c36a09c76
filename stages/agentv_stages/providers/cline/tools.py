"""The tools of Cline's CLI 3.x, and those of its editor extension, which have other names."""

from agentv_stages.model.tools import PATH_KEYS, McpForm, ToolTable, plain, row, rows

NOW = "Cline CLI 3.0.65, its own declarations and recorded runs"
EDITOR = "Cline's extension for editors, documentation"
TASK = "tasks of Cline's extension of February 2026, Roo Code's published source of 2026"

ROWS = (
    row("read_files", "Read", NOW, paths=("files", "file_paths", "paths", *PATH_KEYS)),
    row("run_commands", "Bash", NOW),
    *rows(NOW, {"search_codebase": "Grep", "fetch_web_content": "WebFetch", "editor": "Edit", "skills": "Skill"}),
    row("apply_patch", "Edit", NOW, patch=True),
    *rows(NOW, {"ask_question": "AskUserQuestion", "spawn_agent": "Task", "team_run_task": "Task"}),
    *rows(NOW, {"team_list_runs": "TaskList", "team_await_runs": "TaskOutput", "team_cancel_run": "TaskStop"}),
    *plain(NOW, "plan", "team_spawn_teammate", "team_shutdown_teammate", "team_status", "team_task", "team_cleanup"),
    *plain(NOW, "plan", "team_send_message", "team_broadcast", "team_read_mailbox", "team_mission_log"),
    *plain(NOW, "plan", "team_create_outcome", "team_attach_outcome_fragment", "team_review_outcome_fragment"),
    *plain(NOW, "plan", "team_finalize_outcome", "team_list_outcomes"),
    *plain(NOW, "other", "submit_and_exit"),
    *rows(EDITOR, {"read_file": "Read", "list_files": "LS", "execute_command": "Bash", "new_task": "Task"}),
    *rows(EDITOR, {"write_to_file": "Write", "replace_in_file": "Edit", "ask_followup_question": "AskUserQuestion"}),
    *rows(EDITOR, {"web_fetch": "WebFetch", "web_search": "WebSearch"}),
    row("search_files", "Grep", EDITOR, keys=(("pattern", ("regex",)),)),
    *rows(TASK, {"readFile": "Read", "readCommandOutput": "BashOutput", "editedExistingFile": "Edit"}),
    *rows(
        TASK, {"appliedDiff": "Edit", "searchAndReplace": "Edit", "insertContent": "Edit", "newFileCreated": "Write"}
    ),
    *rows(TASK, {"fileDeleted": "Delete", "listFilesTopLevel": "LS", "listFilesRecursive": "LS"}),
    *rows(TASK, {"listCodeDefinitionNames": "LSP", "webFetch": "WebFetch", "webSearch": "WebSearch"}),
    *rows(TASK, {"newTask": "Task", "subagents": "Task", "updateTodoList": "TodoWrite"}),
    row("searchFiles", "Grep", TASK, keys=(("pattern", ("regex",)),)),
    *plain(TASK, "search", "codebaseSearch"),
    *plain(TASK, "other", "runSlashCommand", "skill", "switchMode", "finishTask", "generateImage"),
    *plain(EDITOR, "search", "list_code_definition_names"),
    *plain(EDITOR, "plan", "plan_mode_respond"),
    *plain(EDITOR, "other", "browser_action", "use_mcp_tool", "access_mcp_resource", "attempt_completion"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "__"),))
"""MCP tools are named `<server>__<tool>`."""
