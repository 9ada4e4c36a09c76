"""The tools of Qwen Code, 0.0.x to 0.24: Gemini's names, Claude's behaviour."""

from agentv_stages.model.tools import McpForm, ToolTable, plain, row, rows

NOW = "Qwen Code 0.14 to 0.21, recordings and documentation"
NEWER = "Qwen Code 0.24.4, recordings and the table of names in its bundle"
OLDER = "Qwen Code, older names; documentation only"
_OMNI = (
    "downsample_image downscale_video downsample_audio extract_keyframes extract_audio clip_video convert_image "
    "transcribe_audio clip_image clip_audio caption_image caption_audio ocr_image understand_video_segments"
)

ROWS = (
    *rows(NOW, {"run_shell_command": "Bash", "read_file": "Read", "write_file": "Write", "edit": "Edit"}),
    *rows(NOW, {"list_directory": "LS", "glob": "Glob", "grep_search": "Grep", "lsp": "LSP"}),
    *rows(NOW, {"web_fetch": "WebFetch", "web_search": "WebSearch", "todo_write": "TodoWrite", "skill": "Skill"}),
    *rows(NOW, {"agent": "Task", "tool_search": "ToolSearch", "ask_user_question": "AskUserQuestion"}),
    *rows(NOW, {"exit_plan_mode": "ExitPlanMode", "enter_plan_mode": "EnterPlanMode", "notebook_edit": "NotebookEdit"}),
    *rows(NOW, {"task_stop": "TaskStop", "task_output": "TaskOutput"}),
    *rows(OLDER, {"replace": "Edit", "task": "Task", "search_file_content": "Grep"}),
    *rows(OLDER, {"ls": "LS", "google_web_search": "WebSearch"}),
    row("read_many_files", "Read", OLDER, paths=("include", "paths")),
    *plain(NOW, "plan", "send_message", "list_agents"),
    *plain(NOW, "execute", "monitor"),
    *plain(NOW, "other", "save_memory", "cron_create", "cron_list", "cron_delete", "structured_output"),
    *rows(NEWER, {"task_create": "TaskCreate", "task_update": "TaskUpdate", "task_list": "TaskList"}),
    *plain(NEWER, "read", "zoom_image", "read_mcp_resource"),
    *plain(NEWER, "execute", "exec"),
    *plain(NEWER, "plan", "get_goal", "update_goal", "propose_goal", "workflow", "create_sub_session"),
    *plain(NEWER, "plan", "team_create", "team_delete", "team_plan_approval", "request_shutdown"),
    *plain(NEWER, "plan", "enter_worktree", "exit_worktree"),
    *plain(NEWER, "other", "tool_call", "loop_wakeup", "image_gen", "display_image", "artifact", "record_artifact"),
    *plain(NEWER, "other", "record_source", "report_findings", "omni_recall_media_memory"),
    *plain(NEWER, "other", *(f"omni_{name}" for name in _OMNI.split())),
)

TABLE = ToolTable(rows=ROWS, mcp=(McpForm("", "__"),))
