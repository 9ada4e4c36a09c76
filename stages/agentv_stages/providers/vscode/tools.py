"""The tools of Copilot chat in VS Code: the names in its session files, prefixed or not, and AgentV's titles."""

from agentv_stages.model.tools import TITLES, McpForm, ToolRow, ToolTable, plain, row, rows

CHAT = "VS Code chat sessions, toolId"
ROUNDS = "VS Code chat sessions, tool call rounds"
AGENTV = "AgentV, VS Code kinds"

AGENTV_ROWS: tuple[ToolRow, ...] = (
    *rows(AGENTV, {"Skill": "Skill", "skill": "Skill", "readFile": "Read", "Read": "Read"}),
    *rows(AGENTV, {"readTextFile": "Read", "writeTextFile": "Write"}),
    *rows(AGENTV, {"editFile": "Edit", "runTerminalCommand": "Bash"}),
    *TITLES,
)

TABLE = ToolTable(
    rows=(
        *rows(CHAT, {"copilot_readFile": "Read", "copilot_createFile": "Write", "copilot_replaceString": "Edit"}),
        *rows(CHAT, {"copilot_insertEdit": "Edit"}),
        row("copilot_multiReplaceString", "MultiEdit", CHAT, paths=("replacements", "filePath")),
        row("multi_replace_string_in_file", "MultiEdit", ROUNDS, paths=("replacements", "filePath")),
        *rows(CHAT, {"vscode_editFile_internal": "Edit", "copilot_editFile": "Edit"}),
        *rows(CHAT, {"copilot_editNotebook": "NotebookEdit", "copilot_getNotebookSummary": "NotebookRead"}),
        row("copilot_applyPatch", "Edit", CHAT, patch=True),
        *rows(CHAT, {"copilot_findTextInFiles": "Grep", "copilot_findFiles": "Glob", "copilot_listDirectory": "LS"}),
        *rows(CHAT, {"copilot_searchCodebase": "Grep", "copilot_searchWorkspaceSymbols": "Grep"}),
        *rows(CHAT, {"copilot_fetchWebPage": "WebFetch", "vscode_fetchWebPage_internal": "WebFetch"}),
        *rows(CHAT, {"copilot_viewImage": "Read", "copilot_listCodeUsages": "LSP", "vscode_listCodeUsages": "LSP"}),
        *rows(CHAT, {"run_in_terminal": "Bash", "copilot_runInTerminal": "Bash", "runInTerminal": "Bash"}),
        *rows(CHAT, {"get_terminal_output": "BashOutput", "copilot_getTerminalOutput": "BashOutput"}),
        *rows(CHAT, {"kill_terminal": "KillShell", "runSubagent": "Task", "manage_todo_list": "TodoWrite"}),
        *rows(CHAT, {"vscode_askQuestions": "AskUserQuestion", "copilot_askQuestions": "AskUserQuestion"}),
        *plain(CHAT, "read", "copilot_getErrors", "copilot_getChangedFiles", "copilot_readProjectStructure"),
        *plain(CHAT, "read", "copilot_testFailure", "copilot_getVSCodeAPI", "terminal_last_command"),
        *plain(CHAT, "read", "terminal_selection", "copilot_getDocInfo"),
        *plain(CHAT, "execute", "runTests", "copilot_runTests", "create_and_run_task", "run_task", "get_task_output"),
        *plain(CHAT, "execute", "copilot_runNotebookCell", "run_notebook_cell", "run_vscode_command"),
        *plain(CHAT, "execute", "copilot_runVscodeCommand", "send_to_terminal"),
        *plain(CHAT, "write", "copilot_createDirectory", "create_directory", "copilot_createNewWorkspace"),
        *plain(CHAT, "other", "copilot_think", "copilot_memory", "think", "memory"),
        *rows(ROUNDS, {"read_file": "Read", "create_file": "Write", "replace_string_in_file": "Edit"}),
        *rows(ROUNDS, {"insert_edit_into_file": "Edit"}),
        *rows(ROUNDS, {"edit_notebook_file": "NotebookEdit", "view_image": "Read"}),
        row("apply_patch", "Edit", ROUNDS, patch=True),
        *rows(ROUNDS, {"grep_search": "Grep", "file_search": "Glob", "semantic_search": "Grep", "list_dir": "LS"}),
        *rows(ROUNDS, {"fetch_webpage": "WebFetch", "list_code_usages": "LSP", "ask_questions": "AskUserQuestion"}),
        *plain(ROUNDS, "read", "get_errors", "get_changed_files", "test_failure"),
        *AGENTV_ROWS,
    ),
    mcp=(McpForm("mcp_", "_"),),
)
