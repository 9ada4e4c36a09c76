"""The tools of Continue's command line, and those of its editor extension, which have other names."""

from agentv_stages.model.tools import PATH_KEYS, ToolTable, plain, row, rows

NOW = "Continue CLI 1.5.47, its own declarations and recorded runs"
EDITOR = "Continue's extension for editors, names in its source (core/tools/builtIn.ts)"
_FILE = ("filepath", *PATH_KEYS)
_PATH = (("file_path", ("filepath", "path")),)

ROWS = (
    row("Read", "Read", NOW, paths=_FILE, keys=_PATH),
    row("Write", "Write", NOW, paths=_FILE),
    *rows(NOW, {"Edit": "Edit", "MultiEdit": "MultiEdit", "Bash": "Bash", "List": "LS", "Search": "Grep"}),
    *rows(NOW, {"Fetch": "WebFetch", "Checklist": "TodoWrite", "Subagent": "Task", "AskQuestion": "AskUserQuestion"}),
    row("Skills", "Skill", NOW, keys=(("skill", ("skill_name",)),)),
    *rows(NOW, {"CheckBackgroundJob": "BashOutput"}),
    *plain(NOW, "read", "Diff"),
    *plain(NOW, "other", "Exit", "ReportFailure", "Status", "UploadArtifact"),
    row("read_file", "Read", EDITOR, paths=_FILE, keys=_PATH),
    row("read_file_range", "Read", EDITOR, paths=_FILE, keys=_PATH),
    row("read_currently_open_file", "Read", EDITOR, paths=(), keys=()),
    row("create_new_file", "Write", EDITOR, paths=_FILE),
    row("edit_existing_file", "Edit", EDITOR, paths=_FILE),
    row("single_find_and_replace", "Edit", EDITOR, paths=_FILE),
    row("multi_edit", "MultiEdit", EDITOR, paths=_FILE),
    *rows(EDITOR, {"run_terminal_command": "Bash", "ls": "LS", "view_subdirectory": "LS"}),
    *rows(EDITOR, {"grep_search": "Grep", "exact_search": "Grep", "file_glob_search": "Glob"}),
    *rows(EDITOR, {"search_web": "WebSearch", "fetch_url_content": "WebFetch"}),
    row("read_skill", "Skill", EDITOR, keys=(("skill", ("skillName", "name")),)),
    *plain(EDITOR, "search", "codebase"),
    *plain(EDITOR, "read", "view_diff", "view_repo_map", "request_rule"),
    *plain(EDITOR, "write", "create_rule_block"),
)

TABLE = ToolTable(rows=ROWS)
"""MCP tools have the name that their server gives them, without the server's."""
