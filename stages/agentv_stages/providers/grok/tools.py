"""The tools of Grok Build."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "Grok Build 1.0.41, recordings and the tools that it sends to the model"
OLDER = "Grok Build 0.1.220, the tools that it sends to the model"
GUIDE = "Grok Build 1.0.41, its user guide; never offered in a recording"

ROWS = (
    row("read_file", "Read", NOW, paths=("target_file",), keys=(("file_path", ("target_file",)),)),
    row("list_dir", "LS", NOW),
    *rows(NOW, {"run_terminal_command": "Bash", "search_replace": "Edit", "write": "Write", "grep": "Grep"}),
    *rows(NOW, {"web_search": "WebSearch", "search_tool": "ToolSearch", "todo_write": "TodoWrite"}),
    *rows(NOW, {"spawn_subagent": "Task", "ask_user_question": "AskUserQuestion"}),
    *rows(NOW, {"get_command_or_subagent_output": "TaskOutput", "kill_command_or_subagent": "TaskStop"}),
    *rows(NOW, {"enter_plan_mode": "EnterPlanMode", "exit_plan_mode": "ExitPlanMode"}),
    *plain(NOW, "execute", "monitor"),
    *plain(NOW, "plan", "workflow"),
    *plain(NOW, "other", "use_tool", "scheduler_create", "scheduler_delete", "scheduler_list", "send_feedback"),
    *plain(NOW, "other", "image_gen", "image_edit", "image_to_video", "reference_to_video"),
    *rows(OLDER, {"wait_commands_or_subagents": "TaskOutput"}),
    *plain(OLDER, "plan", "update_goal"),
    *plain(OLDER, "other", "video_gen"),
    *rows(GUIDE, {"run_terminal_cmd": "Bash", "web_fetch": "WebFetch"}),
    *plain(GUIDE, "plan", "send_subagent_message"),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "__"),))
OWN = frozenset(row.native for row in ROWS) - {"grep", "write", "monitor", "web_search", "web_fetch", "read_file"}
"""Names that distinguish Grok's lists of tools from those of other agents."""
SPAWN = "spawn_subagent"
