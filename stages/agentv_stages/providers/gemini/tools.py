"""The tools of Gemini CLI, 0.1 to 0.61, and the names of MCP tools."""

import re

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

# Converts the names of MCP tools in Gemini CLI to the form `mcp__server__tool`.
#
# Source: Gemini CLI 0.61 (`mcp_<server>_<tool>`, display name `lookup (demo MCP Server)`), 0.1 to 0.3x (bare names).

_DISPLAY = re.compile(r"\(([^()]*) MCP Server\)\Z")


def tool_name(name: str, display: str | None = None) -> str:
    """The name to emit: the one in the log, but `mcp__server__tool` for MCP tools.

    The display name is reliable; without it the server is taken to end at the first underscore.
    """
    if display is not None and display.endswith(" MCP Server)"):
        shown = _DISPLAY.search(display)
        if shown and shown[1].strip():
            server = shown[1].strip()
            tool = name
            for prefix in (f"mcp_{server}_", f"{server}__"):
                if name.startswith(prefix):
                    tool = name[len(prefix) :]
            if tool.startswith("mcp__"):
                return name
            return f"mcp__{server}__{tool}"
    if name.startswith("mcp_") and not name.startswith("mcp__"):
        server, found, tool = name[4:].partition("_")
        if found and server and tool:
            return f"mcp__{server}__{tool}"
    return name


CHATS = "Gemini CLI 0.61, recordings and documentation"
OLDER = "Gemini CLI, older names; documentation only"

ROWS = (
    *rows(CHATS, {"run_shell_command": "Bash", "read_file": "Read", "write_file": "Write", "replace": "Edit"}),
    *rows(CHATS, {"list_directory": "LS", "glob": "Glob", "grep_search": "Grep"}),
    *rows(CHATS, {"web_fetch": "WebFetch", "google_web_search": "WebSearch", "write_todos": "TodoWrite"}),
    *rows(CHATS, {"activate_skill": "Skill", "ask_user": "AskUserQuestion", "invoke_agent": "Task"}),
    *rows(CHATS, {"enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode"}),
    *rows(CHATS, {"read_background_output": "BashOutput"}),
    *rows(OLDER, {"search_file_content": "Grep", "codebase_investigator": "Task", "cli_help": "Task"}),
    *rows(OLDER, {"delegate_to_agent": "Task", "generalist": "Task", "generalist_agent": "Task"}),
    row("read_many_files", "Read", OLDER, paths=("include", "paths")),
    *plain(CHATS, "execute", "list_background_processes"),
    *plain(CHATS, "other", "save_memory", "complete_task", "update_topic"),
    *plain(CHATS, "read", "get_internal_docs"),
    *plain(CHATS, "plan", "tracker_create_task", "tracker_update_task", "tracker_get_task", "tracker_list_tasks"),
    *plain(CHATS, "plan", "tracker_add_dependency", "tracker_visualize"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("mcp_", "_"), McpForm("", "__")))
